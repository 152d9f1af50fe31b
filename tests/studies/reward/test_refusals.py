"""False and missed refusals: what the reward likes best of each prompt."""

import csv

import numpy as np
import pytest

from studies.reward.small_reward import RUBRIC
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import load_rubric, rubric_from_text
from voirdire.studies import examine_reward

REFUSES, HELPS, RUDE = [1.0, 0, 0, 0], [0.0, 0, 1, 0], [0.0, 1, 0, 0]


def _rows(prompt, behavior, *probabilities, bases=None, labels=None):
    bases = bases or [None] * len(probabilities)
    labels = labels or ["ideal"] * len(probabilities)
    return [
        {"prompt": prompt, "behavior": behavior, "label": label, "p": p, "base": base}
        for p, base, label in zip(probabilities, bases, labels, strict=True)
    ]


def _found(examined):
    return {(row.behavior, row.signal): row for row in examined.refusals}


def test_a_refusal_that_is_rewarded_best_where_help_is_due_is_false(examine_rows, make_reward):
    rows = [
        *_rows("a", "comply", REFUSES, HELPS),
        *_rows("b", "comply", REFUSES, HELPS),
        *_rows("c", "comply", HELPS, HELPS),  # none refuses: it could not happen
    ]
    likes_refusals = make_reward({"comply": {"helps": -1.0}})

    found = _found(examine_rows(rows, of=likes_refusals))
    right = _found(examine_rows(rows))

    assert found["comply", "total"].kind == "false_refusal"
    assert (found["comply", "total"].rate.value, found["comply", "total"].rate.n) == (1.0, 2)
    assert right["comply", "total"].rate.value == 0.0


def test_help_that_is_rewarded_best_where_a_refusal_is_due_is_missed(examine_rows):
    rows = [
        *_rows("a", "refuse", REFUSES, HELPS, bases=[0.0, 100.0]),
        *_rows("b", "refuse", REFUSES, RUDE, bases=[0.0, 0.0]),
    ]

    found = _found(examine_rows(rows))

    assert {row.kind for row in found.values()} == {"missed_refusal"}
    assert found["refuse", "base"].rate.value == pytest.approx((1 + 0.5) / 2)  # the second ties
    assert found["refuse", "total"].rate.value == 0.5
    assert found["refuse", "rules"].rate.value == 0.0


def test_where_several_are_rewarded_best_their_share_counts(examine_rows):
    rows = _rows("a", "comply", REFUSES, HELPS, REFUSES, HELPS, HELPS, bases=[1.0, 1, 0, 1, 0])

    found = _found(examine_rows(rows))

    assert found["comply", "base"].rate.value == pytest.approx(1 / 3)


def test_a_completion_whose_refusing_is_unknown_is_left_out(examine_rows, make_reward):
    rows = _rows("a", "comply", [np.nan, 0, 0.9, 0], [np.nan, 0, 0.1, 0], REFUSES)
    reward = make_reward({"comply": {"helps": 1.0}})

    found = _found(examine_rows(rows, of=reward))

    # helps .9 is no refusal whatever the apology; the second may be one, and does not count
    assert found["comply", "total"].rate.n == 1
    assert found["comply", "total"].rate.value == 0.0


def _examined(examine_rows, rubric, behaviors, **given):
    """Examine two completions under a rubric of the package: only the first has these verdicts."""
    weights = {name: {f"{name}.ideal": 1.0} for name in behaviors}
    reward = reward_of_weights(weights, rubric=rubric, judge=None)
    first = [given.get(name, 0.1) for name in rubric.propositions]
    second = [0.9 if name == "apology" else 0.1 for name in rubric.propositions]
    rows = [row for name in behaviors for row in _rows(name, name, first, second)]
    return examine_rows(rows, of=reward)


def test_kinds_follow_from_what_the_safety_rubric_demands(examine_rows):
    rubric = load_rubric("safety")
    behaviors = [row.id for row in rubric.behaviors]

    found = _examined(examine_rows, rubric, behaviors, apology=0.9, inability_to_comply=0.9)

    assert {row.behavior: row.kind for row in found.refusals} == {
        "hard_refuse": "missed_refusal",
        "soft_refuse": "missed_refusal",
        "comply": "false_refusal",
    }


def test_an_inability_to_comply_counts_where_there_is_no_expression(examine_rows):
    rubric = load_rubric("hard-refusal-example")

    found = _examined(examine_rows, rubric, ["hard_refuse"], inability_to_comply=0.9)

    # the apology is rewarded best, and it is not the one that says so
    assert [row.rate.value for row in found.refusals if row.signal == "total"] == [1.0]


def test_a_rubric_without_a_word_for_refusing_counts_none_and_says_so(examine_rows):
    plain = RUBRIC.replace("expressions:\n  safe_refusal: apology and not helps\n", "")
    rubric = rubric_from_text(plain, source="plain.yaml")

    found = _examined(examine_rows, rubric, ["refuse"], apology=0.9)

    assert found.refusals == ()
    assert "no_refusals" in [note.code for note in found.notes]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("refusal", "answer"),
    [
        ("2_full_refusal", "1_full_compliance"),
        ("3_partial_refusal", "1_full_compliance"),
        ("perfect hard refusal", "fully complies"),
        ("Bad Hard Refusal", "Random Non-Refusal"),
        ("imperfect refusal", "no refusal"),
        ("does not comply", "complied"),
        ("完全拒绝", "没有拒绝"),
        ("拒绝配合", "遵从"),
    ],
)
def test_labels_that_name_refusals_stand_above_the_judge(examine_rows, refusal, answer):
    # The judge has it the other way round: what people call a refusal helps, by its verdicts.
    rows = [
        *_rows("a", "comply", HELPS, REFUSES, labels=[refusal, answer]),
        *_rows("b", "refuse", HELPS, REFUSES, labels=[refusal, answer]),
    ]
    orders = {"comply": f"{answer} > {refusal}", "refuse": f"{refusal} > {answer}"}

    found = _found(examine_rows(rows, orders=orders))

    # The reward likes help where it is due, here a refusal; and a refusal where that is due.
    assert {(row.behavior, row.kind, row.by) for row in found.values()} == {
        ("comply", "false_refusal", "labels"),
        ("refuse", "missed_refusal", "labels"),
    }
    assert [row.rate.value for row in found.values()] == [1.0, 1.0]


def test_labels_that_name_no_refusal_leave_it_to_the_judge(examine_rows):
    rows = [
        *_rows("a", "comply", HELPS, REFUSES, labels=["ideal", "less_good"]),
        *_rows("b", "refuse", HELPS, REFUSES, RUDE, labels=["answer", "bad refusal", "refusal"]),
    ]
    orders = {"comply": "ideal > less_good", "refuse": "refusal > bad refusal > answer"}

    found = _found(examine_rows(rows, orders=orders))

    # Under "refuse" the labels name refusals only: nothing could go wrong by them.
    assert [(row.by, row.rate.value) for row in found.values()] == [("judge", 0.0)] * 2


def test_labels_count_refusals_where_the_rubric_has_no_word_for_them(examine_rows):
    plain = RUBRIC.replace("expressions:\n  safe_refusal: apology and not helps\n", "")
    reward = reward_of_weights(
        {"comply": {"helps": -1.0}}, rubric=rubric_from_text(plain, source="plain.yaml"), judge=None
    )
    rows = _rows("a", "comply", HELPS, REFUSES, labels=["complies", "refuses"])

    found = examine_rows(rows, of=reward, orders={"comply": "complies > refuses"})

    assert [(row.kind, row.by, row.rate.value) for row in found.refusals] == [
        ("false_refusal", "labels", 1.0)
    ]
    assert "no_refusals" not in [note.code for note in found.notes]


def test_classes_of_the_judge_are_no_labels_of_people(examine_rows):
    classes = "    classes: {refusal: not helps, answer: otherwise}\n"
    rubric = rubric_from_text(RUBRIC.rstrip() + "\n" + classes, source="x.yaml")
    reward = reward_of_weights({"comply": {"helps": 1.0}}, rubric=rubric, judge=None)
    rows = _rows("a", "comply", HELPS, REFUSES, labels=[None, None])

    found = examine_rows(rows, of=reward, orders={"comply": "answer > refusal"})

    assert "labels_from_classes" in [note.code for note in found.notes]
    assert {row.by for row in found.refusals} == {"judge"}


@pytest.mark.ci
def test_on_xstest_every_prompt_counts_that_two_models_answer_differently(shared_dir):
    rows = []
    for model in ("gpt4", "mistralinstruct"):
        path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{model}_gpteval.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows += [
                {
                    "prompt": row["prompt"],
                    "response": row["completion"],
                    "behavior": "hard_refuse" if row["type"].startswith("contrast") else "comply",
                    "label": row["final_label"],
                }
                for row in csv.DictReader(file)
            ]
    weights = {name: {"inability_to_comply": 1.0} for name in ("hard_refuse", "comply")}
    reward = reward_of_weights(weights, rubric="safety")
    refusals = "2_full_refusal > 3_partial_refusal > 1_full_compliance"
    answers = "1_full_compliance > 3_partial_refusal > 2_full_refusal"

    found = examine_reward(
        reward,
        rows,
        orders={"hard_refuse": refusals, "comply": answers},
        n_resamples=0,
        n_nonsense=0,
    )

    told = {}
    for row in rows:
        is_refusal = row["label"] != "1_full_compliance"
        told.setdefault((row["behavior"], row["prompt"]), set()).add(is_refusal)
    both = [behavior for (behavior, _), kinds in told.items() if len(kinds) == 2]
    assert {row.behavior: (row.by, row.rate.n) for row in found.refusals} == {
        behavior: ("labels", both.count(behavior)) for behavior in ("hard_refuse", "comply")
    }
