"""Clients that are slow, or many, or never come to an end: others do not notice."""

import socket
import threading
import time

import pytest

from web.served import odd, until

pytestmark = pytest.mark.slow

REFUSE = {"response": "I'm sorry.", "behavior": "refuse"}
POST = b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module", params=[(), ("httptools", "uvloop")], ids=["installed", "plain"])
def hasty(request):
    """Run a server that waits for nobody: on whatever is installed here, and on what always is."""
    settings = {"head_s": 0.5, "body_s": 0.5, "max_body": 100_000}
    with odd(server=settings, without=request.param) as server:
        yield server


@pytest.fixture(scope="module", params=[(), ("httptools", "uvloop")], ids=["installed", "plain"])
def patient(request):
    """Run the same server with time for everybody, for what must be answered."""
    settings = {"head_s": 300.0, "body_s": 300.0, "max_body": 100_000}
    with odd(server=settings, without=request.param) as server:
        yield server


def connect(server):
    return socket.create_connection(server.address, timeout=120)


def connect_in_time(server):
    """Connect, and get an answer; once more where the first head came too late."""
    found = []

    def is_answered():
        found.append(connect(server))
        try:
            return is_alive(found[-1])
        except OSError:
            return False

    until(is_answered)
    for one in found[:-1]:
        one.close()
    return found[-1]


def read_all(connection):
    """Read until the other side closes; b"" where it resets."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def is_alive(connection):
    """Ask for that, and read the whole answer."""
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    found = b""
    while not found.endswith(b"}"):
        if not (piece := connection.recv(65_536)):
            return False
        found += piece
    return found.startswith(b"HTTP/1.1 200")


def slowly(piece, *, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield piece
        time.sleep(0.05)


def is_cut_off(connection, pieces):
    """Send pieces until the other side has closed; tell whether it ever does."""
    try:
        for piece in pieces:
            connection.sendall(piece)
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


@pytest.mark.parametrize("sent", [b"", b"POST /v1/rew", b"GET /healthz HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_come_is_not_waited_for(hasty, sent):
    with connect(hasty) as connection:
        connection.sendall(sent)

        found = read_all(connection)

    assert found == b""


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(hasty):
    with connect(hasty) as connection:
        assert is_cut_off(connection, slowly(b"x", seconds=20))


def test_a_second_head_is_not_waited_for_either(hasty):
    with connect_in_time(hasty) as connection:
        connection.sendall(b"GET /healthz HT")

        found = read_all(connection)

    assert found == b""


def test_a_connection_may_rest_between_requests(hasty):
    """Clients keep connections; what counts is how long a head takes that has begun."""
    with connect_in_time(hasty) as connection:
        for _ in range(2):
            time.sleep(1)
            assert is_alive(connection)


@pytest.mark.parametrize(
    "head", [b"Content-Length: 100\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"]
)
def test_a_body_that_does_not_come_is_not_waited_for(hasty, head):
    with connect(hasty) as connection:
        connection.sendall(POST + head)

        found = read_all(connection)

    assert found.startswith(b"HTTP/1.1 408")
    assert b'"too_slow"' in found


def test_a_head_without_end_is_cut_off(hasty):
    with connect(hasty) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")

        assert is_cut_off(connection, [b"X-More: " + b"y" * 1_000 + b"\r\n"] * 100_000)


@pytest.mark.parametrize("begun", [b"", b"X-Endless: "])
def test_what_comes_after_a_body_without_end_is_cut_off(begun):
    """Chunks end with further headers, which a server keeps in memory."""
    chunks = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    with odd(server={"body_s": 20.0}) as server, connect(server) as connection:
        connection.sendall(POST + chunks + begun)
        piece = b"y" * 60_000 if begun else b"X-More: " + b"y" * 1_000 + b"\r\n"

        assert is_cut_off(connection, [piece] * (20_000_000 // len(piece)))


def test_a_next_head_without_end_is_cut_off_while_a_request_is_answered(hasty, tmp_path):
    let_go = tmp_path / "go"
    body = b'{"items": [{"response": "hangs %b", "behavior": "refuse"}]}' % str(let_go).encode()
    with connect(hasty) as connection:
        connection.sendall(POST + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        connection.sendall(POST)

        assert is_cut_off(connection, [b"X-More: " + b"y" * 1_000 + b"\r\n"] * 20_000)

    let_go.touch()


def test_a_small_head_after_chunks_is_taken(patient):
    body = b'{"items": [{"response": "I\'m sorry.", "behavior": "refuse"}]}'
    with connect(patient) as connection:
        connection.sendall(POST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"%x\r\n%b\r\n0\r\nX-More: yes\r\n\r\n" % (len(body), body))

        found = read_all(connection)

    assert found.startswith(b"HTTP/1.1 200")
    assert b'"rewards":[5.0]' in found


def test_who_does_not_read_the_answer_is_let_go(hasty):
    """Answers that nobody reads would stay in memory."""
    body = b'{"verdicts": true, "items": [' + b",".join([b'{"response":""}'] * 5_000) + b"]}"
    head = POST + b"Content-Length: %d\r\n\r\n" % len(body)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(300)  # longer than is waited for below
        connection.connect(hasty.address)

        def send():
            try:
                for _ in range(400):
                    connection.sendall(head + body)
            except OSError:
                ended.set()

        ended = threading.Event()
        sender = threading.Thread(target=send, daemon=True)
        sender.start()

        assert ended.wait(timeout=120)

        sender.join(timeout=60)


def test_slow_clients_by_the_hundred_do_not_delay_others(patient):
    slow = [connect(patient) for _ in range(300)]
    for connection in slow:
        connection.sendall(b"POST /v1/rewards HTT")

    found = patient.post([REFUSE]).json

    assert found["rewards"] == [5.0]
    for connection in slow:
        connection.close()


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_while_it_comes(hasty, is_chunked):
    head = (
        b"Transfer-Encoding: chunked\r\n\r\n"
        if is_chunked
        else b"Content-Length: 100000000\r\n\r\n"
    )
    with connect(hasty) as connection:
        connection.sendall(POST + head)
        piece = b"1000\r\n" + b"x" * 4_096 + b"\r\n" if is_chunked else b"x" * 4_096

        n_sent = 0
        try:
            for _ in range(100_000_000 // 4_096):
                connection.sendall(piece)
                n_sent += 4_096
        except OSError:
            pass
        read_all(connection)

    assert n_sent < 50_000_000  # what the system's own buffers take, and not the whole


def test_a_body_a_little_too_large_hears_so(patient):
    answer = patient.ask("POST", "/v1/rewards", b"[" + b"1," * 60_000)

    assert (answer.status, answer.code) == (413, "too_large")
    assert answer.headers["connection"] == "close"


def test_more_connections_than_there_are_places_are_closed():
    with odd(server={"connections": 5, "head_s": 300.0}) as server:
        held = [connect(server) for _ in range(5)]

        def is_refused():
            with connect(server) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return read_all(connection).startswith(b"HTTP/1.1 503")

        until(is_refused)
        held.pop().close()
        until(lambda: server.get("/healthz").status == 200)

        for connection in held:
            connection.close()


def test_what_is_no_http_is_answered_and_forgotten(patient):
    with connect(patient) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03canary\r\n\r\n")

        found = read_all(connection)

    assert found.startswith(b"HTTP/1.1 400")
    assert "canary" not in patient.log
