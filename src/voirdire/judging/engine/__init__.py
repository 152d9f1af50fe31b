"""Engines: find stored replies, make the missing calls, and combine the replies into verdicts."""
