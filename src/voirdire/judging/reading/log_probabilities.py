"""Computes the probabilities of true and false in a reply from its tokens."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import exp, inf, log
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.records import TokenStep

Trouble: TypeAlias = Literal["alone", "absent", "no probabilities"]
"""Why there is no probability.

Only the chosen token is given; neither true nor false is among the likely tokens; or the numbers
cannot be log-probabilities.
"""

OTHER: Final = 0
"""Neither true nor false: a word, a number, a quote, null, or no JSON at all."""
YES: Final = 1
NO: Final = 2
OPEN: Final = 3
"""The token ends before the value begins, so it does not decide yet."""

_HALF_A_CHARACTER = "\ufffd"
_MOST_TOKENS = 10_000
# A chosen token without alternatives: from this probability on they would hardly count.
_SURE = 0.99
# Numbers of half precision may sum to a little more than 1; logits sum to anything.
_MOST = 1.05


@dataclass(frozen=True, slots=True)
class Spelling:
    """The tokens of a reply in a row.

    Attributes
    ----------
    written : str
        All of them, joined.
    ends : list of int
        End of each token in `written`.
    begin : int
        Begin of the text in `written`, which may have special tokens around it.
    skips : str or None
        The text, where `written` leaves out non-ASCII characters; else None.
    """

    written: str
    ends: list[int]
    begin: int
    skips: str | None = None

    def place(self, offset: int) -> int:
        """Return the place in `written` of an ASCII character of the text."""
        if self.skips is not None:
            offset = len(_ascii(self.skips[:offset]))
        return self.begin + offset


class Weights(msgspec.Struct, frozen=True):
    """Probabilities of true and of false, or why there are none.

    Attributes
    ----------
    yes, no : float
        In [0, 1]; the rest to 1 is the probability of all other tokens.
    trouble : {"alone", "absent", "no probabilities"} or None
        Why `yes` and `no` are not valid.
    """

    yes: float
    no: float
    trouble: Trouble | None = None


def spell(text: str, steps: Sequence[TokenStep]) -> Spelling | None:
    """Find a text in its tokens; None where it is not there, or more than once.

    Bytes of one character may be divided among tokens, which then hold replacement characters. In
    that case only ASCII is compared: braces, colons, and the words true and false are ASCII.
    """
    tokens, skips = [step.token for step in steps], None
    written = "".join(tokens)
    if text not in written and _HALF_A_CHARACTER in written:
        tokens, skips, text = [_ascii(token) for token in tokens], text, _ascii(text)
        written = "".join(tokens)
    begin = written.find(text)
    if begin < 0 or written.find(text, begin + 1) >= 0:
        return None
    return Spelling(written, list(accumulate(map(len, tokens))), begin, skips)


def weigh_value(spelling: Spelling, steps: Sequence[TokenStep], *, start: int) -> Weights:
    r"""Weigh true against false in the value that begins at `start` of what the steps spell.

    The value begins within one step. What could have stood there, the taken token among it, is
    sorted by `_meaning` and summed. A taken token that is white space puts the choice off:
    what else could have stood in its place counts as well, and what comes after counts times its
    probability. So does a taken token that ends the key: some vocabularies have tokens such as
    ``":true``, and whoever has them would have used them. Of such a step only the tokens that
    write the same and go on to a value count, each by its share.

    Notes
    -----
    With steps :math:`1, \dots, k` from the one that ends the key to the one in which the value
    begins, and the token :math:`t_j` taken at each, :math:`P_k(\text{true}) = p_k(\text{true})`
    and :math:`P_j(\text{true}) = (p_j(\text{true}) + p_j(t_j) P_{j+1}(\text{true})) / w_j`. The
    whole :math:`w_j` is 1 once the colon is written, and before that
    :math:`p_j(\text{true}) + p_j(\text{false}) + p_j(t_j)`.
    """
    written, ends = spelling.written, spelling.ends
    place = bisect_right(ends, start)
    step, begin = steps[place], ends[place - 1] if place else 0
    yes, no = _sum_listed(step, written[begin:start])
    is_known = yes > 0 or no > 0
    listed = {choice.token for choice in step.top}
    if step.token not in listed:
        meaning = _meanings(written[begin:start])[step.token]
        yes += _probability(step.logprob) if meaning == YES else 0.0
        no += _probability(step.logprob) if meaning == NO else 0.0
    if listed <= {step.token} and not (listed and step.logprob >= log(_SURE)):
        return Weights(yes, no, "alone")
    quote = written.rfind('"', 0, start)
    while place and ends[place - 1] > quote:
        place -= 1
        step, begin = steps[place], ends[place - 1] if place else 0
        has_colon = ":" not in written[begin:start]
        if not (step.top or has_colon):
            continue
        more_yes, more_no = _sum_listed(step, written[begin:start])
        taken = _probability(step.logprob)
        whole = 1.0 if has_colon else more_yes + more_no + taken
        if whole:
            yes = (more_yes + taken * yes) / whole
            no = (more_no + taken * no) / whole
            is_known = is_known or more_yes > 0 or more_no > 0
    if not yes + no <= _MOST:  # also where it is not a number
        return Weights(yes, no, "no probabilities")
    return Weights(yes, no, None if is_known and yes + no > 0 else "absent")


def _ascii(text: str) -> str:
    return text.encode("ascii", "ignore").decode()


def _sum_listed(step: TokenStep, lead: str) -> tuple[float, float]:
    """Sum the listed probabilities of true and of false.

    A token that is listed twice counts once, at its first place.
    """
    yes = no = 0.0
    meanings = _meanings(lead)
    listed = {c.token: c.logprob for c in reversed(step.top) if meanings[c.token]}
    for token, logprob in listed.items():
        probability = exp(logprob) if logprob <= 0.0 else _probability(logprob)
        if meanings[token] == YES:
            yes += probability
        elif meanings[token] == NO:
            no += probability
    return yes, no


def _probability(logprob: float) -> float:
    """Return exp(logprob).

    A value slightly above 0 is a rounding error. A larger one, or nan, is not a log-probability and
    becomes infinite, so that no sum with it can pass for a probability.
    """
    if logprob <= 0.0:
        return exp(logprob)
    return 1.0 if logprob <= log(_MOST) else inf


class _Meanings(dict[str, int]):
    """The meanings of tokens after one lead; a vocabulary is finite."""

    def __init__(self, lead: str) -> None:
        super().__init__()
        self._lead = lead

    def __missing__(self, token: str) -> int:
        if len(self) >= _MOST_TOKENS:
            self.clear()
        meaning = self[token] = _meaning(token, self._lead)
        return meaning


_meanings = lru_cache(maxsize=1_000)(_Meanings)


def _meaning(token: str, lead: str) -> int:
    """Return the meaning of a token where ``true`` or ``false`` is expected.

    A whole word counts in any case, and so does its beginning: ``tr``, `` True``, ``true,``. A word
    that goes on does not: ``truely`` is neither. The lead is the text that must come before the
    value where the token begins: the end of a key, its quote, a colon. White space after the quote
    does not count.
    """
    key, quote, gap = lead.rpartition('"')
    rest = token
    if quote:
        before = key + quote
        if not token.startswith(before):
            return OPEN if before.startswith(token) else OTHER
        rest = token[len(before) :]
    rest = rest.lstrip()
    if ":" in gap and rest:
        if rest[0] != ":":
            return OTHER
        rest = rest[1:].lstrip()
    if not rest:
        return OPEN
    for word, meaning in (("true", YES), ("false", NO)):
        begin, after = rest[: len(word)].lower(), rest[len(word) : len(word) + 1]
        if word.startswith(begin) and not (after.isalnum() or after == "_"):
            return meaning
    return OTHER
