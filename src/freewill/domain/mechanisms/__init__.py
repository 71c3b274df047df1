"""Mechanisms: one a file, each with its sampler, exact law, guarantee and portable description."""
