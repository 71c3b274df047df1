"""Hostile inputs of every kind: each ends in a result or in an error of ours, soon and small.

`python -m tools.fuzz` (`make fuzz`); docs/fuzz.md says what is drawn and what is judged.
"""
