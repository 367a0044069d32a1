"""The package version; it rises whenever a user would notice."""

__version__ = "0.4.0"
