"""Random mixtures against an oracle of its own: no certificate may be wrong, nothing may break.

`python -m tools.stress` (`make stress`); docs/stress.md says what is drawn and what is judged.
"""
