"""The sampler: a small process beside a run that writes down what the machine does."""
