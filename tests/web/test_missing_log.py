"""What the log says of rewards that are missing, and of what a server needs."""

import asyncio
import logging

import pytest

from clocks import stand_still
from web.in_process import NumberJudge, begun
from web.served import serving, until

LACKING = {"response": "0 0 0", "behavior": "refuse", "base_reward": None}


def test_a_reason_is_written_once_a_minute_with_its_count(monkeypatch, caplog):
    put_forward = stand_still(monkeypatch)

    async def ask():
        async with begun(NumberJudge(), base_column="base_reward") as app:
            for seconds in (0, 1, 29, 29, 2, 1):  # at 0, 1, 30, 59, 61 and 62 s
                put_forward(seconds)
                await app.post([LACKING, LACKING])

    with caplog.at_level(logging.WARNING):
        asyncio.run(ask())

    told = [record.getMessage().partition(",")[0] for record in caplog.records]
    assert told == ["rewards missing: 2", "rewards missing: 8", "rewards missing: 2"]
    assert "needs one" in caplog.text


def test_who_forgets_base_rewards_is_told_and_no_text_is_in_it(caplog):
    async def ask():
        async with begun(NumberJudge(), base_column="base_reward") as app:
            canary = {"response": "canary 0 0", "prompt": "canary", "behavior": "canary"}
            await app.post([canary, LACKING])

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
