"""The examination of a reward itself."""
