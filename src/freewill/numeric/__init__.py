"""Products of laws and certified optima; knows neither people nor reports."""
