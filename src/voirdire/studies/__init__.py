"""Join judges with annotators, run the examinations, keep the record.

`examine` and what belongs to it read tables, and are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.studies.certificate import certify, result_as_dict
    from voirdire.studies.diagnosis import Diagnosis, diagnose
    from voirdire.studies.findings import LabelShare, QuestionFindings
    from voirdire.studies.pilot import power_from_pilot
    from voirdire.studies.plan import TestPlan
    from voirdire.studies.pooling import PooledQuestion, PooledResult, pool_questions
    from voirdire.studies.reward.examine import examine_reward
    from voirdire.studies.reward.result import (
        BehaviorScale,
        BenchSubset,
        ErrorRate,
        FeatureDrive,
        LabelHistogram,
        NearIdeal,
        PolicyCheck,
        RateEstimate,
        RefusalErrors,
        RewardExamination,
        RewardNote,
        RouterCheck,
        Signal,
    )
    from voirdire.studies.whole_study import Examination, alt_test, examine, outperforms_humans

__all__ = [
    "BehaviorScale",
    "BenchSubset",
    "Diagnosis",
    "ErrorRate",
    "Examination",
    "FeatureDrive",
    "LabelHistogram",
    "LabelShare",
    "NearIdeal",
    "PolicyCheck",
    "PooledQuestion",
    "PooledResult",
    "QuestionFindings",
    "RateEstimate",
    "RefusalErrors",
    "RewardExamination",
    "RewardNote",
    "RouterCheck",
    "Signal",
    "TestPlan",
    "alt_test",
    "certify",
    "diagnose",
    "examine",
    "examine_reward",
    "outperforms_humans",
    "pool_questions",
    "power_from_pilot",
    "result_as_dict",
]

_HOME = {
    "BehaviorScale": "reward.result",
    "BenchSubset": "reward.result",
    "Diagnosis": "diagnosis",
    "ErrorRate": "reward.result",
    "Examination": "whole_study",
    "FeatureDrive": "reward.result",
    "LabelHistogram": "reward.result",
    "LabelShare": "findings",
    "NearIdeal": "reward.result",
    "PolicyCheck": "reward.result",
    "PooledQuestion": "pooling",
    "PooledResult": "pooling",
    "QuestionFindings": "findings",
    "RateEstimate": "reward.result",
    "RefusalErrors": "reward.result",
    "RewardExamination": "reward.result",
    "RewardNote": "reward.result",
    "RouterCheck": "reward.result",
    "Signal": "reward.result",
    "TestPlan": "plan",
    "alt_test": "whole_study",
    "certify": "certificate",
    "diagnose": "diagnosis",
    "examine": "whole_study",
    "examine_reward": "reward.examine",
    "outperforms_humans": "whole_study",
    "pool_questions": "pooling",
    "power_from_pilot": "pilot",
    "result_as_dict": "certificate",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
