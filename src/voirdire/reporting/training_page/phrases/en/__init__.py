"""What the page of a training run says in English."""

from voirdire.reporting.training_page.phrases.en import evidence, story

__all__ = ["ENGLISH"]

ENGLISH: dict[str, str] = story.PHRASES | evidence.PHRASES
