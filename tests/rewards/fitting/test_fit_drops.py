"""What is set aside in a fit is listed, and never stands for a number."""

import dataclasses

import numpy as np
import pytest

from rewards.fitting.fit_cases import judged_of, labelled_case, row_of
from rewards.fitting.test_fit import fit, weights_of
from voirdire.errors import NoDataError


def without(case, places):
    """Take the verdicts of some items away, and their rows."""
    keep = [k for k in range(len(case.rows)) if k not in places]
    judged = case.judged
    return dataclasses.replace(
        case,
        rows=[case.rows[k] for k in keep],
        judged=dataclasses.replace(
            judged,
            items=tuple(judged.items[k] for k in keep),
            probabilities=judged.probabilities[keep],
            behaviors=(None,) * len(keep),
        ),
    )


def test_a_failed_verdict_takes_its_completion_out_and_nothing_else():
    case = labelled_case(30)
    values = case.judged.probabilities.copy()
    values[5, 2] = np.nan

    found = fit(case, judged=judged_of(values, failures={"i5": "timeout"}))

    expected = fit(without(case, {5}))
    assert weights_of(found) == pytest.approx(weights_of(expected), abs=1e-6)
    assert [(row.item, row.reason) for row in found.dropped] == [
        ("i5", "its features cannot be computed, since a verdict is missing: timeout")
    ]


def test_a_completion_that_was_never_judged_is_listed():
    case = labelled_case(30)
    judged = without(case, {5}).judged

    found = fit(case, judged=judged)

    assert [row.item for row in found.dropped] == ["i5"]
    assert "a verdict is missing: there is none" in found.dropped[0].reason


def test_a_completion_without_a_base_reward_is_listed_where_others_have_one():
    case = labelled_case(31, base=True)
    del case.rows[7]["base_reward"]

    found = fit(case)

    assert [(row.item, row.reason) for row in found.dropped] == [
        ("i7", "it has no base reward, and others have one (`--no-base` fits without)")
    ]


@pytest.mark.parametrize("value", [float("inf"), "much"])
def test_a_base_reward_that_is_no_number_is_listed(value):
    case = labelled_case(31, base=True)
    case.rows[7]["base_reward"] = value

    found = fit(case)

    assert [(row.line, row.column) for row in found.dropped] == [(8, "base_reward")]


def labelled_case_without_label(seed, place):
    case = labelled_case(seed)
    case.rows[place]["label"] = None
    return case


def test_an_unknown_label_is_listed():
    case = labelled_case(32)
    case.rows[3]["label"] = "idael"

    found = fit(case)

    assert [(row.item, row.value) for row in found.dropped] == [("i3", "idael")]
    assert found.dropped[0].reason == "unknown label: must be one of ideal, less_good, poor"


def test_a_completion_in_a_declared_pair_loses_its_unknown_label_only():
    case = labelled_case(32)
    one, other = case.rows[3], case.rows[2]
    one["label"] = "idael"
    sides = {"chosen": one["response"], "rejected": other["response"]}
    case.rows.append({"prompt": one["prompt"], "behavior": "answer"} | sides)
    without = fit(labelled_case_without_label(32, 3))

    found = fit(case)

    assert [row.item for row in found.dropped] == ["i3"]
    assert found.behaviors[0].n_pairs == without.behaviors[0].n_pairs + 1


def test_an_unknown_behavior_and_none_at_all_are_listed():
    case = labelled_case(33)
    for place in range(4):
        case.rows[place]["behavior"] = "sing"
    for place in range(4, 8):
        del case.rows[place]["behavior"]

    found = fit(case)

    reasons = {row.item: row.reason for row in found.dropped}
    assert reasons["i0"] == "its behavior is none of rubric 'manners', got 'sing'"
    assert reasons["i4"] == ("it has no `behavior`; rubric 'manners' knows 'answer', 'refuse'")
    assert len(reasons) == 8


def test_a_completion_without_a_class_is_listed():
    case = labelled_case(34)
    values = case.judged.probabilities.copy()
    values[2, 1:3] = np.nan

    found = fit(
        case, judged=judged_of(values, failures={"i2": "refusal"}), from_classes=True, orders={}
    )

    listed = [row for row in found.dropped if row.item == "i2"]
    assert [row.reason for row in listed] == ["it has no completion class: refusal"]


def test_a_class_that_is_sure_without_a_verdict_does_not_save_the_features():
    # Rude rules `ideal` out whatever `useful` is, but `useful` is a feature of its own.
    rows = [row_of(k, k // 2, ("ideal", "poor")[k % 2]) for k in range(4)]
    judged = judged_of([[0.5, 1, 0, 0.5], [0.5, np.nan, 0.9, 0.5]] * 2)
    case = dataclasses.replace(labelled_case(0), rows=rows, judged=judged)

    with pytest.raises(NoDataError, match="a verdict is missing"):
        fit(case, from_classes=True, orders={})


def test_all_verdicts_missing_is_no_data():
    case = labelled_case(35)
    values = np.full_like(case.judged.probabilities, np.nan)

    with pytest.raises(NoDataError, match=r"The first of \d+ set aside, .*'i\d+': its features"):
        fit(case, judged=judged_of(values))


def test_prompts_that_are_all_marked_test_fit_nothing():
    case = labelled_case(36)
    for row in case.rows:
        row["split"] = "test"

    with pytest.raises(NoDataError, match="all of its comparisons are marked test"):
        fit(case)
