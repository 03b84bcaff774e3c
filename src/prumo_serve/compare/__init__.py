"""Variants of one model side by side: size, speed, memory, and what they answer."""
