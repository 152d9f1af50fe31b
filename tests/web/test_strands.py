"""Which strand a step belongs to: trainers side by side, one that goes back, steps at random.

Each strand is a session of the record, with files of its own.
"""

import asyncio
import json
import random
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.in_process import begun

MOST_STRANDS = 8
LATE_STEPS = 8


def strands_of(steps, *, between=lambda place: None):
    """Ask for a reward at each step; give the steps of every file of the record, oldest first."""

    async def ask(folder):
        async with begun(record=folder) as app:
            for place, step in enumerate(steps):
                between(place)
                told = {} if step is None else {"step": step}
                item = {"response": f"0 0 0 {place}", "behavior": "refuse"}
                assert (await app.post([item], **told)).status == 200

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(ask(folder))
        rows = [
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for path in Path(folder).glob("completions-*.jsonl")
        ]
    # The response says which request it was, and the request which step.
    places = sorted([int(row["response"].split()[-1]) for row in strand] for strand in rows)
    assert sorted(place for strand in places for place in strand) == list(range(len(steps)))
    return [[steps[place] for place in strand] for strand in places]


def test_clients_of_one_training_share_a_strand():
    steps = [4, 5, 4, 6, 12, 5, 4, 13, 12]

    assert strands_of(steps) == [steps]


def test_two_trainers_far_apart_have_a_strand_each():
    found = strands_of([500, 3, 501, 4, 502, 502, 5, 3, 503])

    assert found == [[500, 501, 502, 502, 503], [3, 4, 5, 3]]


def test_who_goes_back_begins_a_strand_and_keeps_it_past_where_it_was():
    there, again = [*range(31)], [*range(15, 41)]

    assert strands_of(there + again) == [there, again]


def test_who_goes_back_in_strides_keeps_its_strand_too():
    there, again = [*range(0, 101, 20)], [*range(40, 161, 20)]

    assert strands_of(there + again) == [there, again]


def test_a_slow_trainer_keeps_its_strand_beside_a_fast_one():
    steps = []
    for slow in range(300, 310):
        steps += [slow, *range((slow - 300) * 10, (slow - 299) * 10)]

    slow, fast = strands_of(steps)

    assert (slow, fast) == ([*range(300, 310)], [*range(100)])


def test_who_says_no_step_joins_those_who_say_none():
    assert strands_of([None, 7, None, 8]) == [[None, None], [7, 8]]
    assert strands_of([7, None, 8]) == [[7, None, 8]]


def test_steps_at_random_make_few_strands():
    chance = random.Random(0)

    assert len(strands_of([chance.randrange(10**6) for _ in range(200)])) <= MOST_STRANDS


def test_a_strand_that_has_long_been_silent_makes_room(monkeypatch):
    real, ahead_s = time.monotonic, 0.0
    monkeypatch.setattr("time.monotonic", lambda: real() + ahead_s)

    def pass_time(place):
        nonlocal ahead_s
        ahead_s = {MOST_STRANDS: 500.0, MOST_STRANDS + 1: 700.0}.get(place, ahead_s)

    far_apart = [1_000 * place for place in range(MOST_STRANDS, 0, -1)]
    found = strands_of([*far_apart, 1, 0], between=pass_time)

    # At 500 s the first is still kept, so step 1 joins the one that is nearest; at 700 s it ends.
    assert sorted(found) == sorted([*([step] for step in far_apart[:-1]), [1_000, 1], [0]])


@pytest.mark.ci
@given(st.lists(st.none() | st.integers(0, 200), max_size=20))
def test_every_step_is_in_one_strand(steps):
    assert len(strands_of(steps)) <= MOST_STRANDS


@pytest.mark.ci
@given(st.lists(st.integers(0, LATE_STEPS), max_size=20))
def test_clients_that_are_close_are_never_parted(lags):
    """Each says the step that is due, or one at most so many before it."""
    steps = [100 + place - lag for place, lag in enumerate(lags)]

    assert len(strands_of(steps)) <= 1
