"""Stated claims, set against the data."""
