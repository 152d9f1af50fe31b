"""Reads a model's reply: one object with one answer per question, and its probabilities."""

from __future__ import annotations

import re
from math import nan
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.asking import Answers
from voirdire.judging.prompts.answer_form import make_answer_form
from voirdire.judging.reading.json_object import (
    find_end_of_thoughts,
    find_members,
    find_object_in_fence,
    find_object_in_prose,
)
from voirdire.judging.reading.log_probabilities import spell, weigh_value
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.judging.asking import Answer, Ask
    from voirdire.judging.prompts.answer_form import AnswerForm
    from voirdire.judging.reading.json_object import Member
    from voirdire.judging.reading.log_probabilities import Trouble
    from voirdire.records import Reply

__all__ = ["READING_VERSION", "ReplyReader", "make_parse_failure"]

READING_VERSION = "1"
"""Changes whenever some reply is read as another answer than before."""

_LONGEST = 1_000_000  # characters; far more than twenty text answers
_SHOWN = 80  # characters of either end of a reply that an error shows
_FAILURE_WIDTH = 420
_NOT_DECODED = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)
_RULES: dict[Trouble, str] = {
    "alone": "come with likely tokens beside the one that was taken at the value of {key!r}",
    "absent": "have true or false among the likely tokens at the value of {key!r}",
    "no probabilities": "come with log-probabilities at the value of {key!r}, not other numbers",
}
_DECLINES = re.compile(
    r"(?:i['’]?m|i am)(?: really| very| so| truly)? sorry|sorry, (?:but )?i|i apologi[sz]e"
    r"|(?:i|we) (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|refuse)"
    r"|i(?: am|['’]?m) (?:not able|unable|not comfortable)"
    r"|as an ai|unfortunately, i"
    r"|(?:很|非常)?抱歉|对不起|我(?:不能|无法|不会)|作为(?:一个|一名)?(?:ai|人工智能)",
    re.IGNORECASE,
)


class ReplyReader:
    r"""Reads the replies to one ask.

    A reply must be one JSON object with exactly the keys asked, each once, in any order, and every
    value of its kind; nothing is repaired or guessed. A block ``<think>…</think>`` may stand before
    it, and a code fence around it. Where the form of the reply was ``"text"``, it may also stand in
    prose without braces.

    Parameters
    ----------
    ask : Ask
        What was asked.

    Notes
    -----
    Most replies are decoded in one go, as a struct with one field per question; the few that cannot
    be are read again slowly, to say what is wrong with them or to find the object in them.

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
        self._forms = {row.id: make_answer_form(row, ask=ask) for row in ask.questions}
        forms = tuple(self._forms.values())
        self._decode = msgspec.json.Decoder(_struct(self._forms)).decode
        self._finish = tuple(
            (place, form.finish) for place, form in enumerate(forms) if form.finish
        )
        self._n_strings = len(forms) + sum(form.n_strings or 0 for form in forms)
        self._lists = tuple(place for place, form in enumerate(forms) if form.n_strings is None)
        is_weighed = ask.probability == "logprob"
        self._weighed = {
            row.id: place
            for place, row in enumerate(ask.questions)
            if is_weighed and row.kind == "boolean"
        }
        self._layout = _layout(self._forms, self._weighed) if self._weighed else None

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
        text = reply.text
        if len(text) > _LONGEST:
            rule = f"be at most {_LONGEST:,} characters long, not {len(text):,}"
            raise _unreadable(reply, rule)
        begin = 0 if text.startswith("{") else find_end_of_thoughts(text)
        found = text[begin:] if begin else text
        values: Sequence[Answer | VerdictParseError] | None = self._read_fast(found)
        starts: Mapping[str, int] | None = None
        if values is None:
            values, starts = self._read_slowly(reply, begin)
            if all(isinstance(value, VerdictParseError) for value in values):
                return _answers(values)
        if not self._weighed:
            return _answers(values)
        if not reply.steps:
            raise _missing_tokens_error("no log-probabilities")
        return self._weigh(reply, values, self._starts(found, begin) if starts is None else starts)

    def _read_fast(self, text: str) -> tuple[Answer, ...] | None:
        """Decode an object that has each key once; None where that is not certain.

        The decoder accepts repeated keys. But every string has two quotes: where the text has
        exactly two per string of the answers, no key is repeated.
        """
        try:
            values: tuple[Any, ...] = astuple(self._decode(text))
        except _NOT_DECODED:
            return None
        n_strings = self._n_strings
        for place in self._lists:
            n_strings += len(values[place])
        if text.count('"') != 2 * n_strings:
            return None
        if not self._finish:
            return values
        finished = list(values)
        for place, finish in self._finish:
            finished[place] = finish(values[place])
        return None if None in finished else tuple(finished)

    def _read_slowly(
        self, reply: Reply, begin: int
    ) -> tuple[list[Answer | VerdictParseError], dict[str, int]]:
        """Return the value of every question, or an error, and the place where each begins."""
        begin, members = _members(reply, begin)
        spans: dict[str, tuple[int, int]] = {}
        for key, start, end in members:
            if key not in self._forms:
                raise _unreadable(reply, f"answer only what was asked, not {shorten(key)!r}")
            if key in spans:
                raise _unreadable(reply, f"answer {key!r} once")
            spans[key] = (begin + start, begin + end)
        values = [
            _value(reply, key, form=form, span=spans.get(key)) for key, form in self._forms.items()
        ]
        return values, {key: start for key, (start, _) in spans.items()}

    def _starts(self, text: str, begin: int) -> Mapping[str, int]:
        """Return where in the reply the values of the object at `begin` begin."""
        laid_out = self._layout.fullmatch(text) if self._layout else None
        if laid_out is None:
            return {key: begin + start for key, start, _ in find_members(text) or ()}
        starts = [begin + start for start, _ in laid_out.regs[1:]]
        return dict(zip(self._weighed, starts, strict=True))

    def _weigh(
        self,
        reply: Reply,
        said: Sequence[Answer | VerdictParseError],
        starts: Mapping[str, int],
    ) -> Answers:
        """Replace true and false by their probabilities."""
        steps = reply.steps or ()
        spelling = spell(reply.text, steps)
        if spelling is None:
            raise _unreadable(reply, "be spelled, once, by the tokens of its log-probabilities")
        values = list(said)
        weights = {
            key: weigh_value(spelling, steps, start=spelling.place(starts[key]))
            for key, place in self._weighed.items()
            if not isinstance(values[place], VerdictParseError)
        }
        if weights and all(found.trouble == "alone" for found in weights.values()):
            raise _missing_tokens_error("only the token that was taken")
        missing = [nan] * len(values)
        for key, found in weights.items():
            place = self._weighed[key]
            if found.trouble:
                values[place] = _unreadable(reply, _RULES[found.trouble].format(key=key))
                continue
            whole = found.yes + found.no
            values[place] = found.yes / whole
            missing[place] = max(0.0, 1.0 - whole)
        return _answers(values, tuple(missing))


def make_parse_failure(error: VerdictParseError) -> Failure:
    """Make the `Failure` of an unreadable reply."""
    return Failure(reason=f"{error.reason}: {shorten(str(error), width=_FAILURE_WIDTH)}")


def _struct(forms: Mapping[str, AnswerForm]) -> type[msgspec.Struct]:
    fields = {f"answer_{place}": name for place, name in enumerate(forms)}
    types = [form.json_type for form in forms.values()]
    return msgspec.defstruct(
        "Sheet",
        list(zip(fields, types, strict=True)),
        rename=fields,
        forbid_unknown_fields=True,
        gc=False,
    )


def _layout(forms: Mapping[str, AnswerForm], weighed: Mapping[str, int]) -> re.Pattern[str]:
    """Make a pattern of the usual reply, with a group per value that has a probability."""
    gap = r"[ \t\n\r]*+"
    text = r'"[^"\\]*+"'
    other = rf'(?:{text}|\[[^\]"]*+(?:{text}[^\]"]*+)*+\]|[^,:"\[\]{{}}]++)'
    members = (
        f'{gap}"{re.escape(name)}"{gap}:{gap}'
        + ("(true|false)" if name in weighed else other)
        + gap
        for name in forms
    )
    return re.compile(rf"{gap}\{{{','.join(members)}\}}{gap}")


def _members(reply: Reply, begin: int) -> tuple[int, list[Member]]:
    """Find the object after `begin` and its members; return its place, too."""
    text = reply.text
    members = find_members(text[begin:])
    if members is not None:
        return begin, members
    # A reply that was cut off after an object may have gone on to change its answer.
    if reply.finish_reason != "length":
        prose = find_object_in_prose(text) if reply.form == "text" else None
        for span in (find_object_in_fence(text, begin), prose):
            members = None if span is None else find_members(text[slice(*span)].rstrip())
            if span is not None and members is not None:
                return span[0], members
    if reply.form == "text":
        raise _unreadable(reply, "hold one JSON object and no other braces")
    raise _unreadable(reply, "be one JSON object and nothing else")


def _value(
    reply: Reply, key: str, *, form: AnswerForm, span: tuple[int, int] | None
) -> Answer | VerdictParseError:
    if span is None:
        return _unreadable(reply, f"answer {key!r}")
    written = reply.text[slice(*span)]
    try:
        value = msgspec.json.decode(written, type=form.json_type)
    except _NOT_DECODED:
        value = None
    if value is not None and form.finish:
        value = form.finish(value)
    if value is None:
        return _unreadable(reply, f"answer {key!r} with {form.rule}, not {shorten(written)}")
    answer: Answer = value
    return answer


def _answers(
    values: Sequence[Answer | VerdictParseError], missing: tuple[float, ...] | None = None
) -> Answers:
    """Return the answers; where one is unreadable, raise with the others as `partial`."""
    errors = [value for value in values if isinstance(value, VerdictParseError)]
    if not errors:
        return Answers(tuple(values), missing)  # type: ignore[arg-type]  # none of them is an error
    kept = tuple(
        make_parse_failure(row) if isinstance(row, VerdictParseError) else row for row in values
    )
    if len(errors) < len(values):
        errors[0].partial = Answers(kept, missing)
    raise errors[0]


def _unreadable(reply: Reply, rule: str) -> VerdictParseError:
    """Make the error; `rule` says what a reply must do."""
    hint = ""
    if reply.finish_reason == "length":
        hint = " It was cut off at the token limit: allow more tokens with `max_tokens`."
    return VerdictParseError(
        f"`reply` (asked for as {reply.form}) must {rule}, got {_cut_middle(reply.text)}.{hint}",
        reply=reply,
        is_refusal=_declines(reply.text),
    )


def _cut_middle(text: str) -> str:
    """Shorten a reply to its beginning and its end."""
    if len(text) <= 2 * _SHOWN:
        return repr(shorten(text, width=2 * _SHOWN))
    end = shorten(text[-_SHOWN:], width=10 * _SHOWN)[1 - _SHOWN :]
    return f"{shorten(text, width=_SHOWN)!r}, which ends with {'…' + end!r}"


def _declines(text: str) -> bool:
    """Return whether a reply without JSON begins like a refusal."""
    said = text[find_end_of_thoughts(text) :]
    return "{" not in said and _DECLINES.match(said.lstrip(" \t\r\n\"'*#>")) is not None


def _missing_tokens_error(got: str) -> UnsupportedError:
    msg = (
        f"`probability='logprob'` needs the likely tokens of a reply, got {got}. Use another "
        "server, or ask with `stated` or `vote`."
    )
    return UnsupportedError(msg, feature="logprobs")
