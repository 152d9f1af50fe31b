"""Probes a judge for known biases by controlled versions of items, with tests and advice."""
