"""Retina models inside TensorFlow's environment: train, compute features, score, explain."""
