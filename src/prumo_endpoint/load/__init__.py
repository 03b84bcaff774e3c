"""Load on an endpoint: when requests are sent, how, what comes back, and how far to trust it."""
