"""The collector during a run, and afterwards."""

from __future__ import annotations

import gc

import pytest

from voirdire.judging.llm.collecting import collected_seldom


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_two_runs_at_once_leave_the_collector_as_it_was():
    gc.set_threshold(700, 10, 10)

    with collected_seldom():
        with collected_seldom():
            assert gc.get_threshold() == (20_000, 10, 10)
        assert gc.get_threshold() == (20_000, 10, 10)

    assert gc.get_threshold() == (700, 10, 10)


def test_a_run_that_fails_leaves_the_collector_as_it_was():
    gc.set_threshold(700, 10, 10)

    with pytest.raises(KeyError), collected_seldom():
        raise KeyError

    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (50_000, 5, 5)])
def test_who_collects_even_less_often_is_left_in_peace(own):
    gc.set_threshold(*own)

    with collected_seldom():
        assert gc.get_threshold() == own

    assert gc.get_threshold() == own


def test_what_is_set_during_a_run_stays():
    gc.set_threshold(700, 10, 10)

    with collected_seldom():
        gc.set_threshold(1_000, 10, 10)

    assert gc.get_threshold() == (1_000, 10, 10)
