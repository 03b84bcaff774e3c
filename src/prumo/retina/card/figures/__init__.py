"""The figures of a card: one file each."""
