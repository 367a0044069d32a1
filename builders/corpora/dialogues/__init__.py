"""Dialogues: the words of judge datasets, and where they come from."""
