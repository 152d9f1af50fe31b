"""Preferences that go in cycles, against walks over all comparisons."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.fitting.fit_cases import RUBRIC
from voirdire.errors import CyclicComparisonsWarning, UncertifiedWarning
from voirdire.records import Verdicts
from voirdire.rewards import FitSettings, fit_reward, read_comparisons


def n_cyclic_of(rows):
    """Fit a reward on comparisons with some verdicts; count those in cycles."""
    data = read_comparisons(rows, behavior="answer")
    judged = Verdicts(
        items=tuple(item.id for item in data.items),
        questions=RUBRIC.propositions,
        probabilities=np.random.default_rng(0).random((len(data.items), 4)),
        behaviors=(None,) * len(data.items),
        failures={},
        judge="hand",
        fingerprint="sha256:" + "0" * 64,
    )
    settings = FitSettings(orders={"*": "good > bad"}, l2=0.1, n_resamples=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CyclicComparisonsWarning)
        warnings.simplefilter("ignore", UncertifiedWarning)
        found = fit_reward(data, rubric=RUBRIC, verdicts=judged, settings=settings)
    return found.behaviors[0].n_cyclic_pairs


def preferred(*pairs, prompt="Hi"):
    return [{"prompt": prompt, "chosen": one, "rejected": other} for one, other in pairs]


def reached(pairs, start):
    """Walk from one completion to all that it is better than, step by step."""
    found, pending = set(), [start]
    while pending:
        one = pending.pop()
        new = {low for high, low in pairs if high == one} - found
        found |= new
        pending += new
    return found


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (("ab", "bc", "ca", "ad", "eb"), 3),
        (("ab", "bc", "ac", "ad", "dc"), 0),  # a chain, a tie and a diamond
    ],
)
def test_comparisons_that_are_part_of_a_cycle_are_counted(pairs, expected):
    assert n_cyclic_of(preferred(*pairs)) == expected


def test_the_same_texts_under_other_prompts_do_not_close_a_cycle():
    rows = preferred("ab", "bc", prompt="One") + preferred("ca", prompt="Two")

    assert n_cyclic_of(rows) == 0


def test_labels_and_declared_pairs_may_close_a_cycle_together():
    # labels: a over b; declared: b over c, c over a
    rows = [
        {"prompt": "Hi", "response": "a", "label": "good"},
        {"prompt": "Hi", "response": "b", "label": "bad"},
        *preferred("bc", "ca"),
    ]

    assert n_cyclic_of(rows) == 3


@pytest.mark.ci
@given(st.sets(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), min_size=1))
def test_counts_are_those_of_walking_from_every_completion(drawn):
    pairs = {(a, b) for a, b in drawn if a != b and not (a > b and (b, a) in drawn)}
    if not pairs:
        return

    n_cyclic = n_cyclic_of(preferred(*sorted(pairs)))

    assert n_cyclic == sum(a in reached(pairs, b) for a, b in pairs)


@pytest.mark.ci
def test_a_tangle_of_many_comparisons_is_counted_whole():
    # 150 completions, each over the next 50 of them around a ring: 7,500 comparisons.
    names = [f"r{k:03}" for k in range(150)]
    steps = [(names[k], names[(k + j) % 150]) for k in range(150) for j in range(1, 51)]

    assert n_cyclic_of(preferred(*steps)) == 7_500
