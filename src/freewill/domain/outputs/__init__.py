"""Output spaces: what a report of a mechanism may be, declared once, one kind a file."""
