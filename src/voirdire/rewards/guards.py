"""Three checks before the linear rules: gate, cap, and what stands behind refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire.errors import InputError
from voirdire.rewards.gate import (
    REFUSAL,
    is_foreign,
    is_short,
    load_gate,
    misses_topic,
    says_nothing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """The gate that a reward was fitted with.

    Attributes
    ----------
    fingerprint : str
        Of the gate that ships with voirdire.
    threshold : float
        The log odds of being no language above which a response is floored.
    """

    fingerprint: str
    threshold: float


@dataclass(frozen=True, kw_only=True)
class BehaviorGuard:
    """What is checked before the linear rules of one behavior; None for what is not.

    Attributes
    ----------
    floor : float or None
        The rule reward of what the gate stops: a deviation below the lowest of the fit.
    wants_answer : bool
        Whether the gate also stops what says nothing.
    short_cap : float or None
        The highest rule reward of up to five words where an answer is wanted: the mean of what the
        fit's completions are paid. None where it would rank the fit's comparisons worse.
    topic_cap : float or None
        The same for a response without a word that the prompt is about.
    foreign_cap : float or None
        The same, for all behaviors, for what is in no script of a prompt in English: the gate
        cannot tell whether it is language.
    cap : float or None
        The highest rule reward: to five prompts in six the best real response is paid as much.
    refusal_offset : float or None
        By how much a response that refuses and goes on may be paid more than what it goes on with.
    """

    floor: float | None = None
    wants_answer: bool = False
    short_cap: float | None = None
    topic_cap: float | None = None
    foreign_cap: float | None = None
    cap: float | None = None
    refusal_offset: float | None = None


_CLAUSE = re.compile(
    r"(?<=[.!?;:])\s+|\n+|,?\s+(?:but|however|though|although|that said|instead),?\s+",
    re.IGNORECASE,
)
_FEWEST_REST_WORDS = 25
NOT_BEHIND = (
    "what responses say behind a refusal is not judged: their verdicts are stored, and the judge "
    "is not the local one"
)
REST = "\nbehind refusals"
"""Ends the id of what stands behind the refusal of an item."""


def read_rest(response: str) -> str | None:
    """Read what is left of a response without its refusing clauses; None where that is little."""
    if REFUSAL.search(response.replace("’", "'")) is None:
        return None
    clauses = (clause for clause in _CLAUSE.split(response) if clause)
    rest = " ".join(x for x in clauses if REFUSAL.search(x.replace("’", "'")) is None).strip()
    return rest if len(rest.split()) >= _FEWEST_REST_WORDS else None


def list_rests(items: Sequence[Item]) -> list[Item]:
    """List what is left of responses without their refusals, as items of their own."""
    rests = ((item, read_rest(item.response)) for item in items)
    return [
        msgspec.structs.replace(item, id=item.id + REST, response=rest)
        for item, rest in rests
        if rest is not None
    ]


class Guards:
    """Applies what is checked before the linear rules."""

    def __init__(
        self,
        gate: GateSettings | None,
        guards: Mapping[str, BehaviorGuard | None],
    ) -> None:
        self._gate = gate
        self._rows = {name: guard for name, guard in guards.items() if guard is not None}
        if self._gate is not None and self._gate.fingerprint != load_gate().fingerprint:
            msg = (
                "`reward` must have been fitted with the gate of this voirdire, got one that was "
                f"fitted with another ({self._gate.fingerprint[:19]}). Fit again."
            )
            raise InputError(msg)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def list_rests(self, items: Sequence[Item]) -> list[Item]:
        """List what stands behind the refusals of items, as items that are to be judged too."""
        looking = {name for name, row in self._rows.items() if row.refusal_offset is not None}
        return (
            list_rests([x for x in items if x.behavior is None or x.behavior in looking])
            if looking
            else []
        )

    def apply(
        self,
        rule: NDArray[np.float64],
        behind: NDArray[np.float64],
        items: Sequence[Item | None],
        behaviors: Sequence[str | None],
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
        """Return what is paid, which the gate stops, which are at the cap, and the gate's margins.

        A margin is how far a response is beyond the threshold, nan where the gate did not look.
        `behind` are the rule rewards of what stands behind refusals, nan where nothing does. The
        gate lets pass what it cannot read: items that are None.
        """
        paid, is_gated = rule.copy(), np.zeros(rule.size, dtype=bool)
        is_capped, beyond = is_gated.copy(), np.full(rule.size, np.nan)
        for name, guard in self._rows.items():
            rows = np.flatnonzero([behavior == name for behavior in behaviors])
            own = paid[rows]
            if guard.refusal_offset is not None:
                limit = behind[rows] + guard.refusal_offset
                own = np.where(limit < own, limit, own)
            if guard.cap is not None:
                is_capped[rows] = own >= guard.cap
                own = np.where(is_capped[rows], guard.cap, own)
            if guard.floor is not None and self._gate is not None and items:
                readable = [(at, x) for at, row in enumerate(rows.tolist()) if (x := items[row])]
                margins = load_gate().measure_margins([item.response for _, item in readable])
                beyond[rows[[at for at, _ in readable]]] = margins - self._gate.threshold
                for at, item in readable:
                    is_stopped = bool(beyond[rows[at]] > 0)
                    for field, (_, is_doubtful) in _DOUBTFUL.items():
                        limit = getattr(guard, field)
                        if limit is not None and limit < own[at] and is_doubtful(item):
                            own[at] = limit
                    if guard.wants_answer and not is_stopped:
                        is_stopped = says_nothing(read_question(item), item.response)
                    if is_stopped:
                        own[at], is_gated[rows[at]] = guard.floor, True
            paid[rows] = own
        return paid, is_gated, is_capped & ~is_gated, beyond


def read_question(item: Item) -> str:
    """Read the last text of the user."""
    questions = [message.content for message in item.prompt if message.role == "user"]
    return questions[-1] if questions else ""


_DOUBTFUL: Mapping[str, tuple[str, Callable[[Item], bool]]] = {
    "short_cap": ("of up to five words", lambda item: is_short(item.response)),
    "topic_cap": (
        "without a word of their prompt's topic",
        lambda item: misses_topic(read_question(item), item.response),
    ),
    "foreign_cap": (
        "in another script than their prompts",
        lambda item: is_foreign(item.response) and not is_foreign(read_question(item)),
    ),
}
"""What the gate cannot tell: such a response is paid the mean at most."""


# Choices of a fit -------------------------------------------------------------------------------

_MOST_FLOORED = 0.012
_LEAST_LENIENT, _MOST_LENIENT = 0.2, 1.0
"""Below the first threshold some lists and code are stopped, beyond the second strings of words
pass."""
_ERROR_ALLOWED = 0.0025
_FEWEST_RESTS = 5
_CAP_QUANTILE = 1 / 6
"""Of the best real response to each prompt: text found by a search is paid more than all of them to
as many prompts at most."""


def choose_gate(responses: Sequence[str]) -> tuple[GateSettings | None, str]:
    """Choose the threshold above which at most 1.2% of real responses are; say what it does.

    It is at least 0.2; None where it would have to be so high that the gate
    would stop nothing else either, and where the gate can read none of them.
    """
    gate = load_gate()
    margins = gate.measure_margins(responses)
    about = "the better responses of these comparisons"
    knows = "It knows English prose, some code, lists and verse"
    if np.isnan(margins).all():
        return None, f"no gate: it can read none of {about}. {knows}"
    margins = np.sort(np.nan_to_num(margins, nan=-np.inf))[::-1]
    threshold = max(_LEAST_LENIENT, float(margins[int(_MOST_FLOORED * margins.size)]))
    if threshold > _MOST_LENIENT:
        share = np.mean(margins > 0)
        return None, f"no gate: it takes {share:.1%} of {about} for no language. {knows}"
    share = np.mean(margins > threshold)
    note = f"the gate's threshold is {threshold:.2f}; it stops {share:.1%} of {about}"
    return GateSettings(fingerprint=gate.fingerprint, threshold=threshold), note


def choose_guard(  # noqa: C901  # a check a paragraph
    items: Sequence[Item],
    *,
    totals: tuple[NDArray[np.float64], NDArray[np.float64]],
    behind: NDArray[np.float64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    prompts: NDArray[np.int64],
    is_best: NDArray[np.bool_],
    is_vetoed: NDArray[np.bool_],
    switches: Mapping[str, bool],
) -> tuple[BehaviorGuard, list[str]]:
    """Choose floor, cap and offset of a behavior on the comparisons of its fit; note what is not.

    Parameters
    ----------
    items : sequence of Item
        Its completions.
    totals : tuple of ndarray of float
        Their rule rewards and base rewards.
    behind : ndarray of float
        The rule rewards of what stands behind their refusals; nan where nothing does.
    pairs : tuple of ndarray of int
        Places of the better and the worse completions.
    prompts : ndarray of int
        Which prompt each completion answers.
    is_best, is_vetoed : ndarray of bool
        Which have the best label, and which lie below all others.
    switches : mapping of str to bool
        Whether there are to be ``gate``, ``cap`` and an offset for what is ``behind``.
    """
    rule, base = totals
    paid = rule
    spread = float(rule.std(ddof=1)) if rule.size > 1 else 0.0
    floor = cap = offset = None
    caps: dict[str, float] = {}
    wants_answer, notes = False, []

    def compute_error(paid: NDArray[np.float64]) -> float:
        gain = (paid + base)[pairs[0]] - (paid + base)[pairs[1]]
        return float(np.mean((gain < 0) + 0.5 * (gain == 0)))

    if switches["behind"]:
        # the least offset under which a quarter of a point more is ranked wrong at most
        excess = np.sort((rule - behind)[np.isfinite(behind)])
        offset, allowed = spread, compute_error(rule) + _ERROR_ALLOWED
        if excess.size >= _FEWEST_RESTS:
            limits = (float(x) for x in excess)
            offset = next(x for x in limits if compute_error(np.fmin(rule, behind + x)) <= allowed)
        own = np.sort((rule - behind)[is_best & np.isfinite(behind)])[::-1]
        if own.size:
            offset = max(offset, float(own[int(_MOST_FLOORED * own.size)]))
        paid = np.fmin(rule, behind + offset)
    if switches["cap"]:
        better = np.setdiff1d(pairs[0], np.flatnonzero(is_vetoed))
        top = np.full(prompts.max() + 1, -np.inf)
        np.maximum.at(top, prompts[better], paid[better])
        if better.size:
            cap = float(np.quantile(top[np.isfinite(top)], _CAP_QUANTILE, method="lower"))
            paid = np.minimum(paid, cap)
    if switches["gate"]:
        # below the lowest real reward whatever base reward of this size is added
        floor = float((rule + base).min() - base.max() - (spread or 1.0))
        best = [
            x
            for row in np.flatnonzero(is_best).tolist()
            if not is_foreign((x := items[row]).response)
        ]
        n_refusing = sum(REFUSAL.search(item.response) is not None for item in best)
        n_empty = sum(says_nothing(read_question(item), item.response) for item in best)
        is_answered = 2 * n_refusing < len(best)
        wants_answer = is_answered and n_empty <= _MOST_FLOORED * len(best)
        if is_answered and not wants_answer:
            notes.append(
                f"whether a response says anything is not looked at: {n_empty} of {len(best)} "
                "best responses would be taken for phrases that fit every prompt"
            )
        allowed, mean = compute_error(paid) + _ERROR_ALLOWED, float(paid.mean())
        for field, (about, is_doubtful) in _DOUBTFUL.items():
            if not is_answered and field != "foreign_cap":
                continue
            each = zip(items, paid.tolist(), strict=True)
            held = [mean if x > mean and is_doubtful(item) else x for item, x in each]
            if compute_error(np.array(held)) <= allowed:
                caps[field] = mean
            else:
                notes.append(
                    f"responses {about} are paid in full: the mean at most would rank these "
                    "comparisons worse"
                )
    guard = BehaviorGuard(
        floor=floor,
        wants_answer=wants_answer,
        cap=cap,
        refusal_offset=offset,
        **caps,
    )
    return guard, notes
