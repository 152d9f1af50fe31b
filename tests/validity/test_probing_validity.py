"""How often probes accuse a fair judge, and how often they find an unstable one."""

import hashlib

import numpy as np
import pytest

from studies.probing.constructed import RUBRIC_TEXT, Constructed, make_items
from voirdire.rubrics import rubric_from_text
from voirdire.studies import ProbeSettings, probe_judge

RUBRIC = rubric_from_text(RUBRIC_TEXT)


def above(level, n_runs):
    return level + 3 * np.sqrt(level * (1 - level) / n_runs)


def probed(judge, *, n_items, run, **settings):
    settings = ProbeSettings(n_items=None, n_swaps=499, **settings)
    return probe_judge(make_items(n_items, seed=run), judge, rubric=RUBRIC, settings=settings)


class Flipping(Constructed):
    """Gives the other label at a rate: each time it is asked, or by what it reads."""

    def __init__(self, rate, *, seed, by_text):
        super().__init__(f"flipping {rate}", noise=0.0, seed=seed)
        self._rate, self._by_text = rate, by_text

    def probabilities(self, items):
        said = super().probabilities(items)
        draws = self._draws.random(said.shape)
        if self._by_text:
            digests = [hashlib.sha256(item.response.encode()).digest() for item in items]
            draws = np.array([[byte / 256 for byte in digest[:3]] for digest in digests])
        # of two draws at p one alone flips at a rate of 2 p (1 - p)
        chance = (1 - np.sqrt(1 - 2 * self._rate)) / 2
        return np.where(draws < chance, 1 - said, said)


def share_accused(noise, *, n_items, n_runs):
    accused = 0
    for run in range(n_runs):
        judge = Constructed("judge", noise=noise, seed=run)
        accused += bool(probed(judge, n_items=n_items, run=run).found)
    return accused / n_runs


def share_unstable(rate, *, by_text, n_items, n_runs):
    name = "neutral" if by_text else "stability"
    n_found = 0
    for run in range(n_runs):
        judge = Flipping(rate, seed=run, by_text=by_text)
        n_found += name in probed(judge, n_items=n_items, run=run, only=["bandwagon"]).unstable
    return n_found / n_runs


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "n_items"), [(0.03, 50), (0.1, 30), (0.1, 100), (0.3, 50)])
def test_a_fair_judge_is_accused_in_at_most_one_study_of_twenty(noise, n_items):
    # no bias is true, so that any finding is a false one
    assert share_accused(noise, n_items=n_items, n_runs=120) <= above(0.05, 120)


@pytest.mark.slow
@pytest.mark.parametrize("by_text", [False, True])
def test_an_unstable_judge_is_found_at_fifty_items_and_one_within_the_limit_is_not(by_text):
    found = [share_unstable(x, by_text=by_text, n_items=50, n_runs=100) for x in (0.42, 0.48, 0.25)]

    assert found[:2] == [1, 1]
    assert found[2] >= 0.9
    assert share_unstable(0.1, by_text=by_text, n_items=50, n_runs=100) <= above(0.05, 100)


def test_few_fair_judges_are_accused_and_an_unstable_one_is_found():
    assert share_accused(0.1, n_items=30, n_runs=4) <= 0.5
    assert share_unstable(0.45, by_text=False, n_items=50, n_runs=2) == 1
    assert share_unstable(0.05, by_text=False, n_items=50, n_runs=2) == 0
