"""The command groups `prumo model` and `prumo serve`."""
