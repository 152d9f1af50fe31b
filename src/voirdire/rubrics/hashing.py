"""What a rubric says, as plain data and as a hash."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from voirdire.rubrics.demands import write_demand
from voirdire.rubrics.rubric import RUBRIC_SCHEMA

if TYPE_CHECKING:
    from voirdire.rubrics.rubric import Behavior, Question, Rubric

__all__ = ["hash_rubric", "question_document", "rubric_document"]


def rubric_document(rubric: Rubric) -> dict[str, Any]:
    """Give everything that a rubric says as dicts, lists, text, numbers and None.

    What has an order that means something is a list: questions, labels, classes. Behaviors,
    demands and named expressions are found by their names.
    """
    return {
        "schema": RUBRIC_SCHEMA,
        "name": rubric.name,
        "version": rubric.version,
        "description": dict(rubric.description),
        "class_rule": rubric.class_rule,
        "threshold": _number(rubric.threshold),
        "questions": [question_document(row) for row in rubric.questions],
        "expressions": dict(rubric.expressions),
        "behaviors": {row.id: _behavior(row) for row in rubric.behaviors},
    }


def hash_rubric(rubric: Rubric) -> str:
    """SHA-256 over the canonical JSON of everything but `source`, as ``sha256:`` and hex digits.

    Parameters
    ----------
    rubric : Rubric
        Any rubric.

    Returns
    -------
    str
        The same for files that differ in formatting, comments or the order of keys; another one
        for any other character, and for another order of questions, labels or classes.
    """
    text = json.dumps(
        rubric_document(rubric),
        allow_nan=False,
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
    )
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def question_document(row: Question) -> dict[str, Any]:
    """Give everything that a question says, as `rubric_document` does."""
    return {
        "id": row.id,
        "kind": row.kind,
        "text": dict(row.text),
        "yes_examples": {name: list(texts) for name, texts in row.yes_examples.items()},
        "no_examples": {name: list(texts) for name, texts in row.no_examples.items()},
        "labels": [{"label": name, "text": dict(text)} for name, text in row.labels.items()],
        "minimum": None if row.minimum is None else _number(row.minimum),
        "maximum": None if row.maximum is None else _number(row.maximum),
        "levels": [
            {"level": _number(level), "text": dict(text)}
            for level, text in sorted(row.levels.items())
        ],
    }


def _behavior(row: Behavior) -> dict[str, Any]:
    return {
        "description": dict(row.description),
        "demands": {name: write_demand(demand) for name, demand in row.demands.items()},
        "classes": [{"name": each.name, "when": each.when} for each in row.classes],
    }


def _number(value: float) -> float:
    """Make equal numbers look equal: 1 is 1.0, and -0.0 is 0.0."""
    return float(value) + 0.0
