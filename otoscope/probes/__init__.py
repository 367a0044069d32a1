"""What can be read off a model's states by a line, whatever the model says."""
