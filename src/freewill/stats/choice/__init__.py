"""Who chooses what: the test of free choice, and estimates without it."""
