"""What every test gets: no network, repeatable Hypothesis runs, the shared data."""

import gc
import ipaddress
import os
import socket
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores; before numpy is loaded

import pytest
from hypothesis import HealthCheck, settings

from servers.llama_server import llama_server  # noqa: F401  # a fixture

ROOT = Path(__file__).resolve().parents[1]

# The same examples on every run: `quick` a few, `full` the usual number; `dev` looks for new ones.
for profile, n_examples in {"quick": 20, "full": 100}.items():
    settings.register_profile(
        profile,
        max_examples=n_examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_ignore_collect(collection_path, config):
    """Every day, leave out the files that need a large framework: to import it takes long."""
    left_out = config.option.markexpr.split(" and ")
    if not {"not ci", "not slow"}.issubset(left_out) or collection_path.suffix != ".py":
        return None
    return "\nrequire_framework(" in collection_path.read_text("utf-8") or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of the cases of a test that is marked `edges`, run the first and the last every day."""
    cases = {}
    for item in items:
        every_day = not (item.get_closest_marker("ci") or item.get_closest_marker("slow"))
        if every_day and item.get_closest_marker("edges"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for between in cases.values():
        for item in between[1:-1]:
            item.add_marker(pytest.mark.ci)


def pytest_collection_finish():
    """Have the collector of garbage leave alone what lives as long as the run."""
    gc.collect()
    gc.freeze()


def _is_local(host: object) -> bool:
    if isinstance(host, bytes | bytearray):
        host = host.decode()
    if host in (None, "", "localhost", "localhost.localdomain", "ip6-localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse_unless_local(host: object) -> None:
    if not _is_local(host):
        message = f"a test tried to reach {host!r}; tests use loopback only"
        raise AssertionError(message)


def _guard_address(address: object) -> None:
    # A path (AF_UNIX) stays on this machine; addresses of the internet families are tuples.
    if isinstance(address, tuple):
        _refuse_unless_local(address[0])


@pytest.fixture(autouse=True, scope="session")
def _no_network():
    """Let sockets reach this machine only, for the whole run."""
    real_connect = socket.socket.connect
    real_connect_ex = socket.socket.connect_ex
    real_sendto = socket.socket.sendto
    real_create_connection = socket.create_connection
    real_getaddrinfo = socket.getaddrinfo

    def connect(self, address):
        _guard_address(address)
        return real_connect(self, address)

    def connect_ex(self, address):
        _guard_address(address)
        return real_connect_ex(self, address)

    def sendto(self, data, *flags_and_address):
        _guard_address(flags_and_address[-1])
        return real_sendto(self, data, *flags_and_address)

    def create_connection(address, *args, **kwargs):
        _guard_address(address)
        return real_create_connection(address, *args, **kwargs)

    def getaddrinfo(host, *args, **kwargs):
        _refuse_unless_local(host)
        return real_getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
        patch.setattr(socket.socket, "connect_ex", connect_ex)
        patch.setattr(socket.socket, "sendto", sendto)
        patch.setattr(socket, "create_connection", create_connection)
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Give the folder of public data sets and reference values beside the repository."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder `shared` with the public data sets is not beside the repository")
    return folder
