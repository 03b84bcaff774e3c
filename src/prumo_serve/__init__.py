"""A trained network made ready to answer: packaged, converted, quantized, compared."""
