"""Prumo's server against the servers that people write, all in one run on one machine."""
