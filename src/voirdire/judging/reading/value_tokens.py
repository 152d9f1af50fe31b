"""How probable true and false were where a reply says one of them."""

from __future__ import annotations

from bisect import bisect_right
from math import exp, inf, log
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from voirdire.judging.reading.token_meaning import NO, YES, Meanings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.reading.spelling import Spelling
    from voirdire.records import TokenStep

__all__ = ["Trouble", "ValueTokens", "Weights"]

Trouble: TypeAlias = Literal["alone", "absent", "no probabilities"]
"""Why nothing can be read: only the token that was taken is known; neither true nor false is among
the likely tokens; or the numbers cannot be log-probabilities."""

# A taken token without alternatives: at this probability they would hardly count.
_SURE = 0.99
# Numbers of half precision may sum to a little more than 1; logits sum to anything.
_MOST = 1.05
_MOST_LEADS = 1_000


class Weights(msgspec.Struct, frozen=True):
    """Probabilities of true and of false, or why there are none.

    Attributes
    ----------
    yes, no : float
        In [0, 1]; what is missing to 1 is the probability of everything else.
    trouble : {"alone", "absent", "no probabilities"} or None
        Why `yes` and `no` say nothing.
    """

    yes: float
    no: float
    trouble: Trouble | None = None


class ValueTokens:
    r"""Weighs true against false by the tokens at the value of a key.

    The value begins within one step. What could have stood there, the taken token among it, is
    sorted by `token_meaning` and summed. A taken token that is white space puts the choice off:
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

    def __init__(self) -> None:
        self._behind = _Leads()

    def weigh(self, spelling: Spelling, steps: Sequence[TokenStep], *, start: int) -> Weights:
        """Weigh the value that begins at `start` of what the steps spell."""
        written, ends = spelling.written, spelling.ends
        place = bisect_right(ends, start)
        step = steps[place]
        meanings = self._behind[written[ends[place - 1] if place else 0 : start]]
        yes, no, is_taken_listed = _listed(step, meanings)
        is_known = yes > 0 or no > 0
        if not is_taken_listed:
            yes += _probability(step.logprob) if meanings[step.token] == YES else 0.0
            no += _probability(step.logprob) if meanings[step.token] == NO else 0.0
        if _is_alone(step):
            return Weights(yes, no, "alone")
        quote = written.rfind('"', 0, start)
        while place and ends[place - 1] > quote:
            place -= 1
            step, begin = steps[place], ends[place - 1] if place else 0
            has_colon = ":" not in written[begin:start]
            if not (step.top or has_colon):
                continue
            more_yes, more_no, _ = _listed(step, self._behind[written[begin:start]])
            taken = _probability(step.logprob)
            whole = 1.0 if has_colon else more_yes + more_no + taken
            if whole:
                yes = (more_yes + taken * yes) / whole
                no = (more_no + taken * no) / whole
                is_known = is_known or more_yes > 0 or more_no > 0
        if not yes + no <= _MOST:  # also where it is not a number
            return Weights(yes, no, "no probabilities")
        return Weights(yes, no, None if is_known and yes + no > 0 else "absent")


class _Leads(dict[str, Meanings]):
    """Meanings of tokens by what stands between the token's beginning and the value's."""

    def __missing__(self, lead: str) -> Meanings:
        if len(self) >= _MOST_LEADS:
            self.clear()
        found = self[lead] = Meanings(lead)
        return found


def _listed(step: TokenStep, meanings: Meanings) -> tuple[float, float, bool]:
    """Sum what is listed for true and for false, and tell whether the taken token is listed.

    A token that is listed twice counts once, as where it is listed first.
    """
    yes = no = 0.0
    listed = {
        choice.token: choice.logprob for choice in reversed(step.top) if meanings[choice.token]
    }
    for token, logprob in listed.items():
        probability = exp(logprob) if logprob <= 0.0 else _probability(logprob)
        meaning = meanings[token]
        if meaning == YES:
            yes += probability
        elif meaning == NO:
            no += probability
    return yes, no, step.token in listed


def _probability(logprob: float) -> float:
    """Undo the logarithm.

    A little above 0 is rounding. More than that is no log-probability, nor is what is no number:
    both become infinite, so that no sum with them can pass for a probability.
    """
    if logprob <= 0.0:
        return exp(logprob)
    return 1.0 if logprob <= log(_MOST) else inf


def _is_alone(step: TokenStep) -> bool:
    """Tell whether nothing is known of what else could have stood there."""
    top, token = step.top, step.token
    if top and (top[0].token != token or top[-1].token != token):
        return False
    if any(choice.token != token for choice in top):
        return False
    return not top or not step.logprob >= log(_SURE)
