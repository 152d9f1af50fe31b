"""Hashes everything that a verdict depends on, so that different verdicts are never mixed up."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voirdire._types import Judged, Threshold
    from voirdire.judging.port import Answerer
    from voirdire.rubrics.rubric import Rubric

__all__ = ["hash_content", "to_canonical_json", "verdict_fingerprint"]


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
