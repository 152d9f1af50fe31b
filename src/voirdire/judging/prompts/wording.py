"""What every language must have words for, and which version of the words this is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire._types import Language

__all__ = ["PROMPT_VERSION", "ItemWords", "QuestionWords", "ReplyWords", "Wording", "wording_of"]

PROMPT_VERSION = "1"
"""Version of the words of all prompts; any change of them raises it."""


@dataclass(frozen=True, kw_only=True)
class ItemWords:
    """Words about the item: where it is, what it holds, and that it gives no orders."""

    heading: str
    place_joint: str
    place_single: str
    conversation: str
    conversation_to_route: str
    response: str
    responses: str
    is_data: str
    escapes: str
    opening: str
    closing: str
    closing_single: str


@dataclass(frozen=True, kw_only=True)
class QuestionWords:
    """Words about questions and the kinds of their answers; `{…}` is filled in."""

    heading: str
    heading_single: str
    introduction: str
    colon: str
    comma: str
    yes: str
    no: str
    if_boolean: str
    if_examples: str
    if_pair: str
    boolean: str
    choice: str
    multilabel: str
    whole: str
    number: str
    text: str
    pairwise: str


@dataclass(frozen=True, kw_only=True)
class ReplyWords:
    """Words about the reply and what stands for a value in its outline; `{…}` is filled in."""

    heading: str
    form: str
    form_alike: str
    form_single: str
    if_boolean: str
    if_stated: str
    boolean: str
    stated: str
    choice: str
    multilabel: str
    whole: str
    number: str
    text: str
    pairwise: str
    behavior: str


@dataclass(frozen=True, kw_only=True)
class Wording:
    """Everything that prompts say in one language."""

    role_joint: str
    role_single: str
    role_pair_joint: str
    role_pair_single: str
    role_router: str
    item: ItemWords
    rules_heading: str
    rules: tuple[str, ...]
    rules_pair: tuple[str, ...]
    rule_joint: str
    rules_router: tuple[str, ...]
    questions: QuestionWords
    behaviors_heading: str
    behaviors: str
    reply: ReplyWords
    sample_prompt: str
    sample_response: str
    sample_other: str


def wording_of(language: Language) -> Wording:
    """Give the words of a language."""
    if language == "zh":
        from voirdire.judging.prompts.chinese import CHINESE

        return CHINESE
    from voirdire.judging.prompts.english import ENGLISH

    return ENGLISH
