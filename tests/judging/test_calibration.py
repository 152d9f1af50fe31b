"""A calibration in a judge, a jury and a cascade; its file; and what it does not fit."""

import asyncio
import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import voirdire
from asked_models import shown_item
from voirdire.errors import InputError
from voirdire.judging import (
    CascadeJudge,
    JudgeCalibration,
    JuryJudge,
    LlmJudge,
    QuestionCalibration,
    ScriptedJudge,
    load_calibration,
)
from voirdire.rubrics import rubric_from_text
from voirdire.stats import Calibrator
from voirdire.studies import ProbeSettings, probe_judge
from voirdire.testing import ScriptedModel

RUBRIC = rubric_from_text(
    """
schema: voirdire.rubric/1
name: three
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
  - {id: rude, kind: boolean, text: "Is it rude?"}
"""
)
BOTH = replace(RUBRIC, questions=tuple(row for row in RUBRIC.questions if row.kind == "boolean"))
ITEMS = [{"id": f"i{n}", "response": str(n)} for n in range(30)]
TEMPERATURE, LINE = 2.5, (0.5, -0.25)
CALIBRATORS = {
    "sorry": Calibrator(method="temperature", slope=1 / TEMPERATURE, intercept=0.0),
    "rude": Calibrator(method="platt", slope=LINE[0], intercept=LINE[1]),
}


def stated(number):
    return {"sorry": (number + 0.5) / 30, "tone": "cold", "rude": 0.99 - number / 40}


def model_judge(**settings):
    def answer(request):
        found = stated(int(re.search(r"\d+", shown_item(request)["response"])[0]))
        return {key: found[key] for key in json.loads(request.schema)["properties"]}

    model = ScriptedModel(answer, name="model")
    return LlmJudge(model=model, **({"probability": "stated"} | settings))


def fitted_to(judge, rubric=BOTH, *, calibrators=CALIBRATORS, **settings):
    """Give a calibration of a judge, as gold labels would give it."""
    verdicts = voirdire.judge(ITEMS[:1], judge=judge, rubric=rubric, **settings)
    figures = ("brier", "calibrated_brier", "calibration_error", "calibrated_error")
    return JudgeCalibration(
        judge=verdicts.judge,
        fingerprint=verdicts.fingerprint,
        threshold=verdicts.threshold,
        gold_hash="sha256:0",
        questions={
            name: QuestionCalibration(calibrator=each, n_items=9, **dict.fromkeys(figures, 0.1))
            for name, each in calibrators.items()
        },
    )


def calibrated(**settings):
    judge = model_judge(**settings)
    return replace(judge, calibration=fitted_to(judge))


def by_hand(slope, intercept, probabilities):
    odds = (probabilities / (1 - probabilities)) ** slope * np.exp(intercept)
    return odds / (1 + odds)


SORRY = by_hand(1 / TEMPERATURE, 0, np.array([stated(n)["sorry"] for n in range(30)]))
RUDE = by_hand(*LINE, np.array([stated(n)["rude"] for n in range(30)]))


def test_only_the_propositions_are_calibrated_and_labels_follow():
    judge = model_judge()
    # fitted under another threshold, which is no matter
    fitted = fitted_to(judge, RUBRIC, threshold={"sorry": 0.2, "rude": 0.7})

    found = voirdire.judge(
        ITEMS,
        rubric=RUBRIC,
        judge=replace(judge, calibration=fitted),
        threshold={"sorry": 0.4, "rude": 0.6},
    )

    assert found.probability("sorry") == pytest.approx(SORRY, abs=1e-12)
    assert found.probability("rude") == pytest.approx(RUDE, abs=1e-12)
    frame = found.frame()
    assert set(frame.filter(question="tone")["label"]) == {"cold"}
    said = (frame.filter(question="sorry")["label"].cast(str) == "true").to_list()
    assert said == (SORRY >= 0.4).tolist()


def test_a_failure_stays_one_and_what_has_no_calibrator_stays_as_it_is():
    def answer(request):
        return "no" if shown_item(request)["response"] == "3" else {"sorry": 0.9, "rude": 0.8}

    judge = LlmJudge(model=ScriptedModel(answer), probability="stated")
    one = fitted_to(judge, calibrators={"sorry": CALIBRATORS["sorry"]})

    found = voirdire.judge(ITEMS[2:5], judge=replace(judge, calibration=one), rubric=BOTH)

    expected = by_hand(1 / TEMPERATURE, 0, 0.9)
    assert found.probability("sorry") == pytest.approx([expected, np.nan, expected], nan_ok=True)
    assert found.probability("rude") == pytest.approx([0.8, np.nan, 0.8], nan_ok=True)


@pytest.mark.parametrize("judged", ["final_answer", "whole_turn"])  # part of what is calibrated
def test_the_judges_of_a_jury_are_calibrated_before_they_vote(judged):
    other = ScriptedJudge(name="other", questions=BOTH.propositions, answer=lambda item: [0.2, 0.4])
    raw = model_judge()
    mine = replace(raw, calibration=fitted_to(raw, judged=judged))

    found = voirdire.judge(ITEMS, judge=JuryJudge(judges=(mine, other)), rubric=BOTH, judged=judged)

    assert found.probability("sorry") == pytest.approx((SORRY + 0.2) / 2, abs=1e-12)
    assert found.probability("rude") == pytest.approx((RUDE + 0.4) / 2, abs=1e-12)


def test_the_language_model_of_a_cascade_is_calibrated_and_the_first_judge_is_not():
    first = ScriptedJudge(
        name="first",
        questions=BOTH.propositions,
        answer=lambda item: [0.5, 0.5] if item.id < "i2" else [0.01, 0.01],
    )
    cascade = CascadeJudge(first=first, then=calibrated(), unsure=(0.1, 0.9))

    found = voirdire.judge(ITEMS, judge=cascade, rubric=BOTH)

    asked = np.array([row["id"] < "i2" for row in ITEMS])
    assert found.probability("sorry")[asked] == pytest.approx(SORRY[asked], abs=1e-12)
    assert set(found.probability("sorry")[~asked]) == {0.01}


def test_a_file_holds_all_of_it_and_a_calibrated_judge_travels_and_serves(tmp_path):
    fitted = replace(fitted_to(model_judge()), threshold={"sorry": 0.5, "rude": 0.25})

    fitted.save(tmp_path / "mine.json")
    again = load_calibration(tmp_path / "mine.json")
    judge = model_judge(calibration=pickle.loads(pickle.dumps(again)))
    found = asyncio.run(voirdire.ajudge(ITEMS, judge=judge, rubric=BOTH))

    assert (again, again.content_hash) == (fitted, fitted.content_hash)
    assert found.probability("sorry") == pytest.approx(SORRY, abs=1e-12)


def test_a_probe_asks_in_other_ways_and_so_leaves_the_calibration_out():
    settings = ProbeSettings(only=("authority",))

    report, raw = (
        probe_judge(ITEMS, judge=judge, rubric=BOTH, settings=settings)
        for judge in (calibrated(), model_judge())
    )

    assert any("calibration is left out" in note for note in report.notes)
    assert report.fingerprint == raw.fingerprint


@pytest.mark.edges
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), "voirdire.reward/1", "`schema` must be voirdire.calibration/1"),
        (("threshold",), 2.0, "must be in (0, 1), or hold such a number"),
        (("questions", "sorry", "calibrator"), {"method": "platt"}, "a calibrator's `to_dict`"),
        (("questions", "sorry", "calibrator", "slope"), -1.0, "a calibrator's `to_dict`"),
        (("more",), 1, "'more'"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_with_its_place(tmp_path, path, value, message):
    file, content = tmp_path / "c.json", fitted_to(model_judge()).to_dict()
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    file.write_text(json.dumps(content, indent=1), encoding="utf-8")

    with pytest.raises(InputError) as raised:
        model_judge(calibration=file)

    assert str(raised.value).startswith(f"{file}:")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("judge", "rubric"), [(replace(calibrated(), mode="single"), BOTH), (calibrated(), RUBRIC)]
)
def test_a_calibration_of_another_judge_or_rubric_is_refused_and_both_are_named(judge, rubric):
    said = rf"got that of 'model' \(sha256:.*\) for 'model' with rubric {rubric.name!r} \(sha256:"

    with pytest.raises(InputError, match=rf"`calibration` must be fitted .*, {said}"):
        voirdire.judge(ITEMS, judge=judge, rubric=rubric)
