"""Scores of audio judges: states, pairs, protocols, positions. Arrays in, numbers out."""
