"""Examine LLM judges against human annotators, and turn their verdicts into rewards.

Everything here is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voirdire.errors import (
        DegenerateDataWarning,
        DroppedRowsWarning,
        InputError,
        NoDataError,
        VoirdireError,
    )
    from voirdire.records import Certificate, Dropped, Failure
    from voirdire.stats import AltTestResult, AnnotatorResult, krippendorff_alpha
    from voirdire.studies import alt_test, outperforms_humans

__version__ = "0.1.0"

__all__ = [
    "AltTestResult",
    "AnnotatorResult",
    "Certificate",
    "DegenerateDataWarning",
    "Dropped",
    "DroppedRowsWarning",
    "Failure",
    "InputError",
    "NoDataError",
    "VoirdireError",
    "alt_test",
    "krippendorff_alpha",
    "outperforms_humans",
]

_HOME = {
    "AltTestResult": "stats",
    "AnnotatorResult": "stats",
    "Certificate": "records",
    "DegenerateDataWarning": "errors",
    "Dropped": "records",
    "DroppedRowsWarning": "errors",
    "Failure": "records",
    "InputError": "errors",
    "NoDataError": "errors",
    "VoirdireError": "errors",
    "alt_test": "studies",
    "krippendorff_alpha": "stats",
    "outperforms_humans": "studies",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'voirdire' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"voirdire.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
