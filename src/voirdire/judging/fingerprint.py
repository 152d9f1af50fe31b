"""What a verdict depends on, in one hash: nothing that has another one may be taken for it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from voirdire.judging.prompts import PROMPT_VERSION
from voirdire.rubrics.rubric import question_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import Judged, Threshold
    from voirdire.judging.port import Answerer
    from voirdire.rubrics.rubric import Rubric

__all__ = ["canonical_json", "hash_of", "reply_fingerprint", "verdict_fingerprint"]


def reply_fingerprint(asking: Mapping[str, Any], rubric: Rubric) -> str:
    """Hash over everything that a reply depends on besides the item: its place in the store.

    How many samples or orders there are is not part of it, since each has a call of its own;
    neither are the questions where each has one, since its name says what is asked; and neither
    are completion classes, the threshold or the reader of replies: what is paid for is kept.
    """
    documents = [question_document(row) for row in rubric.questions]
    questions = None if asking.get("mode") == "single" else documents
    return hash_of({"asking": asking, "prompt": PROMPT_VERSION, "questions": questions})


def verdict_fingerprint(
    judge: Answerer, *, rubric: Rubric, threshold: Threshold, judged: Judged
) -> str:
    """``sha256:`` and 64 digits over judge, rubric, threshold, what is judged and class rule."""
    return hash_of(
        {
            "judge": judge.fingerprint,
            "rubric": rubric.content_hash,
            "threshold": threshold,
            "judged": judged,
            "class_rule": rubric.class_rule,
        }
    )


def hash_of(content: Any) -> str:
    """``sha256:`` and 64 hexadecimal digits over canonical JSON."""
    return f"sha256:{hashlib.sha256(canonical_json(content)).hexdigest()}"


def canonical_json(content: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()
