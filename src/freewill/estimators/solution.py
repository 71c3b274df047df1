from freewill.solvers.solution import Solution

__all__ = ["Solution"]
