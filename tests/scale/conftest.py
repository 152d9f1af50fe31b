"""A server that counts its calls."""

from servers.faulty import faulty_server  # noqa: F401  # a fixture
