"""What a model learns to say when some of its weights are given an addition of low rank (LoRA).

`splits` and `settings` are plain data; the rest needs torch.
"""
