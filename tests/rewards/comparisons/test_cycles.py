"""Preferences that go in cycles, against walks over all comparisons."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.fitting.fit_cases import RUBRIC
from voirdire.errors import CyclicComparisonsWarning, UncertifiedWarning
from voirdire.records import Verdicts
from voirdire.rewards import FitSettings, PreferenceCycles, comparisons_of, fit_reward


def cycles_of(rows):
    """Fit a reward on comparisons with some verdicts; give their cycles."""
    data = comparisons_of(rows, behavior="answer")
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
    return data, found.behaviors[0].cycles


def preferred(*pairs, prompt="Hi"):
    return [{"prompt": prompt, "chosen": one, "rejected": other} for one, other in pairs]


def texts(data, cycle):
    responses = {item.id: item.response for item in data.items}
    return [responses[one] for one in cycle]


def reached(pairs, start):
    """Walk from one completion to all that it is better than, step by step."""
    found, pending = set(), [start]
    while pending:
        one = pending.pop()
        new = {low for high, low in pairs if high == one} - found
        found |= new
        pending += new
    return found


def shortest(pairs, nodes):
    """Try every cycle of two, three, … completions."""
    for length in range(3, len(nodes) + 1):
        for path in itertools.permutations(nodes, length):
            if all(step in pairs for step in zip(path, (*path[1:], path[0]), strict=True)):
                return length
    return 0


def test_a_cycle_of_three_is_found_with_its_completions():
    data, found = cycles_of(preferred("ab", "bc", "ca", "ad", "eb"))

    assert (found.n_pairs, found.n_items, found.n_prompts) == (3, 3, 1)
    (cycle,) = found.examples
    assert "".join(texts(data, cycle)) in {"abc", "bca", "cab"}


def test_a_chain_a_tie_and_a_diamond_are_no_cycles():
    _, found = cycles_of(preferred("ab", "bc", "ac", "ad", "dc"))

    assert found == PreferenceCycles()
    assert found.in_words() == ""


def test_the_same_texts_under_other_prompts_do_not_close_a_cycle():
    _, found = cycles_of(preferred("ab", "bc", prompt="One") + preferred("ca", prompt="Two"))

    assert found.n_pairs == 0


def test_labels_and_declared_pairs_may_close_a_cycle_together():
    # labels: a over b; declared: b over c, c over a
    rows = [
        {"prompt": "Hi", "response": "a", "label": "good"},
        {"prompt": "Hi", "response": "b", "label": "bad"},
        *preferred("bc", "ca"),
    ]

    _, found = cycles_of(rows)

    assert (found.n_pairs, found.n_items) == (3, 3)


def test_the_shortest_cycles_are_shown_first_and_the_rest_is_counted():
    rows = [
        *preferred("ab", "bc", "cd", "de", "ea", prompt="five"),
        *preferred("ab", "bc", "ca", prompt="three"),
        *preferred("ab", "bc", "cd", "da", prompt="four"),
        *preferred("ab", "bc", "cd", "de", "ef", "fa", prompt="six"),
    ]

    _, found = cycles_of(rows)

    assert [len(cycle) for cycle in found.examples] == [3, 4, 5]
    assert (found.n_pairs, found.n_items, found.n_prompts) == (18, 18, 4)
    assert found.in_words().startswith("18 comparisons in 4 prompts go in cycles, such as ")


def test_a_shorter_cycle_that_the_first_completion_is_not_on_is_the_one_shown():
    data, found = cycles_of(preferred("ab", "bc", "cd", "da", "ce", "eb"))

    (cycle,) = found.examples
    assert sorted(texts(data, cycle)) == ["b", "c", "e"]


@pytest.mark.ci
@given(st.sets(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), min_size=1))
def test_counts_are_those_of_walking_from_every_completion(drawn):
    pairs = {(a, b) for a, b in drawn if a != b and not (a > b and (b, a) in drawn)}
    if not pairs:
        return

    data, found = cycles_of(preferred(*sorted(pairs)))

    on_cycle = {(a, b) for a, b in pairs if a in reached(pairs, b)}
    nodes = sorted({one for pair in on_cycle for one in pair})
    assert found.n_pairs == len(on_cycle)
    assert found.n_items == len(nodes)
    assert found.n_prompts == bool(on_cycle)
    assert len(found.examples[0] if found.examples else ()) == shortest(pairs, nodes)
    for cycle in found.examples:
        shown = texts(data, cycle)
        assert set(zip(shown, (*shown[1:], shown[0]), strict=True)) <= pairs


def test_a_long_cycle_is_told_in_few_words():
    names = [f"r{k:02}" for k in range(40)]
    steps = [*itertools.pairwise(names), (names[-1], names[0])]

    _, found = cycles_of(preferred(*steps))

    assert len(found.examples[0]) == 40
    assert "34 more" in found.in_words()
    assert len(found.in_words()) < 400


@pytest.mark.ci
def test_a_tangle_of_many_comparisons_is_counted_whole():
    # 150 completions, each over the next 50 of them around a ring: 7,500 comparisons.
    names = [f"r{k:03}" for k in range(150)]
    steps = [(names[k], names[(k + j) % 150]) for k in range(150) for j in range(1, 51)]

    _, found = cycles_of(preferred(*steps))

    assert (found.n_pairs, found.n_items) == (7_500, 150)
    assert 3 <= len(found.examples[0]) <= 150
    assert np.unique(found.examples[0]).size == len(found.examples[0])
