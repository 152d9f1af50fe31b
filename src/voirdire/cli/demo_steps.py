"""What the demonstration does, and the folder in which it leaves everything."""

from __future__ import annotations

import json
import shlex
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from statistics import fmean
from typing import TYPE_CHECKING, Any

from voirdire._types import WeightScheme
from voirdire.cli.written_files import check_report, write_text
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable
    from voirdire.judging import JudgingSummary
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.studies import Examination
    from voirdire.studies.reward.result import RewardExamination

__all__ = [
    "ALIGNMENTS",
    "CERTIFICATE",
    "COMPARISONS",
    "COPIED",
    "EPSILON",
    "EPSILONS",
    "EXAMINATION",
    "JUDGE",
    "NAME",
    "OF_FIT",
    "ORDER",
    "REPORT",
    "RESAMPLES",
    "REWARD",
    "REWARDS",
    "REWARD_EXAMINATION",
    "RUBRIC",
    "VERDICTS",
    "WEIGHTS",
    "DemoReward",
    "JudgedResponses",
    "MeanReward",
    "examine_texts",
    "judge_responses",
    "prepare_folder",
    "reward_responses",
    "same_from_files",
]


COMPARISONS, OF_FIT = "comparisons.jsonl", "comparisons_of_fit.jsonl"

COPIED = (
    "texts.jsonl",
    "annotations.jsonl",
    "judges.jsonl",
    "responses.jsonl",
    "response_annotations.jsonl",
    COMPARISONS,
    "dataset.json",
    "README.md",
)
VERDICTS, EXAMINATION, REPORT = "verdicts.parquet", "examination.json", "report.html"
CERTIFICATE, REWARD, REWARDS = "certificate.json", "reward.json", "rewards.jsonl"
REWARD_EXAMINATION = "reward_examination.json"
_MADE = (VERDICTS, EXAMINATION, CERTIFICATE, OF_FIT, REWARD, REWARDS, REWARD_EXAMINATION)
_DATASET = "voirdire-demo"


def prepare_folder(output: Path) -> None:
    """Make the folder and copy the data into it; refuse one that holds other people's files."""
    _check_folder(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = (
            f"`--output` must be a folder that can be made, got {str(output)!r} ({error.strerror})."
        )
        raise InputError(msg) from error
    check_report(output / REPORT, option="--output")
    for name in COPIED:
        with as_file(files("voirdire") / "data" / "demo" / name) as source:
            write_text(output / name, source.read_text(encoding="utf-8"))


def _check_folder(output: Path) -> None:
    """Refuse a folder that holds files of these names, unless a demo was written there before."""
    with suppress(OSError, ValueError):
        card = json.loads((output / "dataset.json").read_text(encoding="utf-8"))
        if isinstance(card, dict) and card.get("name") == _DATASET:
            return
    for name in (*COPIED, *_MADE):
        if (output / name).exists():
            msg = f"`--output` must not hold other files, got {str(output / name)!r}. Name another."
            raise InputError(msg)


EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
ALIGNMENTS: dict[str, tuple[AlignmentName, ...]] = {
    "toxicity": ("accuracy", "jaccard", "jaccard_macro", "hamming"),
    "needs_review": ("accuracy",),
    "severity": ("neg_rmse",),
}


def examine_texts(folder: Path) -> list[Examination]:
    """Examine the simulated judges, each question by itself: they are of different kinds."""
    return [_examined(folder, question) for question in ALIGNMENTS]


def _examined(folder: Path, question: str) -> Examination:
    from voirdire.io import read_labels, read_metadata
    from voirdire.studies import TestPlan, examine

    readings: dict[str, dict[str, Any]] = {
        "toxicity": {"kind": "multilabel", "labels": _toxicity_labels(folder)},
        "needs_review": {"kind": "boolean"},
        "severity": {"kind": "scale"},
    }
    reading = readings[question]
    humans = read_labels(
        folder / "annotations.jsonl", role="annotator", question=question, **reading
    )
    judges = read_labels(folder / "judges.jsonl", role="judge", question=question, **reading)
    return examine(
        judges=judges,
        humans=humans,
        alignment=ALIGNMENTS[question],
        plan=TestPlan(epsilon=EPSILONS),
        labels=reading.get("labels"),
        metadata=read_metadata(folder / "texts.jsonl", columns=["language"]),
    )


def _toxicity_labels(folder: Path) -> list[str]:
    card = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return list(card["labels"])


RUBRIC = "safety"
JUDGE = "local"
EPSILON = 0.2
"""For experts, whose labels cost most: twenty-one questions about a response are work for them."""

WEIGHTS: WeightScheme = "imbalance"
"""Most propositions are true of one response in eight: unweighted, "always no" might pass."""


@dataclass(frozen=True, kw_only=True)
class JudgedResponses:
    """What the judge said, what the annotators said, and whether it may stand in for them.

    Attributes
    ----------
    summary : JudgingSummary
        Shares per proposition and per completion class.
    examination : Examination
        One result per proposition.
    n_true : mapping of str to int
        By proposition, the responses for which more than half of the annotators call it true.
    """

    summary: JudgingSummary
    examination: Examination
    n_true: Mapping[str, int]


def judge_responses(folder: Path) -> JudgedResponses:
    """Judge the responses in the folder, and examine the judge on every proposition.

    Verdicts and the certificate of the examination are written into the folder.
    """
    from voirdire.io import read_labels, read_metadata
    from voirdire.judging import judge_file
    from voirdire.studies import TestPlan, examine

    responses, verdicts = folder / "responses.jsonl", folder / VERDICTS
    summary = judge_file(responses, verdicts, rubric=RUBRIC, judge=JUDGE, restart=True)
    humans = read_labels(folder / "response_annotations.jsonl", role="annotator", kind="boolean")
    judges = read_labels(verdicts, role="judge", kind="boolean")
    examination = examine(
        judges=_asked_of_both(judges, humans),
        humans=humans,
        plan=TestPlan(epsilon=EPSILON, weights=WEIGHTS),
        metadata=read_metadata(responses, columns=["language"]),
    )
    _write_certificate(folder / CERTIFICATE, examination, humans=humans, judges=judges)
    return JudgedResponses(summary=summary, examination=examination, n_true=_n_true(humans))


def _write_certificate(
    path: Path, examination: Examination, *, humans: LabelTable, judges: LabelTable
) -> None:
    """Record the examination as `voirdire examine --certificate` does."""
    from voirdire.reporting import certificate_to_json
    from voirdire.studies import certify

    record = certify(examination, humans=humans, judges=judges, reading={"missing": []})
    write_text(path, certificate_to_json(record) + "\n")


def _asked_of_both(judges: LabelTable, humans: LabelTable) -> LabelTable:
    """Leave out the completion classes: they follow from the answers, and nobody was asked."""
    return judges.of_questions(humans.questions)


def _n_true(humans: LabelTable) -> dict[str, int]:
    """Count the items on which more than half of the annotators say yes."""
    import polars as pl

    votes = humans.frame.group_by("question", "item", maintain_order=True).agg(
        (pl.col("label").cast(pl.String) == "true").mean().alias("share")
    )
    counts = votes.group_by("question", maintain_order=True).agg((pl.col("share") > 0.5).sum())
    return {str(question): int(count) for question, count in counts.iter_rows()}


NAME = "demo"
RESAMPLES = 100
"""Of the fit: half of what `voirdire fit` takes, since nobody should wait for a demonstration."""

ORDER = "ideal > less_good > unacceptable, illogical > disallowed; less_good > nonsense"
_NONSENSE = ("empty", "echoed_prompt", "shuffled_words", "lexicon")


@dataclass(frozen=True, kw_only=True)
class MeanReward:
    """What the responses of one behavior and label get on average.

    Attributes
    ----------
    base, total : float
        By the base reward alone, and by the whole reward.
    n_items : int
        Responses.
    """

    base: float
    total: float
    n_items: int


@dataclass(frozen=True, kw_only=True)
class DemoReward:
    """How the weights came about, what the responses get, and what the examination says.

    Attributes
    ----------
    fit : RewardFit
        The reward with the record of its fit.
    means : mapping of tuple of str to MeanReward
        By behavior and label.
    examination : RewardExamination
        On the comparisons of the fit without its nonsense: there are no others.
    """

    fit: RewardFit
    means: Mapping[tuple[str, str], MeanReward]
    examination: RewardExamination


def reward_responses(folder: Path) -> DemoReward:
    """Compare, fit, score and examine from the files in the folder, and write what comes of it."""
    from voirdire.errors import UncertifiedWarning
    from voirdire.reporting.reward_json import reward_examination_to_json
    from voirdire.rewards.file_scoring import score_file
    from voirdire.rewards.fitting.fit import fit_reward
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.studies.reward.examine import examine_reward

    comparisons, verdicts = folder / COMPARISONS, folder / VERDICTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # the tables and the page say it
        write_text(folder / OF_FIT, _with_nonsense(comparisons))
        fit = fit_reward(
            folder / OF_FIT,
            rubric=RUBRIC,
            settings=FitSettings(n_resamples=RESAMPLES, orders={"*": ORDER}),
            certificates=[folder / CERTIFICATE],
            name=NAME,
        )
    fit.model.save(folder / REWARD)
    score_file(comparisons, folder / REWARDS, reward=fit.model, verdicts=verdicts)
    found = examine_reward(fit.model, comparisons, verdicts=verdicts)
    found = replace(found, settings={**found.settings, "simulated": True})
    write_text(folder / REWARD_EXAMINATION, reward_examination_to_json(found) + "\n")
    return DemoReward(fit=fit, means=_means(folder), examination=found)


def _with_nonsense(comparisons: Path) -> str:
    """Put nonsense below the good responses to a prompt; its base reward is their average."""
    from voirdire.io import read_items
    from voirdire.studies.reward.degenerate import degenerate_texts

    text = comparisons.read_text(encoding="utf-8")
    rows = {row["id"]: row for row in map(json.loads, text.splitlines())}
    given: dict[str, list[float]] = {}
    for row in rows.values():
        given.setdefault(row["group"], []).append(row["base_reward"])
    made = [
        {
            **rows[item.id],
            "id": f"{item.id}-{kind}",
            "response": nonsense,
            "label": "nonsense",
            "base_reward": round(fmean(given[rows[item.id]["group"]]), 2),
        }
        for item in read_items(comparisons).items
        if rows[item.id]["label"] == "ideal"
        for kind, nonsense in degenerate_texts(item, has_refusal=False, reads_cues=True)
        if kind in _NONSENSE
    ]
    return text + "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in made)


def _means(folder: Path) -> dict[tuple[str, str], MeanReward]:
    """Average the rewards in the file over the responses of each behavior and label."""
    import polars as pl

    labels = pl.read_ndjson(folder / COMPARISONS).select(item="id", label="label")
    rewards = pl.read_ndjson(folder / REWARDS)
    table = (
        rewards.join(labels, on="item")
        .group_by("behavior", "label", maintain_order=True)
        .agg(pl.col("base_reward").mean(), pl.col("reward").mean(), pl.len())
    )
    return {
        (behavior, label): MeanReward(base=base, total=total, n_items=n_items)
        for behavior, label, base, total, n_items in table.iter_rows()
    }


def same_from_files(output: Path) -> str:
    """Say where everything is, and how to get it from the files again.

    Parameters
    ----------
    output : Path
        The folder of the demonstration.

    Returns
    -------
    str
        Commands that can be pasted, whatever the folder is called.
    """

    def at(name: str) -> str:
        return shlex.quote(str(output / name))

    responses, verdicts, certificate = at("responses.jsonl"), at(VERDICTS), at(CERTIFICATE)
    comparisons, reward = at(COMPARISONS), at(REWARD)
    return (
        f"\nData and every figure (examination.json, reward_examination.json) are in {output}/\n"
        "The same from files:\n\n"
        f"  voirdire judge {responses} --rubric {RUBRIC} -o {verdicts}\n"
        f"  voirdire examine --humans {at('response_annotations.jsonl')} \\\n"
        f"    --judges {verdicts} --kind boolean --epsilon {EPSILON:g} --weights {WEIGHTS} \\\n"
        f"    --items {responses} --slice language --report report.html \\\n"
        f"    --certificate {certificate}\n"
        f"  voirdire fit {at(OF_FIT)} --rubric {RUBRIC} \\\n"
        f"    --order {shlex.quote(ORDER)} \\\n"
        f"    --certificate {certificate} --resamples {RESAMPLES} --name {NAME} \\\n"
        f"    -o {reward}\n"
        f"  voirdire score {comparisons} --reward {reward} \\\n"
        f"    --verdicts {verdicts} -o {at(REWARDS)}\n"
        f"  voirdire examine-reward {comparisons} --reward {reward} \\\n"
        f"    --verdicts {verdicts} --report reward.html\n"
        f"  voirdire examine --humans {at('annotations.jsonl')} \\\n"
        f"    --judges {at('judges.jsonl')} --question needs_review --kind boolean "
        "--epsilon 0.2 \\\n"
        f"    --items {at('texts.jsonl')} --slice language --report report.html\n"
    )
