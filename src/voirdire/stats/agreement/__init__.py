"""Measures how far raters agree, with intervals and the human ceiling beside every judge."""

from voirdire.stats.agreement.coefficients import (
    WEIGHTS,
    AgreementResult,
    KrippendorffResult,
    Level,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    measure_alpha,
    raw_agreement,
)
from voirdire.stats.agreement.labels import Weights, code_labels
from voirdire.stats.agreement.pairs import cohen_kappa
from voirdire.stats.agreement.panel import (
    JudgeAgreement,
    PanelAgreement,
    PanelLevel,
    measure_panel,
)

__all__ = [
    "WEIGHTS",
    "AgreementResult",
    "JudgeAgreement",
    "KrippendorffResult",
    "Level",
    "PanelAgreement",
    "PanelLevel",
    "Weights",
    "code_labels",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "krippendorff_alpha",
    "measure_alpha",
    "measure_panel",
    "raw_agreement",
]
