"""Estimators, each `f(evidence, ...) -> Estimate`: the certified maximum, the paper's methods."""
