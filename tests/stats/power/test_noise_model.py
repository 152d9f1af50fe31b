"""Raters who guess: what they agree on, and what a pilot says about them."""

import numpy as np
import pytest

from power_oracle import cohen_kappa
from voirdire.errors import InputError
from voirdire.stats import NoiseModel, fit_noise_model


def drawn(model, *, n_studies=1, n_items=20_000, n_annotators=3, seed=0):
    return model.draw(
        np.random.default_rng(seed),
        n_studies=n_studies,
        n_items=n_items,
        n_annotators=n_annotators,
    )


@pytest.mark.parametrize("prevalences", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
def test_expected_kappas_are_products_of_what_is_not_noise(prevalences):
    model = NoiseModel(
        human_noise=0.3, judge_noise=0.1, n_categories=len(prevalences), prevalences=prevalences
    )

    labels = drawn(model)

    [humans], [judge] = labels.humans, labels.judge
    # (1 - .3)² = .49 and (1 - .3)(1 - .1) = .63
    assert model.human_kappa == pytest.approx(0.49)
    assert model.judge_kappa == pytest.approx(0.63)
    pairs = [(0, 1), (0, 2), (1, 2)]
    among = [cohen_kappa(humans[:, j].tolist(), humans[:, k].tolist()) for j, k in pairs]
    with_judge = [cohen_kappa(judge.tolist(), humans[:, j].tolist()) for j in range(3)]
    assert np.mean(among) == pytest.approx(0.49, abs=0.03)
    assert np.mean(with_judge) == pytest.approx(0.63, abs=0.03)
    # without gaps, and with the same prevalences, pooling is nearly a mean over pairs
    found = fit_noise_model(judge, humans)
    assert found.human_kappa == pytest.approx(np.mean(among), abs=1e-3)
    assert found.judge_kappa == pytest.approx(np.mean(with_judge), abs=1e-3)


@pytest.mark.parametrize("noise", [0.0, 0.4, 1.0])
def test_everyones_labels_have_the_prevalences(noise):
    shares = (0.1, 0.2, 0.7)
    model = NoiseModel(human_noise=noise, judge_noise=0.5, n_categories=3, prevalences=shares)

    labels = drawn(model)

    for rater in (labels.judge[0], *labels.humans[0].T):
        counts = np.bincount(rater, minlength=3) / 20_000
        assert counts == pytest.approx(shares, abs=0.015)


def test_without_noise_everyone_says_the_truth():
    labels = drawn(NoiseModel(human_noise=0, judge_noise=0, n_categories=4), n_items=200)

    assert (labels.humans == labels.judge[..., np.newaxis]).all()


def test_prevalences_drawn_anew_are_uniform_on_the_simplex():
    model = NoiseModel(human_noise=0.2, judge_noise=0.2, n_categories=3)

    labels = drawn(model, n_studies=2_000, n_items=200, n_annotators=1)

    shares = np.array([np.bincount(study, minlength=3) / 200 for study in labels.judge])
    # a share of three uniform ones has mean 1/3 and variance 1·2 / (3²·4) = 1/18
    assert shares.mean(axis=0) == pytest.approx([1 / 3] * 3, abs=0.02)
    assert shares.var(axis=0) == pytest.approx([1 / 18] * 3, abs=0.006)


def test_fewer_annotators_are_the_first_of_more():
    model = NoiseModel(human_noise=0.2, judge_noise=0.2, n_categories=300)

    few = drawn(model, n_studies=3, n_items=50, n_annotators=2)
    many = drawn(model, n_studies=3, n_items=50, n_annotators=5)

    assert (few.humans == many.humans[..., :2]).all()
    assert (few.judge == many.judge).all()
    assert int(many.judge.max()) > 127
    assert int(many.humans.min()) >= 0


@pytest.mark.parametrize(("human", "judge"), [(0.1, 0.4), (0.3, 0.3), (0.5, 0.05)])
def test_a_fit_finds_the_noise_that_was_put_in(human, judge):
    shares = (0.25, 0.35, 0.4)
    model = NoiseModel(human_noise=human, judge_noise=judge, n_categories=3, prevalences=shares)
    labels = drawn(model, n_annotators=4)

    found = fit_noise_model(labels.judge[0], labels.humans[0])

    assert found.human_noise == pytest.approx(human, abs=0.02)
    assert found.judge_noise == pytest.approx(judge, abs=0.02)
    assert found.prevalences == pytest.approx(shares, abs=0.01)


def pilot_with_gaps(*, n_items, n_annotators, n_labels, seed):
    """A pilot in which some annotators, drawn anew for each item, label it."""
    model = NoiseModel(human_noise=0.3, judge_noise=0.2, prevalences=(0.5, 0.5))
    labels = drawn(model, n_items=n_items, n_annotators=n_annotators, seed=seed)
    there = np.tile(np.arange(n_annotators) < n_labels, (n_items, 1))
    there = np.random.default_rng([seed, 1]).permuted(there, axis=1)
    return labels.judge[0], np.where(there, labels.humans[0], -1)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("n_items", "n_annotators", "n_labels"), [(600, 3, 3), (1_000, 40, 3), (3_000, 400, 3)]
)
def test_a_fit_finds_the_noise_however_few_items_two_annotators_share(
    n_items, n_annotators, n_labels
):
    pilots = [
        pilot_with_gaps(n_items=n_items, n_annotators=n_annotators, n_labels=n_labels, seed=seed)
        for seed in range(8)
    ]

    found = [fit_noise_model(judge, humans) for judge, humans in pilots]

    # κ .49 among annotators and .56 with the judge; a mean over eight, for a pilot errs by chance
    assert np.mean([model.human_noise for model in found]) == pytest.approx(0.3, abs=0.03)
    assert np.mean([model.judge_noise for model in found]) == pytest.approx(0.2, abs=0.03)
    assert np.mean([model.human_kappa for model in found]) == pytest.approx(0.49, abs=0.03)
    assert np.mean([model.judge_kappa for model in found]) == pytest.approx(0.56, abs=0.03)


def test_the_judges_kappa_is_cohens_over_all_pairs_of_labels():
    judge, humans = pilot_with_gaps(n_items=200, n_annotators=12, n_labels=4, seed=3)
    judge[::7] = -1
    humans[::11] = -1

    pairs = [
        (answer, label)
        for answer, labels in zip(judge.tolist(), humans.tolist(), strict=True)
        for label in labels
        if answer >= 0 <= label
    ]

    expected = cohen_kappa(*map(list, zip(*pairs, strict=True)))
    found = fit_noise_model(judge, humans)
    assert found.judge_kappa == pytest.approx(expected, abs=1e-12)


def test_a_fit_leaves_missing_labels_out():
    model = NoiseModel(human_noise=0.2, judge_noise=0.3, prevalences=(0.5, 0.5))
    labels = drawn(model, n_annotators=4)
    humans, judge = labels.humans[0].copy(), labels.judge[0].copy()
    rng = np.random.default_rng(1)
    humans[rng.random(humans.shape) < 0.3] = -1
    judge[rng.random(judge.shape) < 0.3] = -1

    found = fit_noise_model(judge, humans)

    assert found.human_noise == pytest.approx(0.2, abs=0.03)
    assert found.judge_noise == pytest.approx(0.3, abs=0.03)


def test_a_judge_better_than_any_noise_has_none():
    truth = np.arange(100) % 2
    humans = np.stack([np.where(np.arange(100) // 10 == j, 1 - truth, truth) for j in (0, 1)], 1)

    assert fit_noise_model(truth, humans).judge_noise == 0


@pytest.mark.parametrize(
    "humans",
    [
        np.stack([np.arange(40) % 2, 1 - np.arange(40) % 2], axis=1),
        np.zeros((40, 3), dtype=int),
        np.where(np.arange(3) == np.arange(40)[:, np.newaxis] % 3, 1, -1),
    ],
    ids=["opposed", "one label", "nothing in common"],
)
def test_annotators_who_do_not_agree_have_no_noise_model(humans):
    with pytest.raises(InputError, match=r"`humans` must agree by more than chance .* assumptions"):
        fit_noise_model(np.arange(40) % 2, humans)


FOUR = [[0, 0], [1, 1], [0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("judge", "humans", "match"),
    [
        ([0, 1, 0, 1], [0, 1, 0, 1], r"`humans` must have the shape \(n_items, n_annotators\)"),
        ([0, 1, 0], FOUR, r"`judge` must have the shape \(4,\), got \(3,\)"),
        ([[0, 0]] * 4, FOUR, r"`judge` must have the shape \(4,\), got \(4, 2\)"),
        ([0, 1, 0, np.nan], FOUR, r"must hold integer codes, -1 where missing, got float64"),
        ([0, 1, 0, 1], np.array(FOUR) * 1.0, r"`humans` must hold integer codes.*got float64"),
        ([0, 1, 0, 1], np.array(FOUR).astype(str), r"`humans` must hold integer codes"),
        (list("0101"), FOUR, r"must hold integer codes, -1 where missing"),
        ([0, 1, 0, -5], FOUR, r"must hold codes from 0, -1 where missing, got -5"),
        ([0, 1, 0, 1], np.array(FOUR) - 5, r"`humans` must hold codes from 0.*got -5"),
        ([0, 1, 0, 1], [[0], [1], [0], [1]], r"`humans` must agree by more than chance"),
        ([], np.zeros((0, 3), dtype=int), r"must hold integer codes|must agree by more than"),
    ],
)
def test_what_is_no_label_matrix_has_no_noise_model(judge, humans, match):
    with pytest.raises(InputError, match=match):
        fit_noise_model(judge, humans)


def test_unsigned_codes_are_codes():
    humans = np.array(FOUR * 5)
    judge = humans[:, 0]

    assert fit_noise_model(judge.astype(np.uint8), humans.astype(np.uint16)) == fit_noise_model(
        judge, humans
    )


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"human_noise": 1.1}, r"`human_noise` must be a number in \[0, 1\], got 1.1\."),
        ({"judge_noise": -0.1}, r"`judge_noise` must be a number in \[0, 1\], got -0.1\."),
        ({"judge_noise": "0.3"}, r"`judge_noise` must be a number in \[0, 1\], got '0.3'\."),
        ({"human_noise": float("nan")}, r"`human_noise` must be .*, got nan\."),
        ({"human_noise": None}, r"`human_noise` must be .*, got None\."),
        ({"n_categories": 1}, r"`n_categories` must be a whole number of at least 2, got 1\."),
        ({"n_categories": 10**9}, r"`n_categories` must be at most 10,000, got 1,000,000,000\."),
        ({"prevalences": (0.5, 0.6)}, r"`prevalences` must be 2 shares that sum to 1.*0\.6"),
        ({"prevalences": (0.2, 0.3, 0.5)}, r"`prevalences` must be 2 shares that sum to 1"),
        ({"prevalences": 0.5}, r"`prevalences` must be a sequence of shares, got 0\.5\."),
        ({"prevalences": (-0.5, 1.5)}, r"`prevalences` must be a number in \[0, 1\], got -0\.5"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, match):
    with pytest.raises(InputError, match=match):
        NoiseModel(**{"human_noise": 0.2, "judge_noise": 0.2} | wrong)
