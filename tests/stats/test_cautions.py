"""Cautions and reasons: every code is known, and every number of a sentence stands beside it."""

import re
from dataclasses import asdict, replace

import numpy as np
import pytest

from alt_tests import alt_tests
from voirdire import alt_test, stats

QUOTED = re.compile(r"(?<!\w)'([^']*)'")  # not the apostrophe of "annotators' labels"


def survey(seed=0, *, n_items=120, prevalence=0.5, noise=0.1, names="abc"):
    """Annotators of a yes/no question, and what is true."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < prevalence
    humans = {
        name: dict(enumerate((truth ^ (rng.random(n_items) < noise)).tolist())) for name in names
    }
    return dict(enumerate(truth.tolist())), humans


def examine(judge, humans, **options):
    return alt_test(judge, humans, **({"n_resamples": 0} | options))


def clusters_of(judge, n):
    return {item: f"source {item % n}" for item in judge}


def alone(result, code):
    """Return the one caution or reason of a code, or None."""
    found = [row for row in (*result.cautions, result.because) if row.code == code]
    assert len(found) <= 1
    return found[0] if found else None


# Where each of them comes up ---------------------------------------------------------------------


def _correction():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth = rng.random(60) < 0.5
        humans, judge = (
            [dict(enumerate((truth ^ (rng.random(60) < 0.25)).tolist())) for _ in range(n)]
            for n in (6, 1)
        )
        humans, [judge] = {f"h{k}": labels for k, labels in enumerate(humans)}, judge
        result = examine(judge, humans)
        if alone(result, "correction"):
            return result
    raise AssertionError


def _failures():
    judge, humans = survey()
    return examine(judge | dict.fromkeys(range(14)), humans)


def _untested():
    judge, humans = survey()
    humans |= {f"rare {k}": dict.fromkeys(range(10), True) for k in range(7)}
    return examine(judge, humans)


def _unstable():
    judge, humans = survey(5, noise=0.2)
    wrong = {item: label ^ (item % 5 == 0) for item, label in judge.items()}
    return examine(wrong, humans, epsilon=0.1, n_resamples=1_500)


def _undeclared():
    rng = np.random.default_rng(0)
    labels = {
        name: dict(enumerate([["x"], ["y"], []][k] for k in rng.integers(0, 3, 60)))
        for name in "abcd"
    }
    judge = labels.pop("d")
    return examine(judge, labels, alignment="jaccard_macro")


def _strange_annotators():
    judge, humans = survey()
    words = {
        name: {i: "yes" if x else "no" for i, x in row.items()} for name, row in humans.items()
    }
    words |= {f"row {k}": {i: f"{k}-{i}" for i in range(120)} for k in range(6)}
    return examine({i: "yes" if x else "no" for i, x in judge.items()}, words)


def _strange_labels():
    judge, humans = survey()
    words = {name: ["yes" if x else "no" for x in row.values()] for name, row in humans.items()}
    people = {name: dict(zip(judge, row, strict=True)) for name, row in words.items()}
    answers = {i: "Yes." if x and i % 5 == 0 else "yes" if x else "no" for i, x in judge.items()}
    return examine(answers, people, kind="choice")


def _not_judged():
    judge, humans = survey()
    return examine({item: label for item, label in judge.items() if item >= 17}, humans)


@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
def _untestable():
    return examine(*survey(n_items=20))


def _constant():
    judge, humans = survey(1, n_items=1_000, prevalence=0.03, noise=0.02)
    return dict.fromkeys(judge, False), humans


def _wrong():
    judge, humans = survey()
    return {item: not label for item, label in judge.items()}, humans


def _weaker():
    judge, humans = survey(5, n_items=60, noise=0.15)
    return {item: label ^ (item % 3 == 0) for item, label in judge.items()}, humans


def _no_p_values():
    judge, humans = survey()
    return examine(judge, humans, clusters=clusters_of(judge, 1))


def _few_clusters():
    judge, humans = survey()
    return examine(judge, humans, clusters=clusters_of(judge, 19))


def _undefined_agreement():
    humans = {name: dict.fromkeys(range(40), "yes") for name in "abc"}
    return examine(humans["a"], humans)


SCENES = {
    "correction": _correction,
    "failures": _failures,
    "few_annotators": lambda: examine(*survey(names="ab")),
    "few_clusters": _few_clusters,
    "few_items": lambda: examine(*survey(n_items=40, names="abcdefg")),
    "many_ties": lambda: examine(*survey(noise=0.05)),
    "not_judged": _not_judged,
    "skewed_labels": lambda: examine(*survey(n_items=300, prevalence=0.03, noise=0.02)),
    "strange_annotators": _strange_annotators,
    "strange_labels": _strange_labels,
    "undeclared_labels": _undeclared,
    "unstable": _unstable,
    "untested_annotators": _untested,
    "weak_annotators": lambda: examine(*survey(noise=0.3)),
    "one_sided": lambda: examine(*survey(prevalence=0.05, noise=0.01)),
    "undefined_agreement": _undefined_agreement,
    "weak_agreement": lambda: examine(*survey(3, noise=0.4)),
    "turned_round": lambda: examine(*_wrong()),
}

DECISIONS = {
    "like_constant": lambda: examine(*_constant()),
    "missed": lambda: examine(*_wrong()),
    "no_p_values": _no_p_values,
    "not_shown": lambda: examine(*_weaker()),
    "shown": lambda: examine(*survey()),
    "unpassable": lambda: examine(*survey(n_items=40, noise=0.0), epsilon=0.05),
    "untestable": _untestable,
}


def numbers_in(sentence):
    """Read the numbers of a sentence outside quotation marks, with half a unit of their last digit.

    Percentages are fractions.
    """
    bare = QUOTED.sub("", sentence)
    for text, percent in re.findall(r"(-?\d[\d,]*(?:\.\d+)?)(%?)", bare):
        digits = text.replace(",", "")
        scale = 0.01 if percent else 1.0
        unit = 10.0 ** -len(digits.partition(".")[2])
        yield float(digits) * scale, 0.5 * unit * scale + 1e-9


def quoted_in(sentence):
    return QUOTED.findall(sentence)


@pytest.mark.edges
@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
@pytest.mark.parametrize("code", SCENES | DECISIONS)
def test_every_number_and_name_of_a_sentence_is_a_figure(code):
    found = alone((SCENES | DECISIONS)[code](), code)

    values = list(found.figures.values())
    flat = [x for value in values for x in (value if isinstance(value, list) else [value])]
    figures = [x for x in flat if isinstance(x, int | float) and not isinstance(x, bool)]
    texts = [str(x) for x in flat if isinstance(x, str)]
    # "and 2 more" follows from how many there are and how many are named
    if "n" in found.figures:
        figures.append(found.figures["n"] - len(found.figures["annotators"]))
    for number, half_unit in numbers_in(found.sentence):
        known = number in (0.5, 5.0, 0.001)  # ω passes at .5, and small p-values are below .001
        assert known or any(abs(number - figure) <= half_unit for figure in figures), (
            number,
            found,
        )
    for text in quoted_in(found.sentence):
        assert text in texts
    assert asdict(found) == {
        "code": code,
        "sentence": found.sentence,
        "figures": found.figures,
    }


@pytest.mark.edges
@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
@pytest.mark.parametrize("code", SCENES | DECISIONS)
def test_one_decision_stands_beside_any_number_of_cautions(code):
    result = (SCENES | DECISIONS)[code]()

    codes = {row.code for row in result.cautions}
    assert codes <= set(SCENES)
    assert result.because.code in DECISIONS
    assert code in codes | {result.because.code}
    outcomes = {"shown": "passed", "not_shown": "failed", "missed": "failed"}
    assert result.outcome == outcomes.get(result.because.code, "no_evidence")


# The limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_items", "few"), [(49, True), (50, False)])
def test_fewer_than_fifty_items_are_few(n_items, few):
    found = alone(examine(*survey(n_items=n_items)), "few_items")

    assert (found is not None) == few
    if few:
        expected = {"annotators": ["a", "b", "c"], "n": 3, "fewest": 49, "few": 50}
        assert found.figures == expected


def test_only_annotators_with_few_items_are_named():
    judge, humans = survey()
    humans["c"] = {item: humans["c"][item] for item in range(31)}

    found = alone(examine(judge, humans), "few_items")

    assert found.figures == {"annotators": ["c"], "n": 1, "fewest": 31, "few": 50}
    assert "for 'c', the fewest 31" in found.sentence


@pytest.mark.parametrize(("n", "few"), [(19, True), (20, False)])
def test_fewer_than_twenty_clusters_are_few(n, few):
    judge, humans = survey()

    found = alone(examine(judge, humans, clusters=clusters_of(judge, n)), "few_clusters")

    assert (found is not None) == few
    if few:
        assert found.figures == {"n_clusters": 19, "needed": 20}
    assert alone(examine(judge, humans), "few_clusters") is None


@pytest.mark.parametrize(("n_rare", "skewed"), [(10, True), (11, False)])
def test_nine_tenths_of_one_label_are_skewed(n_rare, skewed):
    # 300 labels, three of each rare item: 30 of 300 are a tenth.
    row = {item: "rare" if item < n_rare else "often" for item in range(100)}

    found = alone(examine(row, dict.fromkeys("abc", row)), "skewed_labels")

    assert (found is not None) == skewed
    if skewed:
        assert found.figures == {"share": 0.9, "label": "often"}


def test_only_annotators_labels_are_skewed_and_only_words():
    rng = np.random.default_rng(0)
    humans = rng.integers(0, 2, (100, 3))

    [constant] = stats.alt_test(np.zeros(100, dtype=int), humans)
    [numbers] = stats.alt_test(np.full(100, 3.0), np.full((100, 3), 3.0), alignment="neg_rmse")

    assert alone(constant, "skewed_labels") is None
    assert alone(numbers, "skewed_labels") is None


@pytest.fixture(scope="module")
def resampled():
    """One judge at many margins: the share of 100 resamples that pass rises from 0 to 1."""
    judge, humans = survey(5, noise=0.2)
    wrong = {item: label ^ (item % 5 == 0) for item, label in judge.items()}
    margins = [k / 800 for k in range(160)]

    def run(**options):
        judges = {"judge": wrong}
        options |= {"epsilon": margins, "n_resamples": 100}
        return alt_tests(judges=judges, humans=humans, **options)["judge"]

    return run(), run(clusters=clusters_of(judge, 60))


@pytest.mark.ci
def test_between_a_tenth_and_nine_tenths_a_judge_is_unstable(resampled):
    seen = set()
    for result in (*resampled[0], *resampled[1]):
        stability = result.uncertainty.stability

        found = alone(result, "unstable")

        seen.add(round(100 * stability))
        assert (found is not None) == (10 <= round(100 * stability) <= 90), stability
    assert {9, 10, 90, 91} <= seen


@pytest.mark.ci
def test_what_was_drawn_again_is_said(resampled):
    for results, what in zip(resampled, ("items", "clusters"), strict=True):
        result = next(row for row in results if alone(row, "unstable"))
        found, stability = alone(result, "unstable"), result.uncertainty.stability

        assert found.sentence == (
            f"the result depends on which {what} were labelled: with the same {what} drawn again, "
            f"ω reaches .5 in {stability:.0%} of 100 draws (this is no chance of passing a new "
            "study)"
        )
        expected = {"stability": stability, "n_resamples": 100, "clustered": what == "clusters"}
        assert found.figures == expected


def test_without_resamples_a_judge_is_not_called_unstable():
    assert alone(examine(*survey()), "unstable") is None


def test_figures_of_one_caution_do_not_change_its_identity():
    one = alone(examine(*survey(n_items=40)), "few_items")

    assert hash(one) == hash(replace(one, figures={}))


@pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning")
def test_failures_where_nobody_was_tested_have_no_winning_rate():
    judge, humans = survey(n_items=20)

    found = {row.code: row.sentence for row in examine(judge | {0: None}, humans).cautions}

    assert found["failures"] == "the judge failed on 1 item, which counts as lost"
