"""How often the anytime-valid test passes a judge that it should not, and when a good one."""

import numpy as np
import pytest

from voirdire.stats import anytime_test, forecast_anytime

pytestmark = pytest.mark.slow


def simulate(rng, *, n_items, errors, judge_error, positives=0.5, hard=0.0):
    """Labels of people and of a judge who err on the same hard items more often."""
    truth = rng.random(n_items) < positives
    is_hard = rng.random(n_items) < hard

    def labels(error):
        rate = np.where(is_hard, min(0.5, 3 * error), error)
        return (truth ^ (rng.random(n_items) < rate)).astype(int)

    return labels(judge_error), np.column_stack([labels(error) for error in errors])


def share_passing(seed, n_studies, *, epsilon=0.2, mode="additive", judge=None, **about):
    rng = np.random.default_rng(seed)
    n_passed, stops = 0, []
    for _ in range(n_studies):
        labels, humans = simulate(rng, **about)
        labels = labels if judge is None else judge(rng, labels)
        found = anytime_test(labels, humans, constants=[0, 1], epsilon=epsilon, epsilon_mode=mode)
        n_passed += found.passed
        stops.append(found.stopped_at or np.inf)
    return n_passed / n_studies, np.median(stops)


def gap_of(errors, judge_error):
    """The advantage of each annotator over the judge: E W^h - W^f, for independent errors."""
    rng = np.random.default_rng(0)
    labels, humans = simulate(rng, n_items=200_000, errors=errors, judge_error=judge_error)
    found = []
    for j in range(len(errors)):
        others = np.delete(humans, j, axis=1)
        mine = (others == labels[:, None]).sum(1)
        theirs = (others == humans[:, [j]]).sum(1)
        found.append((theirs >= mine).mean() - (mine >= theirs).mean())
    return np.array(found)


@pytest.mark.parametrize(
    ("errors", "mode"),
    [([0.1] * 3, "additive"), ([0.2] * 4, "additive"), ([0.1] * 6, "multiplicative")],
)
def test_a_judge_at_the_border_passes_in_hardly_any_study(errors, mode):
    # ε is the judge's own distance to every annotator, so that every hypothesis holds
    judge_error = 0.3
    gaps = gap_of(errors, judge_error)
    epsilon = float(gaps.min()) - 0.002
    if mode == "multiplicative":
        epsilon *= 0.98

    rate, _ = share_passing(
        7, 300, epsilon=epsilon, mode=mode, n_items=400, errors=errors, judge_error=judge_error
    )

    assert rate <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("positives", [0.03, 0.1])
def test_useless_judges_pass_in_no_study(positives):
    def always_no(rng, labels):
        return np.zeros_like(labels)

    def almost_always_no(rng, labels):
        return (rng.random(len(labels)) < 0.02).astype(int)

    for judge in (always_no, almost_always_no):
        rate, _ = share_passing(
            3, 100, judge=judge, n_items=400, errors=[0.05] * 3, judge_error=0.1,
            positives=positives,
        )  # fmt: skip
        assert rate <= 0.01


@pytest.mark.parametrize(
    ("error", "epsilon", "median"), [(0.1, 0.2, 42), (0.1, 0.1, 111), (0.2, 0.2, 116)]
)
def test_a_judge_as_good_as_people_passes_early(error, epsilon, median):
    rate, found = share_passing(
        11, 150, epsilon=epsilon, n_items=400, errors=[error] * 3, judge_error=error
    )

    assert rate >= 0.85
    assert 0.75 * median <= found <= 1.25 * median


@pytest.mark.parametrize("n_seen", [30, 60, 100])
def test_a_forecast_comes_true_as_often_as_it_says(n_seen):
    rng = np.random.default_rng(13)
    said, happened = [], []
    while len(said) < 400:
        error = rng.uniform(0.05, 0.3)
        judge_error = np.clip(error + rng.uniform(-0.05, 0.2), 0, 0.5)
        labels, humans = simulate(
            rng, n_items=200, errors=[error] * 3, judge_error=judge_error,
            positives=rng.uniform(0.2, 0.5),
        )  # fmt: skip
        about = {"constants": [0, 1], "epsilon": 0.2}
        if anytime_test(labels[:n_seen], humans[:n_seen], **about).passed:
            continue
        forecast = forecast_anytime(
            labels[:n_seen], humans[:n_seen], n_planned=200, seed=len(said), **about
        )
        said.append(forecast.share_passing)
        happened.append(anytime_test(labels, humans, **about).passed)
    said, happened = np.array(said), np.array(happened)
    bins = np.digitize(said, [0.2, 0.4, 0.6, 0.8])
    error = sum(
        (bins == b).mean() * abs(said[bins == b].mean() - happened[bins == b].mean())
        for b in np.unique(bins)
    )

    assert error <= 0.05 + 0.02  # that much is chance with 400 studies
    assert abs(said.mean() - happened.mean()) <= 0.05
