"""Read a model's reply: one object with one answer per question, and what its tokens say."""

from __future__ import annotations

import re
from math import nan
from typing import TYPE_CHECKING

from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.asking import Answers, Ask
from voirdire.judging.reading.answer_sheet import AnswerSheet
from voirdire.judging.reading.json_members import members_of
from voirdire.judging.reading.spelling import spell
from voirdire.judging.reading.unreadable import as_failure, unreadable
from voirdire.judging.reading.value_tokens import ValueTokens
from voirdire.rubrics import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.asking import Answer
    from voirdire.judging.reading.answer_sheet import Filled
    from voirdire.judging.reading.value_tokens import Trouble
    from voirdire.records import Reply
    from voirdire.rubrics.rubric import Text

__all__ = ["READING_VERSION", "ReplyReader", "RouterReader"]

READING_VERSION = "1"
"""Changes whenever some reply is read as another answer than before."""

_RULES: dict[Trouble, str] = {
    "alone": "come with likely tokens beside the one that was taken at the value of {key!r}",
    "absent": "have true or false among the likely tokens at the value of {key!r}",
    "no probabilities": "come with log-probabilities at the value of {key!r}, not other numbers",
}
_ROUTER_KEY = "behavior"


class ReplyReader:
    r"""Reads the replies to one ask.

    A reply must be one JSON object with exactly the keys asked, each once, in any order, and every
    value of its kind; nothing is repaired or guessed. Where the form of the reply was ``"text"``,
    the object may be fenced as code and may stand in prose without braces, behind a block
    ``<think>…</think>``.

    Parameters
    ----------
    ask : Ask
        What was asked.

    Notes
    -----
    Where an ask wants ``"logprob"``, the probability of a boolean question is
    :math:`P(\text{true}) / (P(\text{true}) + P(\text{false}))` at the token with which its value
    begins, each summed over the tokens that write it (``true``, `` true``, ``True``, ``tr``,
    ``true,``), and the missing mass is what the two leave of 1. A side that is not among the likely
    tokens counts as 0, so that the missing mass is then also the most that it can have.

    A reader may be used from several threads.

    Examples
    --------
    >>> from voirdire.judging.asking import Ask
    >>> from voirdire.records import Reply
    >>> from voirdire.rubrics import Question
    >>> apology = Question(id="apology", kind="boolean", text={"en": "Does it apologise?"})
    >>> reader = ReplyReader(Ask(questions=(apology,), probability="stated"))
    >>> reader.read(Reply(text='{"apology": 0.75}')).values
    (0.75,)
    """

    def __init__(self, ask: Ask) -> None:
        self._ids = tuple(question.id for question in ask.questions)
        self._sheet = AnswerSheet(ask)
        is_weighed = ask.probability == "logprob"
        self._weighed = tuple(
            place
            for place, question in enumerate(ask.questions)
            if is_weighed and question.kind == "boolean"
        )
        self._layout = _layout(ask) if self._weighed else None
        self._tokens = ValueTokens()

    def read(self, reply: Reply) -> Answers:
        """Read a reply.

        Parameters
        ----------
        reply : Reply
            What the model said.

        Returns
        -------
        Answers
            One answer per question, in the order asked.

        Raises
        ------
        VerdictParseError
            If it cannot be read, or not all of it; the error keeps the reply, and as `partial`
            what can be read.
        UnsupportedError
            If probabilities are to be read from tokens and the server gave none.
        """
        filled = self._sheet.read(reply)
        if not self._weighed:
            return _answers(filled.values)
        if filled.starts is not None and _has_nothing(filled.values):
            return _answers(filled.values)
        if not reply.steps:
            raise _no_tokens("no log-probabilities")
        return self._weigh(reply, filled)

    def _weigh(self, reply: Reply, filled: Filled) -> Answers:
        steps = reply.steps or ()
        spelling = spell(reply.text, steps)
        if spelling is None:
            raise unreadable(reply, "be spelled, once, by the tokens of its log-probabilities")
        values = list(filled.values)
        places = [at for at in self._weighed if not isinstance(values[at], VerdictParseError)]
        weights = [
            self._tokens.weigh(spelling, steps, start=spelling.place(start))
            for start in self._starts(reply.text, filled, places)
        ]
        if weights and all(found.trouble == "alone" for found in weights):
            raise _no_tokens("only the token that was taken")
        missing = [nan] * len(values)
        for place, found in zip(places, weights, strict=True):
            if found.trouble:
                rule = _RULES[found.trouble].format(key=self._ids[place])
                values[place] = unreadable(reply, rule)
                continue
            whole = found.yes + found.no
            values[place] = found.yes / whole
            missing[place] = max(0.0, 1.0 - whole)
        return _answers(values, tuple(missing))

    def _starts(self, text: str, filled: Filled, places: Sequence[int]) -> Sequence[int]:
        """Say where the values begin whose tokens are weighed."""
        starts = filled.starts
        if starts is None:
            laid_out = self._layout.fullmatch(text) if self._layout else None
            if laid_out:
                return [start for start, _ in laid_out.regs[1:]]
            starts = {key: start for key, start, _ in members_of(text) or ()}
        return [starts[self._ids[place]] for place in places]


class RouterReader:
    """Reads which behavior a model chose for a prompt: ``{"behavior": "comply"}``.

    Parameters
    ----------
    behaviors : sequence of str
        Ids that it may choose from.
    """

    def __init__(self, behaviors: Sequence[str]) -> None:
        labels: dict[str, Text] = {behavior: {} for behavior in behaviors}
        question = Question(id=_ROUTER_KEY, kind="choice", text={}, labels=labels)
        self._sheet = AnswerSheet(Ask(questions=(question,), probability="stated"))

    def read(self, reply: Reply) -> str:
        """Read a reply.

        Parameters
        ----------
        reply : Reply
            What the model said.

        Returns
        -------
        str
            Id of a behavior.

        Raises
        ------
        VerdictParseError
            If it cannot be read; the error keeps the reply.
        """
        return str(_answers(self._sheet.read(reply).values).values[0])


def _has_nothing(values: Sequence[Answer | VerdictParseError]) -> bool:
    return all(isinstance(value, VerdictParseError) for value in values)


def _answers(
    values: Sequence[Answer | VerdictParseError], missing: tuple[float, ...] | None = None
) -> Answers:
    """Give answers; where one cannot be read, raise with the others as what can be."""
    errors = [value for value in values if isinstance(value, VerdictParseError)]
    kept = tuple(as_failure(row) if isinstance(row, VerdictParseError) else row for row in values)
    if not errors:
        return Answers(kept, missing)
    if len(errors) < len(values):
        errors[0].partial = Answers(kept, missing)
    raise errors[0]


def _layout(ask: Ask) -> re.Pattern[str]:
    """Write the usual reply, keys as asked and no escapes, with a group per weighed value."""
    gap = r"[ \t\n\r]*+"
    text = r'"[^"\\]*+"'
    other = rf'(?:{text}|\[[^\]"]*+(?:{text}[^\]"]*+)*+\]|[^,:"\[\]{{}}]++)'
    members = (
        f'{gap}"{re.escape(question.id)}"{gap}:{gap}'
        + ("(true|false)" if question.kind == "boolean" else other)
        + gap
        for question in ask.questions
    )
    return re.compile(rf"{gap}\{{{','.join(members)}\}}{gap}")


def _no_tokens(got: str) -> UnsupportedError:
    msg = (
        f"`probability='logprob'` needs the likely tokens of a reply, got {got}. Ask another "
        "server, or ask with `stated` or `vote`."
    )
    return UnsupportedError(msg, feature="logprobs")
