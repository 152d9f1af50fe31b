"""What the log says of rewards that are missing, and of what a server needs."""

import asyncio
import logging

import pytest

from voirdire.web.metrics import MissingLog
from web.in_process import NumberJudge, begun
from web.served import serving, until


@pytest.fixture
def clock(monkeypatch):
    """Give a clock that stands still until it is moved."""
    now = [1_000.0]
    monkeypatch.setattr("voirdire.web.metrics.time.monotonic", lambda: now[0])
    return now


def test_a_reason_is_written_once_a_minute_with_its_count(clock, caplog):
    missing = MissingLog()
    with caplog.at_level(logging.WARNING):
        for seconds in (0, 1, 30, 59, 60, 61):
            clock[0] = 1_000.0 + seconds
            missing.add("base_reward")
            missing.write()
        missing.close()

    told = [record.getMessage().partition(",")[0] for record in caplog.records]
    assert told == ["rewards missing: 1", "rewards missing: 4", "rewards missing: 1"]
    assert "needs one" in caplog.text


def test_reasons_are_written_apart(clock, caplog):
    missing = MissingLog()
    with caplog.at_level(logging.WARNING):
        for word in ("late", "behavior", "late"):
            missing.add(word)
        missing.write()

    assert [record.args[0] for record in caplog.records] == [2, 1]


def test_who_forgets_base_rewards_is_told_and_no_text_is_in_it(caplog):
    async def ask():
        async with begun(NumberJudge()) as app:
            canary = {"response": "canary 0 0", "prompt": "canary", "behavior": "canary"}
            lacking = {"response": "0 0 0", "behavior": "refuse", "base_reward": None}
            await app.post([canary, lacking])

    with caplog.at_level(logging.WARNING):
        asyncio.run(ask())

    assert "rewards missing: 1, the item has no base reward" in caplog.text
    assert "rewards missing: 1, the item has no behavior, or one" in caplog.text
    assert "canary" not in caplog.text


@pytest.mark.ci
def test_the_log_says_at_the_start_what_the_server_needs(reward_path):
    with serving("--reward", reward_path, "--behavior", "hard_refuse") as server:
        until(lambda: "clients need" in server.log)

        assert "judge: local" in server.log
        assert "clients need: a name of this machine, no base rewards" in server.log
        assert "behavior: 'hard_refuse' where an item has none" in server.log
