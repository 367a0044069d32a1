"""The judge audit: does an audio judge's verdict follow the voice? See `docs/papers.md`."""
