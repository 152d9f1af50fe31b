"""Studies: examine judges against annotators or gold labels, and record the result.

Modules are loaded when a name is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.studies.certificate import certify, result_as_dict
    from voirdire.studies.certificate_check import (
        CertificateChange,
        check_certificate,
        recorded_reading,
    )
    from voirdire.studies.diagnosis import Diagnosis, diagnose
    from voirdire.studies.findings import LabelShare, QuestionFindings
    from voirdire.studies.gold import GoldExamination, GoldResult, examine_gold
    from voirdire.studies.pilot import power_from_pilot
    from voirdire.studies.plan import TestPlan
    from voirdire.studies.probing.results import (
        ProbeFinding,
        ProbeReport,
        QuestionFinding,
        SelfPreference,
        Stability,
    )
    from voirdire.studies.probing.settings import ProbeSettings
    from voirdire.studies.probing.study import estimate_probing, probe_judge
    from voirdire.studies.rates import QuestionRate, RateReport, rate
    from voirdire.studies.reward.examine import examine_reward
    from voirdire.studies.reward.result import (
        BenchSubset,
        DegenerateCheck,
        DegenerateExample,
        ErrorRate,
        FeatureDrive,
        RateEstimate,
        RefusalErrors,
        RewardExamination,
        RewardNote,
        Signal,
    )
    from voirdire.studies.reward.settings import RewardExaminationSettings
    from voirdire.studies.whole_study import (
        Examination,
        PooledQuestion,
        PooledResult,
        alt_test,
        examine,
        outperforms_humans,
        pool_questions,
    )

__all__ = [
    "BenchSubset",
    "CertificateChange",
    "DegenerateCheck",
    "DegenerateExample",
    "Diagnosis",
    "ErrorRate",
    "Examination",
    "FeatureDrive",
    "GoldExamination",
    "GoldResult",
    "LabelShare",
    "PooledQuestion",
    "PooledResult",
    "ProbeFinding",
    "ProbeReport",
    "ProbeSettings",
    "QuestionFinding",
    "QuestionFindings",
    "QuestionRate",
    "RateEstimate",
    "RateReport",
    "RefusalErrors",
    "RewardExamination",
    "RewardExaminationSettings",
    "RewardNote",
    "SelfPreference",
    "Signal",
    "Stability",
    "TestPlan",
    "alt_test",
    "certify",
    "check_certificate",
    "diagnose",
    "estimate_probing",
    "examine",
    "examine_gold",
    "examine_reward",
    "outperforms_humans",
    "pool_questions",
    "power_from_pilot",
    "probe_judge",
    "rate",
    "recorded_reading",
    "result_as_dict",
]

_NAMES = {
    "certificate": ("certify", "result_as_dict"),
    "certificate_check": (
        "CertificateChange",
        "check_certificate",
        "recorded_reading",
    ),
    "diagnosis": ("Diagnosis", "diagnose"),
    "findings": ("LabelShare", "QuestionFindings"),
    "gold": ("GoldExamination", "GoldResult", "examine_gold"),
    "pilot": ("power_from_pilot",),
    "plan": ("TestPlan",),
    "probing.results": (
        "ProbeFinding",
        "ProbeReport",
        "QuestionFinding",
        "SelfPreference",
        "Stability",
    ),
    "probing.settings": ("ProbeSettings",),
    "probing.study": ("estimate_probing", "probe_judge"),
    "rates": ("QuestionRate", "RateReport", "rate"),
    "reward.examine": ("examine_reward",),
    "reward.settings": ("RewardExaminationSettings",),
    "reward.result": (
        "BenchSubset",
        "DegenerateCheck",
        "DegenerateExample",
        "ErrorRate",
        "FeatureDrive",
        "RateEstimate",
        "RefusalErrors",
        "RewardExamination",
        "RewardNote",
        "Signal",
    ),
    "whole_study": (
        "Examination",
        "PooledQuestion",
        "PooledResult",
        "alt_test",
        "examine",
        "outperforms_humans",
        "pool_questions",
    ),
}
"""Public names by module."""

_HOME = {name: module for module, names in _NAMES.items() for name in names}

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
