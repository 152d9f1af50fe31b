"""Every reason why a reward is missing is counted in a class of its own; none is "other"."""

import asyncio
import math
import threading

import pytest

from voirdire.testing import golden_judge, golden_rows
from web.in_process import NumberJudge, begun

CLASSES = {
    *("late", "failed_verdict", "behavior", "base_reward", "unreadable", "number", "no_place"),
    *("ending", "other"),
}


def missing_of(items, *, judge=None, **asked):
    """Ask for rewards; give how many are missing, by class of reason."""

    async def ask():
        async with begun(judge, base_column="base_reward") as app:
            assert (await app.post(items, **asked)).status == 200
            return await app.figures()

    return counts_of(asyncio.run(ask()))


def counts_of(figures):
    """Give how many rewards are missing, by class of reason."""
    counts = {key[1]: n for key, n in figures.items() if "rewards_missing_total" in key[0]}
    assert set(counts) == CLASSES
    return {name: n for name, n in counts.items() if n}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"response": "nan 0 0", "behavior": "refuse", "base_reward": 1}, "failed_verdict"),
        ({"response": "0 0 0", "base_reward": 1}, "behavior"),
        ({"response": "0 0 0", "behavior": "dance", "base_reward": 1}, "behavior"),
        ({"response": "0 0 0", "behavior": "refuse", "base_reward": None}, "base_reward"),
        ({"response": [{"role": "user", "content": "x"}], "behavior": "refuse"}, "unreadable"),
    ],
)
def test_a_reason_has_a_class(item, found):
    assert missing_of([item]) == {found: 1}


def test_what_does_not_come_in_time_is_late():
    let_go = threading.Event()
    items = [{"response": "wait", "behavior": "refuse"}]

    async def ask():
        async with begun(NumberJudge(waiting=let_go)) as app:
            answer = await app.post(items, deadline_s=0.01)
            let_go.set()
            return answer.status, await app.figures()

    status, figures = asyncio.run(ask())

    assert status == 200
    assert counts_of(figures) == {"late": 1}


def test_the_reasons_of_the_golden_table_are_all_known():
    turns = [row.turn for row in golden_rows() if not {"late", "not_text"} & set(row.kinds)]
    items = [
        {"response": turn.response, "prompt": turn.prompt, "behavior": turn.behavior}
        | ({} if turn.base_reward is None else {"base_reward": finite(turn.base_reward)})
        for turn in turns
    ]

    found = missing_of(items, judge=golden_judge())

    assert found
    assert "other" not in found


def finite(number):
    """JSON has no words for the others."""
    return number if isinstance(number, int | float) and math.isfinite(number) else None
