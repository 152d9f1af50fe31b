"""The material of the authors of rule-based rewards: labels, behaviors, features and scores."""

import json

import numpy as np
import polars as pl
import pytest

from voirdire.errors import InputError
from voirdire.rewards import (
    FitSettings,
    default_order,
    fit_reward,
    read_comparisons,
)
from voirdire.rubrics import load_rubric
from voirdire.studies import examine_reward

RUBRIC = """\
completion_class_order: [ideal, fair, bad]
completion_classes:
  ideal:
    safe_refuse_1: {gentle_encouragement_for_help: true, rude: false}
    safe_refuse_2: {gentle_encouragement_for_help: true, rude: false}
  fair:
    safe_refuse_1: {gentle_encouragement_for_help: false, rude: false}
    safe_refuse_2: {gentle_encouragement_for_help: false, rude: false}
  bad:
    safe_refuse_1: {rude: true}
    safe_refuse_2: {rude: true}
simple_propositions:
  gentle_encouragement_for_help: {prompt: Does it point to help}
  rude: {prompt: Is it rude}
  conditional_verbiage: {prompt: Does it say if}
"""
LABELS = ("perfect safe completion", "bad safe completion", "disallowed content")
SETTINGS = FitSettings(l2=0.01, n_resamples=0)
pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")


def _material(tmp_path, n_prompts=6):
    """Write the three files, and give their numbers by completion."""
    rng = np.random.default_rng(7)
    prompts, features, scores, numbers = [], [], [], []
    for k in range(n_prompts):
        kind = f"Safe Refuse {1 + k % 2}"
        asked = [
            {"role": "user", "content": f"Question {k}"},
            {"role": "assistant", "content": "Say more."},
            {"role": "user", "content": "Please."},
        ]
        said = f"|USER|: Question {k}\n|ASSISTANT|: Say more.\n|USER|: Please."
        entries = []
        for place, label in enumerate(LABELS):
            text = f"Answer {k}\nof kind {place}"
            helps, rude = rng.random() / (1 + place), rng.random() * place / 2
            score = float(rng.normal())
            completion = [{"role": "assistant", "content": text}]
            entries.append(
                {
                    "prompt": asked,
                    "completion": completion,
                    "response_type": kind,
                    "completion_type": label,
                    "category": "SH",
                }
            )
            key = [said, f"|ASSISTANT|: {text}"]
            given = {"gentle_encouragement_for_help": helps, "rude": rude, "other": 0.5}
            features.append({"prompt_completion": key, "features": given})
            scores.append({"prompt_completion": key, "rm_score": score})
            numbers.append((kind, label, helps, rude, score))
        prompts.append([said, entries])
    paths = {}
    for name, rows in [("train", prompts), ("features", features), ("scores", scores)]:
        paths[name] = tmp_path / f"{name}.jsonl"
        paths[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths["rubric"] = tmp_path / "rules.yaml"
    paths["rubric"].write_text(RUBRIC)
    return paths, numbers


@pytest.mark.parametrize(
    ("behavior", "labels", "order"),
    [
        (
            "comply",
            {"fully complies", "perfect refusal", "random non-refusal"},
            "fully complies > partially complies > perfect refusal, imperfect refusal",
        ),
        (
            "hard_refuse",
            {"bad hard refusal", "perfect hard refusal"},
            "perfect hard refusal > bad hard refusal > disallowed content",
        ),
        ("soft_refuse", {"ideal"}, "ideal > less_good > unacceptable, illogical > disallowed"),
        ("comply", {"fully complies", "mine"}, "ideal > less_good > unacceptable, illogical"),
    ],
)
def test_labels_of_the_authors_have_the_order_of_the_authors(behavior, labels, order):
    """Where all labels are theirs; anything else is ordered as the rubric's classes are."""
    found = default_order(load_rubric("safety"), behavior, labels=labels)

    assert str(found).startswith(order)


def test_the_authors_own_file_is_fitted_under_their_rubric_and_ours(shared_dir):
    folder = shared_dir / "data" / "rbr_layout"

    for rubric in (folder / "proposition_prompts.yaml", "safety"):
        found = fit_reward(folder / "train.jsonl", rubric=rubric, judge="local", settings=SETTINGS)

        assert {*found.model.behaviors} == {"comply", "hard_refuse"}
        assert found.dropped == ()


def test_safe_refusals_are_behaviors_of_their_own_where_the_rubric_has_them(tmp_path):
    paths, _ = _material(tmp_path)
    theirs = [row.id for row in load_rubric(paths["rubric"]).behaviors]

    plain = read_comparisons(paths["train"])
    known = read_comparisons(paths["train"], known_behaviors=theirs)
    ours = read_comparisons(paths["train"], known_behaviors=["soft_refuse"])

    assert {*plain.behaviors} == {*known.behaviors} == {"safe_refuse_1", "safe_refuse_2"}
    assert {*ours.behaviors} == {"soft_refuse"}
    assert plain.dropped == known.dropped == ours.dropped == ()


def test_features_and_scores_are_joined_by_their_texts(tmp_path):
    """The same numbers as columns of a table give the same weights."""
    paths, numbers = _material(tmp_path)
    data = read_comparisons(paths["train"], base=paths["scores"])

    found = fit_reward(data, rubric=paths["rubric"], verdicts=paths["features"], settings=SETTINGS)

    rows = [
        {
            "id": f"c{place}",
            "prompt": f"p{place // 3}",
            "response": f"r{place}",
            "behavior": kind.lower().replace(" ", "_"),
            "label": label,
            "base_reward": score,
        }
        for place, (kind, label, _, _, score) in enumerate(numbers)
    ]
    verdicts = pl.DataFrame(
        {
            "item": [row["id"] for row in rows],
            "judge": ["j"] * len(rows),
            "gentle_encouragement_for_help": [row[2] for row in numbers],
            "rude": [row[3] for row in numbers],
        }
    )
    plain = fit_reward(rows, rubric=paths["rubric"], verdicts=verdicts, settings=SETTINGS)
    for behavior in ("safe_refuse_1", "safe_refuse_2"):
        np.testing.assert_allclose(
            found.model.weight_vector(behavior), plain.model.weight_vector(behavior), atol=1e-9
        )
    assert found.model.uses_base
    assert found.dropped == ()


def test_a_completion_that_a_file_does_not_have_is_set_aside(tmp_path):
    paths, _ = _material(tmp_path)
    lines = paths["features"].read_text().splitlines(keepends=True)
    paths["features"].write_text("".join(lines[1:]))

    found = fit_reward(
        paths["train"], rubric=paths["rubric"], verdicts=paths["features"], settings=SETTINGS
    )

    assert [drop.item for drop in found.dropped] == ["train:1:0"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"features": {"rude": 2}}, r"features.jsonl:19: a probability must be .* \[0, 1\], got 2"),
        ({"features": [0.5]}, "features.jsonl:19: `features` must map"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path, row, message):
    paths, _ = _material(tmp_path)
    with paths["features"].open("a") as file:
        file.write(json.dumps({"prompt_completion": ["a", "b"], **row}) + "\n")

    with pytest.raises(InputError, match=message):
        fit_reward(paths["train"], rubric=paths["rubric"], verdicts=paths["features"])


def test_files_about_other_completions_are_refused(tmp_path):
    paths, _ = _material(tmp_path)
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"prompt_completion": ["a", "b"], "rm_score": 1.0}) + "\n")

    with pytest.raises(InputError, match="must be about the same prompts and completions"):
        read_comparisons(paths["train"], base=other)
    other.write_text(json.dumps({"prompt_completion": ["a", "b"], "features": {"rude": 1}}) + "\n")
    with pytest.raises(InputError, match="`verdicts` must be about the same prompts and"):
        fit_reward(paths["train"], rubric=paths["rubric"], verdicts=other)
    other.write_text(json.dumps({"prompt_completion": ["a", "b"], "rm_score": "1"}) + "\n")
    with pytest.raises(InputError, match=r"other\.jsonl:1: `rm_score` must be a finite number"):
        read_comparisons(paths["train"], base=other)


def test_an_examination_reads_the_same_files(tmp_path):
    """By hand: the comparisons, and how many of them the reward ranks the wrong way."""
    paths, numbers = _material(tmp_path)
    data = read_comparisons(paths["train"], base=paths["scores"])
    reward = fit_reward(
        data, rubric=paths["rubric"], verdicts=paths["features"], settings=SETTINGS
    ).model

    found = examine_reward(reward, data, verdicts=paths["features"], n_resamples=0)

    totals = []
    for kind, _, helps, rude, score in numbers:
        behavior = kind.lower().replace(" ", "_")
        weights = dict(
            zip(reward.feature_set(behavior).names, reward.weight_vector(behavior), strict=True)
        )
        classes = {"ideal": helps * (1 - rude), "fair": (1 - helps) * (1 - rude), "bad": rude}
        rules = weights["gentle_encouragement_for_help"] * helps + weights["rude"] * rude
        rules += sum(weights[f"{behavior}.{name}"] * x for name, x in classes.items())
        totals.append(score + rules)
    pairs = [(k + a, k + b) for k in range(0, len(totals), 3) for a in range(3) for b in range(a)]
    wrong = [totals[worse] >= totals[better] for worse, better in pairs]
    whole = [row for row in found.error_rates if row.signal == "total" and row.behavior is None]
    assert found.n_comparisons == len(pairs)
    assert whole[0].rate.value == pytest.approx(np.mean(wrong))
