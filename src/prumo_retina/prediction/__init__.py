"""What a model says about new photographs."""
