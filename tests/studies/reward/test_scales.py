"""Origin and scale of the rule rewards of each behavior."""

import math

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle


@pytest.mark.parametrize("with_base", [True, False])
def test_figures_are_those_of_the_rule_rewards(examine_rows, random_rows, reward, with_base):
    rows = random_rows(0, with_base=with_base)
    rules = np.array(oracle.rule_rewards(rows, reward))

    found = examine_rows(rows).scales

    assert [row.behavior for row in found] == ["refuse", "comply"]
    for row in found:
        is_own = np.array([each["behavior"] == row.behavior for each in rows])
        own = rules[is_own]
        assert (row.n_items, row.lowest, row.highest) == (own.size, own.min(), own.max())
        assert (row.mean, row.standard_deviation) == pytest.approx((own.mean(), own.std()))
        levels = np.array([oracle.LEVEL[each["label"]] for each in rows])
        assert row.mean_ideal == pytest.approx(rules[is_own & (levels == 0)].mean())
        assert row.mean_worst == pytest.approx(rules[is_own & (levels == 3)].mean())
        base = np.array([each.get("base", math.nan) for each in rows])[is_own]
        assert row.base_standard_deviation == pytest.approx(base.std(), nan_ok=True)


def test_without_labels_there_is_no_best_and_no_worst(examine_rows):
    rows = [{"prompt": "a", "behavior": "refuse", "p": [x, 0, 0, 0]} for x in (1.0, 0.5)]

    (row,) = examine_rows(rows, pairs=[(0, 1)]).scales

    assert math.isnan(row.mean_ideal)
    assert math.isnan(row.mean_worst)
    assert row.n_prompts == 1
