"""A calibration in a judge, a jury and a cascade; its file; and what it does not fit."""

import asyncio
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.judging import (
    CascadeJudge,
    JudgeCalibration,
    JuryJudge,
    LlmJudge,
    QuestionCalibration,
    ScriptedJudge,
    load_calibration,
    load_judges,
)
from voirdire.rubrics import rubric_from_text
from voirdire.stats import PlattCalibrator, TemperatureCalibrator
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
ITEMS = [{"id": f"i{n}", "response": f"response {n}"} for n in range(30)]
TEMPERATURE, LINE = 2.5, (0.5, -0.25)
CALIBRATORS = {
    "sorry": TemperatureCalibrator(temperature=TEMPERATURE),
    "rude": PlattCalibrator(slope=LINE[0], intercept=LINE[1]),
}


def stated(number):
    return {"sorry": (number + 0.5) / 30, "tone": "cold", "rude": 0.99 - number / 40}


def model_judge(**settings):
    def answer(request):
        found = stated(
            int(request.messages[-1].content.rpartition("response ")[2][:2].rstrip('\\"'))
        )
        return {key: found[key] for key in json.loads(request.schema)["properties"]}

    model = ScriptedModel(answer, name="model")
    return LlmJudge(model=model, **({"probability": "stated"} | settings))


def fitted_to(judge, rubric, **calibrators):
    """Give a calibration of a judge, as gold labels would give it."""
    verdicts = voirdire.judge(ITEMS[:1], judge=judge, rubric=rubric)
    figures = ("brier", "calibrated_brier", "calibration_error", "calibrated_error")
    return JudgeCalibration(
        judge=verdicts.judge,
        fingerprint=verdicts.fingerprint,
        threshold=verdicts.threshold,
        gold_hash="sha256:0",
        questions={
            name: QuestionCalibration(calibrator=each, n_items=9, **dict.fromkeys(figures, 0.1))
            for name, each in (calibrators or CALIBRATORS).items()
        },
    )


def calibrated(**settings):
    judge = model_judge(**settings)
    return replace(judge, calibration=fitted_to(judge, BOTH))


def by_hand(slope, intercept, probabilities):
    odds = (probabilities / (1 - probabilities)) ** slope * np.exp(intercept)
    return odds / (1 + odds)


RAW_SORRY = np.array([stated(n)["sorry"] for n in range(30)])
RAW_RUDE = np.array([stated(n)["rude"] for n in range(30)])
SORRY = by_hand(1 / TEMPERATURE, 0, RAW_SORRY)
RUDE = by_hand(*LINE, RAW_RUDE)


def test_only_the_propositions_are_calibrated_and_labels_follow():
    judge = model_judge()

    found = voirdire.judge(
        ITEMS,
        rubric=RUBRIC,
        judge=replace(judge, calibration=fitted_to(judge, RUBRIC)),
        threshold={"sorry": 0.4, "rude": 0.6},
    )

    assert found.probability("sorry") == pytest.approx(SORRY, abs=1e-12)
    assert found.probability("rude") == pytest.approx(RUDE, abs=1e-12)
    frame = found.frame()
    assert set(frame.filter(question="tone")["label"]) == {"cold"}
    said = (frame.filter(question="sorry")["label"].cast(str) == "true").to_list()
    assert said == (SORRY >= 0.4).tolist()


@pytest.mark.parametrize("settings", [{"mode": "single"}, {"probability": "logprob"}])
def test_answers_of_every_mode_are_calibrated(settings):
    found = voirdire.judge(ITEMS, judge=calibrated(**settings), rubric=BOTH)

    assert found.probability("sorry") == pytest.approx(SORRY, abs=1e-9)


def test_a_failure_stays_one_and_what_has_no_calibrator_stays_as_it_is():
    def answer(request):
        return "no" if "response 3" in request.messages[-1].content else {"sorry": 0.9, "rude": 0.8}

    judge = LlmJudge(model=ScriptedModel(answer), probability="stated")
    one = fitted_to(judge, BOTH, sorry=CALIBRATORS["sorry"])

    found = voirdire.judge(ITEMS[2:5], judge=replace(judge, calibration=one), rubric=BOTH)

    expected = by_hand(1 / TEMPERATURE, 0, 0.9)
    assert found.probability("sorry") == pytest.approx([expected, np.nan, expected], nan_ok=True)
    assert found.probability("rude") == pytest.approx([0.8, np.nan, 0.8], nan_ok=True)


def test_the_judges_of_a_jury_are_calibrated_before_they_vote():
    other = ScriptedJudge(name="other", questions=BOTH.propositions, answer=lambda item: [0.2, 0.4])
    for judged in ("final_answer", "whole_turn"):  # which is part of what is calibrated
        raw = model_judge()
        verdicts = voirdire.judge(ITEMS[:1], judge=raw, rubric=BOTH, judged=judged)
        its_own = replace(fitted_to(raw, BOTH), fingerprint=verdicts.fingerprint)
        jury = JuryJudge(judges=(replace(raw, calibration=its_own), other))

        found = voirdire.judge(ITEMS, judge=jury, rubric=BOTH, judged=judged)

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
    raw = replace(cascade, then=replace(cascade.then, calibration=None))

    asked = np.array([row["id"] < "i2" for row in ITEMS])
    assert found.probability("sorry")[asked] == pytest.approx(SORRY[asked], abs=1e-12)
    assert set(found.probability("sorry")[~asked]) == {0.01}
    assert found.fingerprint != voirdire.judge(ITEMS[:1], judge=raw, rubric=BOTH).fingerprint


def test_files_of_juries_and_cascades_name_a_calibration_beside_them(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    calibration = calibrated().calibration
    calibration.save(tmp_path / "mine.json")
    model = {"model": "openai/x", "probability": "stated", "calibration": "mine.json"}
    jury = {"schema": "voirdire.jury/1", "jury": {"judges": [model, {"judge": "local"}]}}
    cascade = {"first": "local", "unsure": [0.1, 0.9], "then": model}
    (tmp_path / "jury.yaml").write_text(json.dumps(jury), encoding="utf-8")
    (tmp_path / "cascade.yaml").write_text(
        json.dumps({"schema": "voirdire.cascade/1", "cascade": cascade}), encoding="utf-8"
    )

    (jury,), (cascade,) = (load_judges(tmp_path / f"{kind}.yaml") for kind in ("jury", "cascade"))
    assert jury.judges[0].calibration == cascade.then.calibration == calibration


def test_other_parameters_are_another_judge_and_its_own_name_is_none():
    judge = model_judge()
    mine = fitted_to(judge, BOTH)
    changed = fitted_to(
        judge, BOTH, **CALIBRATORS | {"sorry": TemperatureCalibrator(temperature=3)}
    )

    prints = [
        voirdire.judge(ITEMS[:1], judge=each, rubric=BOTH).fingerprint
        for each in (
            judge,
            replace(judge, calibration=mine),
            replace(judge, calibration=changed),
            replace(judge, calibration=mine, name="renamed"),
        )
    ]

    assert prints[1] == prints[3]
    assert len(set(prints)) == 3


@pytest.mark.parametrize(
    ("judge", "rubric"),
    [
        (replace(calibrated(), mode="single"), BOTH),
        (replace(calibrated(), language="zh"), BOTH),
        (calibrated(), RUBRIC),
        (replace(calibrated(), model=ScriptedModel(lambda request: {}, version="2")), BOTH),
    ],
)
def test_a_calibration_of_another_judge_is_refused_and_both_are_named(judge, rubric):
    said = rf"got that of 'model' \(sha256:.*\) for 'model' with rubric {rubric.name!r} \(sha256:"

    with pytest.raises(InputError, match=rf"`calibration` must be fitted .*, {said}"):
        voirdire.judge(ITEMS, judge=judge, rubric=rubric)


def test_the_threshold_may_be_another_one_by_now():
    judge = model_judge()
    verdicts = voirdire.judge(
        ITEMS[:1], judge=judge, rubric=BOTH, threshold={"sorry": 0.2, "rude": 0.7}
    )
    its_own = replace(
        fitted_to(judge, BOTH), fingerprint=verdicts.fingerprint, threshold=verdicts.threshold
    )

    found = voirdire.judge(ITEMS, judge=replace(judge, calibration=its_own), rubric=BOTH)

    assert found.threshold == 0.5
    assert found.probability("rude") == pytest.approx(RUDE, abs=1e-12)


def test_a_calibrated_judge_travels_and_serves(tmp_path):
    fitted_to(model_judge(), BOTH).save(tmp_path / "mine.json")
    calibration = load_calibration(tmp_path / "mine.json")

    found = asyncio.run(
        voirdire.ajudge(ITEMS, judge=model_judge(calibration=calibration), rubric=BOTH)
    )

    assert pickle.loads(pickle.dumps(calibration)) == calibration
    assert found.probability("sorry") == pytest.approx(SORRY, abs=1e-12)


def test_a_probe_asks_in_other_ways_and_so_leaves_the_calibration_out():
    settings = ProbeSettings(only=("authority",))

    report, raw = (
        probe_judge(ITEMS, judge=judge, rubric=BOTH, settings=settings)
        for judge in (calibrated(), model_judge())
    )

    assert any("calibration is left out" in note for note in report.notes)
    assert report.fingerprint == raw.fingerprint


def test_a_file_holds_every_calibrator(tmp_path):
    sure = TemperatureCalibrator(temperature=2.0)
    given = fitted_to(model_judge(), BOTH, sorry=sure, rude=CALIBRATORS["rude"])
    given = replace(given, threshold={"sorry": 0.5, "rude": 0.25})

    given.save(tmp_path / "c.json")
    again = load_calibration(tmp_path / "c.json")

    assert again == given
    assert again.content_hash == given.content_hash


@pytest.mark.edges
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), "voirdire.reward/1", "`schema` must be voirdire.calibration/1"),
        (("threshold",), 2.0, "must be in (0, 1), or hold such a number"),
        (
            ("questions", "sorry", "calibrator"),
            {"method": "platt"},
            "must be what a calibrator's `to_dict` gives",
        ),
        (
            ("questions", "sorry", "calibrator", "temperature"),
            -1.0,
            "must be what a calibrator's `to_dict` gives",
        ),
        (("more",), 1, "'more'"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_with_its_place(tmp_path, path, value, message):
    content = fitted_to(model_judge(), BOTH).to_dict()
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (tmp_path / "c.json").write_text(json.dumps(content, indent=1), encoding="utf-8")

    with pytest.raises(InputError) as raised:
        model_judge(calibration=tmp_path / "c.json")

    assert str(raised.value).startswith(f"{tmp_path / 'c.json'}:")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            0.5,
            "`calibration` must be a `voirdire.judging.JudgeCalibration` or its .*, got flo",
        ),
        ("no-such.json", "no-such.json: "),
    ],
)
def test_what_is_no_calibration_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        model_judge(calibration=given)
