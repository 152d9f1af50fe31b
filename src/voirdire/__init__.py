"""Examine LLM judges against human annotators, and turn their verdicts into rewards.

Everything here is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.errors import (
        DegenerateDataWarning,
        DroppedRowsWarning,
        InputError,
        NoDataError,
        VoirdireError,
    )
    from voirdire.io import read_labels, read_metadata
    from voirdire.records import Certificate, Dropped, Failure
    from voirdire.reporting import plot
    from voirdire.stats import (
        AltTestResult,
        AnnotatorResult,
        PowerResult,
        krippendorff_alpha,
        power,
    )
    from voirdire.studies import (
        Examination,
        alt_test,
        examine,
        outperforms_humans,
        power_from_pilot,
    )

__version__ = "0.1.0"

__all__ = [
    "AltTestResult",
    "AnnotatorResult",
    "Certificate",
    "DegenerateDataWarning",
    "Dropped",
    "DroppedRowsWarning",
    "Examination",
    "Failure",
    "InputError",
    "NoDataError",
    "PowerResult",
    "VoirdireError",
    "alt_test",
    "examine",
    "krippendorff_alpha",
    "outperforms_humans",
    "plot",
    "power",
    "power_from_pilot",
    "read_labels",
    "read_metadata",
]

_HOME = {
    "AltTestResult": "stats",
    "AnnotatorResult": "stats",
    "Certificate": "records",
    "DegenerateDataWarning": "errors",
    "Dropped": "records",
    "DroppedRowsWarning": "errors",
    "Examination": "studies",
    "Failure": "records",
    "InputError": "errors",
    "NoDataError": "errors",
    "PowerResult": "stats",
    "VoirdireError": "errors",
    "alt_test": "studies",
    "examine": "studies",
    "krippendorff_alpha": "stats",
    "outperforms_humans": "studies",
    "plot": "reporting",
    "power": "stats",
    "power_from_pilot": "studies",
    "read_labels": "io",
    "read_metadata": "io",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
