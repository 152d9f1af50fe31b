"""Join judges with annotators, run the examinations, keep the record.

`examine` and what belongs to it read tables, and are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voirdire.studies.certificate import certify, result_as_dict
    from voirdire.studies.examination import TestPlan
    from voirdire.studies.one_question import alt_test, outperforms_humans
    from voirdire.studies.pooling import PooledQuestion, PooledResult, pool_questions
    from voirdire.studies.whole_study import Examination, examine

__all__ = [
    "Examination",
    "PooledQuestion",
    "PooledResult",
    "TestPlan",
    "alt_test",
    "certify",
    "examine",
    "outperforms_humans",
    "pool_questions",
    "result_as_dict",
]

_HOME = {
    "Examination": "whole_study",
    "PooledQuestion": "pooling",
    "PooledResult": "pooling",
    "TestPlan": "examination",
    "alt_test": "one_question",
    "certify": "certificate",
    "examine": "whole_study",
    "outperforms_humans": "one_question",
    "pool_questions": "pooling",
    "result_as_dict": "certificate",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
