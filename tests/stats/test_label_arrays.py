"""What arrays of labels may be, and the clear errors for what they may not."""

import numpy as np
import pytest

from voirdire import InputError
from voirdire.stats import alt_test
from voirdire.stats.label_arrays import check_clusters, gather_raters, weight_codes

CODES = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]])


def gather(**changes):
    given = {
        "judges": CODES[:, 0],
        "humans": CODES,
        "numeric": False,
        "failed": None,
        "expert": None,
        "gold": None,
        "normalize": None,
        "clusters": None,
        "weighted": False,
    }
    return gather_raters(**(given | changes))


def test_one_judge_is_one_column():
    raters = gather()

    assert raters.judges.shape == (4, 1)
    assert raters.failed is None
    assert raters.n_codes_seen() == 2


def test_failed_labels_are_taken_out():
    coded = gather(failed=[True, False, False, False])
    numbers = gather(numeric=True, failed=[True, False, False, False])

    assert coded.judges.ravel().tolist() == [-1, 0, 1, 0]
    assert np.isnan(numbers.judges.ravel()).tolist() == [True, False, False, False]
    assert coded.failed.tolist() == [[True], [False], [False], [False]]


def test_no_failures_are_none():
    assert gather(failed=np.zeros(4, dtype=bool)).failed is None


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int64", "uint64"])
def test_every_integer_type_gives_the_same_figures(dtype):
    humans = np.tile(CODES, (10, 1))
    failed = np.arange(40) < 3

    [expected] = alt_test(humans[:, 0], humans, failed=failed)
    [result] = alt_test(humans[:, 0].astype(dtype), humans.astype(dtype), failed=failed)

    assert result == expected


def test_normalised_scales_are_rescaled_rater_by_rater():
    humans = np.array([[1.0, 10.0], [2.0, 20.0], [np.nan, 60.0]])

    raters = gather(judges=humans[:, 1], humans=humans, numeric=True, normalize="rank")

    # Ranks 1, 2 of 2 are 1/4 and 3/4; ranks 1, 2, 3 of 3 are 1/6, 1/2, 5/6.
    np.testing.assert_allclose(raters.humans[:, 0], [1 / 4, 3 / 4, np.nan])
    np.testing.assert_allclose(raters.humans[:, 1], [1 / 6, 1 / 2, 5 / 6])
    np.testing.assert_allclose(raters.judges[:, 0], [1 / 6, 1 / 2, 5 / 6])


def test_gold_is_rescaled_too():
    gold = [5.0, 7.0, 9.0]

    raters = gather(
        judges=[1.0, 2.0, 3.0],
        humans=[[1.0], [2.0], [3.0]],
        numeric=True,
        normalize="zscore",
        gold=gold,
    )

    np.testing.assert_allclose(raters.reference, np.array([-1, 0, 1]) * np.sqrt(3 / 2))


def test_clusters_become_numbers():
    assert check_clusters(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    assert check_clusters(None, 3) is None


def test_whole_numbers_can_be_weighed():
    humans = np.array([[1.0, np.nan], [3.0, 1.0]])

    codes, reference = weight_codes(humans, np.array([3.0, np.nan]))

    assert codes.tolist() == [[0, -1], [1, 0]]
    assert reference.tolist() == [1, -1]


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
        ({"expert": 3}, "`expert` must be a column of `humans` .0 to 2."),
        ({"expert": -1}, "`expert` must be a column of `humans`"),
        ({"expert": 0, "gold": [0] * 4}, "`gold` must be None when `expert` is given"),
        ({"clusters": [1]}, r"`clusters` must have the shape \(4,\)"),
        ({"normalize": "rank"}, "`normalize` must be None unless `alignment` is 'neg_rmse'"),
        ({"alignment": "neg_rmse", "normalize": "log"}, "`method` must be one of|`normalize` must"),
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
        ({"method": "wilcoxon"}, "`method` must be one of 't', 'exact'"),
        ({"method": "exact", "weights": "imbalance"}, "`method` must be 't' with weights"),
        ({"method": "exact", "clusters": [0, 1, 2, 3]}, "`method` must be 't' with clusters"),
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
