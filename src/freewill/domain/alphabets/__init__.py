"""Alphabets: the values a person may have, their numbering and their distances."""
