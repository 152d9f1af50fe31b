"""Judge responses by a rubric, examine LLM judges against people, turn verdicts into rewards.

Everything here is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy
from voirdire._version import __version__ as __version__

if TYPE_CHECKING:
    from voirdire.errors import (
        CyclicComparisonsWarning,
        DegenerateDataWarning,
        DoubtfulLabelsWarning,
        DroppedRowsWarning,
        InputError,
        LogicError,
        NoDataError,
        RubricError,
        UncertifiedWarning,
        VoirdireError,
    )
    from voirdire.io import items_from_frame, read_items, read_labels, read_metadata, stream_items
    from voirdire.judging import ajudge, judge
    from voirdire.records import Certificate, Dropped, Failure, Item, Message, Verdicts
    from voirdire.reporting import plot
    from voirdire.rewards import (
        FitSettings,
        RewardModel,
        fit_reward,
        load_reward,
        read_comparisons,
        synthesize,
    )
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
        RewardExamination,
        alt_test,
        examine,
        examine_reward,
        outperforms_humans,
        power_from_pilot,
        rate,
    )

__all__ = [
    "AltTestResult",
    "AnnotatorResult",
    "Certificate",
    "CyclicComparisonsWarning",
    "DegenerateDataWarning",
    "DoubtfulLabelsWarning",
    "Dropped",
    "DroppedRowsWarning",
    "Examination",
    "Failure",
    "FitSettings",
    "InputError",
    "Item",
    "LogicError",
    "Message",
    "NoDataError",
    "PowerResult",
    "RewardExamination",
    "RewardModel",
    "Rubric",
    "RubricError",
    "UncertifiedWarning",
    "Verdicts",
    "VoirdireError",
    "ajudge",
    "alt_test",
    "examine",
    "examine_reward",
    "fit_reward",
    "items_from_frame",
    "judge",
    "krippendorff_alpha",
    "load_reward",
    "load_rubric",
    "outperforms_humans",
    "plot",
    "power",
    "power_from_pilot",
    "rate",
    "read_comparisons",
    "read_items",
    "read_labels",
    "read_metadata",
    "stream_items",
    "synthesize",
]

_HOME = {
    "AltTestResult": "stats",
    "AnnotatorResult": "stats",
    "Certificate": "records",
    "CyclicComparisonsWarning": "errors",
    "DegenerateDataWarning": "errors",
    "Dropped": "records",
    "DoubtfulLabelsWarning": "errors",
    "DroppedRowsWarning": "errors",
    "Examination": "studies",
    "Failure": "records",
    "FitSettings": "rewards",
    "InputError": "errors",
    "Item": "records",
    "LogicError": "errors",
    "Message": "records",
    "NoDataError": "errors",
    "PowerResult": "stats",
    "RewardExamination": "studies",
    "RewardModel": "rewards",
    "Rubric": "rubrics",
    "RubricError": "errors",
    "UncertifiedWarning": "errors",
    "Verdicts": "records",
    "VoirdireError": "errors",
    "ajudge": "judging",
    "alt_test": "studies",
    "examine": "studies",
    "examine_reward": "studies",
    "fit_reward": "rewards",
    "items_from_frame": "io",
    "judge": "judging",
    "krippendorff_alpha": "stats",
    "load_reward": "rewards",
    "load_rubric": "rubrics",
    "outperforms_humans": "studies",
    "plot": "reporting",
    "power": "stats",
    "power_from_pilot": "studies",
    "rate": "studies",
    "read_comparisons": "rewards",
    "read_items": "io",
    "read_labels": "io",
    "read_metadata": "io",
    "stream_items": "io",
    "synthesize": "rewards",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
