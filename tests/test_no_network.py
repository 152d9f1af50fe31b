"""The guard of conftest.py: tests reach this machine and nothing else."""

import socket
import threading

import pytest

# 192.0.2.0/24 and example.invalid are reserved for documentation: nobody answers there.
REMOTE = ("192.0.2.1", 80)


@pytest.fixture
def tcp_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as opened:
        opened.settimeout(1)
        yield opened


def test_connect_to_another_machine_is_refused(tcp_socket):
    with pytest.raises(AssertionError, match=r"tried to reach '192\.0\.2\.1'; tests use loopback"):
        tcp_socket.connect(REMOTE)


def test_connect_ex_to_another_machine_is_refused(tcp_socket):
    with pytest.raises(AssertionError, match="tried to reach"):
        tcp_socket.connect_ex(REMOTE)


def test_create_connection_to_another_machine_is_refused():
    with pytest.raises(AssertionError, match="tried to reach"):
        socket.create_connection(REMOTE, timeout=1)


def test_a_datagram_to_another_machine_is_refused():
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened,
        pytest.raises(AssertionError, match="tried to reach"),
    ):
        opened.sendto(b"x", REMOTE)


@pytest.mark.parametrize("host", ["example.invalid", b"example.invalid", "192.0.2.1", "2001:db8::"])
def test_looking_up_another_machine_is_refused(host):
    with pytest.raises(AssertionError, match="tried to reach"):
        socket.getaddrinfo(host, 80)


@pytest.mark.parametrize("host", ["localhost", b"localhost", "127.0.0.1", "127.1.2.3", "::1", None])
def test_looking_up_this_machine_is_allowed(host):
    assert socket.getaddrinfo(host, 80)


def answer_once(server):
    connection, _ = server.accept()
    connection.close()


def test_loopback_connections_work():
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_once, args=(server,))
        thread.start()

        with socket.create_connection(server.getsockname(), timeout=5) as client:
            assert client.recv(1) == b""

        thread.join()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no AF_UNIX sockets")
def test_unix_sockets_work(tmp_path):
    path = str(tmp_path / "s")
    with (
        socket.socket(socket.AF_UNIX) as server,
        socket.socket(socket.AF_UNIX) as client,
    ):
        server.bind(path)
        server.listen()

        client.connect(path)

        assert client.getpeername() == path
