"""Examine LLM judges against human annotators."""
