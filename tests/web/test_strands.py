"""Which strand a step belongs to: trainers side by side, one that goes back, steps at random."""

import random

from hypothesis import given
from hypothesis import strategies as st

from voirdire.web.strands import LATE_STEPS, MOST_STRANDS, Strands


class Kept:
    """Makes a list for each strand, and notes which of them ended."""

    def __init__(self):
        self.begun, self.ended = [], []
        self.strands = Strands(self.begin, self.ended.append)

    def begin(self):
        self.begun.append([])
        return self.begun[-1]

    def take(self, steps, *, now=0.0):
        for step in steps:
            self.strands.writer_of(step, now=now).append(step)
        return self.begun


def test_clients_of_one_training_share_a_strand():
    steps = [4, 5, 4, 6, 12, 5, 4, 13, 12]

    assert Kept().take(steps) == [steps]


def test_two_trainers_far_apart_have_a_strand_each():
    found = Kept().take([500, 3, 501, 4, 502, 502, 5, 3, 503])

    assert found == [[500, 501, 502, 502, 503], [3, 4, 5, 3]]


def test_who_goes_back_begins_a_strand_and_keeps_it_past_where_it_was():
    there, again = [*range(101)], [*range(50, 131)]

    assert Kept().take(there + again) == [there, again]


def test_who_goes_back_in_strides_keeps_its_strand_too():
    there, again = [*range(0, 101, 20)], [*range(40, 161, 20)]

    assert Kept().take(there + again) == [there, again]


def test_a_slow_trainer_keeps_its_strand_beside_a_fast_one():
    steps = []
    for slow in range(300, 310):
        steps += [slow, *range((slow - 300) * 10, (slow - 299) * 10)]

    slow, fast = Kept().take(steps)

    assert (slow, fast) == ([*range(300, 310)], [*range(100)])


def test_who_says_no_step_joins_those_who_say_none():
    assert Kept().take([None, 7, None, 8]) == [[None, None], [7, 8]]
    assert Kept().take([7, None, 8]) == [[7, None, 8]]


def test_steps_at_random_make_few_strands():
    chance = random.Random(0)

    kept = Kept()
    kept.take([chance.randrange(10**6) for _ in range(2_000)])

    assert len(kept.begun) <= MOST_STRANDS
    assert sum(map(len, kept.begun)) == 2_000
    assert kept.ended == []


def test_a_strand_that_has_long_been_silent_makes_room():
    kept = Kept()
    kept.take(range(1_000 * MOST_STRANDS, 0, -1_000))
    assert len(kept.begun) == MOST_STRANDS

    kept.take([1], now=599.0)
    assert kept.ended == []
    kept.take([1_000_000 - 2_000_000], now=601.0)

    assert len(kept.begun) == MOST_STRANDS + 1
    assert kept.ended == [kept.begun[0]]


@given(st.lists(st.none() | st.integers(0, 200), max_size=60))
def test_every_step_is_in_one_strand(steps):
    kept = Kept()
    kept.take(steps)

    told = [step for strand in kept.begun for step in strand]
    assert sorted(told, key=str) == sorted(steps, key=str)
    assert len(kept.begun) <= MOST_STRANDS


@given(st.lists(st.integers(0, LATE_STEPS), max_size=60))
def test_clients_that_are_close_are_never_parted(lags):
    """Each says the step that is due, or one at most so many before it."""
    steps = [100 + place - lag for place, lag in enumerate(lags)]

    assert len(Kept().take(steps)) <= 1
