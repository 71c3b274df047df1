"""Estimates for people: shares with labels and intervals, as tables, texts and pages."""
