"""How often the anytime-valid test passes a judge that it should not, and when a good one."""

import numpy as np
import pytest

from voirdire import studies
from voirdire.io import read_labels
from voirdire.stats import anytime_test, forecast_anytime
from voirdire.studies import WatchPlan, examine, watch_judge

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


@pytest.mark.parametrize(
    ("n_people", "share_seen", "largest"), [(3, 0.5, 1), (6, 0.3, 1), (4, 1.0, 6), (5, 0.6, 6)]
)
def test_a_judge_at_the_border_passes_in_hardly_any_study_of_parts_or_clusters(
    n_people, share_seen, largest
):
    rng = np.random.default_rng(5)
    errors, judge_error = [0.1] * n_people, 0.3
    n_passed, n_studies = 0, 300

    def draw(n_units):
        sizes = rng.integers(1, largest + 1, n_units)
        labels, humans = simulate(rng, n_items=n_units, errors=errors, judge_error=judge_error)
        units = np.repeat(np.arange(n_units), sizes)  # all items of a cluster are alike
        seen = rng.random((n_units, n_people)) < share_seen
        return labels[units], np.where(seen, humans, -1)[units], units

    labels, humans, _ = draw(100_000)
    epsilon = outcomes_gap(labels, humans) - 0.002

    for _ in range(n_studies):
        labels, humans, units = draw(250)
        about = {"clusters": units, "largest_cluster": largest} if largest > 1 else {}
        found = anytime_test(labels, humans, constants=[0, 1], epsilon=epsilon, **about)
        n_passed += found.passed

    assert n_passed / n_studies <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n_studies)


def outcomes_gap(labels, humans):
    """The least advantage of an annotator over the judge, where both are compared."""
    gaps = []
    for j in range(humans.shape[1]):
        others = np.delete(humans, j, axis=1)
        is_met = (humans[:, j] >= 0) & (others >= 0).any(axis=1)
        mine = ((others == labels[:, None]) & (others >= 0)).sum(1)[is_met]
        theirs = ((others == humans[:, [j]]) & (others >= 0)).sum(1)[is_met]
        gaps.append((theirs >= mine).mean() - (mine >= theirs).mean())
    return float(min(gaps))


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


@pytest.mark.parametrize("name", ["framing", "lgbteen", "wax", "cebab_stars"])
def test_in_twenty_orders_of_shared_labels_hardly_any_judge_passes_that_the_fixed_test_calls_worse(
    shared_dir, name
):
    folder = shared_dir / "data" / "alttest" / name
    files = [folder / f"{side}_annotations.json" for side in ("human", "llm")]
    kind = "scale" if name == "cebab_stars" else "choice"
    alignment = "neg_rmse" if kind == "scale" else "accuracy"
    humans, judges = (
        read_labels(file, role=role, kind=kind)
        for file, role in zip(files, ("annotator", "judge"), strict=True)
    )
    plan = studies.TestPlan(epsilon=0.2, n_resamples=0)
    fixed = examine(judges=judges, humans=humans, alignment=alignment, plan=plan, around=False)
    people = table_of(humans)
    constants = tuple(sorted({x for row in people.values() for x in row.values()}))
    watch = WatchPlan(
        question=fixed.results[0].question,
        kind=kind,
        constants=constants,
        annotators=tuple(humans.raters),
        n_items=len(people),
    )
    passes = {}
    for row in fixed.results:
        own = {item: x[row.judge] for item, x in table_of(judges).items() if row.judge in x}
        for seed in range(20):
            order = np.random.default_rng(seed).permutation(sorted(people)).tolist()
            labels = {item: people[item] for item in order}
            found = watch_judge(row.judge, watch, labels=labels, answers=own)
            passes.setdefault(row.judge, []).append(found.result.passed)
    worse = [row.judge for row in fixed.results if row.finding == "worse"]
    passed = [row.judge for row in fixed.results if row.finding == "passed"]

    assert passed or worse
    assert all(np.mean(passes[judge]) <= 0.05 for judge in worse)
    assert not passed or np.mean([np.mean(passes[judge]) for judge in passed]) >= 0.5


def table_of(table):
    rows = {}
    for n in range(len(table)):
        if table.label.codes[n] >= 0:
            rows.setdefault(table.item.value(n), {})[table.rater.value(n)] = table.label.value(n)
    return rows
