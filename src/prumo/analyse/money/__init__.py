"""What runs cost, and which configuration to choose."""
