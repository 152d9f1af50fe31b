"""Runs that judge files: parts, worker processes, outputs, summaries, estimates."""
