"""Solvers: the most likely mixture, with a certificate; they know operators, not evidence."""

from freewill.solvers.likelihood import Certificate, Likelihood
from freewill.solvers.solution import OnStep, Solution, Status, Step, Trace

__all__ = ["Certificate", "Likelihood", "OnStep", "Solution", "Status", "Step", "Trace"]
