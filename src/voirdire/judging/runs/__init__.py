"""Judges files: in parts, in worker processes, with summaries and estimates of cost."""
