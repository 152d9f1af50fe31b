"""Completions of prompts, and which of them are better than which."""
