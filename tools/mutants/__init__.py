"""`make mutants`: small faults put into every room, one at a time, to see whether a test fails.

docs/mutants.md tells how to read the outcome and why this tool is our own.
"""
