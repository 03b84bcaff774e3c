"""HTTP at the server's edge: what it takes in, within which limits, and how it refuses."""
