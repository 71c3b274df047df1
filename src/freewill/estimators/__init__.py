"""Estimators: one method a file, each `f(evidence, ...) -> Estimate`."""

from freewill.estimators.estimate import Estimate, Status

__all__ = ["Estimate", "Status"]
