"""What arrays of labels may be, and the clear errors for what they may not."""

import numpy as np
import pytest

from voirdire import InputError
from voirdire.stats import alt_test

CODES = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]])


def test_one_judge_is_one_column():
    humans = np.tile(CODES, (10, 1))

    [flat] = alt_test(humans[:, 0], humans)
    [column] = alt_test(humans[:, :1], humans)

    assert flat == column


@pytest.mark.parametrize("alignment", ["accuracy", "neg_rmse"])
def test_failed_labels_are_taken_out_whatever_they_say(alignment):
    humans = np.tile(CODES, (12, 1))
    failed = np.arange(48) % 5 == 0
    options = {"alignment": alignment, "failed": failed}
    gone = -1 if alignment == "accuracy" else np.nan

    [labelled] = alt_test(humans[:, 0], humans, **options)
    [missing] = alt_test(np.where(failed, gone, humans[:, 0]), humans, **options)

    assert labelled == missing
    assert labelled.worst_case.n_failures == 10
    assert labelled.worst_case.advantage_probability < labelled.advantage_probability


def test_no_failures_are_none():
    humans = np.tile(CODES, (12, 1))

    flagged = alt_test(humans[:, 0], humans, failed=np.zeros(48, dtype=bool), n_resamples=100)

    assert flagged == alt_test(humans[:, 0], humans, n_resamples=100)


@pytest.mark.edges
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int64", "uint64"])
def test_every_integer_type_gives_the_same_figures(dtype):
    humans = np.tile(CODES, (10, 1))
    failed = np.arange(40) < 3

    [expected] = alt_test(humans[:, 0], humans, failed=failed)
    [result] = alt_test(humans[:, 0].astype(dtype), humans.astype(dtype), failed=failed)

    assert result == expected


def test_clusters_have_any_names():
    rng = np.random.default_rng(0)
    humans, names = np.tile(CODES, (12, 1)), np.array(["b", "a", "ä", "10"])
    clusters = rng.integers(0, 4, 48)

    [named] = alt_test(humans[:, 0], humans, clusters=names[clusters])
    [numbered] = alt_test(humans[:, 0], humans, clusters=clusters)

    p_values = [row.p_value for row in numbered.annotators]
    assert [row.p_value for row in named.annotators] == pytest.approx(p_values)
    assert named.annotators[0].degrees_of_freedom == 3


def test_whole_numbers_can_be_weighed():
    humans = np.tile(CODES, (12, 1)) + 1.0
    humans[3] = np.nan
    options = {"alignment": "neg_rmse", "weights": "imbalance"}

    [numbers] = alt_test(humans[:, 0], humans, **options)
    [plain] = alt_test(humans[:, 0], humans, **(options | {"weights": None}))
    [doubled] = alt_test(2 * humans[:, 0], 2 * humans, **options)

    assert numbers.annotators == doubled.annotators
    assert numbers.annotators != plain.annotators


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"humans": [0, 1, 0]}, r"`humans` must have the shape \(n_items, n_annotators\)"),
        ({"humans": np.zeros((4, 0), dtype=int)}, "`humans` must have the shape"),
        ({"humans": CODES + 0.0}, "`humans` must hold integer codes"),
        ({"humans": CODES == 1}, "`humans` must hold integer codes"),
        ({"humans": CODES - 2}, "`humans` must hold codes from 0"),
        ({"humans": CODES.astype(str)}, "`humans` must hold integer codes"),
        ({"judges": [0, 1]}, "`judges` must have one row for each of 4 items"),
        ({"judges": np.zeros((4, 1, 1), dtype=int)}, "`judges` must have one row for each"),
        ({"judges": [0.5, 1, 0, 0]}, "`judges` must hold integer codes"),
        ({"failed": [True]}, "`failed` must have the shape of `judges`"),
        ({"gold": [1]}, r"`gold` must have the shape \(4,\)"),
        ({"gold": [0.5] * 4}, "`gold` must hold integer codes"),
        ({"expert": 3}, "`expert` must be one of the annotators .* got .?3"),
        ({"expert": -1}, "`expert` must be one of the annotators"),
        ({"expert": 0, "gold": [0] * 4}, "`gold` must be None when `expert` is given"),
        ({"clusters": [1]}, r"`clusters` must have the shape \(4,\)"),
        ({"alignment": "neg_rmse", "humans": [["a"]] * 4}, "`humans` must hold finite numbers"),
        ({"alignment": "neg_rmse", "judges": [np.inf] * 4}, "`judges` must hold finite numbers"),
        ({"alignment": "neg_rmse", "humans": CODES / 2, "weights": "imbalance"}, "continuous"),
        ({"quality": [1, 2]}, "`quality` must hold one positive number for each of 3"),
        ({"quality": [1, 0, 1]}, "`quality` must hold one positive number"),
        ({"quality": [1, np.nan, 1]}, "`quality` must hold one positive number"),
        ({"label_sets": [[True]], "alignment": "jaccard"}, "`label_sets` must cover every code"),
        ({"n_codes": 1}, "`n_codes` must cover every code, got 1 for codes up to 1"),
        ({"values": ["a"], "alignment": "similarity"}, "`values` must cover every code"),
        ({"epsilon": 1.0}, r"`epsilon` must be in the interval \[0, 1\)"),
        ({"epsilon": -0.1}, "`epsilon` must be in the interval"),
        ({"epsilon": float("nan")}, "`epsilon` must be a number"),
        ({"epsilon": []}, "`epsilon` must hold at least one number"),
        ({"epsilon": "0.2"}, "`epsilon` must be a number"),
        ({"epsilon_mode": "relative"}, "`epsilon_mode` must be one of"),
        ({"weights": "balanced"}, "`weights` must be one of 'imbalance'"),
        ({"min_items": 1}, "`min_items` must be a whole number of at least 2"),
        ({"min_items": 2.5}, "`min_items` must be a whole number"),
        ({"min_annotators": 1}, "`min_annotators` must be a whole number of at least 2"),
        ({"false_discovery_rate": 5}, "`false_discovery_rate` must be in the interval"),
    ],
)
def test_a_wrong_argument_is_an_input_error(options, message):
    given = {"judges": CODES[:, 0], "humans": CODES} | options

    with pytest.raises(InputError, match=message):
        alt_test(**given)
