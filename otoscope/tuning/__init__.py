"""LoRA fine-tuning: a model is trained to answer the question of a run with the right label.

`config` and `splits` are plain data; the rest needs torch.
"""
