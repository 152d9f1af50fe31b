"""Weights from comparisons, with the record of how they came about."""
