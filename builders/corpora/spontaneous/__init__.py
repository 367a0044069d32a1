"""Common Voice Spontaneous Speech: tables of a folder and the published selection."""
