"""A network in its own framework, asked over pipes for as long as its controller lives."""
