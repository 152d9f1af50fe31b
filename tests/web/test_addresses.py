"""Names of this machine, and sockets."""

import socket

import pytest

from voirdire.errors import InputError
from voirdire.web.addresses import bound_socket, is_asked_by_own_name, is_loopback, url_of


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("localhost", True),
        ("LOCALHOST.", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.1", False),
        ("192.168.1.2", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("2130706433", False),
    ],
)
def test_loopback_is_this_machine_alone(host, is_own):
    assert is_loopback(host) is is_own


@pytest.mark.parametrize(
    ("named", "is_own"),
    [
        (b"localhost:8000", True),
        (b"127.0.0.1", True),
        (b"[::1]:8000", True),
        (b"[::1]", True),
        (b"rewards.lan:8000", True),
        (b"evil.example:8000", False),
        (b"evil.example", False),
        (b"localhost.evil.example", False),
        (b"127.0.0.1.evil.example:80", False),
        (b"", False),
        (b"\xff", False),
        (b"localhost@evil.example", False),
    ],
)
def test_a_strangers_name_for_this_machine_is_not_its_own(named, is_own):
    assert is_asked_by_own_name(named, hosts=("Rewards.lan",)) is is_own


def test_any_free_port_is_taken():
    with bound_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        url = url_of(listening, "127.0.0.1")

        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass

    assert url == f"http://127.0.0.1:{port}"


def test_a_taken_port_is_told():
    with bound_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]

        with pytest.raises(InputError, match=rf"`port` must be free on 127\.0\.0\.1, got {port}"):
            bound_socket("127.0.0.1", port)


@pytest.mark.parametrize("port", [-1, 65_536, True])
def test_a_port_that_is_none_is_told(port):
    with pytest.raises(InputError, match="`port` must be in 0 to 65535"):
        bound_socket("127.0.0.1", port)


def test_a_host_that_is_none_is_told():
    with pytest.raises(InputError, match="`host` must be a name or an address"):
        bound_socket("::1%no-such-interface", 0)
