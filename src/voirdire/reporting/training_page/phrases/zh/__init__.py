"""What the page of a training run says in Chinese."""

from voirdire.reporting.training_page.phrases.zh import evidence, story

__all__ = ["CHINESE"]

CHINESE: dict[str, str] = story.PHRASES | evidence.PHRASES
