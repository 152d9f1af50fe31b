"""Calls to a model: paced, stored before they are used, tried again where that can help."""
