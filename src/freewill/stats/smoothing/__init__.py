"""Kernel sieves: estimates that are nearer to a smooth truth."""
