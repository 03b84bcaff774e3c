"""The model while it is served: loaded, watched, and loaded again when it fails."""
