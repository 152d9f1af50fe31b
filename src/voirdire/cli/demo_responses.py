"""The second part of the demonstration: the local judge, a real one, on bundled responses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from voirdire._types import WeightScheme
from voirdire.cli.demo_folder import CERTIFICATE, VERDICTS
from voirdire.cli.written_files import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from voirdire.io import LabelTable
    from voirdire.judging import JudgingSummary
    from voirdire.studies import Examination

__all__ = ["EPSILON", "JUDGE", "RUBRIC", "WEIGHTS", "JudgedResponses", "judge_responses"]

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
        humans,
        _asked_of_both(judges, humans),
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

    [threshold] = judges.thresholds
    reading = {"threshold": threshold, "missing": []}
    record = certify(examination, humans=humans, judges=judges, reading=reading)
    write_text(path, certificate_to_json(record) + "\n")


def _asked_of_both(judges: LabelTable, humans: LabelTable) -> LabelTable:
    """Leave out the completion classes: they follow from the answers, and nobody was asked."""
    asked = humans.frame["question"].unique().to_list()
    return replace(judges, frame=judges.frame.filter(judges.frame["question"].is_in(asked)))


def _n_true(humans: LabelTable) -> dict[str, int]:
    """Count the items on which more than half of the annotators say yes."""
    import polars as pl

    votes = humans.frame.group_by("question", "item", maintain_order=True).agg(
        (pl.col("label").cast(pl.String) == "true").mean().alias("share")
    )
    counts = votes.group_by("question", maintain_order=True).agg((pl.col("share") > 0.5).sum())
    return {str(question): int(count) for question, count in counts.iter_rows()}
