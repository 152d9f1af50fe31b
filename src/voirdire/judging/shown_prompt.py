"""Shows the prompt that a model is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from voirdire.judging.asking import Ask
from voirdire.judging.call_plan import limit_examples
from voirdire.judging.prompts import WORDING, PromptBuilder
from voirdire.records import Item, Message
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire._types import Language, Mode, ModelSource, ReplyForm
    from voirdire.rubrics import Rubric

__all__ = ["show_prompt"]

_NONCE = "0" * 16


def show_prompt(
    rubric: Rubric | str | Path = "safety",
    *,
    item: Item | None = None,
    mode: Mode = "joint",
    probability: ModelSource = "logprob",
    language: Language = "en",
    n_examples: int | None = None,
    form: ReplyForm = "json_schema",
) -> str:
    """Show the prompt that a language model is sent.

    Parameters
    ----------
    rubric : Rubric, str or path, optional
        What is asked.
    item : Item, optional
        What it is asked about; a placeholder by default.
    mode : {"joint", "single"}, optional
        All questions in one call, or one in each: then the first of them is shown.
    probability : {"logprob", "stated", "vote"}, optional
        Where the probability of a proposition comes from.
    language : {"en", "zh"}, optional
        Of instructions and questions.
    n_examples : int, optional
        Examples of each answer per question; by default as in `LlmJudge`.
    form : {"json_schema", "json_object", "text"}, optional
        How the model is held to the form of its reply.

    Returns
    -------
    str
        The messages, each under its role, then the JSON Schema of the reply where one is sent. The
        random code of the fence is shown as zeros.

    Examples
    --------
    >>> from voirdire.judging import show_prompt
    >>> "apology" in show_prompt("safety")
    True
    """
    asked = load_rubric(rubric)
    questions = asked.questions if mode == "joint" else asked.questions[:1]
    n_shown = 0 if n_examples is None and mode == "joint" else n_examples
    questions = tuple(limit_examples(row, n_shown) for row in questions)
    ask = Ask(questions=questions, probability=probability, mode=mode, language=language)
    shown = _placeholder(language) if item is None else item
    request = PromptBuilder(ask).request(shown, nonce=_NONCE, form=form)
    parts = [f"=== {message.role} ===\n{message.content}\n" for message in request.messages]
    if request.schema:
        schema = msgspec.json.format(request.schema, indent=2).decode()
        parts.append(f"=== JSON Schema of the reply ===\n{schema}\n")
    return "\n".join(parts)


def _placeholder(language: Language) -> Item:
    words = WORDING[language]
    return Item(
        id="sample",
        prompt=(Message(role="user", content=words.sample_prompt),),
        response=words.sample_response,
        other=words.sample_other,
    )
