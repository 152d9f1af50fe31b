"""Reads a model's reply: one object with one answer per question, and its probabilities."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from math import nan
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.asking import Answers
from voirdire.judging.prompts.answer_form import make_reply_forms
from voirdire.judging.reading.log_probabilities import spell, weigh_value
from voirdire.records import Failure
from voirdire.records.reasoning import find_answer, find_end, has_marker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.asking import Answer, Ask
    from voirdire.records import Reply

READING_VERSION = "1"
"""Changes whenever some reply is read as another answer than before."""

_LONGEST = 1_000_000  # characters; far more than twenty text answers
_SHOWN = 80  # characters of either end of a reply that an error shows
_FAILURE_WIDTH = 420
_LEAST_OF_WRITTEN = 0.1
"""Of the probability of true and false the written one has at least this share."""

_NOT_DECODED = (msgspec.MsgspecError, UnicodeEncodeError, ValueError, RecursionError)
_RULES = {
    "alone": "come with likely tokens beside the one that was taken at the value of {key!r}",
    "absent": "have true or false among the likely tokens at the value of {key!r}",
    "no probabilities": "come with log-probabilities at the value of {key!r}, not other numbers",
    "against": "have log-probabilities that agree with the value of {key!r}, not say the opposite",
    "unplaced": "have its answer {key!r} in one place",
}
_DECLINES = re.compile(
    r"(?:i['’]?m|i am)(?: really| very| so| truly)? sorry|sorry, (?:but )?i|i apologi[sz]e"
    r"|(?:i|we) (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|refuse)"
    r"|i(?: am|['’]?m) (?:not able|unable|not comfortable)"
    r"|as an ai|unfortunately, i"
    r"|(?:很|非常)?抱歉|对不起|我(?:不能|无法|不会)|作为(?:一个|一名)?(?:ai|人工智能)",
    re.IGNORECASE,
)
# Inside of a string the quotes of what looks like a key would be escaped.
_KEY = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*+:\s*+')
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_keys = json.JSONDecoder(
    object_pairs_hook=lambda pairs: [key for key, _ in pairs], parse_int=str, parse_float=str
).decode


class ReplyReader:
    r"""Reads the replies to one ask.

    A reply must hold one JSON object with exactly the keys asked, each once, in any order, and
    every value of its kind; nothing is repaired or guessed. Thoughts may stand before it, in any
    spelling of `voirdire.records.reasoning`, and special tokens behind it. In prose or a code
    fence it may stand where these hold no other braces, no thoughts and no list around it, and
    where the reply was not cut off.

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
    tokens counts as 0, so that the missing mass is then also the most that it can have. Where the
    value that was written has less than a tenth of the two, the log-probabilities say the opposite
    of the reply: the answer is a failure.

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
        self._forms = make_reply_forms(ask)
        self._has_reasons = ask.reasons
        forms = tuple(self._forms.values())
        fields = [(f"answer_{place}", form.json_type) for place, form in enumerate(forms)]
        self._decode = msgspec.json.Decoder(
            msgspec.defstruct(
                "Sheet",
                fields,
                rename={f"answer_{place}": name for place, name in enumerate(self._forms)},
                forbid_unknown_fields=True,
                gc=False,
            )
        ).decode
        self._finish = [(place, form.finish) for place, form in enumerate(forms) if form.finish]
        self._n_strings = len(forms) + sum(form.n_strings or 0 for form in forms)
        self._lists = [place for place, form in enumerate(forms) if form.n_strings is None]
        is_weighed = ask.probability == "logprob"
        places = {name: place for place, name in enumerate(self._forms)}
        self._weighed = {
            row.id: places[row.id] for row in ask.questions if is_weighed and row.kind == "boolean"
        }

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
        begin, end = 0, len(text)
        if not (text.startswith("{") and text.endswith("}")):
            begin, end = find_answer(text) or 0, find_end(text)
        values = self._read_fast(text[begin:end])
        if values is None:
            (begin, end), members = _find_object(reply)
            values = self._read_members(reply, members)
        if self._weighed and not all(isinstance(value, VerdictParseError) for value in values):
            return self._weigh(reply, values, begin, end)
        return self._answers(values)

    def _answers(
        self,
        values: Sequence[Answer | VerdictParseError],
        missing: tuple[float, ...] | None = None,
    ) -> Answers:
        """Return the answers, each with the reason before it; one without a reason counts."""
        if not self._has_reasons:
            return _answers(values, missing)
        reasons = tuple(x if isinstance(x, str) else "" for x in values[::2])
        return _answers(values[1::2], missing and missing[1::2], reasons)

    def _read_fast(self, text: str) -> Sequence[Answer | VerdictParseError] | None:
        """Decode an object that has each key once; None where that is not certain.

        The decoder accepts repeated keys. But every string has two quotes: where the text has
        exactly two per string of the answers, no key is repeated.
        """
        try:
            values: list[Any] = list(astuple(self._decode(text)))
        except _NOT_DECODED:
            return None
        n_strings = self._n_strings + sum([len(values[place]) for place in self._lists])
        if text.count('"') != 2 * n_strings:
            return None
        for place, finish in self._finish:
            values[place] = finish(values[place])
        return None if None in values else values

    def _read_members(
        self, reply: Reply, members: Sequence[tuple[str, msgspec.Raw]]
    ) -> list[Answer | VerdictParseError]:
        """Return the value of every question, or an error."""
        written: dict[str, msgspec.Raw] = {}
        for key, raw in members:
            if key not in self._forms:
                raise _unreadable(reply, f"answer only what was asked, not {shorten(key)!r}")
            if key in written:
                raise _unreadable(reply, f"answer {key!r} once")
            written[key] = raw
        values: list[Answer | VerdictParseError] = []
        for key, form in self._forms.items():
            said, value = "", None
            if key in written:
                said = f" with {form.rule}, not {shorten(bytes(written[key]).decode())}"
                with suppress(*_NOT_DECODED):
                    value = msgspec.json.decode(written[key], type=form.json_type)
            if value is not None and form.finish:
                value = form.finish(value)
            values.append(_unreadable(reply, f"answer {key!r}{said}") if value is None else value)
        return values

    def _weigh(
        self, reply: Reply, said: Sequence[Answer | VerdictParseError], begin: int, end: int
    ) -> Answers:
        """Replace true and false by their probabilities."""
        text, steps = reply.text, reply.steps or ()
        if not steps:
            raise _missing_tokens_error("no log-probabilities")
        spelling = spell(text[:end], steps)
        if spelling is None:
            raise _unreadable(reply, "be spelled, once, by the tokens of its log-probabilities")
        starts: dict[str, int] = {}
        for found in _KEY.finditer(text, begin, end):
            name = found[1][1:-1] if "\\" not in found[1] else json.loads(found[1])
            starts[name] = -1 if name in starts else found.end()
        values, missing = list(said), [nan] * len(said)
        troubles: set[str | None] = set()
        for key, place in self._weighed.items():
            if isinstance(values[place], VerdictParseError):
                continue
            start = starts.get(key, -1)
            trouble: str | None = "unplaced"
            if start >= 0:
                weights = weigh_value(spelling, steps, start=spelling.place(start))
                trouble, whole = weights.trouble, weights.yes + weights.no
                written = weights.yes if values[place] else weights.no
                if trouble is None and written < _LEAST_OF_WRITTEN * whole:
                    trouble = "against"
            troubles.add(trouble)
            if trouble:
                values[place] = _unreadable(reply, _RULES[trouble].format(key=key))
            else:
                values[place] = weights.yes / whole
                missing[place] = max(0.0, 1.0 - whole)
        if troubles == {"alone"}:
            raise _missing_tokens_error("only the token that was taken")
        return self._answers(values, tuple(missing))


def make_parse_failure(error: VerdictParseError) -> Failure:
    """Make the `Failure` of an unreadable reply."""
    return Failure(reason=f"{error.reason}: {shorten(str(error), width=_FAILURE_WIDTH)}")


def _find_object(reply: Reply) -> tuple[tuple[int, int], list[tuple[str, msgspec.Raw]]]:
    """Find the one object of a reply: its place, and its members, repeated ones too."""
    text = reply.text
    begin, end = find_answer(text), find_end(text)
    spans = [(0, len(text))]
    if begin is not None:
        spans.append((begin, end))
        # a reply that was cut off after an object may have gone on to change its answer
        first, last = text.find("{", begin, end), text.rfind("}", begin, end) + 1
        if reply.finish_reason != "length" and 0 <= first < last:
            before, behind = text[begin:first], text[last:end]
            is_in_list = before.rstrip().endswith("[") or behind.lstrip().startswith("]")
            is_alone = not (is_in_list or "}" in before or "{" in behind)
            if is_alone and not (has_marker(before) or has_marker(behind)):
                spans.append((first, last))
    for span in spans:
        written = text[slice(*span)]
        try:
            values = _decode_members(written)
            keys: list[str] = _decode_keys(written)
        except _NOT_DECODED:
            continue
        return span, [(key, values[key]) for key in keys]
    if begin is None:
        raise _unreadable(reply, "answer behind its thoughts, which never end")
    raise _unreadable(reply, "hold one JSON object and no other braces")


def _answers(
    values: Sequence[Answer | VerdictParseError],
    missing: tuple[float, ...] | None = None,
    reasons: tuple[str, ...] | None = None,
) -> Answers:
    """Return the answers; where one is unreadable, raise with the others as `partial`."""
    errors = [value for value in values if isinstance(value, VerdictParseError)]
    if not errors:
        kept_all: Any = tuple(values)
        return Answers(kept_all, missing, reasons=reasons)
    if len(errors) < len(values):
        kept = [make_parse_failure(v) if isinstance(v, VerdictParseError) else v for v in values]
        errors[0].partial = Answers(tuple(kept), missing, reasons=reasons)
    raise errors[0]


def _unreadable(reply: Reply, rule: str) -> VerdictParseError:
    """Make the error; `rule` says what a reply must do."""
    text = reply.text
    said = text[find_answer(text) or 0 :].lstrip(" \t\r\n\"'*#>")
    shown = repr(shorten(text, width=2 * _SHOWN))
    if len(text) > 2 * _SHOWN:
        last = shorten(text[-_SHOWN:], width=10 * _SHOWN)[1 - _SHOWN :]
        shown = f"{shorten(text, width=_SHOWN)!r}, which ends with {'…' + last!r}"
    hint = ""
    if reply.finish_reason == "length":
        hint = " It was cut off at the token limit: allow more tokens with `max_tokens`."
    return VerdictParseError(
        f"`reply` (asked for as {reply.form}) must {rule}, got {shown}.{hint}",
        reply=reply,
        is_refusal="{" not in said and _DECLINES.match(said) is not None,
    )


def _missing_tokens_error(got: str) -> UnsupportedError:
    msg = (
        f"`probability='logprob'` needs the likely tokens of a reply, got {got}. Use another "
        "server, or ask with `stated` or `vote`."
    )
    return UnsupportedError(msg, feature="logprobs")
