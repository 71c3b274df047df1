"""Draws that are exact: coins and tables in whole numbers, from random bytes or in bulk."""
