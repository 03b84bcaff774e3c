"""A model judged on photographs that it has not seen, and what is written about that."""
