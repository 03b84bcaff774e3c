"""Smaller numbers for a network in ONNX: the methods, and what calibrates them."""
