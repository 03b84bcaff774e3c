"""Where a model answers, and whether it keeps the rules there."""
