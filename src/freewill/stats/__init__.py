"""How sure a number is: evidence, estimators, the fit, and what is asked of it."""
