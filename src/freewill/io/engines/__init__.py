"""Engines: what holds rows of reports and answers queries on them, one a file."""
