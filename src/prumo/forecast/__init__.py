"""Time and money before anything runs, learned from probes and earlier runs."""
