"""Measures how far raters agree, with intervals and the human ceiling beside every judge."""

from voirdire.stats.agreement.coefficient import AgreementResult
from voirdire.stats.agreement.labels import Weights
from voirdire.stats.agreement.many_raters import fleiss_kappa, gwet_ac, raw_agreement
from voirdire.stats.agreement.panel import (
    JudgeAgreement,
    PanelAgreement,
    PanelLevel,
    measure_panel,
)
from voirdire.stats.agreement.two_raters import cohen_kappa

__all__ = [
    "AgreementResult",
    "JudgeAgreement",
    "PanelAgreement",
    "PanelLevel",
    "Weights",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "measure_panel",
    "raw_agreement",
]
