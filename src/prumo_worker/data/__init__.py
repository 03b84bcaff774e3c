"""Data sets that the user names, and generated stand-ins of the same shape."""
