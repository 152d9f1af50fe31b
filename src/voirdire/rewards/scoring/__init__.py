"""Rewards of items, in memory and from file to file."""
