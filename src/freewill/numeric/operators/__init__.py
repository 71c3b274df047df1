"""P(y | x) on observed outputs, as products: one structure a file."""
