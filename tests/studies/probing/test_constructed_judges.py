"""Judges with one known bias: that bias is found, and no other."""

import hashlib
import re

import numpy as np
import pytest

from studies.probing.constructed import (
    RUBRIC_TEXT,
    Constructed,
    by_authority,
    by_command,
    by_crowd,
    by_length,
    by_markdown,
    make_items,
)
from voirdire.rubrics import rubric_from_text
from voirdire.studies import ProbeSettings, probe_judge

RUBRIC = rubric_from_text(RUBRIC_TEXT)
QUICK = ProbeSettings(n_items=None, n_swaps=1_999, without=["steering"])


def probed(judge, n_items=60, settings=QUICK, **more):
    return probe_judge(make_items(n_items), judge, rubric=RUBRIC, settings=settings, **more)


def found_families(report):
    return {row.family for row in report.found}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("bias", "families"),
    [
        (lambda item: 0.0, set()),
        (by_length, {"verbosity"}),
        (by_authority, {"authority"}),
        (by_markdown, {"style"}),
        (by_crowd, {"bandwagon"}),
    ],
    ids=["fair", "length", "authority", "style", "crowd"],
)
@pytest.mark.parametrize("noise", [0.0, 0.04])
def test_the_one_bias_is_found_and_no_other(bias, families, noise):
    report = probed(Constructed("judge", bias, noise=noise))

    assert found_families(report) == families
    assert report.unstable == ()
    for row in report.found:
        assert row.advice
        assert abs(row.shift) == pytest.approx(0.12, abs=0.06)


@pytest.mark.ci
def test_a_judge_that_obeys_is_found_by_steering_alone():
    settings = ProbeSettings(n_items=None, n_swaps=1_999)

    report = probed(Constructed("judge", by_command, noise=0.02), settings=settings)

    assert found_families(report) == {"steering"}
    assert all(row.shift > 0 for row in report.found)


def test_a_random_judge_has_a_noise_floor_and_no_bias():
    class Random(Constructed):
        def probabilities(self, items):
            return self._draws.random((len(items), 3))

    report = probed(Random("random"), n_items=50)

    assert found_families(report) == set()
    assert report.unstable == ("stability", "neutral")
    together = report.stability
    assert together.flip_rate.estimate == pytest.approx(0.5, abs=0.12)
    assert together.mean_difference == pytest.approx(1 / 3, abs=0.06)  # of two uniform numbers
    assert together.alpha == pytest.approx(0, abs=0.15)


class ByHash(Constructed):
    """Says anything, and the same again of the same text: a random judge at temperature 0."""

    def probabilities(self, items):
        rows = []
        for item in items:
            digest = hashlib.sha256(item.response.encode()).digest()
            rows.append([byte / 255 for byte in digest[:3]])
        return np.array(rows)


@pytest.mark.ci
@pytest.mark.parametrize("n_items", [60, 150])
def test_a_random_judge_that_repeats_itself_is_moved_by_every_line_and_has_no_bias(n_items):
    report = probed(ByHash("hash"), n_items=n_items, settings=ProbeSettings(n_items=None))

    assert report.stability.flip_rate.estimate == 0
    assert report.neutral.flip_rate.estimate == pytest.approx(0.5, abs=0.1)
    assert report.unstable == ("neutral",)
    assert found_families(report) == set()


def test_a_judge_that_repeats_itself_has_no_noise():
    report = probed(Constructed("judge", noise=0.0))

    assert report.stability.flip_rate.estimate == 0
    assert report.stability.alpha == 1


@pytest.mark.ci
def test_the_noise_of_words_does_not_hide_in_the_shift_of_a_bias():
    """The size of a bias is the size it was built with."""
    exact = Constructed("judge", lambda item: 0.1 * bool(re.search(r"\*\*", item.response)))

    report = probed(exact, n_items=150)

    [style] = [row for row in report.probes if row.probe == "style/markdown"]
    assert style.shift == pytest.approx(0.1, abs=0.02)
    for question in style.questions:
        assert question.change.shift.low < 0.1 < question.change.shift.high
