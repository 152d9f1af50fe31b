"""Preferences that go in cycles, in a fit: said with counts, never in silence."""

import pytest

from rewards.fitting.fit_cases import judged_of
from rewards.fitting.test_fit import fit
from voirdire.errors import CyclicComparisonsWarning, InputError


class Case:
    """Three completions, each preferred to the next around a ring, and pairs in a row."""

    def __init__(self, *pairs):
        responses = sorted({one for pair in pairs for one in pair})
        ids = {response: f"i{k}" for k, response in enumerate(responses)}
        self.rows = [
            {"id": ids[one], "prompt": "p", "response": one, "behavior": "answer"}
            for one in responses
        ]
        self.rows += [
            {"prompt": "p", "chosen": one, "rejected": other, "behavior": "answer"}
            for one, other in pairs
        ]
        self.judged = judged_of([[k / 7, 0.5, 0.2, k / 9] for k in range(len(responses))])


def test_a_cycle_is_a_warning_and_stands_in_the_record_and_in_the_reward():
    case = Case("ab", "bc", "ca", "ad")

    with pytest.warns(CyclicComparisonsWarning, match="3 comparisons in 1 prompt go in cycles"):
        found = fit(case)

    row = found.behaviors[0]
    assert (row.n_pairs, row.cycles.n_pairs, row.cycles.n_items) == (4, 3, 3)
    assert sorted(row.cycles.examples[0]) == ["i0", "i1", "i2"]
    told = found.model.behaviors["answer"].figures["cycles"]
    assert told == {
        "n_pairs": 3,
        "n_items": 3,
        "n_prompts": 1,
        "examples": [list(row.cycles.examples[0])],
    }


def test_no_weights_rank_all_of_a_cycle_right():
    with pytest.warns(CyclicComparisonsWarning):
        found = fit(Case("ab", "bc", "ca"), l2=0.001)

    # a tie of all three counts a half each, and at best one of the three is wrong
    assert found.behaviors[0].error_rate_fitted >= 1 / 3


def test_preferences_without_a_cycle_are_fitted_without_a_word():
    found = fit(Case("ab", "bc", "ac"))  # warnings are errors

    assert found.behaviors[0].cycles.n_pairs == 0
    assert found.behaviors[0].cycles.examples == ()


def test_a_cycle_is_refused_where_that_is_asked_for_before_verdicts_are_looked_at():
    case = Case("ab", "bc", "ca")
    nothing_judged = judged_of([[0.5] * 4], failures={"i0": "timeout"})

    with pytest.raises(InputError, match=r"go in cycles, such as 'i\d' over .*`refuse_cycles`"):
        fit(case, judged=nothing_judged, refuse_cycles=True)
