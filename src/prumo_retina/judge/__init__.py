"""How good a model is: pure functions from probabilities and truths to figures with intervals."""
