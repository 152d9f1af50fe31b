"""Every reason that a live reward gives has a class; no reason is its own class."""

import asyncio

import pytest

from voirdire.adapters.golden import golden_judge, golden_reward, golden_rows
from voirdire.judging.live.answers import CLOSED, LATE, TOO_MANY
from voirdire.rewards.live import LiveReward, LiveSettings
from voirdire.web.reasons import NO_PLACE, REASON_CLASSES, reason_class


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        (f"failed verdict: {LATE}", "late"),
        (f"failed verdict: {TOO_MANY}", "no_place"),
        (f"failed verdict: {CLOSED}", "ending"),
        ("failed verdict: content filter: some text", "failed_verdict"),
        ("no verdict", "failed_verdict"),
        ("no behavior", "behavior"),
        ("no weights for behavior 'x'", "behavior"),
        ("unknown behavior 'x'", "behavior"),
        ("no base reward", "base_reward"),
        ("the base reward is no finite number", "base_reward"),
        ("the reward is too large a number", "number"),
        (NO_PLACE, "no_place"),
        ("some text", "other"),
    ],
)
def test_a_reason_has_a_class(reason, found):
    assert reason_class(reason) == found
    assert found in REASON_CLASSES


def test_the_reasons_of_the_golden_table_are_all_known():
    turns = [row.turn for row in golden_rows() if "late" not in row.kinds]

    async def reasons():
        live = LiveReward(golden_reward(), judge=golden_judge(), settings=LiveSettings())
        await live.start()
        found = await live.turn_rewards(turns)
        await live.close()
        return set(found.scores.missing.values())

    found = {reason: reason_class(reason) for reason in asyncio.run(reasons())}

    assert found
    assert "other" not in found.values(), found
