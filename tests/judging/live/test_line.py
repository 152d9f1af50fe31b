"""Who is served next."""

import math
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from voirdire.judging.live.line import Line


@dataclass
class Waiting:
    name: int
    wanted_until: float = math.inf
    is_answered: bool = False


def all_of(line, now):
    found = []
    while (first := line.next(now)) is not None:
        found.append(first.name)
    return found


def test_first_come_first_served():
    line = Line(lambda dropped: None, patience_s=1.0)

    line.add([Waiting(1), Waiting(2)])
    line.add([Waiting(3)])

    assert len(line) == 3
    assert all_of(line, 0.0) == [1, 2, 3]
    assert len(line) == 0


def test_what_is_late_comes_after_what_is_not_and_not_for_ever():
    dropped = []
    line = Line(dropped.append, patience_s=10.0)
    line.add([Waiting(1, 5.0), Waiting(2, 4.0), Waiting(3, 20.0), Waiting(4, -5.0)])

    found = all_of(line, 6.0)

    assert found[0] == 3
    assert sorted(found[1:]) == [1, 2]
    assert [each.name for each in dropped] == [4]


def test_what_is_asked_for_again_is_not_late_any_more():
    line = Line(lambda dropped: None, patience_s=100.0)
    late = [Waiting(k, 1.0) for k in range(3)]
    line.add([*late, *(Waiting(k) for k in range(10, 20))])

    first = line.next(2.0).name
    late[2].wanted_until = 50.0
    found = [first, *all_of(line, 2.0)]

    assert found.index(2) <= 4  # one of the late ones is looked at each time
    assert sorted(found) == [0, 1, 2, *range(10, 20)]


def test_what_is_answered_is_not_begun():
    dropped = []
    line = Line(dropped.append, patience_s=1.0)
    line.add([Waiting(1, is_answered=True), Waiting(2), Waiting(3, 0.0, is_answered=True)])

    assert all_of(line, 0.5) == [2]
    assert sorted(each.name for each in dropped) == [1, 3]


def test_taking_all_out_leaves_none():
    line = Line(lambda dropped: None, patience_s=1.0)
    line.add([Waiting(1, 0.0), Waiting(2)])
    line.next(0.5)
    line.add([Waiting(3)])

    assert [each.name for each in line.clear()] == [3, 1]
    assert len(line) == 0


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10), st.booleans()), min_size=1, max_size=30)
)
def test_each_is_taken_or_dropped_once(rows):
    """Each is put in at a moment, wanted until another, and something is taken each time."""
    taken, dropped = [], []
    line = Line(dropped.append, patience_s=2.0)
    rows = sorted(rows, key=lambda row: row[0])

    for name, (now, wanted_until, is_answered) in enumerate(rows):
        line.add([Waiting(name, wanted_until, is_answered)])
        if name % 3 == 0 and (first := line.next(now)) is not None:
            assert first.wanted_until + 2.0 >= now
            assert not first.is_answered
            taken.append(first)
    while (first := line.next(10.0)) is not None:
        taken.append(first)

    names = [each.name for each in [*taken, *dropped]]
    assert sorted(names) == list(range(len(rows)))
    assert len(line) == 0
