"""The oracle examined: by hand, by other packages and by the published figures."""

import json
import math
from fractions import Fraction
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, jaccard_score

from alt_test_oracle import (
    alignment_score,
    alt_test_oracle,
    benjamini,
    boundary_probabilities,
    exact_p_oracle,
    imbalance_weights,
    interval_distance,
    jaccard_distance,
    krippendorff_oracle,
    nominal_distance,
    ordinal_distance,
    outcome_values,
    restricted_tie_share,
    score_statistic,
    t_test_p,
    t_test_size,
    table_probabilities,
    tables_of,
)
from strategies import (
    MULTILABELS,
    aligned_studies,
    epsilons,
    item_clusters,
    qualities,
    sparse_humans,
    studies,
)

SHARED = Path(__file__).resolve().parents[2] / "shared"
PUBLISHED = SHARED / "reference" / "alt_test_published.json"
REFERENCE = Path(__file__).resolve().parent / "reference"


# Alignments -----------------------------------------------------------------------------------


def test_scores_are_the_fractions_worked_by_hand():
    a, others, universe = {"x", "y"}, [{"y", "z"}, set()], ("w", "x", "y", "z")

    scores = {
        name: alignment_score(name, a, others, universe)
        for name in ("jaccard", "jaccard_macro", "jaccard_slots", "hamming")
    }

    # With {y, z}: present {y}/{x,y,z} = 1/3; absent {w}/{w,x,z} = 1/3; equal positions w, y.
    # With {}: present 0/2; absent {w,z}/{w,x,y,z} = 1/2; equal positions w, z.
    assert scores["jaccard"] == (Fraction(1, 3) + 0) / 2
    assert scores["jaccard_macro"] == (Fraction(1, 3) + Fraction(1, 4)) / 2
    # Slots: (1 + 1/3)/(3 + 1) = 1/3 and (0 + 1/2)/(2 + 1) = 1/6.
    assert scores["jaccard_slots"] == (Fraction(1, 3) + Fraction(1, 6)) / 2
    assert scores["hamming"] == Fraction(1, 2)
    assert alignment_score("accuracy", "a", ["a", "b", "a"]) == 2 / 3
    assert alignment_score("accuracy", ["x", "y"], [{"y", "x"}, {"x"}]) == 1 / 2
    # The squares are 1 and 4, their mean 5/2.
    assert alignment_score("neg_rmse", 3, [2, 5]) == -math.sqrt(2.5)
    assert alignment_score("similarity", 3, [2, 5], similarity=lambda u, v: v - u) == 1 / 2


def test_empty_and_full_sets_have_a_score():
    names = ("jaccard", "jaccard_macro", "jaccard_slots", "hamming")

    for labels in (set(), {"x"}, {"x", "y"}):
        for name in names:
            assert alignment_score(name, labels, [labels], ("x", "y")) == 1
    for name in names:
        assert alignment_score(name, set(), [{"x", "y"}], ("x", "y")) == 0


def test_quality_weighs_the_others():
    assert alignment_score("accuracy", 1, [1, 2], quality=[3, 1]) == 3 / 4
    # The squares are 1 and 4, their weighted mean 7/4.
    assert alignment_score("neg_rmse", 3, [2, 5], quality=[3, 1]) == -math.sqrt(7 / 4)
    assert alignment_score("jaccard", {1}, [{1, 2}, set()], quality=[3, 1]) == 3 / 8


label_sets = st.frozensets(st.sampled_from(MULTILABELS))


@pytest.mark.ci
@given(label_sets, label_sets)
def test_set_scores_are_those_of_scikit_learn(a, b):
    u = [int(label in a) for label in MULTILABELS]
    v = [int(label in b) for label in MULTILABELS]
    # One slot per label: its name where it is present, "absent" where it is not.
    slots_a = [label if label in a else "absent" for label in MULTILABELS]
    slots_b = [label if label in b else "absent" for label in MULTILABELS]
    sklearn_scores = {
        "jaccard_macro": jaccard_score(u, v, average="macro"),
        "jaccard_slots": jaccard_score(slots_a, slots_b, average="macro"),
        "jaccard": jaccard_score(u, v, zero_division=1.0),
        "hamming": accuracy_score(u, v),
    }

    for name, expected in sklearn_scores.items():
        score = alignment_score(name, a, [b], MULTILABELS)

        assert float(score) == pytest.approx(expected, abs=1e-12), name


def test_ties_of_fractions_are_ties():
    # The judge scores 1/10 + 1/5, the human 3/10 + 0: as float sums, .30000000000000004 and .3.
    humans = {
        "h": {"i": {2, 3, 4}},
        "k1": {"i": set(range(1, 11))},
        "k2": {"i": {1, 20, 21, 22, 23}},
    }
    judge = {"i": {1}}

    result = alt_test_oracle(judge, humans, alignment="jaccard", min_items=1)

    assert result["annotators"]["h"]["ties"] == 1


# The test -------------------------------------------------------------------------------------


def test_benjamini_thresholds_by_hand():
    # m = 3, H = 1 + 1/2 + 1/3 = 11/6: BY at i * .05 / 5.5 = .00909, .01818, .02727.
    # BH at .01667, .03333, .05.
    assert benjamini([0.027, 0.012, 0.019], 0.05, yekutieli=True) == [True, True, True]
    assert benjamini([0.028, 0.012, 0.019], 0.05, yekutieli=True) == [False, False, False]
    assert benjamini([0.9, 0.012, 0.0181], 0.05, yekutieli=True) == [False, True, True]
    assert benjamini([0.9, 0.012, 0.034], 0.05, yekutieli=True) == [False, False, False]
    assert benjamini([0.9, 0.012, 0.034], 0.05, yekutieli=False) == [False, True, False]
    assert benjamini([math.nan, 0.0], 0.05, yekutieli=True) == [False, True]
    assert benjamini([], 0.05, yekutieli=True) == []


def test_benjamini_is_that_of_scipy():
    rng = np.random.default_rng(1)
    for _ in range(50):
        p = rng.beta(0.3, 3.0, rng.integers(1, 9))

        for method, yekutieli in (("by", True), ("bh", False)):
            adjusted = stats.false_discovery_control(p, method=method)

            assert benjamini(list(p), 0.05, yekutieli=yekutieli) == list(adjusted <= 0.05)


def test_t_is_that_of_scipy_and_equal_weights_change_its_divisor_alone():
    d = np.array([-1, 0, 0, 1, 0, -1, -1, 0.0])

    p = t_test_p(d, 0.2)
    weighted = t_test_p(d, 0.2, weights=[3.0] * 8)
    own_clusters = t_test_p(d, 0.2, clusters=range(8))

    assert p == pytest.approx(stats.ttest_1samp(d, 0.2, alternative="less").pvalue, rel=1e-12)
    # dbar = -1/4, sum of squares 4, so s_pi^2 = 4/8 - 1/16 = 7/16, t = -.45 / sqrt(7/128)
    assert weighted == pytest.approx(stats.t.cdf(-0.45 / math.sqrt(7 / 128), 7), rel=1e-12)
    assert own_clusters == pytest.approx(p, rel=1e-12)


def test_clusters_widen_the_error():
    d, clusters = [-1, -1, 0, 0, 1, 1], ["a", "a", "b", "b", "c", "c"]

    # dbar = 0, cluster sums -2, 0, 2: Var = 3/2 * 8 / 36 = 1/3, two degrees of freedom.
    expected = stats.t.cdf(-0.2 / math.sqrt(1 / 3), 2)

    assert t_test_p(d, 0.2, clusters=clusters) == pytest.approx(expected, rel=1e-12)
    assert math.isnan(t_test_p(d, 0.2, clusters=["a"] * 6))


def test_zero_variance_is_decided_by_the_mean():
    assert t_test_p([0, 0, 0], 0.2) == 0
    assert t_test_p([0, 0, 0], 0.0) == 1
    assert t_test_p([1, 1, 1], 0.2) == 1
    assert t_test_p([1, 1, 1], 0.2, weights=[1.0, 2.0, 3.0]) == 1
    assert t_test_p([1 - 1 / 0.9] * 3, 0.0, weights=[0.1, 0.2, 0.7]) == 0
    # Clusters that each balance: the error is 0 although d varies.
    assert t_test_p([-1, 1, -1, 1], 0.2, clusters=[1, 1, 2, 2]) == 0
    assert t_test_p([-1, 1, -1, 1], 0.0, clusters=[1, 1, 2, 2]) == 1
    assert math.isnan(t_test_p([-1], 0.2))


def test_imbalance_weights_by_hand():
    panels = [["a", "a"], ["a"], ["a", "b"], ["b", "c"]]

    # Frequencies: a = 1 + 1 + 1/2 = 5/2, b = 1/2 + 1/2 = 1, c = 1/2; pi = 8/5, 4, 8.
    assert imbalance_weights(panels) == pytest.approx([8 / 5, 8 / 5, 14 / 5, 6])


def tiny_panel():
    humans = {
        "h1": {"i1": "a", "i2": "a", "i3": "b", "i4": None},
        "h2": {"i1": "a", "i2": "b", "i3": "b", "i4": "a"},
        "h3": {"i1": "b", "i3": "a", "i4": "a", "i5": "a"},
    }
    judge = {"i1": "a", "i2": "b", "i3": "b", "i4": "b", "i5": "a"}
    return judge, humans


def test_a_tiny_panel_by_hand():
    judge, humans = tiny_panel()

    result = alt_test_oracle(judge, humans, min_items=3)

    # h1 on i1, i2, i3 (own None on i4): judge a|b|b against others {a,b}, {b}, {b,a}.
    #   i1: 1/2 = 1/2 tie; i2: 1 > 0 win; i3: 1/2 = 1/2 tie.
    # h2 on i1..i4: i1 tie (1/2); i2: b against {a}: tie 0 = 0; i3: tie; i4: b against {a}: loss.
    # h3 on i1, i3, i4 (i5 has one annotator): i1: a against {a,a} win; i3 win; i4: loss.
    h1, h2, h3 = (result["annotators"][name] for name in ("h1", "h2", "h3"))
    assert [(h["wins"], h["ties"], h["losses"]) for h in (h1, h2, h3)] == [
        (1, 2, 0),
        (0, 3, 1),
        (2, 0, 1),
    ]
    assert (h1["advantage_judge"], h1["advantage_human"]) == (1.0, 2 / 3)
    assert result["advantage_probability"] == pytest.approx((1 + 3 / 4 + 2 / 3) / 3)
    # d = -1, 0, 0: mean -1/3, s = sqrt(1/3), t = (-1/3 - 1/5) / (1/3) = -1.6
    assert h1["p_value"] == pytest.approx(stats.t.cdf(-1.6, 2))
    assert result["winning_rate"] == 0


def test_too_few_items_leave_an_annotator_out_but_not_their_labels():
    judge, humans = tiny_panel()

    result = alt_test_oracle(judge, humans, min_items=4)
    none = alt_test_oracle(judge, humans, min_items=5)

    assert list(result["annotators"]) == ["h2"]
    assert result["untested"] == {"h1": 3, "h3": 3}
    assert result["annotators"]["h2"]["ties"] == 3
    assert math.isnan(none["winning_rate"])
    assert math.isnan(none["advantage_probability"])


def test_an_expert_and_gold_labels_stand_for_all_others():
    judge, humans = tiny_panel()

    expert = alt_test_oracle(judge, humans, min_items=1, expert="h2")
    gold = alt_test_oracle(judge, humans, min_items=1, gold=humans["h2"])

    assert sorted(expert["annotators"]) == ["h1", "h3"]
    for name in ("h1", "h3"):
        assert expert["annotators"][name]["n_items"] == 3
        kept = ("n_items", "wins", "ties", "losses", "p_value")
        assert [expert["annotators"][name][k] for k in kept] == pytest.approx(
            [gold["annotators"][name][k] for k in kept]
        )
    # Against their own labels h2 can only tie or win.
    assert gold["annotators"]["h2"]["wins"] == 0


def test_quality_weighs_the_winning_rate_and_not_the_advantage():
    n = 40
    humans = {
        "good": dict.fromkeys(range(n), "a"),
        "also": dict.fromkeys(range(n), "a"),
        "poor": dict.fromkeys(range(n), "b"),
    }
    judge = {i: "a" if i < 20 else "b" for i in range(n)}

    plain = alt_test_oracle(judge, humans)
    weighted = alt_test_oracle(judge, humans, quality={"good": 3, "also": 3, "poor": 1})

    # Unweighted, good scores 1/2 = the judge's 1/2 on either half: all ties. Weighted, the judge
    # loses half of good's items (3/4 against 1/4) and wins half of poor's (1 against 0).
    assert plain["annotators"]["good"]["ties"] == n
    assert weighted["annotators"]["good"]["losses"] == n / 2
    assert weighted["winning_rate"] == 1 / 7
    assert weighted["advantage_probability"] == pytest.approx((0.5 + 0.5 + 1) / 3)


@given(st.data(), aligned_studies(items=(3, 25)), epsilons())
def test_every_option_gives_defined_figures(data, drawn, eps):
    study, alignment = drawn
    options = {"alignment": alignment, "min_items": 2, "labels": study.labels}
    options |= {"epsilon": eps[0], "epsilon_mode": eps[1]}
    if data.draw(st.booleans()):
        options["quality"] = data.draw(qualities(study))
    if data.draw(st.booleans()):
        options["clusters"] = data.draw(item_clusters(study))
    if study.kind in ("choice", "multilabel") and data.draw(st.booleans()):
        options["weights"] = "imbalance"
    if data.draw(st.booleans()):
        options["expert"] = "h0"

    result = alt_test_oracle(study.judge, study.humans, **options)

    tested = result["annotators"]
    assert math.isnan(result["winning_rate"]) == (not tested)
    for a in tested.values():
        assert a["wins"] + a["ties"] + a["losses"] == a["n_items"] >= 2
        assert max(a["advantage_judge"], a["advantage_human"]) <= 1 + 1e-12
        assert a["advantage_judge"] + a["advantage_human"] >= 1 - 1e-12
        assert a["rejected_bh"] or not a["rejected"]
        assert math.isnan(a["p_value"]) or 0 <= a["p_value"] <= 1


@given(studies(items=(3, 25)), st.randoms(use_true_random=False))
def test_the_order_of_items_and_annotators_is_irrelevant(study, random):
    alignment = "hamming" if study.kind == "multilabel" else "accuracy"
    names, items = list(study.humans), list(study.judge)
    random.shuffle(names)
    random.shuffle(items)

    one = alt_test_oracle(study.judge, study.humans, alignment=alignment, min_items=2)
    two = alt_test_oracle(
        {item: study.judge[item] for item in items},
        {name: study.humans[name] for name in names},
        alignment=alignment,
        min_items=2,
    )

    for name, a in one["annotators"].items():
        assert a == pytest.approx(two["annotators"][name], nan_ok=True)


@given(sparse_humans("multilabel"))
def test_studies_have_the_shape_that_is_promised(study):
    first = study.items[0]

    assert study.judge[first] is not None
    assert sum(first in answers for answers in study.humans.values()) >= 2
    for answers in study.humans.values():
        assert any(label is not None for label in answers.values())
        for label in answers.values():
            assert label is None or set(label) <= set(study.labels)


# The exact test and the size of t -------------------------------------------------------------


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_the_boundary_is_where_the_null_ends(mode, epsilon):
    for tie in np.linspace(0, 1 - epsilon, 7):
        win, tied, loss = boundary_probabilities(tie, epsilon, mode)

        assert win + tied + loss == pytest.approx(1)
        assert win >= 0
        factor = 1 - epsilon if mode == "multiplicative" else 1
        shift = 0 if mode == "multiplicative" else epsilon
        assert factor * (loss + tied) - (win + tied) == pytest.approx(shift)


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_the_restricted_fit_is_the_most_likely_one(mode, epsilon):
    grid = boundary_probabilities(np.linspace(0, 1 - epsilon, 501), epsilon, mode)
    for table in tables_of(7):
        tie = restricted_tie_share(*map(int, table), epsilon, mode)

        fitted = table_probabilities(table[None], boundary_probabilities(tie, epsilon, mode))

        assert fitted[0, 0] >= table_probabilities(table[None], grid).max() - 1e-12


def test_the_score_statistic_by_hand():
    # epsilon 0: ties estimated by their share, Var = 1 - 1/2, mean (1 - 3)/8.
    assert score_statistic(3, 4, 1, 0.0, "additive") == pytest.approx(-1 / 4 / math.sqrt(1 / 16))
    # All ties at .2: the boundary fit is (0, .8, .2), Var = .2 - .04 = .16, mean -.2.
    assert score_statistic(0, 4, 0, 0.2, "additive") == pytest.approx(-0.2 / math.sqrt(0.04))
    # No ties: win, loss = .4, .6; Var = 1 - .04.
    assert score_statistic(2, 0, 2, 0.2, "additive") == pytest.approx(-0.2 / math.sqrt(0.24))
    assert score_statistic(0, 5, 0, 0.0, "additive") == 0


def test_the_exact_p_by_hand():
    # Two judge wins of two at epsilon 0 have the smallest statistic: p = max (win)^2 = 1/4 at
    # no ties. All ties of four at .2, against (0, .8, .2): .8^4 is part of the tail.
    assert exact_p_oracle(2, 0, 0, 0.0) == pytest.approx(1 / 4)
    assert exact_p_oracle(2, 0, 0, 0.2) == pytest.approx(0.4**2)
    assert exact_p_oracle(0, 0, 3, 0.2) == pytest.approx(1)
    assert exact_p_oracle(0, 4, 0, 0.2) >= 0.8**4
    assert exact_p_oracle(2, 0, 0, 0.0, "multiplicative") == pytest.approx(1 / 4)
    # Multiplicative: win = (1 - eps)/(2 - eps) = 4/9 at no ties.
    assert exact_p_oracle(2, 0, 0, 0.2, "multiplicative") == pytest.approx((4 / 9) ** 2)


@pytest.mark.edges
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize(
    ("n", "epsilon"), [(8, 0.2), (10, 0.0), pytest.param(12, 0.1, marks=pytest.mark.slow)]
)
def test_the_exact_test_holds_its_size_on_the_whole_null(mode, n, epsilon):
    tables = tables_of(n)
    p = np.array([exact_p_oracle(*map(int, table), epsilon, mode) for table in tables])
    grid = np.linspace(0, 1, 61)
    win, tie = (x.ravel() for x in np.meshgrid(grid, grid))
    points = np.stack([win, tie, 1 - win - tie], axis=1)
    null = points[(points[:, 2] >= -1e-12) & (points @ outcome_values(epsilon, mode) >= -1e-12)]

    chances = table_probabilities(tables, np.maximum(null, 0))

    for alpha in (0.01, 0.05, 0.1, 0.3):
        assert chances[p <= alpha].sum(axis=0).max() <= alpha + 1e-9


def test_the_exact_method_takes_neither_weights_nor_clusters():
    judge, humans = tiny_panel()

    exact = alt_test_oracle(judge, humans, min_items=3, method="exact")

    assert exact["annotators"]["h1"]["p_value"] == exact_p_oracle(1, 2, 0, 0.2)
    with pytest.raises(ValueError, match="neither weights nor clusters"):
        alt_test_oracle(judge, humans, weights="imbalance", method="exact")
    with pytest.raises(ValueError, match="neither weights nor clusters"):
        alt_test_oracle(judge, humans, clusters={}, method="exact")


@pytest.mark.parametrize(("n", "size"), [(15, 0.167), (30, 0.123), (100, 0.080)])
def test_the_t_test_has_the_size_of_the_design(n, size):
    assert round(t_test_size(n, 0.8, 0.2), 3) == size


def test_the_size_of_t_by_hand():
    # n = 2 at no ties and epsilon .2: p = 0 for two wins (.4^2); a win and a loss: t = -.2.
    assert t_test_size(2, 0.0, 0.2) == pytest.approx(0.16)
    # n = 3 at .8 ties, (0, .8, .2): all ties are certain to be rejected, .8^3; one loss is not.
    assert t_test_size(3, 0.8, 0.2) == pytest.approx(0.8**3)
    with pytest.raises(ValueError, match="no boundary point"):
        t_test_size(3, 0.9, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
def test_the_size_of_t_is_that_of_simulated_panels(mode):
    n, tie, epsilon, draws = 20, 0.6, 0.2, 4000
    rng = np.random.default_rng(7)
    point = boundary_probabilities(tie, epsilon, mode)
    factor = 1 / (1 - epsilon) if mode == "multiplicative" else 1.0
    null = 0.0 if mode == "multiplicative" else epsilon
    values = np.array([-factor, 1 - factor, 1.0])

    outcomes = rng.choice(3, size=(draws, n), p=point)
    hits = sum(t_test_p(values[row], null) <= 0.05 for row in outcomes)

    size = t_test_size(n, tie, epsilon, mode)
    assert abs(hits / draws - size) <= 3 * math.sqrt(size * (1 - size) / draws)


def test_the_stored_sizes_are_those_of_the_oracle():
    rows = json.loads((REFERENCE / "t_test_size.json").read_text())["rows"]

    assert len(rows) == 48
    for row in rows:
        if row["n"] <= 50:
            size = t_test_size(row["n"], row["tie_share"], row["epsilon"])

            assert size == pytest.approx(row["size"], abs=1e-6)


# Krippendorff's alpha -------------------------------------------------------------------------


def test_alpha_by_hand():
    units = [{"r": 1, "s": 1}, {"r": 1, "s": 2}, {"r": 2}, {"r": 2, "s": 2, "t": None}]

    # Pairable: 1 1 | 1 2 | 2 2, n = 6, margins 3 and 3. D_o = 2/6, D_e = 2*9/30; alpha = 4/9.
    assert krippendorff_oracle(units, nominal_distance) == pytest.approx(4 / 9)
    assert math.isnan(krippendorff_oracle([{"r": 1}], nominal_distance))
    assert math.isnan(krippendorff_oracle([{"r": 1, "s": 1}], nominal_distance))
    sets = [{"r": {1}, "s": {1}}, {"r": {2}, "s": {2}}]
    assert krippendorff_oracle(sets, jaccard_distance) == 1


@given(sparse_humans("scale"))
def test_alpha_is_that_of_the_krippendorff_package(study):
    units = [
        {name: answers[item] for name, answers in study.humans.items() if item in answers}
        for item in study.items
    ]
    matrix = np.full((len(study.humans), len(study.items)), np.nan)
    for row, answers in enumerate(study.humans.values()):
        for column, item in enumerate(study.items):
            if answers.get(item) is not None:
                matrix[row, column] = answers[item]
    kept = matrix[:, (~np.isnan(matrix)).sum(axis=0) >= 2]
    if len(np.unique(kept[~np.isnan(kept)])) < 2:
        assert math.isnan(krippendorff_oracle(units, nominal_distance))
        return

    distances = {
        "nominal": nominal_distance,
        "ordinal": ordinal_distance(units),
        "interval": interval_distance,
    }

    for level, distance in distances.items():
        expected = krippendorff.alpha(reliability_data=kept, level_of_measurement=level)
        assert krippendorff_oracle(units, distance) == pytest.approx(expected, abs=1e-9), level


# The published figures ------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"no published figures at {PUBLISHED}")
@pytest.mark.parametrize(
    "name",
    [
        "wax",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("lgbteen", "framing", "cebab_stars")),
    ],
)
def test_the_published_figures_are_reproduced(name):
    published = json.loads(PUBLISHED.read_text())[name]
    folder = SHARED / "data" / "alttest" / name
    humans = json.loads((folder / "human_annotations.json").read_text())
    judges = json.loads((folder / "llm_annotations.json").read_text())

    for judge, figures in published["judges"].items():
        for epsilon, winning_rate in figures["winning_rate"].items():
            result = alt_test_oracle(
                judges[judge], humans, alignment=published["alignment"], epsilon=float(epsilon)
            )

            assert result["winning_rate"] == winning_rate, (judge, epsilon)
            assert result["advantage_probability"] == pytest.approx(
                figures["advantage_probability"], abs=1e-6
            )
