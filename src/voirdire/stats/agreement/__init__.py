"""Measures how far raters agree, with intervals and the human ceiling beside every judge."""

from voirdire.stats.agreement.coefficient import AgreementResult
from voirdire.stats.agreement.labels import Weights
from voirdire.stats.agreement.many_raters import (
    KrippendorffResult,
    Level,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    measure_alpha,
    raw_agreement,
)
from voirdire.stats.agreement.pairs import cohen_kappa
from voirdire.stats.agreement.panel import (
    JudgeAgreement,
    PanelAgreement,
    PanelLevel,
    measure_panel,
)

__all__ = [
    "AgreementResult",
    "JudgeAgreement",
    "KrippendorffResult",
    "Level",
    "PanelAgreement",
    "PanelLevel",
    "Weights",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "measure_alpha",
    "measure_panel",
    "raw_agreement",
]
