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
    from voirdire.io import read_labels
    from voirdire.records import Certificate, Dropped, Failure
    from voirdire.stats import AltTestResult, AnnotatorResult, krippendorff_alpha
    from voirdire.studies import alt_test, examine, outperforms_humans

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
    "examine",
    "krippendorff_alpha",
    "outperforms_humans",
    "read_labels",
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
    "examine": "studies",
    "krippendorff_alpha": "stats",
    "outperforms_humans": "studies",
    "read_labels": "io",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'voirdire' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"voirdire.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
