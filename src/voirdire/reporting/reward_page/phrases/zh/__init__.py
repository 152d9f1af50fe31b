"""What the page of a reward says in Chinese."""

from voirdire.reporting.reward_page.phrases.zh import ending, evidence, notes, use, verdict

__all__ = ["CHINESE"]

CHINESE: dict[str, str] = (
    verdict.PHRASES | evidence.PHRASES | use.PHRASES | ending.PHRASES | notes.PHRASES
)
