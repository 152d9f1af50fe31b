"""Reads the answers of a decision model: a probability for each option of each question."""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import suppress
from math import nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec.structs import astuple

from voirdire._messages import shorten
from voirdire.errors import VerdictParseError
from voirdire.judging.asking import Answers
from voirdire.judging.prompts.answer_form import OTHER_SIDE
from voirdire.judging.prompts.decisions import list_steps, name_parts
from voirdire.judging.reading.reply_reader import make_parse_failure
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.asking import Answer, Ask
    from voirdire.records import Reply
    from voirdire.rubrics import Question

_ROUNDING = 0.05
"""By so much the probabilities of the options may sum to another number than 1."""

_TRUE_FROM = 0.5
_NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)


class _Truth(msgspec.Struct, gc=False):
    """The answer to a predicate, as most answers are."""

    noul: Annotated[float, msgspec.Meta(ge=0, le=1)]
    type: Literal["noul"] = "noul"
    label_mass: Annotated[float, msgspec.Meta(ge=0, le=1)] = nan


class DecisionReader:
    """Reads the replies to one ask.

    Answers are an object by name, or a list in the order of the questions. A question that was
    declined has no answer; one that is missing, comes twice, has another type, or a probability
    outside of [0, 1] cannot be read. A set of labels holds those that are rather true than not. A
    scale has the mean of its steps by their probabilities, and their standard deviation as its
    spread.

    Parameters
    ----------
    ask : Ask
        What was asked.

    Examples
    --------
    >>> from voirdire.judging.asking import Ask
    >>> from voirdire.records import Reply
    >>> from voirdire.rubrics import Question
    >>> apology = Question(id="apology", kind="boolean", text={"en": "Does it apologise?"})
    >>> reader = DecisionReader(Ask(questions=(apology,), probability="decision"))
    >>> reader.read(Reply(text='{"apology": {"type": "noul", "noul": 0.75}}')).values
    (0.75,)
    """

    def __init__(self, ask: Ask) -> None:
        self._questions = ask.questions
        self._swapped = ask.swapped
        self._parts = [name_parts(row) for row in ask.questions]
        self._names = [name for parts in self._parts for name in parts]
        self._labels = {
            row.id: tuple(OTHER_SIDE if row.kind == "pairwise" else row.labels)
            for row in ask.questions
        }
        self._decode = None
        if all(row.kind == "boolean" for row in ask.questions):
            fields = [(f"answer_{place}", _Truth) for place in range(len(self._names))]
            names = {f"answer_{place}": name for place, name in enumerate(self._names)}
            sheet = msgspec.defstruct("Sheet", fields, rename=names, forbid_unknown_fields=True)
            self._decode = msgspec.json.Decoder(sheet).decode
        self._steps = {row.id: list_steps(row) for row in ask.questions if row.kind == "scale"}

    def read(self, reply: Reply) -> Answers:
        """Read a reply.

        Parameters
        ----------
        reply : Reply
            What the model answered.

        Returns
        -------
        Answers
            One per question, in the order asked.

        Raises
        ------
        VerdictParseError
            If it cannot be read, or not all of it; the error has as `partial` what can be read.
        """
        text = reply.text  # of a decoder the last of two equal keys wins: then all is read
        is_once = text.count('"noul"') == len(self._names) + text.count('"type"')
        if self._decode is not None and is_once:  # what is not decoded in one go has faults
            with suppress(*_NOT_DECODED):
                truths = astuple(self._decode(text))
                left = tuple(1.0 - truth.label_mass for truth in truths)
                known = None if all(map(math.isnan, left)) else left
                return Answers(tuple(truth.noul for truth in truths), known)
        told = self._by_name(reply)
        values: list[Any] = []
        missing, spread = [nan] * len(self._questions), [nan] * len(self._questions)
        error: VerdictParseError | None = None
        for place, (question, names) in enumerate(zip(self._questions, self._parts, strict=True)):
            try:
                parts = [told.get(name) for name in names]
                value, missing[place], spread[place] = self._read_one(reply, question, parts)
                values.append(value)
            except VerdictParseError as caught:
                values.append(make_parse_failure(caught))
                # one that cannot be read is asked for again, one that was declined is not
                error = caught if error is None or error.is_refusal else error
        given = Answers(
            tuple(values),
            None if all(map(math.isnan, missing)) else tuple(missing),
            None if all(map(math.isnan, spread)) else tuple(spread),
        )
        if error is None:
            return given
        if not all(isinstance(value, Failure) for value in values):
            error.partial = given
        raise error

    def _by_name(self, reply: Reply) -> dict[str, Any]:
        try:
            told = json.loads(reply.text, object_pairs_hook=_read_object)
        except _NOT_DECODED:
            told = None
        if isinstance(told, dict):
            if unknown := told.keys() - {*self._names}:
                what = f"answer only what was asked, not {shorten(min(unknown))!r}"
                raise _unreadable(reply, what)
            return told
        if not isinstance(told, list) or len(told) != len(self._names):
            got = f"{len(told)} answers" if isinstance(told, list) else "none"
            raise _unreadable(reply, f"hold {len(self._names)} answers, not {got}")
        for name, answer in zip(self._names, told, strict=True):
            own = answer.get("name") if isinstance(answer, dict) else None
            if own not in (None, name):
                raise _unreadable(reply, f"answer {name!r} in its place, not {shorten(own)!r}")
        return dict(zip(self._names, told, strict=True))

    def _read_one(
        self, reply: Reply, question: Question, parts: Sequence[Any]
    ) -> tuple[Answer, float, float]:
        """Return an answer, its missing mass and its spread, nan where there is none."""
        name = question.id
        for answer in parts:
            if isinstance(answer, dict) and answer.get("type") == "refusal":
                raise _unreadable(reply, f"answer {name!r}, not decline it", is_refusal=True)
        if question.kind in ("boolean", "multilabel"):
            found = list(map(_read_chance, parts))
            stated = [chance for chance in found if chance is not None]
            if len(stated) < len(found):
                raise _unreadable(reply, f"give {name!r} a probability in [0, 1]")
            left = _missing_mass(parts)
            if question.kind == "boolean":
                return stated[0], left, nan
            labels = zip(self._labels[name], stated, strict=True)
            return tuple(label for label, chance in labels if chance >= _TRUE_FROM), left, nan
        steps = self._steps.get(name)
        keys = self._labels[name] if steps is None else tuple(map(str, range(len(steps))))
        chances = _read_chances(parts[0], keys)
        if chances is None:
            what = f"give {name!r} a probability for each option, in [0, 1] and 1 in sum"
            raise _unreadable(reply, what)
        total = math.fsum(chances)
        if steps is not None:
            shares = [chance / total for chance in chances]
            mean = math.fsum(map(float.__mul__, shares, steps))
            parted = (share * (step - mean) ** 2 for share, step in zip(shares, steps, strict=True))
            return mean, nan, math.sqrt(math.fsum(parted))
        likeliest = max(chances)
        said = parts[0].get("choice")
        best = [key for key, chance in zip(keys, chances, strict=True) if chance == likeliest]
        if said is not None and said not in best:
            raise _unreadable(reply, f"choose for {name!r} what it finds likeliest")
        label = best[0] if said is None else said
        is_turned = question.kind == "pairwise" and self._swapped
        return OTHER_SIDE[label] if is_turned else label, nan, nan


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object; what it says twice is nothing."""
    counts = Counter(key for key, _ in pairs)
    return {key: value if counts[key] == 1 else None for key, value in pairs}


def _read_chance(answer: Any) -> float | None:
    """Return the probability of a predicate."""
    if not isinstance(answer, dict):
        return None
    value = answer.get("noul", answer.get("probability"))
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= 1 else None


def _read_chances(answer: Any, keys: Sequence[str]) -> list[float] | None:
    """Return the probabilities of the options: an object by name, or a list of values with them."""
    told = answer.get("probabilities") if isinstance(answer, dict) else None
    if isinstance(told, list):
        rows = [row if isinstance(row, dict) else {} for row in told]
        told = {str(row.get("value")): row.get("probability") for row in rows}
        told = told if len(told) == len(rows) else None
    if not isinstance(told, dict) or told.keys() != {*keys}:
        return None
    chances = [_read_chance({"noul": told[key]}) for key in keys]
    known = [chance for chance in chances if chance is not None]
    is_whole = len(known) == len(keys) and abs(math.fsum(known) - 1) <= _ROUNDING
    return known if is_whole else None


def _missing_mass(parts: Sequence[Any]) -> float:
    """Return what the options leave of 1 where a server says how much they have."""
    masses = [_read_chance({"noul": answer.get("label_mass")}) for answer in parts]
    known = [mass for mass in masses if mass is not None]
    return 1.0 - min(known) if len(known) == len(masses) else nan


def _unreadable(reply: Reply, rule: str, *, is_refusal: bool = False) -> VerdictParseError:
    msg = f"`reply` must {rule}, got {shorten(reply.text, width=160)!r}."
    return VerdictParseError(msg, reply=reply, is_refusal=is_refusal)
