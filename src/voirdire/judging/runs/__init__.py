"""Judges files: parts, worker processes, outputs, summaries, estimates."""
