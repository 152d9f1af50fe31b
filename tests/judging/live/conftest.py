"""Calls that are made again at once, and a server that fails."""

from judging.calls.conftest import at_once  # noqa: F401  # a fixture
from servers.faulty import faulty_server  # noqa: F401  # a fixture
