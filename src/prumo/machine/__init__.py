"""Where we are: hardware, limits, processes, noise."""
