"""How fast it goes."""

import pytest

from voirdire.judging.calls import Speed


def test_the_rate_is_that_of_the_last_stretch_only():
    speed = Speed(window_s=10)
    for second in range(100):
        # 5 a second for 50 s, then 20
        speed.note(5 * min(second, 50) + 20 * max(0, second - 50), now=float(second))

    assert speed.per_second == 20


@pytest.mark.parametrize("noted", [[], [(7, 0.0)], [(7, 1.0), (9, 1.0)], [(9, 0.0), (7, 1.0)]])
def test_without_a_stretch_of_time_the_rate_is_0(noted):
    speed = Speed()
    for count, now in noted:
        speed.note(count, now=now)

    assert speed.per_second == 0


def test_a_long_run_keeps_no_more_than_the_stretch():
    speed = Speed(window_s=10)
    for tick in range(10_000):
        speed.note(tick, now=tick / 4)

    assert speed.per_second == pytest.approx(4)
    assert len(speed._noted) <= 43
