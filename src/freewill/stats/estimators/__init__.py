"""Estimators: one method a file, each `f(evidence, ...) -> Estimate`."""
