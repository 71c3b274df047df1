"""The optimal laws of Shokri et al.: one way of choosing among them a file."""
