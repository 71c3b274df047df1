"""The command line: one command a file, each parses, makes one call and prints."""

from freewill.cli.application import app, main

__all__ = ["app", "main"]
