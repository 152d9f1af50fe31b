"""From a conversation and wanted traits to the request for one completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.judging.prompts import fenced, said, visible
from voirdire.models import ChatRequest
from voirdire.records import Message
from voirdire.rewards.synthesis.default_recipes import instruction_of
from voirdire.rewards.synthesis.writer_words import WRITER_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import Language
    from voirdire.rewards.synthesis.recipe import Recipes, Slot
    from voirdire.rubrics import Rubric

__all__ = ["task_text", "writer_request"]


def task_text(
    wanted: Mapping[str, bool],
    *,
    slot: Slot,
    missed: Sequence[str],
    recipes: Recipes,
    rubric: Rubric,
    language: Language,
) -> str:
    """Write the system's message: who writes, where the conversation is, and what is wanted.

    Parameters
    ----------
    wanted : mapping of str to bool
        Propositions in the state that they are to have.
    slot : Slot
        With what the completion is in a phrase.
    missed : sequence of str
        Propositions that an earlier draft got wrong.
    recipes : Recipes
        Whose instructions are used.
    rubric : Rubric
        Whose questions stand in for instructions that are missing.
    language : {"en", "zh"}
        Of all of it.

    Returns
    -------
    str
        It holds nothing of the conversation.
    """
    words = WRITER_WORDS[language]

    def points(names: Sequence[str]) -> list[str]:
        texts = [
            instruction_of(
                name, wanted=wanted[name], recipes=recipes, rubric=rubric, language=language
            )
            for name in names
        ]
        return [f"- {visible(text)}" for text in texts]

    brief = said(slot.brief, language)
    task = [f"{words.task_heading}\n"]
    task += [words.brief.replace("{brief}", visible(brief))] if brief else []
    task += [words.task, *points(list(wanted))]
    again = [name for name in missed if name in wanted]
    task += ["", words.missed, *points(again)] if again else []
    place = [
        f"{words.conversation_heading}\n",
        words.conversation,
        words.is_data,
        words.escapes,
    ]
    reply = [f"{words.reply_heading}\n", words.reply]
    sections = [[words.role], place, task, reply]
    return "\n\n".join("\n".join(section) for section in sections)


def writer_request(
    task: str,
    conversation: tuple[Message, ...],
    *,
    nonce: str,
    language: Language,
    temperature: float | None,
    seed: int,
    max_tokens: int | None,
) -> ChatRequest:
    """Make the request; the conversation is untrusted, and fenced as judges see it.

    Parameters
    ----------
    task : str
        From `task_text`.
    conversation : tuple of Message
        What the response is to answer.
    nonce : str
        Random code of the fence, from `new_nonce`.
    language : {"en", "zh"}
        Of the words around the conversation.
    temperature : float or None
        At least 0; None takes the model's own setting.
    seed : int
        For servers that can repeat themselves.
    max_tokens : int or None
        Tokens of the reply at most.

    Returns
    -------
    ChatRequest
        Two messages, for a reply that is plain text.
    """
    words = WRITER_WORDS[language]
    shown = fenced(conversation, {}, nonce=nonce)
    content = f"{words.opening}\n{shown}\n{words.closing}"
    return ChatRequest(
        messages=(
            Message(role="system", content=task),
            Message(role="user", content=content),
        ),
        form="text",
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
    )
