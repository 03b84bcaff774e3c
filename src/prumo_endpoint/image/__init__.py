"""Container images: built, measured, and freed of the files that a server never touches."""
