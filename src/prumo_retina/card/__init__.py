"""The model card: what a model is for and how good it is, as a page for people."""
