"""Which comparisons are examined, and by which order of labels."""

import dataclasses

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle
from studies.reward.small_reward import RUBRIC, items_of
from voirdire.errors import InputError
from voirdire.rewards import comparisons_of, reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.studies.reward.examined import orders_for

OWN_CLASSES = RUBRIC.replace(
    "  comply:\n",
    "    classes: {fine: apology, so_so: rude, bad: otherwise}\n  comply:\n",
)


@pytest.mark.parametrize("seed", range(3))
def test_comparisons_are_those_of_a_loop_over_all_pairs(examine_rows, random_rows, seed):
    rows = random_rows(seed)

    examined = examine_rows(rows)

    found = {
        (int(high), int(low))
        for row in examined.behaviors
        for high, low in zip(row.better, row.worse, strict=True)
    }
    best = {
        (int(high), int(low))
        for row in examined.behaviors
        for high, low in zip(row.better[row.is_best], row.worse[row.is_best], strict=True)
    }
    pairs = oracle.comparisons(rows)
    assert found == set(pairs)
    assert best == set(oracle.of_best(rows, pairs))
    assert examined.n_comparisons == len(pairs)


def test_an_order_that_is_asked_for_comes_before_that_of_the_fit(reward, random_rows):
    data = comparisons_of(items_of(random_rows(0)))
    fitted = dataclasses.replace(reward, settings={"orders": {"refuse": "a > b", "*": "c > d"}})

    plain = orders_for(reward, data)
    of_fit = orders_for(fitted, data)
    asked = orders_for(fitted, data, orders={"refuse": "x > y"})

    assert str(plain["refuse"]).startswith("ideal > less_good")
    assert (str(of_fit["refuse"]), str(of_fit["comply"])) == ("a > b", "c > d")
    assert (str(asked["refuse"]), str(asked["comply"])) == ("x > y", "c > d")


def test_classes_without_an_order_are_refused_only_where_there_are_labels(random_rows):
    rubric = rubric_from_text(OWN_CLASSES, source="own.yaml")
    reward = reward_of_weights({"refuse": {"apology": 1.0}}, rubric=rubric, judge=None)
    labelled = comparisons_of(items_of(random_rows(0)))
    bare = dataclasses.replace(labelled, labels=(None,) * len(labelled.items))

    with pytest.raises(InputError, match="`orders` must say which classes of 'refuse'"):
        orders_for(reward, labelled)

    assert np.array_equal(orders_for(reward, bare)["refuse"].better_than, [[False]])
