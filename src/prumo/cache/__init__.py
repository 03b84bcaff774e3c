"""The user's cache: where it is, and who may write in it."""
