"""Estimates with forged reports set aside."""
