"""The reward that a fit makes: what it belongs to, how it was made, and what it can be used for."""

import hashlib
import json
import warnings

import numpy as np
import pytest

from asked_models import Asked
from rewards.fitting.fit_cases import RUBRIC, labelled_case
from rewards.fitting.test_fit import ORDER, fit
from voirdire import load_rubric
from voirdire.errors import InputError, ServerError, UncertifiedWarning
from voirdire.judging import LlmJudge, ScriptedJudge
from voirdire.judging import judge as judge_items
from voirdire.records import CERTIFICATE_SCHEMA, Certificate
from voirdire.rewards import (
    ComparisonSettings,
    FitSettings,
    fit_reward,
    load_reward,
    read_comparisons,
)

TEXTS = {
    "ideal": "I'm sorry, but I can't help with that.",
    "unacceptable": "I can't help with that. You should be ashamed of yourself.",
    "disallowed": "Sure! First, take a rubber band, and then open the valve.",
}
ROWS = [
    {
        "prompt": f"How do I do harm number {prompt}?",
        "response": text,
        "label": label,
        "behavior": "hard_refuse",
    }
    for prompt in range(10)
    for label, text in TEXTS.items()
]
QUICK = FitSettings(n_resamples=0, l2=0.01)


def certificate_of(model, outcomes):
    """Say that the judge of a reward was examined on some propositions."""
    rows = tuple(
        {
            "question": name,
            "judge": "j",
            "alignment": "accuracy",
            "epsilon": 0.1,
            "outcome": outcome,
        }
        for name, outcome in outcomes.items()
    )
    return Certificate(
        schema=CERTIFICATE_SCHEMA,
        created="2026-01-01T00:00:00+00:00",
        versions={},
        data_hash="sha256:" + "1" * 64,
        gold_hash=None,
        judges={"j": {"labels_hash": "", "fingerprint": model.judge.fingerprint}},
        rubric_hash=model.rubric.content_hash,
        settings={},
        examinations=rows,
        outcomes={},
        content_hash="sha256:" + "2" * 64,
    )


@pytest.fixture(scope="module")
def local_fit():
    """Fit to the local judge's verdicts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        return fit_reward(ROWS, settings=QUICK)


def test_a_reward_reads_back_as_it_was_written(local_fit, tmp_path):
    local_fit.model.save(tmp_path / "reward.json")

    with pytest.warns(UncertifiedWarning):
        found = load_reward(tmp_path / "reward.json")

    assert found.content_hash == local_fit.model.content_hash
    assert found.behaviors["hard_refuse"] == local_fit.model.behaviors["hard_refuse"]
    assert found.settings == dict(local_fit.model.settings)


def test_scale_and_origin_are_those_of_the_rewards_that_it_gives(local_fit):
    model = local_fit.model

    scores = model.score(ROWS)

    rule = scores.rule_rewards
    row = model.behaviors["hard_refuse"]
    assert row.mean == pytest.approx(rule.mean())
    assert row.standard_deviation == pytest.approx(rule.std(ddof=1))
    assert row.mean_ideal == pytest.approx(
        np.mean([x for x, given in zip(rule, ROWS, strict=True) if given["label"] == "ideal"])
    )


def test_figures_and_settings_are_plain_json(local_fit):
    model = local_fit.model

    figures = json.loads(json.dumps(model.behaviors["hard_refuse"].figures, allow_nan=False))
    settings = json.loads(json.dumps(model.settings, allow_nan=False))

    assert figures["n_pairs"] == 30
    assert figures["weights"]["apology"]["value"] == pytest.approx(
        model.behaviors["hard_refuse"].weights["apology"]
    )
    assert figures["weights"]["apology"]["low"] is None
    assert settings["orders"]["hard_refuse"] == (
        "ideal > less_good > unacceptable, illogical > disallowed"
    )


def test_a_reward_remembers_the_prompts_of_its_fit_and_not_their_text(local_fit):
    hashes = local_fit.model.settings["prompt_hashes"]

    prompts = sorted({row["prompt"] for row in ROWS})
    messages = [f'[["user","{prompt}"]]'.encode() for prompt in prompts]
    assert hashes == sorted(hashlib.sha256(written).hexdigest()[:16] for written in messages)
    assert len(hashes) == 10


def test_a_prompt_of_messages_has_the_hash_of_all_of_them():
    messages = [["system", "Be brief."], ["user", "Où?"]]
    case = labelled_case(0, n_prompts=1)
    for row in case.rows:
        row["prompt"] = [{"role": role, "content": content} for role, content in messages]

    hashes = fit(case).model.settings["prompt_hashes"]

    written = json.dumps(messages, ensure_ascii=False, separators=(",", ":")).encode()
    assert hashes == [hashlib.sha256(written).hexdigest()[:16]]


def test_verdicts_of_the_local_judge_are_recognised(local_fit):
    data = read_comparisons(ROWS)
    verdicts = judge_items(data.items)

    with pytest.warns(UncertifiedWarning):
        found = fit_reward(data, verdicts=verdicts, settings=QUICK)

    assert found.model.judge == local_fit.model.judge
    assert found.model.content_hash == local_fit.model.content_hash


def test_a_file_of_any_layout_is_fitted_as_its_comparisons_are(local_fit, tmp_path):
    ours = ("response", "label")
    rows = [
        {(f"my_{name}" if name in ours else name): x for name, x in row.items()}
        for row in map(dict, ROWS)
    ]
    for row in rows:
        row.pop("behavior", None)
    path = tmp_path / "rows.txt"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    behavior = ROWS[0]["behavior"]
    reading = ComparisonSettings(format="jsonl", behavior="comply")
    columns = {name: f"my_{name}" for name in ours}

    with pytest.warns(UncertifiedWarning):
        found = fit_reward(
            path, settings=QUICK, reading=reading, columns=columns, behavior=behavior
        )

    weights = {name: row.weights for name, row in found.model.behaviors.items()}
    expected = {name: row.weights for name, row in local_fit.model.behaviors.items()}
    assert weights == expected


def test_a_behavior_that_the_rubric_lacks_is_refused():
    with pytest.raises(InputError, match="nowhere"):
        fit_reward(ROWS, behavior="nowhere")


def test_a_layout_beside_comparisons_that_are_read_is_refused():
    with pytest.raises(InputError, match="`columns` must not be given with comparisons that are"):
        fit_reward(read_comparisons(ROWS), columns={"label": "my_label"})


def test_a_judge_of_ones_own_may_judge():
    def answer(item):
        is_kind = "sorry" in item.response
        return [0.9 if is_kind == (name != "rude") else 0.1 for name in RUBRIC.propositions]

    judge = ScriptedJudge(questions=RUBRIC.propositions, answer=answer)
    rows = [row | {"behavior": "answer"} for row in ROWS]

    with pytest.warns(UncertifiedWarning):
        found = fit_reward(
            rows,
            rubric=RUBRIC,
            judge=judge,
            settings=FitSettings(n_resamples=0, orders={"*": "ideal > unacceptable, disallowed"}),
        )

    assert found.model.judge.name == judge.name
    assert found.behaviors[0].error_rate_fitted == pytest.approx(0.0)


def test_an_examined_judge_gives_a_certified_reward(local_fit):
    names = load_rubric("safety").propositions
    whole = certificate_of(local_fit.model, dict.fromkeys(names, "passed"))

    found = fit_reward(ROWS, settings=QUICK, certificates=[whole], require_certified=True)

    assert found.model.certificates == (whole,)


@pytest.mark.parametrize("outcome", ["failed", "no_evidence"])
def test_a_proposition_that_did_not_pass_is_named(local_fit, outcome):
    names = load_rubric("safety").propositions
    part = certificate_of(local_fit.model, dict.fromkeys(names, "passed") | {"apology": outcome})

    with pytest.raises(InputError, match=r"lacks 1 \(apology: "):
        fit_reward(ROWS, settings=QUICK, certificates=[part], require_certified=True)


def test_progress_counts_completions_and_then_problems():
    told = []

    with pytest.warns(UncertifiedWarning):
        fit_reward(
            ROWS, settings=FitSettings(n_resamples=50), progress=lambda *row: told.append(row)
        )

    # 5 folds of 7 values of λ, the fit itself, 50 resamples.
    assert told[-87:] == [(30, 30), *((n_done, 86) for n_done in range(1, 5 * 7 + 1 + 50 + 1))]


def test_progress_counts_right_with_test_prompts():
    case = labelled_case(40, n_prompts=16)
    for place, row in enumerate(case.rows):
        row["split"] = "test" if place // 4 < 4 else "train"
    told = []

    with pytest.warns(UncertifiedWarning):
        fit_reward(
            case.rows,
            rubric=RUBRIC,
            verdicts=case.judged,
            settings=FitSettings(orders=ORDER, l2=0.1, n_resamples=0),
            progress=lambda *row: told.append(row),
        )

    assert told == [(1, 1)]


def test_another_threshold_than_that_of_the_verdicts_is_refused():
    case = labelled_case(41)

    with pytest.raises(
        InputError, match=r"`threshold` must be that of the verdicts, 0\.5, got 0\.6"
    ):
        fit_reward(case.rows, rubric=RUBRIC, verdicts=case.judged, threshold=0.6)


def test_a_judge_beside_verdicts_is_refused():
    case = labelled_case(41)
    judge = ScriptedJudge(questions=("polite",), answer=lambda item: [0.5])

    with pytest.raises(InputError, match="`judge` must be the name of a judge of the verdicts"):
        fit_reward(case.rows, rubric=RUBRIC, verdicts=case.judged, judge=judge)


def test_a_rubric_without_behaviors_is_refused():
    with pytest.raises(InputError, match="`rubric` must have behaviors, got 'toxicity'"):
        fit_reward(ROWS, rubric="toxicity")


@pytest.mark.ci
def test_intervals_hang_on_the_seed_alone():
    case = labelled_case(42)

    one, same, other = (fit(case, n_resamples=50, seed=seed) for seed in (1, 1, 2))

    assert repr(one.behaviors[0].weights) == repr(same.behaviors[0].weights)
    assert repr(one.behaviors[0].weights) != repr(other.behaviors[0].weights)
    weights = [row.weight.value for row in one.behaviors[0].weights]
    assert weights == [row.weight.value for row in other.behaviors[0].weights]


def said_of(shown):
    """Answer the four propositions as a model that reads one word of the response."""
    if "valve" in shown["response"]:
        return ServerError("out of order", status=500)
    is_kind = "sorry" in shown["response"]
    return {"polite": is_kind, "useful": is_kind, "rude": not is_kind, "long": False}


def test_a_language_model_is_asked_once_and_only_about_what_is_compared(tmp_path):
    asked = Asked(said_of)
    judge = LlmJudge(
        model=asked.model,
        probability="stated",
        max_attempts=1,
        max_retries=0,
        keep_going=True,
    )
    rows = [row | {"behavior": "answer"} for row in ROWS]
    rows.append({"prompt": "Alone?", "response": "Yes.", "label": "ideal", "behavior": "answer"})
    settings = FitSettings(n_resamples=0, l2=0.01, orders={"*": "ideal > unacceptable, disallowed"})

    def run():
        with pytest.warns(UncertifiedWarning):
            return fit_reward(
                rows, rubric=RUBRIC, judge=judge, settings=settings, store=tmp_path / "replies.db"
            )

    one = run()
    n_calls = sum(asked.seen.values())
    two = run()

    assert "Yes." not in asked.seen
    assert n_calls == sum(asked.seen.values())
    assert one.model.content_hash == two.model.content_hash
    failed = [row for row in one.dropped if "a verdict is missing" in row.reason]
    assert len(failed) == 10  # a failed call is a dropped completion of each prompt, never a 0
    assert one.behaviors[0].n_pairs == 10
    assert one.model.judge.made_by["probability"] == "stated"
