"""Preferences that go in cycles, in a fit: said with counts, never in silence."""

import pytest

from rewards.fitting.fit_cases import judged_of
from rewards.fitting.test_fit import fit
from voirdire.errors import CyclicComparisonsWarning


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

    with pytest.warns(CyclicComparisonsWarning, match="3 comparisons go in cycles"):
        found = fit(case)

    row = found.behaviors[0]
    assert (row.n_pairs, row.n_cyclic_pairs) == (4, 3)
    assert found.model.behaviors["answer"].figures["n_cyclic_pairs"] == 3


def test_no_weights_rank_all_of_a_cycle_right():
    with pytest.warns(CyclicComparisonsWarning):
        found = fit(Case("ab", "bc", "ca"), l2=0.001)

    # a tie of all three counts a half each, and at best one of the three is wrong
    assert found.behaviors[0].error_rate_fitted >= 1 / 3


def test_preferences_without_a_cycle_are_fitted_without_a_word():
    found = fit(Case("ab", "bc", "ac"))  # warnings are errors

    assert found.behaviors[0].n_cyclic_pairs == 0
