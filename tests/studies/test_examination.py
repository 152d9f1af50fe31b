"""The plan that is fixed beforehand, and one aligned matrix examined under it."""

import dataclasses
import json

import numpy as np
import pytest

import voirdire
from alt_tests import alt_tests
from voirdire import DegenerateDataWarning, alt_test, stats
from voirdire.errors import InputError
from voirdire.studies import TestPlan as Plan


def labels(n_items=50):
    """Two judges, of whom the second is always wrong, and four annotators who are often right."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n_items)
    noisy = np.where(rng.random((n_items, 4)) < 0.2, 1 - truth[:, None], truth[:, None])
    answers = np.stack([truth, 1 - truth], axis=1)

    def named(names, codes):
        words = np.array(["no", "yes"])[codes].T.tolist()
        return {name: dict(enumerate(row)) for name, row in zip(names, words, strict=True)}

    people = named(("ann", "bob", "eve", "kim"), noisy)
    return named(("first", "second"), answers), people, (answers, noisy)


def test_figures_are_those_of_the_arrays():
    judges, humans, (answers, noisy) = labels()

    found = alt_tests(judges=judges, humans=humans, epsilon=0.1)

    expected = stats.alt_test(answers, noisy, epsilon=0.1)
    for row, result in zip(found.values(), expected, strict=True):
        assert row.winning_rate == result.winning_rate
        assert row.advantage_probability == result.advantage_probability
        assert [a.p_value for a in row.annotators] == [a.p_value for a in result.annotators]
        assert [a.annotator for a in row.annotators] == ["ann", "bob", "eve", "kim"]


def test_a_judge_that_writes_its_labels_unlike_every_annotator_is_noticed():
    judges, humans, _ = labels()
    judges["second"] = dict.fromkeys(range(50), "Yes.")

    found = alt_tests(judges=judges, humans=humans)

    assert "strange_labels" not in [caution.code for caution in found["first"].cautions]
    assert found["second"].outcome == "no_evidence"
    assert found["second"].because.code == "vocabulary"
    assert (
        "the judge writes 'Yes.', the annotators 'no', 'yes'." in found["second"].because.sentence
    )


def test_settings_say_everything_else_that_determines_the_result():
    judges, humans, _ = labels()
    quality = {"ann": 1, "bob": 1, "eve": 1, "kim": 2}

    result = alt_test(judges["first"], humans, quality=quality, seed=4)

    assert result.settings["quality"] == quality
    assert result.settings["seed"] == 4
    assert result.settings["gold"] is False
    assert result.settings["n_clusters"] is None
    assert result.settings["labels_declared"] is False
    documented = {
        "min_items",
        "min_annotators",
        "weights",
        "quality",
        "expert",
        "seed",
    }
    assert documented <= result.settings.keys()


def test_a_plan_is_plain_values():
    def closeness(first, second):
        raise AssertionError

    settings = Plan(similarity=closeness, quality={"a": 1.0}).as_settings()

    assert settings["similarity"] == "closeness"
    assert json.loads(json.dumps(settings)) == settings


def test_a_plan_and_keywords_say_the_same():
    humans = {name: {i: (i + k) % 3 == 0 for i in range(60)} for k, name in enumerate("abc")}
    judge = {i: i % 3 == 0 for i in range(59)}
    plan = Plan(epsilon=0.1, min_items=20, n_resamples=0)

    by_plan = voirdire.alt_test(judge, humans, plan=plan)
    by_keywords = voirdire.alt_test(judge, humans, epsilon=0.1, min_items=20, n_resamples=0)
    over_plan = voirdire.alt_test(judge, humans, plan=plan, epsilon=0.3)

    assert by_plan == by_keywords
    assert (over_plan.epsilon, over_plan.settings["min_items"]) == (0.3, 20)


def test_a_misspelt_setting_is_named_with_the_nearest():
    labels = {i: i % 2 for i in range(40)}

    with pytest.raises(InputError, match=r"`min_item` must be a setting .*'min_items'"):
        voirdire.alt_test(labels, {"ann": labels, "bob": labels}, min_item=10)


def test_a_plan_is_checked_where_it_is_made():
    for name, value in {
        "epsilon": 1.0,
        "epsilon_mode": "both",
        "weights": "all",
        "min_items": 1,
        "min_annotators": 0,
        "false_discovery_rate": 5,
        "n_resamples": -1,
        "confidence_level": 95,
        "seed": 0.5,
    }.items():
        with pytest.raises(InputError, match=f"`{name}` must be"):
            Plan(**{name: value})
    with pytest.raises(dataclasses.FrozenInstanceError, match="epsilon"):
        Plan().epsilon = 0.3


def test_only_ten_of_many_annotators_are_named_in_an_error():
    judge = dict.fromkeys(range(50), "no")
    humans = {f"{'x' * 1000}{number}": judge for number in range(30)}

    with pytest.raises(InputError, match="`expert` must be one of") as caught:
        alt_test(judge, humans, expert="y" * 10**6)

    assert len(str(caught.value)) < 1500


def test_a_function_is_called_by_its_name():
    class Nameless:
        def __call__(self, first, second):
            return (first == second).astype(float)

    def same(first, second):
        return (first == second).astype(float)

    judges, humans, _ = labels()
    named, nameless = (
        alt_test(judges["first"], humans, alignment=score) for score in (same, Nameless())
    )

    assert (named.alignment, nameless.alignment) == ("same", "custom")
    assert named.annotators == alt_test(judges["first"], humans).annotators


@pytest.mark.edges
@pytest.mark.parametrize(
    ("label", "text", "alignment"),
    [
        (frozenset({"b", "a"}), "{a, b}", "jaccard"),
        (frozenset(), "{}", "jaccard"),
        (True, "true", "accuracy"),
        (3, "3", "accuracy"),
        ("x", "x", "accuracy"),
    ],
)
def test_labels_have_a_text(label, text, alignment):
    humans = {name: dict.fromkeys(range(40), label) for name in "abc"}

    kind = "choice" if label == 3 else None
    result = alt_test(humans["a"], humans, alignment=alignment, kind=kind)

    [constant] = [row for row in result.controls if row.control == "constant"]
    assert constant.label == text


def test_a_judge_asked_about_one_side_only_is_no_evidence():
    rows = [f"i{row}" for row in range(600)]
    truth = {item: "yes" if row % 2 else "no" for row, item in enumerate(rows)}
    slips = {"ann": 7, "bob": 11, "eve": 13}
    humans = {
        name: {
            item: ("no" if label == "yes" else "yes") if row % step == 0 else label
            for row, (item, label) in enumerate(truth.items())
        }
        for name, step in slips.items()
    }
    one_sided = {item: "no" for item, label in truth.items() if label == "no"}

    result = alt_test(one_sided, humans)

    assert result.winning_rate >= 0.5
    assert result.outcome == "no_evidence"
    assert "not_judged" in [caution.code for caution in result.cautions]


def test_failures_cannot_make_a_pass():
    items = range(200)
    humans = {
        name: {i: i % 2 if i % 9 != k else 1 - i % 2 for i in items} for k, name in enumerate("abc")
    }
    judge = {i: 1 - i % 2 for i in range(29)} | dict.fromkeys(range(29, 31))

    with pytest.warns(DegenerateDataWarning):
        result = alt_test(judge, humans)

    assert result.outcome != "passed"


def test_the_empty_set_is_tried_as_a_constant():
    rng = np.random.default_rng(1)
    labels = [f"l{k}" for k in range(9)]
    humans = {
        name: {i: [label for label in labels if rng.random() < 0.06] for i in range(120)}
        for name in ("ann", "bob", "eve")
    }
    judge = {i: [] for i in range(120)}

    result = alt_test(judge, humans, alignment="hamming", labels=labels)

    constant = next(control for control in result.controls if control.control == "constant")
    assert constant.label == "{}"
    assert constant.winning_rate == result.winning_rate


def test_a_column_that_is_no_annotator_is_noticed():
    humans = {
        name: {i: "yn"[(i + (i % 10 == k)) % 2] for i in range(60)} for k, name in enumerate("abc")
    }
    humans["text"] = {i: f"text {i}" for i in range(60)}

    result = alt_test({i: "yn"[i % 2] for i in range(60)}, humans)

    [caution] = [row for row in result.cautions if row.code == "strange_annotators"]
    assert "'text'" in caution.sentence


def test_settings_are_not_shared_between_results():
    humans = {name: {i: (i + (i % 10 == k)) % 2 for i in range(60)} for k, name in enumerate("abc")}

    judges = {"j": {i: i % 2 for i in range(60)}}
    first, second = alt_tests(judges=judges, humans=humans, epsilon=[0.1, 0.2])["j"]
    first.settings["seed"] = 99

    assert second.settings["seed"] == 0


def test_clusters_are_counted_on_the_items_of_each_judge():
    humans = {name: {i: (i + (i % 10 == k)) % 2 for i in range(80)} for k, name in enumerate("abc")}
    clusters = {i: f"source {i // 2}" for i in range(80)}
    judges = {
        "whole": {i: i % 2 for i in range(80)},
        "half": {i: i % 2 for i in range(40, 80)},
    }

    found = alt_tests(judges=judges, humans=humans, clusters=clusters)

    assert found["whole"].settings["n_clusters"] == 40
    assert found["half"].settings["n_clusters"] == 20


@pytest.mark.parametrize("slip", ["Yes", "yes ", "YES"])
def test_a_word_that_differs_in_case_or_spaces_only_is_refused(slip):
    labels = {i: "yes" if i % 2 else "no" for i in range(60)}
    humans = {name: dict(labels) for name in ("ann", "bob", "eve")}
    every = {i: slip if label == "yes" else label for i, label in labels.items()}

    for judge in (labels | {1: slip}, every):
        with pytest.raises(InputError, match=f"must be written alike, got '({slip}|yes)'"):
            voirdire.alt_test(judge, humans)


def test_every_label_of_a_judge_that_nobody_uses_is_counted():
    labels = {i: f"topic {i % 5}" for i in range(100)}
    humans = {name: dict(labels) for name in ("ann", "bob", "eve")}

    none, one, most, nearly_all = (
        voirdire.alt_test(labels | dict.fromkeys(range(n), "other"), humans) for n in (0, 1, 89, 90)
    )

    assert "strange_labels" not in [caution.code for caution in none.cautions]
    assert any(row.startswith("1 of 100 answers of the judge is a label") for row in one.warnings)
    assert "strange_labels" in [caution.code for caution in most.cautions]
    assert (most.outcome, nearly_all.outcome) == ("failed", "no_evidence")
    assert nearly_all.because.code == "vocabulary"
    assert (nearly_all.finding, nearly_all.passed) == ("no_evidence", False)


@pytest.mark.parametrize(("factor", "is_other"), [(100, True), (0.1, True), (2, False)])
def test_a_judge_that_scores_on_another_scale_is_no_evidence(factor, is_other):
    labels = {i: 1 + i % 5 for i in range(60)}
    humans = {name: dict(labels) for name in ("ann", "bob", "eve")}

    found = voirdire.alt_test({i: x * factor for i, x in labels.items()}, humans, kind="scale")

    assert (found.because.code == "vocabulary") is is_other
    assert (found.outcome == "no_evidence") is (found.finding == "no_evidence") is is_other
    assert found.passed is (found.outcome == "passed")
    if factor == 100:
        assert found.because.sentence == (
            "60 of 60 answers of the judge are labels that no annotator uses: the judge writes "
            "100–500, the annotators 1–5."
        )


@pytest.mark.parametrize("kind", ["choice", "scale"])
def test_an_annotator_who_agrees_with_nobody_is_said(kind):
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 80)
    slips = rng.random((3, 80)) < 0.1
    people = [np.where(slip, rng.integers(1, 6, 80), truth) for slip in slips]
    humans = dict(zip(("ann", "bob", "eve"), people, strict=True)) | {"dan": rng.integers(1, 6, 80)}
    labels = {name: dict(enumerate(row.tolist())) for name, row in humans.items()}
    judge = dict(enumerate(truth.tolist()))

    with_dan = voirdire.alt_test(judge, labels, kind=kind)
    without = voirdire.alt_test(judge, {n: labels[n] for n in ("ann", "bob", "eve")}, kind=kind)
    fools = {f"fool{n}": dict(enumerate(rng.integers(1, 6, 80).tolist())) for n in range(4)}

    found = {row.code: row.figures for row in with_dan.cautions}
    assert found["chance_annotators"]["annotators"] == ["dan"]
    assert "chance_annotators" not in [row.code for row in without.cautions]
    # where nobody agrees with anybody, that is said of the panel
    alone = voirdire.alt_test(judge, fools, kind=kind)
    assert "chance_annotators" not in [row.code for row in alone.cautions]


def test_a_set_with_one_unknown_label_is_no_other_vocabulary():
    people = {n: ["rude"] if n % 3 else ["rude", "spam"] for n in range(60)}
    humans = {name: dict(people) for name in ("ann", "bob", "eve")}
    more = {n: [*labels, "other"] for n, labels in people.items()}
    apart = {n: ["other"] for n in people}

    beside, elsewhere = (
        voirdire.alt_test(judge, humans, alignment="jaccard") for judge in (more, apart)
    )

    assert beside.because.code != "vocabulary"
    assert any(row.startswith("60 of 60 answers") for row in beside.warnings)
    assert (elsewhere.outcome, elsewhere.because.code) == ("no_evidence", "vocabulary")


@pytest.mark.filterwarnings("ignore")
def test_one_number_beyond_all_others_leaves_the_study_whole():
    people = {name: {i: float(i * k % 5) for i in range(40)} for k, name in ((1, "a"), (2, "b"))}
    judge = people["a"] | {3: 1e308}

    found = voirdire.examine(judges={"far": judge}, humans=people, kind="scale")

    (result,) = found.results
    assert result.outcome in ("failed", "passed")
    assert len(result.annotators) == 2


# What else is noticed -----------------------------------------------------------------------------


def find_cautions(judge, humans, **options):
    result = alt_test(judge, humans, **options)
    return result, {row.code: row for row in result.cautions}


def draw_panel(n_items=120, errors=(0.1, 0.1, 0.1), seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.5
    humans = {
        f"h{n}": dict(enumerate((truth ^ (rng.random(n_items) < error)).tolist()))
        for n, error in enumerate(errors)
    }
    return rng, truth, humans


def test_labels_that_are_turned_round_are_noticed():
    rng, truth, humans = draw_panel()
    judge = dict(enumerate((~truth ^ (rng.random(120) < 0.05)).tolist()))

    _, cautions = find_cautions(judge, humans)

    votes = np.array([list(row.values()) for row in humans.values()]).sum(axis=0) >= 2
    n_opposite = int((votes != np.array(list(judge.values()))).sum())
    assert cautions["turned_round"].sentence == (
        f"it says the opposite of the annotators' majority on {n_opposite} of 120 items: are the "
        "labels turned round?"
    )


def test_a_copy_of_the_majority_is_noticed_and_a_good_judge_is_not():
    rng, truth, humans = draw_panel(n_items=240)
    votes = np.array([list(row.values()) for row in humans.values()]).sum(axis=0) >= 2
    split = np.array([list(row.values()) for row in humans.values()]).std(axis=0) > 0
    other = np.where(split | (rng.random(240) < 0.8), votes, ~votes)  # errs where all agree

    _, copied = find_cautions(dict(enumerate(other.tolist())), humans)
    _, good = find_cautions(dict(enumerate(truth.tolist())), humans)

    assert copied["majority_copy"].figures == {"n_items": int(split.sum())}
    assert "majority_copy" not in good


def test_a_judge_that_passes_by_careless_annotators_is_said_to():
    rng, truth, humans = draw_panel(errors=(0.02, 0.02, 0.35, 0.35))
    judge = dict(enumerate((truth ^ (rng.random(120) < 0.2)).tolist()))

    result, cautions = find_cautions(judge, humans)
    _, good = find_cautions(dict(enumerate(truth.tolist())), humans)

    assert result.outcome == "passed"
    assert cautions["careless_annotators"].figures == {
        "annotators": ["h2", "h3"],
        "n_shown": 0,
        "n_others": 2,
    }
    assert "('h2', 'h3'): of the others it is shown within ε for 0 of 2" in result.because.sentence
    assert "careless_annotators" not in good


def test_numbers_on_another_scale_are_noticed():
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, 60)
    humans = {
        name: dict(enumerate(np.clip(stars + rng.integers(-1, 2, 60), 1, 5).tolist()))
        for name in "abc"
    }
    judge = dict(enumerate((stars * 5 + 5).tolist()))

    _, cautions = find_cautions(judge, humans, alignment="neg_rmse")
    _, same = find_cautions(dict(enumerate(stars.tolist())), humans, alignment="neg_rmse")

    assert "it gives 10 to 30, they give 1 to 5" in cautions["other_scale"].sentence
    assert "other_scale" not in same
