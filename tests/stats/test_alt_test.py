"""The whole test through both faces, against the plain-loop oracle and the published figures."""

import json
import math
import warnings
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from alt_test_oracle import (
    PAIR_SCORES,
    alt_test_oracle,
    benjamini,
    label_universe,
    observed,
)
from alt_tests import alt_tests
from strategies import (
    ALIGNMENTS,
    aligned_studies,
    epsilons,
    item_clusters,
    qualities,
    sparse_humans,
)
from voirdire import (
    DegenerateDataWarning,
    Failure,
    InputError,
    NoDataError,
    alt_test,
    outperforms_humans,
    stats,
)
from voirdire.stats import exact_p_value

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


def quietly(function, *args, **options):
    """Run it where an undefined figure is no surprise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return function(*args, **options)


def assert_is_oracle(result, oracle):
    """Every figure of a result is the oracle's."""
    near = {"abs": 1e-9, "nan_ok": True}
    assert [row.annotator for row in result.annotators] == list(oracle["annotators"])
    assert result.untested == tuple(oracle["untested"])
    for row in result.annotators:
        own = oracle["annotators"][row.annotator]
        assert row.n_items == own["n_items"]
        assert (row.n_judge_wins, row.n_ties, row.n_human_wins) == (
            own["wins"],
            own["ties"],
            own["losses"],
        )
        assert row.advantage_judge == pytest.approx(own["advantage_judge"], **near)
        assert row.advantage_human == pytest.approx(own["advantage_human"], **near)
        assert row.mean_difference == pytest.approx(own["mean_difference"], **near)
        assert row.p_value == pytest.approx(own["p_value"], **near)
        assert row.rejected == own["rejected"]
        assert row.rejected_bh == own["rejected_bh"]
    assert result.t_test.winning_rate == pytest.approx(oracle["winning_rate"], **near)
    assert result.advantage_probability == pytest.approx(oracle["advantage_probability"], **near)
    if not result.worst_case.n_failures:
        assert result.t_test.passed == (oracle["winning_rate"] >= 0.5 - 1e-12)
    assert result.n_annotators == len(oracle["annotators"])


def examined(study, judge=None, humans=None, *, test=alt_test, **options):
    """Test the judge of a drawn study, or another, unless it says what one annotator says."""
    kind = {"continuous": "scale"}.get(study.kind, study.kind)
    try:
        return quietly(test, judge or study.judge, humans or study.humans, kind=kind, **options)
    except InputError as error:
        if "must not be one of its annotators" in str(error):
            reject()
        raise


def at_each(judge, humans, epsilons_=EPSILONS, **options):
    """Test one judge at several margins."""
    return alt_tests(judges={"judge": judge}, humans=humans, epsilon=epsilons_, **options)["judge"]


def figures_of(result):
    """What must not change where a study is merely written differently."""
    return (
        result.winning_rate,
        result.advantage_probability,
        result.human_advantage,
        result.passed,
        tuple(sorted(result.annotators, key=lambda row: row.annotator)),
        result.worst_case,
    )


def counts_of(result):
    return {
        row.annotator: (row.n_judge_wins, row.n_ties, row.n_human_wins) for row in result.annotators
    }


def simple(n_items=60, names="abc"):
    """Three labels; each annotator slips on other items, the judge never."""
    truth = {i: "xyz"[i % 3] for i in range(n_items)}
    humans = {
        name: {i: "xyz"[(i + (i % 8 == slip)) % 3] for i in truth}
        for slip, name in enumerate(names)
    }
    return truth, humans


# Against the oracle ---------------------------------------------------------------------------


def declared(study, data):
    """The declared universe, or nothing; "Can't tell" is a label only where it is declared."""
    if study.labels is None:
        return None
    return study.labels if "Can't tell" in study.labels or data.draw(st.booleans()) else None


@pytest.mark.edges
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize(
    ("kind", "alignment"), [(kind, name) for kind, names in ALIGNMENTS.items() for name in names]
)
@settings(max_examples=8)
@given(data=st.data())
def test_each_alignment_of_each_kind_is_that_of_the_oracle(kind, alignment, mode, data):
    study = data.draw(sparse_humans(kind))
    options = {
        "alignment": alignment,
        "epsilon_mode": mode,
        "min_items": 2,
        "labels": study.labels,
    }

    results = examined(study, test=at_each, **options)

    for epsilon, result in zip(EPSILONS, results, strict=True):
        oracle = alt_test_oracle(study.judge, study.humans, epsilon=epsilon, **options)
        assert_is_oracle(result, oracle)


@given(st.data(), aligned_studies(), epsilons())
def test_every_variant_is_that_of_the_oracle(data, drawn, eps):
    study, alignment = drawn
    options = {
        "alignment": alignment,
        "epsilon": eps[0],
        "epsilon_mode": eps[1],
        "min_items": data.draw(st.sampled_from((2, 5, 10)), label="min_items"),
        "min_annotators": data.draw(st.integers(2, 3), label="min_annotators"),
        "labels": declared(study, data),
    }
    q = data.draw(st.sampled_from((0.01, 0.05, 0.2)), label="q")
    if data.draw(st.booleans(), label="quality"):
        options["quality"] = data.draw(qualities(study))
    if data.draw(st.booleans(), label="clusters"):
        options["clusters"] = data.draw(item_clusters(study))
    if study.kind != "continuous" and data.draw(st.booleans(), label="weights"):
        options["weights"] = "imbalance"
    reference = data.draw(st.sampled_from((None, "expert", "gold")), label="reference")
    if reference == "expert":
        options["expert"] = data.draw(st.sampled_from(sorted(study.humans)))
    elif reference == "gold":
        options["gold"] = study.humans["h0"]

    result = examined(study, false_discovery_rate=q, **options)

    assert_is_oracle(result, alt_test_oracle(study.judge, study.humans, q=q, **options))


@pytest.mark.ci
@given(st.data(), sparse_humans("choice", judges_miss=False) | sparse_humans("multilabel"))
def test_a_users_similarity_is_that_of_the_oracle(data, study):
    def score(a, b):
        shared = len(frozenset(a) & frozenset(b))
        return shared / (1 + len(frozenset(a)))

    def vectorised(first, second):
        return np.array([score(a, b) for a, b in zip(first, second, strict=True)])

    options = {"min_items": 2, "labels": study.labels}
    quality = data.draw(qualities(study)) if data.draw(st.booleans()) else None

    given_function = examined(study, alignment=vectorised, quality=quality, **options)

    oracle = alt_test_oracle(
        study.judge,
        study.humans,
        alignment="similarity",
        similarity=score,
        quality=quality,
        **options,
    )
    assert_is_oracle(given_function, oracle)
    if study.kind == "choice":
        named = examined(
            study,
            alignment="similarity",
            similarity=vectorised,
            quality=quality,
            **options,
        )
        assert named.annotators == given_function.annotators


# The published figures ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared_dir):
    return json.loads((shared_dir / "reference" / "alt_test_published.json").read_text())


@pytest.mark.ci
@pytest.mark.parametrize("name", ["wax", "lgbteen", "framing", "cebab_stars"])
def test_the_published_figures_are_reproduced(name, shared_dir, published):
    folder = shared_dir / "data" / "alttest" / name
    humans = json.loads((folder / "human_annotations.json").read_text())
    judges = json.loads((folder / "llm_annotations.json").read_text())
    reference = published[name]

    results = alt_tests(
        judges=judges, humans=humans, alignment=reference["alignment"], epsilon=EPSILONS
    )

    assert set(results) == set(reference["judges"])
    for judge, figures in reference["judges"].items():
        rates = {f"{row.epsilon:.2f}": row.t_test.winning_rate for row in results[judge]}
        assert rates == figures["winning_rate"], judge
        for row in results[judge]:
            assert row.advantage_probability == pytest.approx(
                figures["advantage_probability"], abs=1e-6
            )


# Arrays ---------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
def test_judges_and_epsilons_at_once_are_one_at_a_time(mode):
    rng = np.random.default_rng(9)
    humans = rng.integers(-1, 3, (50, 4))
    judges = rng.integers(-1, 3, (50, 3))
    failed = rng.random((50, 3)) < 0.1
    options = {"epsilon_mode": mode, "min_items": 5, "n_codes": 3}

    together = stats.alt_test(judges, humans, epsilon=EPSILONS, failed=failed, **options)

    for k in range(3):
        for number, epsilon in enumerate(EPSILONS):
            [alone] = stats.alt_test(
                judges[:, k], humans, epsilon=epsilon, failed=failed[:, k], **options
            )
            row = together[k * len(EPSILONS) + number]
            assert figures_of(row) == figures_of(alone)
            assert row.outcome == alone.outcome
            assert row.controls == alone.controls


@pytest.mark.ci
@settings(max_examples=8)
@given(st.data(), aligned_studies(), st.sampled_from(("additive", "multiplicative")))
def test_judges_at_once_in_dicts_are_one_at_a_time(data, drawn, mode):
    study, alignment = drawn
    options = {
        "alignment": alignment,
        "epsilon_mode": mode,
        "min_items": 2,
        "labels": study.labels,
    }
    other = {i: study.humans["h0"].get(i, x) for i, x in study.humans["h1"].items()}

    def both_at_once(judge, humans, **options):
        judges = {"one": judge, "two": other}
        return alt_tests(judges=judges, humans=humans, epsilon=[0.1, 0.3], **options)

    both = examined(study, test=both_at_once, **options)

    for name, judge in (("one", study.judge), ("two", other)):
        for row, epsilon in zip(both[name], (0.1, 0.3), strict=True):
            alone = examined(study, judge, epsilon=epsilon, **options)
            for mine, theirs in zip(row.annotators, alone.annotators, strict=True):
                assert asdict(mine) == pytest.approx(asdict(theirs), nan_ok=True)
            assert row.winning_rate == pytest.approx(alone.winning_rate, nan_ok=True)


@pytest.mark.edges
@pytest.mark.parametrize("n_labels", [1, 6, 9, 63, 64, 65, 200])
@pytest.mark.parametrize("alignment", sorted(PAIR_SCORES))
def test_universes_of_every_width_are_scored_by_fractions(n_labels, alignment):
    rng = np.random.default_rng(n_labels)
    membership = rng.random((30, n_labels)) < rng.beta(0.7, 1.5, (30, 1))
    membership[0] = False
    humans, judge = rng.integers(-1, 30, (40, 3)), rng.integers(-1, 30, 40)
    universe = frozenset(range(n_labels))
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in membership]

    [result] = stats.alt_test(
        judge, humans, alignment=alignment, label_sets=membership, min_items=2
    )

    for j, row in enumerate(result.annotators):
        expected = [0, 0, 0]
        for i in np.flatnonzero((humans[:, j] >= 0) & (judge >= 0)):
            others = [sets[c] for k, c in enumerate(humans[i].tolist()) if k != j and c >= 0]
            if others:
                ahead, behind = (
                    sum(Fraction(PAIR_SCORES[alignment](sets[c], h, universe)) for h in others)
                    for c in (judge[i], humans[i, j])
                )
                expected[1 + (behind > ahead) - (ahead > behind)] += 1
        assert (row.n_judge_wins, row.n_ties, row.n_human_wins) == tuple(expected)


def test_several_epsilons_come_in_the_order_given():
    judge, humans = simple()

    for epsilons_ in ([0.3, 0.0, 0.1], (0.1, 0.2), np.array([0.1, 0.2])):
        found = [result.epsilon for result in at_each(judge, humans, epsilons_)]

        assert found == list(epsilons_)
    with pytest.raises(InputError, match="must be one number, got 2"):
        alt_test(judge, humans, epsilon=[0.1, 0.2])


# Failures -------------------------------------------------------------------------------------


@given(st.data(), aligned_studies(missing=(0.0, 0.15)), epsilons())
def test_in_the_worst_case_failed_items_are_lost(data, drawn, eps):
    study, alignment = drawn
    epsilon, mode = eps
    items = sorted(study.judge)
    failing = set(data.draw(st.lists(st.sampled_from(items), max_size=8), label="failing"))
    failing.discard(study.items[0])
    kind = data.draw(st.sampled_from((None, Failure(reason="timeout"), Failure())))
    judge = {i: kind if i in failing else x for i, x in study.judge.items()}
    annotated = {i for answers in study.humans.values() for i in observed(answers)}
    failing = {
        i for i in judge if i in annotated and (i in failing or observed({i: judge[i]}) == {})
    }
    kept = {i: x for i, x in judge.items() if i not in failing}
    options = {
        "alignment": alignment,
        "epsilon": epsilon,
        "epsilon_mode": mode,
        "labels": study.labels or None,
        "min_items": 2,
    }

    result = examined(study, judge, **options)

    # The main figures drop the failed items; an untested annotator may be tested in the worst case.
    assert_is_oracle(result, alt_test_oracle(kept, study.humans, **options))
    everyone = alt_test_oracle(kept, study.humans, **(options | {"min_items": 1}))["annotators"]
    humans = {name: observed(answers) for name, answers in study.humans.items()}
    advantages, p_values = [], []
    for name, own in humans.items():
        lost = sum(
            i in own and sum(i in answers for answers in humans.values()) >= 2 for i in failing
        )
        counts = everyone.get(name, {"wins": 0, "ties": 0, "losses": 0})
        table = [counts["wins"], counts["ties"], counts["losses"] + lost]
        if sum(table) >= 2:
            names = ("n_judge_wins", "n_ties", "n_human_wins")
            counts = dict(zip(names, table, strict=True))
            p_values.append(exact_p_value(**counts, epsilon=epsilon, epsilon_mode=mode))
            advantages.append((table[0] + table[1]) / sum(table))
    rate = np.mean(benjamini(p_values, 0.05, yekutieli=True)) if p_values else math.nan
    advantage = np.mean(advantages) if advantages else math.nan
    assert result.worst_case.n_failures == len(failing)
    assert result.winning_rate == pytest.approx(rate, nan_ok=True)
    assert result.worst_case.advantage_probability == pytest.approx(advantage, nan_ok=True)


@pytest.mark.edges
@pytest.mark.parametrize("variant", ["plain", "weights", "clusters", "quality"])
def test_the_worst_case_is_that_of_a_label_that_nobody_shares(variant):
    # Every annotator has a companion on every item, so a strange label always loses.
    rng = np.random.default_rng(4)
    truth = rng.choice(list("xyz"), 60, p=[0.6, 0.3, 0.1])
    humans = {f"h{k}": dict(enumerate(truth.tolist())) for k in range(4)}
    for k in (0, 1):
        for i in range(0, 60, 7):
            humans[f"h{k}"][i] = "y"
    judge = dict(enumerate(np.where(rng.random(60) < 0.2, "x", truth).tolist()))
    failing = set(range(3, 60, 9))
    options = {
        "plain": {},
        "weights": {"weights": "imbalance"},
        "clusters": {"clusters": {i: i // 4 for i in range(60)}},
        "quality": {"quality": {"h0": 1, "h1": 1, "h2": 2, "h3": 2}},
    }[variant]

    result = alt_test({i: None if i in failing else x for i, x in judge.items()}, humans, **options)

    strange = {i: "strange" if i in failing else x for i, x in judge.items()}
    expected = alt_test_oracle(strange, humans, **options)
    assert result.worst_case.n_failures == len(failing)
    assert result.worst_case.advantage_probability == pytest.approx(
        expected["advantage_probability"]
    )
    assert result.winning_rate == alt_test(strange, humans, **options).winning_rate


def test_an_unasked_item_is_no_failure():
    judge, humans = simple()
    part = {i: x for i, x in judge.items() if i < 40}

    result = alt_test(part, humans)

    assert result.worst_case.n_failures == 0
    assert result.n_items == 40
    assert any("20 of 60 annotated items were not judged" in line for line in result.warnings)


@pytest.mark.edges
@pytest.mark.parametrize(
    "gone",
    [None, math.nan, np.float32("nan"), np.float64("nan"), Failure(), "", "  ", "Can’t tell"],
)
def test_whatever_is_no_answer_is_a_failure_of_the_judge(gone):
    judge, humans = simple()

    result = alt_test(judge | {0: gone, 5: gone}, humans)
    dropped = alt_test({i: x for i, x in judge.items() if i not in (0, 5)}, humans)

    assert result.worst_case.n_failures == 2
    assert result.t_test.p_values == dropped.t_test.p_values


@pytest.mark.edges
@pytest.mark.parametrize("gone", [None, math.nan, np.float32("nan"), np.float64("nan")])
@pytest.mark.parametrize("alignment", ["accuracy", "neg_rmse"])
def test_a_missing_number_is_no_number(gone, alignment):
    humans = {name: {i: (i + k) % 4 for i in range(40)} for k, name in enumerate("bcd", 1)}
    judge = {i: i % 4 for i in range(40)}

    result = alt_test(
        judge | {0: gone},
        humans | {"e": {i: gone if i == 3 else i % 3 for i in range(40)}},
        alignment=alignment,
        kind="scale",
    )

    without = alt_test(
        {i: x for i, x in judge.items() if i},
        humans | {"e": {i: i % 3 for i in range(40) if i != 3}},
        alignment=alignment,
        kind="scale",
    )
    assert result.t_test.p_values == without.t_test.p_values
    assert result.worst_case.n_failures == 1


# Degenerate data ------------------------------------------------------------------------------


def test_one_annotator_alone_cannot_be_compared():
    judge, humans = simple(names="a")

    with pytest.warns(DegenerateDataWarning, match="ω is undefined"):
        result = alt_test(judge, humans)

    assert math.isnan(result.winning_rate)
    assert result.outcome == "no_evidence"
    assert result.untested == ("a",)


def test_one_annotator_can_be_compared_with_gold_labels():
    gold, humans = simple(names="a")

    result = alt_test(gold, humans, gold=gold, epsilon=0.0)

    assert result.n_annotators == 1
    # The annotator slips on items 0, 8, 16, ..., 56: 8 wins, 52 ties.
    assert counts_of(result) == {"a": (8, 52, 0)}


def test_two_annotators_are_each_others_rest():
    judge, humans = simple(names="ab")

    result = alt_test(judge, humans)

    assert result.n_annotators == 2
    assert any("fewer than 3" in sentence for sentence in result.warnings)


def test_a_judge_that_never_answers_fails():
    judge, humans = simple()

    with pytest.warns(DegenerateDataWarning, match="ω is undefined"):
        result = alt_test(dict.fromkeys(judge), humans)

    assert math.isnan(result.t_test.winning_rate)
    assert (result.outcome, result.finding) == ("failed", "worse")
    assert result.n_items == 0
    assert result.worst_case.n_failures == 60
    assert result.winning_rate == 0


@pytest.mark.parametrize("judge", [{}, {"elsewhere": "x"}])
def test_a_judge_with_no_item_in_common_is_an_error(judge):
    _, humans = simple()

    with pytest.raises(
        NoDataError, match=r"`judges` must (share items with `humans`|hold at least one label)"
    ):
        alt_test(judge, humans)


@pytest.mark.parametrize("humans", [{}, {"a": {}}, {"a": {}, "b": {}}])
def test_no_annotations_are_an_error(humans):
    with pytest.raises(InputError, match=r"humans`?:? must"):
        alt_test({0: "x"}, humans)


def test_annotators_without_a_usable_label_are_an_error():
    with pytest.raises(NoDataError, match="no annotation is left to examine, 2 are dropped"):
        alt_test({0: "x"}, {"a": {0: None}, "b": {0: math.nan}})


@pytest.mark.parametrize("missing", [None, math.nan])
def test_an_annotator_without_labels_is_untested(missing):
    judge, humans = simple()

    result = alt_test(judge, humans | {"idle": dict.fromkeys(judge, missing), "none": {}})

    assert result.untested == ("idle", "none")
    assert result.annotators == alt_test(judge, humans).annotators


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2, "2"),
        (np.str_("2"), 2),
        (True, "a"),
        ("a", ["a"]),
        ({"a"}, "a"),
    ],
)
def test_labels_of_different_types_are_an_error_wherever_they_meet(one, other):
    far = {name: {i: one if i % 2 else other for i in range(40)} for name in "abc"}
    near = {name: dict.fromkeys(range(40), one) for name in "abc"}
    words = "must hold values of one type|must be one label|must be given for labels|cannot be read"

    with pytest.raises(InputError, match=words):
        alt_test(dict.fromkeys(range(40), one), far)
    with pytest.raises(InputError, match=words):
        alt_test(dict.fromkeys(range(40), other), near)


def test_a_declared_kind_joins_the_types_of_people_and_judge():
    words = {i: "13"[i % 2] for i in range(40)}
    numbers = {i: (1, 3.0)[i % 2] for i in range(40)}

    choice = alt_test(numbers, dict.fromkeys("abc", words), kind="choice")
    scale = alt_test(words, dict.fromkeys("abc", numbers), alignment="neg_rmse")

    for result in (choice, scale):
        assert counts_of(result) == {"a": (0, 40, 0), "b": (0, 40, 0), "c": (0, 40, 0)}


def test_strings_that_are_numbers_are_numbers_under_neg_rmse():
    rng = np.random.default_rng(0)
    scores = rng.integers(1, 6, (50, 4))
    humans = {f"h{k}": dict(enumerate(scores[:, k].tolist())) for k in range(3)}
    judge = dict(enumerate(scores[:, 3].tolist()))
    written = {name: {i: f" {x}.0 " for i, x in a.items()} for name, a in humans.items()}

    plain = alt_test(judge, humans, alignment="neg_rmse")
    strings = alt_test({i: str(x) for i, x in judge.items()}, written, alignment="neg_rmse")

    assert figures_of(plain) == figures_of(strings)
    assert plain.controls == strings.controls


@pytest.mark.edges
@pytest.mark.parametrize("word", ["five", "inf", "1e999", math.inf])
def test_what_is_no_number_is_listed_under_neg_rmse(word):
    humans = {name: {i: (i + k) % 5 for i in range(40)} for k, name in enumerate("abc")}
    judge = {i: i % 5 for i in range(40)} | {7: word}

    result = alt_test(judge, humans, alignment="neg_rmse")

    assert result.worst_case.n_failures == 1
    [dropped] = result.dropped
    assert (dropped.item, dropped.rater, dropped.source) == ("7", "judge", "judges")


@pytest.mark.parametrize(
    ("alignment", "kind"), [("accuracy", "choice"), ("accuracy", "scale"), ("neg_rmse", None)]
)
def test_numbers_too_large_for_a_float_are_no_accident(alignment, kind):
    humans = {name: {i: (i + k) % 5 for i in range(40)} for k, name in enumerate("abc")}
    judge = {i: i % 5 for i in range(40)} | {7: 10**400}

    result = alt_test(judge, humans, alignment=alignment, kind=kind)

    assert result.n_items in (39, 40)


def test_truth_values_are_not_numbers():
    humans = {name: {i: bool((i + k) % 3) for i in range(60)} for k, name in enumerate("abc")}

    with pytest.raises(InputError, match="must be a number, got False"):
        alt_test(humans["a"], humans, alignment="neg_rmse")


def test_words_for_truth_are_truth_values_where_declared():
    plain = {name: {i: bool((i // k) % 3) for i in range(60)} for k, name in enumerate("abcd", 1)}
    words = {True: ("yes", "TRUE", "1", "是"), False: ("no", "False", "0", "否")}
    written = {
        name: {i: words[x][i % 4] for i, x in answers.items()} for name, answers in plain.items()
    }

    one = alt_test(plain.pop("d"), plain)
    two = alt_test(written.pop("d"), written, kind="boolean")

    assert figures_of(one) == figures_of(two)
    assert one.controls == two.controls


@pytest.mark.edges
@pytest.mark.parametrize(
    ("convert", "alignment"),
    [
        (np.int64, "accuracy"),
        (np.int8, "neg_rmse"),
        (np.float64, "accuracy"),
        (np.float32, "neg_rmse"),
        (np.float16, "accuracy"),
        (lambda x: np.str_("abcde"[x]), "accuracy"),
        (lambda x: np.bool_(x % 2), "accuracy"),
        (np.array, "neg_rmse"),
    ],
)
def test_numpy_scalars_are_the_values_they_hold(convert, alignment):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 5, (50, 4)).tolist()
    typed = [[convert(x) for x in row] for row in scores]
    plain = [[x.item() for x in row] for row in typed]

    results = [
        alt_test(
            {i: row[3] for i, row in enumerate(rows)},
            {f"h{k}": {i: row[k] for i, row in enumerate(rows)} for k in range(3)},
            alignment=alignment,
            kind=None if isinstance(plain[0][0], str | bool) else "scale",
        )
        for rows in (plain, typed)
    ]

    assert figures_of(results[0]) == figures_of(results[1])
    assert results[0].controls == results[1].controls


@pytest.mark.edges
@pytest.mark.parametrize("convert", [list, tuple, set, frozenset, lambda x: np.array(sorted(x))])
def test_a_set_is_a_set_however_it_is_written(convert):
    rng = np.random.default_rng(0)
    draws = rng.random((40, 4, 4)) < 0.4

    def sets(as_type):
        rows = [
            [as_type({w for w, x in zip("abcd", d, strict=True) if x}) for d in r] for r in draws
        ]
        return {i: row[3] for i, row in enumerate(rows)}, {
            f"h{k}": {i: row[k] for i, row in enumerate(rows)} for k in range(3)
        }

    one, two = (
        alt_test(*sets(as_type), alignment="hamming", labels=list("abcd"))
        for as_type in (frozenset, convert)
    )

    assert figures_of(one) == figures_of(two)


def test_long_arrays_of_labels_are_told_apart():
    # NumPy shortens the repr of arrays of more than 1,000 elements.
    def array(k):
        return np.array([f"l{i}" for i in range(600)] + [f"x{k}"] + [f"m{i}" for i in range(600)])

    humans = {"a": {i: array(0) for i in range(31)}, "b": {i: array(i % 3) for i in range(31)}}
    judge = {i: array(i % 3) for i in range(30)}

    result = alt_test(judge, humans, alignment="jaccard")

    # Against "b" the judge is always right, and "a" on every third item.
    assert counts_of(result)["a"] == (20, 10, 0)


@pytest.mark.edges
@pytest.mark.parametrize("alignment", ["jaccard", "jaccard_macro", "jaccard_slots", "hamming"])
def test_empty_sets_agree(alignment):
    humans = {name: {i: [] for i in range(40)} for name in "abc"}

    result = alt_test(humans["a"], humans, alignment=alignment)
    declared_ = alt_test(humans["a"], humans, alignment=alignment, labels=["x"])

    for found in (result, declared_):
        assert counts_of(found) == dict.fromkeys("abc", (0, 40, 0))
        assert found.outcome == "no_evidence"


# Declared labels ------------------------------------------------------------------------------


def test_unknown_labels_are_dropped_and_listed():
    judge, humans = simple()
    humans["a"][3] = "?"
    judge[5] = "maybe"

    result = alt_test(judge, humans, labels=["x", "y", "z"])

    clean = alt_test(
        judge | {5: None},
        humans | {"a": {i: x for i, x in humans["a"].items() if i != 3}},
        labels=["x", "y", "z"],
    )
    assert figures_of(result) == figures_of(clean)
    assert result.worst_case.n_failures == 1
    listed = {(d.rater, d.item, d.value, d.source) for d in result.dropped}
    assert listed == {("a", "3", "?", "humans"), ("judge", "5", "maybe", "judges")}


def test_a_set_with_an_unknown_label_is_unknown():
    humans = {name: {i: ["x"] if i % 2 else ["x", "y"] for i in range(40)} for name in "abc"}
    judge = {i: ["x"] for i in range(40)} | {7: ["x", "new"]}

    result = alt_test(judge, humans, alignment="jaccard", labels=["x", "y"])

    assert result.worst_case.n_failures == 1
    assert '"new"' in result.dropped[0].reason


def test_a_judge_of_unknown_labels_only_is_an_error():
    _, humans = simple()

    with pytest.raises(InputError, match="60 of 60 labels of judges cannot be read"):
        alt_test(dict.fromkeys(range(60), "?"), humans, labels=["x", "y", "z"])


@pytest.mark.parametrize("alignment", ["jaccard_macro", "jaccard_slots", "hamming"])
def test_the_declared_universe_counts(alignment):
    rng = np.random.default_rng(1)
    humans = {
        f"h{k}": {i: [w for w in "ab" if rng.random() < 0.5] for i in range(40)} for k in range(3)
    }
    judge = {i: [w for w in "ab" if rng.random() < 0.5] for i in range(40)}

    wide = alt_test(judge, humans, alignment=alignment, labels=list("abcdef"))
    narrow = alt_test(judge, humans, alignment=alignment)

    oracle = alt_test_oracle(judge, humans, alignment=alignment, labels=list("abcdef"))
    assert_is_oracle(wide, oracle)
    assert wide.settings["labels"] == list("abcdef")
    assert not any("not declared" in line for line in wide.warnings)
    assert any("union of the 2 labels" in line for line in narrow.warnings)
    assert label_universe(judge, *humans.values()) == set("ab")


@pytest.mark.edges
@pytest.mark.parametrize(
    "word", ["can't tell", "Can’t Tell", "CANNOT TELL", "无法判断", " cant tell "]
)
def test_cannot_tell_is_missing_unless_it_is_a_label(word):
    judge, humans = simple()
    unsure = humans | {"d": dict.fromkeys(range(60), word)}
    labelled = humans | {"d": {i: "x" if i % 2 else word for i in range(60)}}

    missing = alt_test(judge, unsure)
    declared_ = alt_test(judge, labelled, labels=["x", "y", "z", word])

    assert missing.untested == ("d",)
    assert missing.annotators == alt_test(judge, humans).annotators
    assert len([d for d in missing.dropped if d.rater == "d"]) == 60
    assert declared_.untested == ()
    assert declared_.annotators[3].n_items == 60


# Strange labels -------------------------------------------------------------------------------


STRANGE = (
    "<script>alert('x')</script>",
    "القاضي على حق",
    "\u202eevil\u202c",
    "评审的回答是正确的",
    "a\nb\tc",
    "\x00",
    "=1+1",
    "😀",
    "caf\u00e9",
    "cafe\u0301",
)


def test_strange_labels_are_labels():
    plain, humans = simple()
    for start in range(len(STRANGE) - 3):  # the last two are one word, written in two ways
        rename = dict(zip("xyz", STRANGE[start : start + 3], strict=True))

        result = alt_test(
            {i: rename[x] for i, x in plain.items()},
            {name: {i: rename[x] for i, x in a.items()} for name, a in humans.items()},
        )

        assert figures_of(result) == figures_of(alt_test(plain, humans))


def test_strange_names_are_names():
    judge, humans = simple()
    renamed = dict(zip(STRANGE, humans.values(), strict=False))

    result = alt_tests(judges={"<b>": judge}, humans=renamed)["<b>"]

    assert [row.annotator for row in result.annotators] == list(STRANGE[:3])
    assert result.judge == "<b>"


@pytest.mark.ci
def test_a_label_of_a_million_characters_is_a_label():
    long = ["x" * 1_000_000, "x" * 999_999 + "y", "z"]
    plain, humans = simple()
    rename = dict(zip("xyz", long, strict=True))
    judge = {i: rename[x] for i, x in plain.items()}
    people = {name: {i: rename[x] for i, x in a.items()} for name, a in humans.items()}

    result = alt_test(judge, people)
    unknown = alt_test(judge, people | {"d": people["a"] | {0: "q" * 1_000_000}}, labels=long)

    assert figures_of(result) == figures_of(alt_test(plain, humans))
    assert len(result.controls[0].label) <= 80
    assert len(unknown.dropped[0].value) <= 80
    assert len(unknown.dropped[0].reason) <= 200


@pytest.mark.ci
def test_ten_thousand_labels_build_no_table(peak_memory):
    rng = np.random.default_rng(0)
    truth = {i: f"label-{i}" for i in range(10_000)}
    humans = {
        f"h{k}": {i: x if rng.random() < 0.9 else f"label-{i + 1}" for i, x in truth.items()}
        for k in range(3)
    }

    peak = peak_memory(lambda: at_each(truth, humans))

    # A table of 10,000 x 10,000 bits alone would have 12 MB, one of floats 800 MB.
    assert peak < 60e6
    assert alt_test(truth, humans).winning_rate == 1


@pytest.mark.slow
def test_ten_thousand_labels_can_be_weighed_and_compared_as_texts(peak_memory):
    truth = {i: f"label-{i}" for i in range(10_000)}
    humans = {name: {i: f"label-{i + (i % 9 == k)}" for i in truth} for k, name in enumerate("abc")}

    weighed = peak_memory(lambda: alt_test(truth, humans, weights="imbalance"))
    texts = peak_memory(lambda: alt_test(truth, humans, alignment="similarity"))

    assert weighed < 80e6
    assert texts < 200e6


@pytest.mark.slow
def test_a_universe_of_ten_thousand_labels_builds_no_table(peak_memory):
    rng = np.random.default_rng(0)
    picks = rng.integers(0, 10_000, (2_500, 4, 3))
    sets = [[{f"label-{x}" for x in cell} for cell in row] for row in picks.tolist()]
    humans = {f"h{k}": {i: row[k] for i, row in enumerate(sets)} for k in range(3)}
    judge = {i: row[3] for i, row in enumerate(sets)}
    labels = [f"label-{x}" for x in range(10_000)]

    found = []
    peak = peak_memory(
        lambda: found.append(alt_test(judge, humans, alignment="jaccard", labels=labels))
    )

    # 10,000 sets of 10,000 labels: 12.5 MB as bits, 800 MB as floats.
    assert peak < 300e6
    assert sum(counts_of(found[0])["h0"]) == 2_500


# Properties -----------------------------------------------------------------------------------


@pytest.mark.ci
@given(st.data(), aligned_studies(items=(3, 30)), st.randoms(use_true_random=False))
def test_the_order_of_items_and_annotators_is_irrelevant(data, drawn, random):
    study, alignment = drawn
    options = {"alignment": alignment, "labels": study.labels, "min_items": 2}
    if data.draw(st.booleans()):
        options["clusters"] = data.draw(item_clusters(study))

    def shuffled(mapping):
        pairs = list(mapping.items())
        random.shuffle(pairs)
        return dict(pairs)

    one = examined(study, **options)
    two = examined(
        study,
        shuffled(study.judge),
        shuffled({name: shuffled(answers) for name, answers in study.humans.items()}),
        **options,
    )

    rows = {row.annotator: asdict(row) for row in two.annotators}
    assert set(rows) == {row.annotator for row in one.annotators}
    for row in one.annotators:
        assert asdict(row) == pytest.approx(rows[row.annotator], nan_ok=True, abs=1e-12)
    assert two.winning_rate == pytest.approx(one.winning_rate, nan_ok=True)
    assert two.controls[0].winning_rate == pytest.approx(one.controls[0].winning_rate, nan_ok=True)
    assert two.human_agreement.alpha == pytest.approx(one.human_agreement.alpha, nan_ok=True)
    assert two.outcome == one.outcome


@pytest.mark.ci
@given(st.data(), aligned_studies(), epsilons())
def test_outcome_finding_and_reason_agree(data, drawn, eps):
    study, alignment = drawn

    result = examined(
        study,
        alignment=alignment,
        epsilon=eps[0],
        epsilon_mode=eps[1],
        labels=study.labels,
        min_items=2,
    )

    worst = result.worst_case
    if result.untested == ():
        assert worst.advantage_probability <= result.advantage_probability + 1e-12
    assert result.passed == (result.outcome == "passed")
    assert result.n_shown == sum(row.shown for row in result.annotators)
    assert result.outcome in ("passed", "failed", "no_evidence")
    decided = {"shown": "passed", "not_shown": "failed", "missed": "failed"}
    assert result.outcome == decided.get(result.because.code, "no_evidence")
    findings = {"shown": "passed", "not_shown": "not_shown", "missed": "worse"}
    assert result.finding == findings.get(result.because.code, "no_evidence")


# The Python face ------------------------------------------------------------------------------


def test_shapes_of_the_answer():
    judge, humans = simple()

    one = alt_test(judge, humans)
    judges = alt_tests(judges={"g": judge, "h": judge}, humans=humans)
    both = alt_tests(judges={"g": judge}, humans=humans, epsilon=[0.1, 0.2])

    assert isinstance(one, stats.AltTestResult)
    assert list(judges) == ["g", "h"]
    assert judges["g"].judge == "g"
    assert [(row.judge, row.epsilon) for row in both["g"]] == [("g", 0.1), ("g", 0.2)]


def test_gold_with_epsilon_zero_is_outperforming_humans():
    gold, humans = simple(n_items=300)

    result = outperforms_humans(gold, humans, gold=gold)

    assert figures_of(result) == figures_of(alt_test(gold, humans, gold=gold, epsilon=0.0))
    assert result.epsilon == 0
    assert result.outcome == "passed"
    with pytest.raises(InputError, match="`epsilon` must be left out"):
        outperforms_humans(gold, humans, gold=gold, epsilon=0.1)


def long_frame(humans, make):
    rows = [(i, name, x) for name, answers in humans.items() for i, x in answers.items()]
    items, names, labels = zip(*rows, strict=True)
    return make({"item": [str(i) for i in items], "annotator": list(names), "label": list(labels)})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_frames_are_the_dicts_they_hold(make):
    judge, humans = simple()
    expected = alt_test(
        {str(i): x for i, x in judge.items()},
        {name: {str(i): x for i, x in a.items()} for name, a in humans.items()},
    )
    if make is dict:
        import pyarrow as pa

        make = pa.table

    people = long_frame(humans, make)
    machine = make({"item": [str(i) for i in judge], "label": list(judge.values())})
    result = alt_test(machine, people)

    assert figures_of(result) == figures_of(expected)


def test_items_are_any_ids():
    judge, humans = simple()
    key = {i: ("doc", i, None) for i in judge}

    result = alt_test(
        {key[i]: x for i, x in judge.items()},
        {name: {key[i]: x for i, x in a.items()} for name, a in humans.items()},
    )

    assert figures_of(result) == figures_of(alt_test(judge, humans))


@pytest.mark.ci
@pytest.mark.parametrize("n_annotators", [127, 128, 255, 256, 300])
def test_there_may_be_many_annotators(n_annotators):
    truth = {i: "xyz"[i % 3] for i in range(30)}

    result = alt_test(truth, {k: dict(truth) for k in range(n_annotators)})

    assert result.n_annotators == n_annotators
    assert {row.n_ties for row in result.annotators} == {30}


@pytest.mark.edges
@pytest.mark.parametrize("n_labels", [126, 127, 128, 129, 255, 256])
def test_there_may_be_many_labels(n_labels):
    humans = {name: {i: f"l{i}" for i in range(n_labels)} for name in "abc"}
    judge = {i: f"l{(i + 1) % n_labels}" for i in range(n_labels)}

    result = alt_test(judge, humans)

    assert counts_of(result) == dict.fromkeys("abc", (0, 0, n_labels))


def test_judges_of_one_name_are_not_merged_in_silence():
    judge, humans = simple()

    with pytest.raises(InputError, match="judge"):
        alt_tests(judges={1: judge, "1": humans["a"]}, humans=humans)


def test_annotators_may_be_numbers():
    judge, humans = simple()
    numbered = dict(enumerate(humans.values()))

    quality = alt_test(judge, numbered, quality={0: 1, 1: 2, 2: 1})
    expert = alt_test(judge, numbered, expert=1)

    assert quality.n_annotators == 3
    assert [row.annotator for row in expert.annotators] == ["0", "2"]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": None}, "must be a label table, a data frame, .*, got None"),
        ({"humans": None}, "`humans` must be given, or one table of people and judges"),
        ({"humans": {"a": "x"}}, "`humans` must be a mapping {rater: {item: label}}, got 'x'"),
        ({"judge": {"g": {0: "x"}}}, "with examine\\(judges="),
        ({"alignment": "rmse"}, "`alignment` must be one of"),
        ({"kind": "rating"}, "`kind` must be one of"),
        ({"kind": "choice", "alignment": "neg_rmse"}, "`alignment` must suit a choice question"),
        ({"kind": "scale"}, "180 of 180 labels of humans cannot be read, more than one in ten"),
        ({"labels": "xyz"}, "`labels` must be a sequence of at least one label"),
        ({"labels": ["x", None]}, "`labels` must fit the question|`labels` must"),
        ({"expert": "nobody"}, "`expert` must be one of the annotators 'a', 'b', 'c'"),
        ({"expert": "a", "gold": {0: "x"}}, "`gold` must be None when `expert` is given"),
        ({"gold": {"q": "x"}}, "`gold` must share items with `humans`"),
        ({"quality": {"a": 1}}, "`quality` must name every annotator, got no weight for 'b'"),
        ({"quality": {"a": 1, "b": 0, "c": 1}}, "`quality` must hold one positive number"),
        (
            {"clusters": {0: "s"}},
            "`cluster` must be given for every annotated item, got none for 59",
        ),
        ({"alignment": "jaccard"}, "must be a JSON array of labels, got .*separator="),
    ],
)
def test_a_wrong_argument_is_an_input_error(options, message):
    judge, humans = simple()
    given_ = {"judge": judge, "humans": humans} | options

    with pytest.raises(InputError, match=message):
        alt_test(**given_)


def test_continuous_labels_have_no_majority_to_weigh():
    humans = {name: {i: (i + k) / 7 for i in range(40)} for k, name in enumerate("abc")}

    with pytest.raises(InputError, match="`weights` must be None for continuous labels"):
        alt_test({i: i / 7 for i in range(39)}, humans, alignment="neg_rmse", weights="imbalance")


def test_a_short_example_by_hand():
    humans = {
        "h1": {"i1": "a", "i2": "a", "i3": "b", "i4": None},
        "h2": {"i1": "a", "i2": "b", "i3": "b", "i4": "a"},
        "h3": {"i1": "b", "i3": "a", "i4": "a", "i5": "a"},
    }
    judge = {"i1": "a", "i2": "b", "i3": "b", "i4": "b", "i5": "a"}

    result = alt_test(judge, humans, min_items=3)

    # h1 on i1, i2, i3: against {a,b} a tie, {b} a win, {b,a} a tie; h2: two ties, b against {a}
    # no loss (0 = 0), i4 a loss; h3 on i1, i3, i4: two wins and a loss.
    assert counts_of(result) == {"h1": (1, 2, 0), "h2": (0, 3, 1), "h3": (2, 0, 1)}
    assert result.advantage_probability == pytest.approx((1 + 3 / 4 + 2 / 3) / 3)
    assert result.human_advantage == pytest.approx((2 / 3 + 1 + 1 / 3) / 3)
