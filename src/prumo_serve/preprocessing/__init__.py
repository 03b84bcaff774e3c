"""What a network sees of an image: decoded, in its size, as its tensor."""
