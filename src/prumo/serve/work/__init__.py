"""What is done with a request that was let in: it waits, is computed and told."""
