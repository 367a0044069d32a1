"""Linear probes: which labels can be decoded from a model's hidden states."""
