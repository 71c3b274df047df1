"""The optimal laws of Shokri et al.: the problem, and what selects one of its many solutions."""
