"""A trained model on disk: what it is, how it is used, what it answers."""
