"""Which of two rewards is higher."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from voirdire.studies.reward.ranking import per_prompt, wrongness

numbers = st.floats(-1e6, 1e6)


def test_a_tie_is_half_an_error():
    wrong, tied = wrongness(np.array([2.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0]))

    assert wrong.tolist() == [0.0, 1.0, 0.5]
    assert tied.tolist() == [False, False, True]


def test_sums_in_another_order_tie():
    one, other = np.array([0.1 + 0.2 + 0.3]), np.array([0.3 + 0.2 + 0.1])

    assert one[0] != other[0]
    assert wrongness(one, other)[0].tolist() == [0.5]


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_turning_every_pair_round_turns_errors_round(pairs):
    high, low = np.array(pairs).T

    assert np.allclose(wrongness(high, low)[0] + wrongness(low, high)[0], 1.0)


def test_sums_and_counts_by_prompt():
    prompts = np.array([0, 2, 2])

    assert per_prompt(prompts, np.array([1.5, 2.0, 3.0]), n_prompts=4).tolist() == [1.5, 0, 5.0, 0]
    assert per_prompt(prompts, None, n_prompts=4).tolist() == [1, 0, 2, 0]
