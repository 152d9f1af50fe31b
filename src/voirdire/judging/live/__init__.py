"""A live judge answers requests during training, or from the clients of a server."""
