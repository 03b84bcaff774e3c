"""One run: start a worker, sample beside it, keep its journal, give a verdict."""

DEFAULT_EXECUTOR = "local"
