"""Hashes everything that a verdict depends on, so that different verdicts are never mixed up."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from voirdire.records.plain import without_nan

if TYPE_CHECKING:
    import polars as pl

    from voirdire._types import Judged, Threshold
    from voirdire.judging.port import Answerer
    from voirdire.rubrics.rubric import Rubric

__all__ = ["hash_content", "hash_labels", "to_canonical_json", "verdict_fingerprint"]


def verdict_fingerprint(
    judge: Answerer, *, rubric: Rubric, threshold: Threshold, judged: Judged
) -> str:
    """``sha256:`` and 64 digits over judge, rubric, threshold, what is judged and class rule."""
    return hash_content(
        {
            "judge": judge.fingerprint,
            "rubric": rubric.content_hash,
            "threshold": threshold,
            "judged": judged,
            "class_rule": rubric.class_rule,
        }
    )


def hash_content(content: Any) -> str:
    """``sha256:`` and 64 hexadecimal digits over canonical JSON."""
    return f"sha256:{hashlib.sha256(to_canonical_json(content)).hexdigest()}"


def to_canonical_json(content: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def hash_labels(frame: pl.DataFrame) -> str:
    """Hash labels in canonical order: the same labels in any file have the same SHA-256."""
    columns = ["question", "item", "rater", "label", "failure", "cluster"]
    ordered = frame.select(columns).sort("question", "item", "rater")
    digest = hashlib.sha256()
    for row in ordered.iter_rows():
        digest.update(to_canonical_json(without_nan(row)))
        digest.update(b"\n")
    return f"sha256:{digest.hexdigest()}"
