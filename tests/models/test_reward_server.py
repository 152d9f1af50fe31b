"""The client of a reward server, against a server that does as it is told."""

import asyncio
from itertools import chain, repeat

import pytest

from clocks import PassingClock
from models.chat_server import hang_up, serving
from voirdire import errors
from voirdire.errors import AccessError, BadRequestError, ModelTimeoutError, ServerError
from voirdire.models import reward_server
from voirdire.models.reward_server import RewardServer, is_reward_server

TOKEN = "a-token-that-nobody-may-see"
SAID = "OPEN SESAME"
ITEMS = {"items": [{"response": SAID}, {"response": "no"}]}
FINE = {
    "rewards": [1.5, None], "rule_rewards": [1.5, None], "base_rewards": [0.0, 0.0],
    "behaviors": ["refuse", None], "missing": [None, "no behavior"], "partial": False,
    "n_late": 0, "n_remembered": 1, "n_stored": 0, "seconds": 0.1,
    "reward": {"name": "r", "content_hash": "sha256:1", "fingerprint": "sha256:2"},
    "probabilities": {"propositions": ["sorry"], "values": [[0.25], [None]]},
}  # fmt: skip


def refusal(status, code="no_such", **headers):
    return status, {"error": {"code": code, "message": f"{SAID} {TOKEN}"}}, headers


BUSY = refusal(503, "queue_full", **{"Retry-After": "1"})


def ask(*answers, deadline_s=30.0, body=ITEMS, describes=False, address=None):
    """Ask once; give what came, or the error, and what the server saw.

    The answers come one after the other, the last one for ever.
    """

    async def run():
        told = chain(answers, repeat(answers[-1]))
        async with serving(lambda *_: next(told)) as (base_url, seen):
            server = RewardServer(address or base_url)
            try:
                asking = (
                    server.description() if describes else server.ask(body, deadline_s=deadline_s)
                )
                return await asking, seen
            except errors.ModelCallError as error:
                return error, seen
            finally:
                await server.close()

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Let the client wait for nothing before it asks again."""
    monkeypatch.setenv("VOIRDIRE_TOKEN", TOKEN)
    clock = PassingClock()
    clock.rule(reward_server, monkeypatch)
    return clock


def test_it_asks_for_verdicts_and_reads_them(monkeypatch):
    found, ((body, headers, path),) = ask(FINE, deadline_s=10.0)

    assert found.rule_rewards == [1.5, None]
    assert (found.behaviors, found.missing) == (["refuse", None], [None, "no behavior"])
    assert found.probabilities.values == [[0.25], [None]]
    assert (found.reward.content_hash, found.n_remembered) == ("sha256:1", 1)
    assert body == ITEMS | {"verdicts": True, "deadline_s": 9.0}
    assert (headers["Content-Type"], path) == ("application/json", "/v1/rewards")
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    monkeypatch.delenv("VOIRDIRE_TOKEN")
    assert "Authorization" not in ask(FINE)[1][0][1]


@pytest.mark.parametrize(
    ("answers", "pauses"),
    [
        ([BUSY, FINE], [1.0]),
        ([refusal(503, **{"Retry-After": "0"}), FINE], [0.1]),
        ([*[hang_up] * 4, FINE], [0.1, 0.2, 0.4, 0.8]),
        *(([refusal(503, **{"Retry-After": odd}), FINE], [0.1]) for odd in ("soon", "-1", "1e3")),
    ],
)
def test_a_server_that_is_busy_or_away_is_asked_again_as_it_wishes(clock, answers, pauses):
    found, seen = ask(*answers)

    assert found.rule_rewards == [1.5, None]
    assert len(seen) == len(answers)
    assert clock.pauses == pauses


def test_a_busy_server_is_asked_until_the_deadline_and_not_beyond(clock):
    found, seen = ask(refusal(503), deadline_s=60.0)

    assert type(found) is ServerError
    assert clock.now == pytest.approx(1_060.0, abs=max(clock.pauses))
    assert len(seen) == len(clock.pauses) + 1 >= 3
    error, seen = ask(refusal(503, "queue_full", **{"Retry-After": "100"}), deadline_s=20.0)
    assert (error.retry_after_s, len(seen)) == (100.0, 1)
    assert "answered 503 (queue_full)" in str(error)


@pytest.mark.parametrize(
    ("answer", "kind", "n_tries"),
    [
        (refusal(500, "internal"), ServerError, 3),
        *((refusal(status), BadRequestError, 1) for status in (400, 413, 422)),
        *((refusal(status), AccessError, 1) for status in (401, 403, 404, 421)),
        (refusal(302, Location="http://127.0.0.1:9/elsewhere"), AccessError, 1),
        *((FINE | {name: 3}, ServerError, 3) for name in ("n_late", "n_remembered", "n_stored")),
        (FINE | {"n_late": -1}, ServerError, 3),
        (FINE | {"rule_rewards": [1.5]}, ServerError, 3),
        (FINE | {"rule_rewards": ["high", SAID]}, ServerError, 3),
        (FINE | {"behaviors": []}, ServerError, 3),
        (FINE | {"missing": [None] * 3}, ServerError, 3),
        (FINE | {"reward": {"name": "r"}}, ServerError, 3),
        *(
            (FINE | {"probabilities": {"propositions": ["sorry"], "values": rows}}, ServerError, 3)
            for rows in ([[0.5]], [[0.5], []], [[1.5], [None]], [[-0.1], [None]], None)
        ),
        *((body, ServerError, 3) for body in (b"", b"<html>", b"[]", b"null", b"\xff")),
        (b'{"a":' * 50_000, ServerError, 3),
        (b'{"rule_rewards": [1e999, 1]}', ServerError, 3),
        (b" " * (17 * 2**20), ServerError, 3),
    ],
)
def test_what_is_no_answer_is_an_error_that_tells_neither_text_nor_token(answer, kind, n_tries):
    found, seen = ask(answer)

    assert type(found) is kind
    assert len(seen) == n_tries
    assert found.__context__ is None
    for secret in (TOKEN, SAID, "<html>"):
        assert secret not in str(found)


def test_only_our_own_words_of_a_refusal_are_told():
    codes = ("malformed", "no_token", "too_large", "wrong_form", "queue_full", "not_ready")

    for code in (*codes, SAID, "x" * 100, 5, None, {"a": 1}, "no_token\n"):
        told = f" ({code})" if code in codes else ""
        assert str(ask(refusal(400, code))[0]) == f"the reward server answered 400{told}."


def test_a_server_that_does_not_answer_costs_the_deadline():
    found, _ = ask(lambda *_: asyncio.sleep(30), deadline_s=0.1)
    nobody, _ = ask(FINE, deadline_s=0.5, address="http://127.0.0.1:9")

    assert type(found) is ModelTimeoutError
    assert "no connection" in str(nobody)


def test_a_description_is_read_or_an_error():
    found, ((_, headers, path),) = ask({"document": {"a": 1}}, describes=True)

    assert (found, path) == ({"document": {"a": 1}}, "/v1/reward")
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    for answer in (refusal(404), b"<html>", refusal(503)):
        assert "the reward server" in str(ask(answer, describes=True)[0])


def test_an_address_is_one_and_holds_no_secret():
    for address, base in [
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("https://Rewards.example/behind/a/proxy/", "https://rewards.example/behind/a/proxy"),
    ]:
        assert RewardServer(address).address == base
        assert is_reward_server(address)
    for address in ("http://", "ftp://x", "http://me:secret@x", "http://x/?token=secret"):
        with pytest.raises(errors.InputError, match="`reward` must be") as told:
            RewardServer(address)
        assert "secret" not in str(told.value)
    assert not is_reward_server("http.json")
    assert not is_reward_server(5)


def test_half_a_surrogate_pair_is_sent_as_an_escape():
    items = [{"response": "\ud83d", "group": {1: (2,)}}, {"response": "no"}]

    _, ((body, *_),) = ask(FINE, body={"items": items})

    assert body["items"] == [{"response": "\ud83d", "group": {"1": [2]}}, items[1]]
