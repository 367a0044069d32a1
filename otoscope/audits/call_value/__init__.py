"""What allowing a generative audio call adds, once transcript and encoders have predicted.

Reads tables of saved predictions: `tables`. A `contract` fixes everything before held-out labels
are read; `selector` and `routing` fit policies on development examples; `frozen` stores them;
`evaluation` applies them.

Source: M. Geng (2026), arXiv 2608.27817; `docs/papers.md`.
"""
