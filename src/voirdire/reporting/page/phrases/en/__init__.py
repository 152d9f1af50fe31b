"""What the page says in English."""

from voirdire.reporting.page.phrases.en import (
    appendix,
    evidence,
    paper,
    questions,
    verdict,
    warnings,
)

__all__ = ["ENGLISH"]

ENGLISH: dict[str, str] = (
    verdict.PHRASES
    | questions.PHRASES
    | evidence.PHRASES
    | warnings.PHRASES
    | paper.PHRASES
    | appendix.PHRASES
)
