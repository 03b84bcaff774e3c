"""Keeping a serverless endpoint warm: policies, their simulation on traces, and a tournament."""
