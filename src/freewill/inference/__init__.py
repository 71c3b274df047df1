"""Inference: what a statistician asks of an estimate, one question a file."""

from freewill.inference.smooth import SmoothEstimate, smooth

__all__ = ["SmoothEstimate", "smooth"]
