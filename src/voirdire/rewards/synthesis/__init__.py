"""Comparisons that a language model writes, verified by the judge."""
