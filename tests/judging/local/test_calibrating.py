import numpy as np
import pytest

from voirdire.judging.local.calibrating import calibrate_questions, to_probabilities
from voirdire.judging.local.domains import Domains
from voirdire.judging.local.features import describe_many
from voirdire.judging.local.training_set import TrainingSet
from voirdire.records import Item
from voirdire.stats import fit_calibrator

N_LARGE, N_SMALL = 240, 40


def two_sets(*, calibrates):
    """A large set in which scores are log-odds, and a small one in which they are too low."""
    rng = np.random.default_rng(4)
    n = N_LARGE + N_SMALL
    scores = rng.normal(-1, 1.5, n)
    shift = np.where(np.arange(n) < N_LARGE, 0.0, 3.0)
    truths = rng.random(n) < to_probabilities(scores + shift)
    training = TrainingSet(
        features=describe_many([Item(id=str(i), response="") for i in range(n)]),
        targets=truths[:, None].astype(float),
        weights=np.ones(n),
        groups=np.arange(n),
        domains=Domains(chinese=np.zeros(n, dtype=bool), home=np.ones(n, dtype=bool)),
        sets=np.array(["large"] * N_LARGE + ["small"] * N_SMALL),
        calibrates=np.array([True] * N_LARGE + [calibrates] * N_SMALL),
    )
    return scores[:, None], training


def test_sets_count_alike_whatever_their_size():
    scores, training = two_sets(calibrates=True)

    [found] = calibrate_questions(scores, training, method="platt")

    # each set weighs half of the 280 items
    weights = np.repeat([140 / N_LARGE, 140 / N_SMALL], [N_LARGE, N_SMALL])
    expected = fit_calibrator(
        to_probabilities(scores[:, 0]), training.truths()[:, 0], weights=weights
    )
    assert found.slope == pytest.approx(expected.slope, abs=1e-5)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-5)


def test_a_set_that_is_not_for_it_has_no_part():
    scores, training = two_sets(calibrates=False)

    [found] = calibrate_questions(scores, training, method="platt")

    expected = fit_calibrator(to_probabilities(scores[:N_LARGE, 0]), training.truths()[:N_LARGE, 0])
    assert found.slope == pytest.approx(expected.slope, abs=1e-5)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-5)
