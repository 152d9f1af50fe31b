"""Error rates with intervals over prompts."""

import dataclasses

import numpy as np
import pytest

from rewards.fitting.fit_cases import judged_of, labelled_case, row_of
from rewards.fitting.test_fit import fit

GIVEN = {"useful": 1.0, "polite": 0, "rude": 0, "long": 0, "ideal": 0, "poor": 0}


def held_out(useful, *, n_each=2, **settings):
    """Give the error rate on test prompts, half good and half bad, by `useful` alone.

    Each row of `useful` is a prompt: the verdicts on its good and then on its bad completions.
    """
    values = np.zeros((2 + np.size(useful) * n_each // 2, 4))
    values[:, 1] = np.append([1.0, 0.0], np.repeat(useful, n_each // 2, axis=1).ravel())
    rows = [row_of(0, "train", "ideal", split="train"), row_of(1, "train", "poor", split="train")]
    for place in range(2, len(values)):
        prompt, rank = divmod(place - 2, n_each)
        label = "ideal" if rank < n_each // 2 else "poor"
        rows.append(row_of(place, prompt, label, split="test"))
    case = dataclasses.replace(labelled_case(0), rows=rows, judged=judged_of(values))
    return fit(case, fixed=GIVEN, **settings).behaviors[0].error_rate


RIGHT, WRONG, TIE = (0.75, 0.25), (0.25, 0.75), (0.5, 0.5)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ([RIGHT, RIGHT, WRONG, RIGHT], 0.25),
        ([RIGHT, TIE], 0.25),
        ([TIE, TIE], 0.5),
        ([(0.5 + 1e-12, 0.5), (0.5, 0.5 + 1e-12)], 0.5),
        ([(0.5 + 1e-8, 0.5), (0.5, 0.5 + 1e-8), RIGHT], 1 / 3),
    ],
)
def test_a_tie_counts_half_and_rounding_is_a_tie(prompts, expected):
    found = held_out(prompts)

    assert found.value == pytest.approx(expected)
    assert np.isnan([found.low, found.high]).all()


def test_the_interval_draws_prompts_and_not_comparisons():
    # 200 prompts of 9 comparisons that are all wrong or all right: as good as 200 coin tosses.
    is_wrong = np.random.default_rng(1).random(200) < 0.5

    found = held_out([WRONG if one else RIGHT for one in is_wrong], n_each=6, n_resamples=2_000)

    rate = is_wrong.mean()
    reach = 1.96 * np.sqrt(rate * (1 - rate) / 200)
    assert found.value == pytest.approx(rate)
    assert found.high - rate == pytest.approx(reach, rel=0.08)
    assert rate - found.low == pytest.approx(reach, rel=0.08)


def test_no_error_at_all_leaves_room_for_some():
    none = held_out([RIGHT] * 10, n_resamples=50)
    all_wrong = held_out([WRONG] * 10, n_resamples=50)

    # Clopper-Pearson for 0 of 10: 1 - .025^(1/10) = .3085.
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(0.30850, abs=1e-5)
    assert (all_wrong.value, all_wrong.high) == (1.0, 1.0)
    assert all_wrong.low == pytest.approx(1 - 0.30850, abs=1e-5)


def test_draws_hang_on_the_seed():
    prompts = [RIGHT] * 7 + [WRONG] * 4

    one, again, other = (held_out(prompts, n_resamples=50, seed=seed) for seed in (0, 0, 1))

    assert one == again
    assert (one.low, one.high) != (other.low, other.high)


def test_intervals_of_weights_go_on_to_narrow_where_fewer_prompts_are_drawn_than_there_are():
    given = {name: value for name, value in GIVEN.items() if name != "useful"}

    def useful(n_prompts):
        case = labelled_case(0, n_prompts=n_prompts, n_each=2)
        [behavior] = fit(case, fixed=given, n_resamples=50).behaviors
        return next(row.weight for row in behavior.weights if row.feature == "useful")

    few, many = useful(2_000), useful(5_000)

    # Errors fall with the root of the number of prompts, whatever is drawn: √(2,000/5,000) = .63.
    # Two widths of 50 draws are off by a fifth or so.
    assert (many.high - many.low) / (few.high - few.low) == pytest.approx(0.63, rel=0.3)
    assert many.low < many.value < many.high


def test_one_prompt_has_no_interval():
    found = fit(labelled_case(3, n_prompts=1), n_resamples=50)

    weights = [row.weight for row in found.behaviors[0].weights]
    assert np.isfinite([weight.value for weight in weights]).all()
    assert np.isnan([(weight.low, weight.high) for weight in weights]).all()
    assert any(
        note.startswith("1 prompt: no interval is defined") for note in found.behaviors[0].notes
    )
