"""Time that passes when nothing else is to be done, and a server that fails."""

from judging.calls.conftest import at_once, noted_threads, run  # noqa: F401  # fixtures
from servers.faulty import faulty_server  # noqa: F401  # a fixture
