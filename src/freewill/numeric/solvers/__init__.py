"""Solvers: the most likely mixture, with a certificate; they know operators, not evidence."""
