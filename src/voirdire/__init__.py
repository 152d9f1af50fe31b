"""Judge responses by a rubric, examine LLM judges against people, turn verdicts into rewards.

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
        LogicError,
        NoDataError,
        RubricError,
        VoirdireError,
    )
    from voirdire.io import items_from_frame, read_items, read_labels, read_metadata, stream_items
    from voirdire.judging import Verdicts, judge
    from voirdire.records import Certificate, Dropped, Failure, Item, Message
    from voirdire.reporting import plot
    from voirdire.rubrics import Rubric, load_rubric
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
    "Item",
    "LogicError",
    "Message",
    "NoDataError",
    "PowerResult",
    "Rubric",
    "RubricError",
    "Verdicts",
    "VoirdireError",
    "alt_test",
    "examine",
    "items_from_frame",
    "judge",
    "krippendorff_alpha",
    "load_rubric",
    "outperforms_humans",
    "plot",
    "power",
    "power_from_pilot",
    "read_items",
    "read_labels",
    "read_metadata",
    "stream_items",
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
    "Item": "records",
    "LogicError": "errors",
    "Message": "records",
    "NoDataError": "errors",
    "PowerResult": "stats",
    "Rubric": "rubrics",
    "RubricError": "errors",
    "Verdicts": "judging",
    "VoirdireError": "errors",
    "alt_test": "studies",
    "examine": "studies",
    "items_from_frame": "io",
    "judge": "judging",
    "krippendorff_alpha": "stats",
    "load_rubric": "rubrics",
    "outperforms_humans": "studies",
    "plot": "reporting",
    "power": "stats",
    "power_from_pilot": "studies",
    "read_items": "io",
    "read_labels": "io",
    "read_metadata": "io",
    "stream_items": "io",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
