"""Probe a judge for known biases: controlled versions of items, a noise floor, tests, advice."""
