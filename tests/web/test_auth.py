"""Who may ask: tokens, names of the machine, and what browsers of strangers can send."""

import base64
from pathlib import Path

import pytest

from web.conftest import TOKEN
from web.served import until

PATHS = ("/v1/reward", "/v1/models", "/metrics")


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_answered(guarded, path):
    answer = guarded.get(path, headers={"Authorization": f"Bearer {TOKEN}x"})

    assert (answer.status, answer.code) == (401, "no_token")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.body.decode()


def test_a_token_in_another_place_is_none(guarded):
    answer = guarded.get(f"/v1/reward?token={TOKEN}", headers={"Authorization": "x"})

    assert answer.status == 401


def test_with_the_token_everything_is_answered(guarded):
    assert guarded.get("/v1/reward").status == 200
    assert guarded.post([{"response": "no", "behavior": "comply"}]).status == 200


def test_the_token_may_be_a_password(guarded):
    """Some clients take an address with a password, and no header."""
    word = base64.b64encode(f"trainer:{TOKEN}".encode()).decode()

    assert guarded.get("/v1/reward", headers={"Authorization": f"Basic {word}"}).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/schema.json"])
def test_probes_and_the_description_need_no_token(guarded, path):
    assert guarded.get(path, headers={"Authorization": ""}).status == 200


def test_with_a_token_any_name_will_do(guarded):
    assert guarded.get("/v1/reward", headers={"Host": "rewards.example"}).status == 200


@pytest.mark.ci
def test_the_token_is_nowhere_to_be_seen(guarded_server):
    guarded_server.get("/v1/reward", headers={"Authorization": f"Bearer {TOKEN}x"})
    seen = [guarded_server.get(path).body for path in ("/metrics", "/schema.json", "/v1/models")]

    command = Path("/proc", str(guarded_server.process.pid), "cmdline")
    if command.exists():
        seen.append(command.read_bytes())
    seen.append(guarded_server.log.encode())

    assert not any(TOKEN.encode() in text for text in seen)


@pytest.mark.parametrize("path", ["/v1/reward", "/v1/models", "/healthz", "/nothing"])
def test_a_strangers_name_for_this_machine_is_refused(local, path):
    """A page can have its name point here, and read the answers through the reader's browser."""
    answer = local.get(path, headers={"Host": "evil.example:8000"})

    assert (answer.status, answer.code) == (421, "wrong_host")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]
)
@pytest.mark.parametrize("path", ["/v1/rewards", "/openrlhf", "/v1/systemone"])
def test_what_browsers_may_post_to_strangers_is_refused(local, kind, path):
    answer = local.ask("POST", path, b'{"items": []}', headers={"Content-Type": kind})

    assert (answer.status, answer.code) == (415, "wrong_type")


def test_json_with_a_charset_is_json(local):
    kind = {"Content-Type": "application/json; charset=utf-8"}

    assert local.ask("POST", "/v1/rewards", b'{"items": []}', headers=kind).status == 200


def test_no_page_of_a_stranger_may_read_answers(local):
    origin = {"Origin": "http://evil.example"}

    answer = local.ask("OPTIONS", "/v1/rewards", headers=origin)

    assert answer.status == 405
    for found in (answer, local.get("/v1/reward", headers=origin)):
        assert not [name for name in found.headers if name.startswith("access-control")]


@pytest.mark.ci
def test_a_stranger_with_a_large_body_hears_so(guarded_server):
    answer = guarded_server.ask(
        "POST", "/v1/rewards", b"x" * 200_000, headers={"Authorization": "Bearer x"}
    )

    assert answer.status == 401


@pytest.mark.ci
def test_nobody_can_pass_for_another_client(local_server):
    """Whoever stands in front of the server is the client: the header is anybody's to send."""
    n_lines = local_server.log.count("GET /v1/reward 200")

    local_server.get("/v1/reward", headers={"X-Forwarded-For": "203.0.113.7"})

    until(lambda: local_server.log.count("GET /v1/reward 200") > n_lines)
    assert "203.0.113.7" not in local_server.log
