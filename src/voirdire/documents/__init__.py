"""Reads files that people write: rubrics, judges, cascades, recipes, rewards, certificates.

A document is read whole or refused with every mistake at once, each with its line, its column and
what may be meant; it is written whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.documents.document import (
        Document,
        Filled,
        Form,
        Line,
        Name,
        Number,
        Path,
        document_from_text,
        document_of_value,
        read_document,
        rule_error,
    )
    from voirdire.documents.files import (
        NotRegularError,
        file_exists,
        open_regular,
        read_small,
        write_whole,
    )
    from voirdire.documents.json_text import (
        content_digest,
        hash_content,
        plain_json,
        to_canonical_json,
        write_json,
    )
    from voirdire.documents.problems import (
        NAME_RULE,
        closest,
        did_you_mean,
        is_name,
        problem_error,
    )
    from voirdire.documents.yaml_text import resolve_scalar

__all__ = [
    "NAME_RULE",
    "Document",
    "Filled",
    "Form",
    "Line",
    "Name",
    "NotRegularError",
    "Number",
    "Path",
    "closest",
    "content_digest",
    "did_you_mean",
    "document_from_text",
    "document_of_value",
    "file_exists",
    "hash_content",
    "is_name",
    "open_regular",
    "plain_json",
    "problem_error",
    "read_document",
    "read_small",
    "resolve_scalar",
    "rule_error",
    "to_canonical_json",
    "write_json",
    "write_whole",
]

_HOMES = {
    **dict.fromkeys(
        (
            "Document",
            "Filled",
            "Form",
            "Line",
            "Name",
            "Number",
            "Path",
            "document_from_text",
            "document_of_value",
            "read_document",
            "rule_error",
        ),
        "document",
    ),
    **dict.fromkeys(
        (
            "NotRegularError",
            "file_exists",
            "open_regular",
            "read_small",
            "write_whole",
        ),
        "files",
    ),
    **dict.fromkeys(
        ("content_digest", "hash_content", "plain_json", "to_canonical_json", "write_json"),
        "json_text",
    ),
    **dict.fromkeys(
        ("NAME_RULE", "closest", "did_you_mean", "is_name", "problem_error"),
        "problems",
    ),
    "resolve_scalar": "yaml_text",
}

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
