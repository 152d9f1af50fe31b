"""Names of this machine, and sockets."""

import socket

import pytest

from voirdire.errors import InputError
from voirdire.rewards import LiveReward
from voirdire.testing import golden_judge, golden_reward
from voirdire.web import serve
from web.in_process import asked_app, at


@pytest.fixture(scope="module")
def named_app():
    with asked_app() as found:
        yield found


def refused(**options):
    """Give the words by which serving is refused."""
    with pytest.raises(InputError) as caught:
        serve(LiveReward(golden_reward(), judge=golden_judge()), **options)
    return str(caught.value)


@pytest.mark.edges
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
def test_only_on_this_machine_alone_is_a_server_without_a_token(host, is_own):
    words = refused(host=host, port=-1)  # a port that is none ends it in any case

    assert words.startswith("`port` must be" if is_own else "`host` must be")


@pytest.mark.parametrize(
    ("named", "is_own"),
    [
        (b"localhost:8000", True),
        (b"127.0.0.1", True),
        (b"[::1]:8000", True),
        (b"[::1]", True),
        (b"rewards.lan:8000", False),
        (b"evil.example:8000", False),
        (b"evil.example", False),
        (b"localhost.evil.example", False),
        (b"127.0.0.1.evil.example:80", False),
        (b"", False),
        (b"\xff", False),
        (b"localhost@evil.example", False),
    ],
)
def test_a_strangers_name_for_this_machine_is_not_its_own(named_app, named, is_own):
    app, run = named_app

    answer = run(at(app, named).ask("GET", "/healthz"))

    assert answer.status == (200 if is_own else 421)


def test_a_taken_port_is_told():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        words = refused(host="127.0.0.1", port=port)

    assert words.startswith(f"`port` must be free on 127.0.0.1, got {port}")


@pytest.mark.parametrize("port", [-1, 65_536, True])
def test_a_port_that_is_none_is_told(port):
    assert refused(port=port).startswith("`port` must be in 0 to 65535")


def test_a_host_that_is_none_is_told():
    words = refused(host="::1%no-such-interface", port=0)

    assert words.startswith("`host` must be a name or an address")
