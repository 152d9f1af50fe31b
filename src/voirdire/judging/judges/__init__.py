"""Defines language models, cascades and juries as judges, their files, and their prices."""
