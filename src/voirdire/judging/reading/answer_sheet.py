"""The JSON object of a reply as one value per question; anything else is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from voirdire._validation import shorten
from voirdire.judging.reading.answer_forms import answer_form
from voirdire.judging.reading.json_members import members_of, object_in_prose
from voirdire.judging.reading.unreadable import unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.errors import VerdictParseError
    from voirdire.judging.asking import Answer, Ask
    from voirdire.judging.reading.json_members import Member
    from voirdire.records import Reply

__all__ = ["AnswerSheet", "Filled"]

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\r?\n(?P<object>.*?)\s*```\s*", re.DOTALL)
"""A code fence around the whole reply, the habit of models whose server does not hold them to a
form. What is in it is read as strictly as if it stood alone."""

_LONGEST = 1_000_000  # characters; far more than twenty texts
_NOT_DECODED = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Filled:
    """What an object says.

    Attributes
    ----------
    values : tuple of Answer or VerdictParseError
        One per question, in the order asked; an error where it cannot be read and others can.
    starts : mapping of str to int, or None
        Where the value of each key begins in the reply; None where nobody has looked yet: then the
        whole reply is the object.
    """

    values: tuple[Answer | VerdictParseError, ...]
    starts: Mapping[str, int] | None = None


class AnswerSheet:
    """What an ask's reply must look like.

    Most replies are decoded in one go, as a struct with one field per question; the few that
    cannot be are read again slowly, to say what is wrong with them or to find the object in them.

    Parameters
    ----------
    ask : Ask
        What was asked.
    """

    def __init__(self, ask: Ask) -> None:
        self._ids = tuple(question.id for question in ask.questions)
        self._forms = tuple(answer_form(question, ask=ask) for question in ask.questions)
        self._decode = msgspec.json.Decoder(self._struct()).decode
        self._finish = tuple(
            (place, form.finish) for place, form in enumerate(self._forms) if form.finish
        )
        self._n_strings = len(self._ids) + sum(form.n_strings or 0 for form in self._forms)
        self._lists = tuple(
            place for place, form in enumerate(self._forms) if form.n_strings is None
        )

    def read(self, reply: Reply) -> Filled:
        """Read a reply; a `VerdictParseError` says what is wrong with it."""
        text = reply.text
        if len(text) > _LONGEST:
            rule = f"be at most {_LONGEST:,} characters long, not {len(text):,}"
            raise unreadable(reply, rule)
        values = self._read_at_once(text)
        return self._read_slowly(reply) if values is None else Filled(values)

    def _read_at_once(self, text: str) -> tuple[Any, ...] | None:
        """Decode what is one object with each key once; None where that is not certain.

        The decoder lets a key repeat. But every string has at least two quotes, so that where
        there are just two for each string of the answers, no key is there twice.
        """
        try:
            values = astuple(self._decode(text))
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

    def _read_slowly(self, reply: Reply) -> Filled:
        begin, members = _members(reply)
        asked = set(self._ids)
        found: dict[str, tuple[int, int]] = {}
        for key, start, end in members:
            if key not in asked:
                raise unreadable(reply, f"answer only what was asked, not {shorten(key)!r}")
            if key in found:
                raise unreadable(reply, f"answer {key!r} once")
            found[key] = (begin + start, begin + end)
        values = tuple(
            self._value(reply, found.get(key), place) for place, key in enumerate(self._ids)
        )
        return Filled(values, {key: start for key, (start, _) in found.items()})

    def _value(
        self, reply: Reply, span: tuple[int, int] | None, place: int
    ) -> Answer | VerdictParseError:
        key, form = self._ids[place], self._forms[place]
        if span is None:
            return unreadable(reply, f"answer {key!r}")
        written = reply.text[slice(*span)]
        try:
            value = msgspec.json.decode(written, type=form.json_type)
        except _NOT_DECODED:
            value = None
        if value is not None and form.finish:
            value = form.finish(value)
        if value is None:
            return unreadable(reply, f"answer {key!r} with {form.rule}, not {shorten(written)}")
        answer: Answer = value
        return answer

    def _struct(self) -> type[msgspec.Struct]:
        names = [f"answer_{place}" for place in range(len(self._ids))]
        types = [form.json_type for form in self._forms]
        return msgspec.defstruct(
            "Sheet",
            list(zip(names, types, strict=True)),
            rename=dict(zip(names, self._ids, strict=True)),
            forbid_unknown_fields=True,
            gc=False,
        )


def _members(reply: Reply) -> tuple[int, list[Member]]:
    """Find the object and its members; where the object begins counts for their places."""
    text = reply.text
    members = members_of(text)
    if members is not None:
        return 0, members
    fenced = _FENCED.fullmatch(text)
    if fenced is not None and reply.finish_reason != "length":
        members = members_of(fenced["object"])
        if members is not None:
            return fenced.start("object"), members
    if reply.form != "text":
        raise unreadable(reply, "be one JSON object and nothing else")
    span = object_in_prose(text)
    members = None if span is None else members_of(text[slice(*span)])
    # What was cut off after an object may have been a second thought.
    if span is None or members is None or reply.finish_reason == "length":
        raise unreadable(reply, "hold one JSON object and no other braces")
    return span[0], members
