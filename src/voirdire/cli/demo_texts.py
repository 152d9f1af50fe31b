"""The first part of the demonstration: eight simulated judges on fifty short texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire._types import AlignmentName
    from voirdire.studies import Examination

__all__ = ["ALIGNMENTS", "EPSILONS", "examine_texts"]

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
        humans,
        judges,
        alignments=ALIGNMENTS[question],
        plan=TestPlan(epsilon=EPSILONS),
        labels=reading.get("labels"),
        metadata=read_metadata(folder / "texts.jsonl", columns=["language"]),
    )


def _toxicity_labels(folder: Path) -> list[str]:
    card = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return list(card["labels"])
