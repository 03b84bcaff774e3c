"""A training, from prepared photographs to a model that is described."""
