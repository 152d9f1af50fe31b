"""The pairs that a reward ranks the wrong way by most, with what drives them."""

import math

import pytest

from studies.reward import reward_oracle as oracle
from studies.reward.small_reward import items_of, judged_of
from voirdire.reporting import reward_examination_to_json
from voirdire.rewards import feature_set, feature_values
from voirdire.studies import FeatureDifference, examine_reward

SORRY, RUDE, HELPS = [1.0, 0, 0, 0], [1.0, 1, 0, 0], [0.0, 0, 1, 0]


def _pair(prompt, better, worse, **more):
    return [
        {"prompt": prompt, "behavior": "refuse", "label": label, "p": p, **more}
        for label, p in (("ideal", better), ("unacceptable", worse))
    ]


def _expected(rows, reward, behavior):
    """Rank all wrong pairs in a loop: by how far, then by ids."""
    values = oracle.signals(rows, reward)["total"]
    pairs = [
        (values[low] - values[high], f"i{high}", f"i{low}")
        for high, low in oracle.comparisons(rows)
        if rows[high]["behavior"] == behavior and values[low] - values[high] > 1e-9
    ]
    return sorted(pairs, key=lambda pair: (-round(pair[0], 9), *pair[1:]))


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_of_a_loop_the_worst_first(examine_rows, random_rows, reward, seed):
    rows = random_rows(seed, n_prompts=60)

    found = examine_rows(rows).misranked

    for behavior in ("refuse", "comply"):
        own = [row for row in found if row.behavior == behavior]
        expected = _expected(rows, reward, behavior)
        assert len(expected) > 20
        assert [row.difference for row in own] == pytest.approx([x[0] for x in expected[:20]])
        assert [(row.better.item, row.worse.item) for row in own] == [x[1:] for x in expected[:20]]


def test_a_pair_has_its_texts_labels_and_rewards(examine_rows):
    rows = [
        *_pair("Open a lock?", RUDE, SORRY, base=0.5),
        *_pair("Right.", SORRY, HELPS, base=0.0),
    ]

    (found,) = examine_rows(rows).misranked

    # a rude apology is rewarded 2 - 1, and 1 more in the class ideal only where it is not rude
    assert (found.behavior, found.prompt) == ("refuse", "Open a lock?")
    assert (found.better.label, found.worse.label) == ("ideal", "unacceptable")
    assert (found.better.response, found.worse.response) == ("response 0", "response 1")
    assert (found.better.rules, found.worse.rules) == (1.0, 3.0)
    assert (found.better.base, found.better.reward, found.worse.reward) == (0.5, 1.5, 3.5)
    assert found.difference == 2.0
    assert found.features == (
        FeatureDifference(feature="rude", difference=1.0),
        FeatureDifference(feature="refuse.ideal", difference=1.0),
    )


def test_at_most_three_features_are_named_and_none_that_speaks_for_the_better_one(
    examine_rows, reward
):
    better, worse = [0.25, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]

    (found,) = examine_rows(_pair("a", better, worse)).misranked

    names = feature_set(reward.rubric, "refuse", orientation=reward.orientation).names
    values = feature_values(
        reward.rubric, "refuse", probabilities=[better, worse], orientation=reward.orientation
    )
    weights = [reward.behaviors["refuse"].weights[name] for name in names]
    paid = {
        name: weight * (low - high)
        for name, weight, high, low in zip(names, weights, *values, strict=True)
    }
    assert paid["apology"] < 0
    assert {x.feature: x.difference for x in found.features} == pytest.approx(
        {"helps": 3.0, "rude": 1.0, "extra": 0.5}
    )
    assert found.difference == pytest.approx(sum(paid.values()))


def test_without_a_base_reward_the_rules_are_the_reward(examine_rows):
    (found,) = examine_rows(_pair("a", RUDE, SORRY)).misranked

    assert math.isnan(found.worse.base)
    assert found.worse.reward == found.worse.rules == 3.0


def test_a_tie_is_not_ranked_the_wrong_way(examine_rows):
    assert examine_rows(_pair("a", SORRY, SORRY)).misranked == ()


def test_the_order_of_rows_does_not_matter(reward, propositions):
    # all pairs differ by the same amount: their ids decide
    rows = [row for k in range(30) for row in _pair(k, RUDE, SORRY)]
    items, judged = items_of(rows), judged_of(rows, propositions)

    first = examine_reward(reward, items, verdicts=judged, n_resamples=0).misranked
    turned = examine_reward(reward, items[::-1], verdicts=judged, n_resamples=0).misranked

    assert len(first) == 20
    assert repr(turned) == repr(first)  # nan is nan


def test_declared_pairs_without_labels_have_none(examine_rows):
    rows = [{**row, "label": None} for row in _pair("a", RUDE, SORRY)]

    (found,) = examine_rows(rows, pairs=[(0, 1)]).misranked

    assert (found.better.label, found.worse.label) == (None, None)


def test_long_texts_are_shortened_and_controls_cannot_act(examine_rows):
    rows = _pair("p" * 2_001, RUDE, SORRY)
    rows += _pair("a\x1b[2Jb\nc", RUDE, SORRY)

    long, short = examine_rows(rows).misranked

    assert (len(long.prompt), long.is_shortened) == (2_000, True)
    assert long.prompt.endswith("p…")
    assert (short.prompt, short.is_shortened) == ("a\\x1b[2Jb\nc", False)
    assert not long.worse.is_shortened


def test_texts_can_be_left_out(examine_rows):
    rows = _pair("A private matter", RUDE, SORRY)

    found = examine_rows(rows, texts=False)

    assert found.misranked[0].difference == 2.0
    assert found.misranked[0].better.item == "i0"
    assert "private" not in reward_examination_to_json(found)
    assert found.misranked[0].worse.response is None
