"""The report of a call-value audit."""
