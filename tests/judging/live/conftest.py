"""Time that passes when nothing else is to be done, and a server that fails."""

from judging.calls.conftest import run  # noqa: F401  # a fixture
from servers.faulty import faulty_server  # noqa: F401  # a fixture
