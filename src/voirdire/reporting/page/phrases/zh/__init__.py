"""What the page says in Simplified Chinese."""

from voirdire.reporting.page.phrases.zh import (
    appendix,
    evidence,
    paper,
    questions,
    verdict,
    warnings,
)

__all__ = ["CHINESE"]

CHINESE: dict[str, str] = (
    verdict.PHRASES
    | questions.PHRASES
    | evidence.PHRASES
    | warnings.PHRASES
    | paper.PHRASES
    | appendix.PHRASES
)
