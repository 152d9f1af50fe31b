"""What the page of a reward says in English."""

from voirdire.reporting.reward_page.phrases.en import ending, evidence, use, verdict

__all__ = ["ENGLISH"]

ENGLISH: dict[str, str] = verdict.PHRASES | evidence.PHRASES | use.PHRASES | ending.PHRASES
