"""What the criteria of an item pay: their points, the wording of these, and the score."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.judging.tables import split_criteria
from voirdire.records.items import SCORE, TAG
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import NO_VERDICT, Verdicts
from voirdire.rubrics.wording import says_what_is_avoided

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Criterion, Item

__all__ = [
    "CRITERIA",
    "NO_CRITERIA",
    "CriteriaRule",
    "ItemScore",
    "Negative",
    "SignCounts",
    "Signs",
    "read_signs",
    "settle_signs",
]

CRITERIA = "criteria"
"""Name of the rubric that asks about criteria, and of the behavior of the reward that pays them."""

NO_CRITERIA = "no criteria"
_UNSETTLED = (
    "negative points of a criterion that says what is avoided: the reward has no `negative`"
)

Negative: TypeAlias = Literal["met_is_bad", "met_is_good"]
"""What negative points mean: that what is described is bad, or that it is good to avoid it."""

MOST_TAGS, _EXAMPLES = 200, 3


@dataclass(frozen=True, kw_only=True)
class Signs:
    """How criteria with negative points are worded.

    Attributes
    ----------
    n_avoiding, n_doing : int
        Those that a response meets by leaving something out, and by doing it.
    avoiding, doing : tuple of str
        The first of each.
    """

    n_avoiding: int = 0
    n_doing: int = 0
    avoiding: tuple[str, ...] = ()
    doing: tuple[str, ...] = ()


class SignCounts:
    """The wording of negative points, and the tags, of a file that is read once.

    Parameters
    ----------
    must : str or None
        The tag that is looked for.
    """

    def __init__(self, must: str | None = None) -> None:
        self._must, self.has_must = must, False
        self._counts: Counter[bool] = Counter()
        self._examples: dict[bool, dict[str, None]] = {True: {}, False: {}}
        self._tags: dict[str, None] = {}
        self.has_more_tags = False
        self.n_without_rule = 0
        self.unpaid: Counter[Negative] = Counter()
        """Items without positive points, by what negative points mean."""

    def add(self, items: Iterable[Item]) -> None:
        """Add the criteria of items."""
        listed = list(items)
        for meaning in get_args(Negative):
            points = [[_points(x, meaning) for x in item.criteria] for item in listed]
            self.unpaid[meaning] += sum(max(row, default=0.0) <= 0 for row in points)
        for each in (each for item in listed for each in item.criteria):
            self.n_without_rule += each.rule is None
            self.has_must = self.has_must or self._must in each.tags
            if len(self._tags) < MOST_TAGS:
                self._tags |= dict.fromkeys(each.tags)
            self.has_more_tags |= not self._tags.keys() >= {*each.tags}
            if each.points < 0:
                avoids = says_what_is_avoided(each.text)
                self._counts[avoids] += 1
                if len(self._examples[avoids]) < _EXAMPLES:
                    self._examples[avoids][each.text] = None

    @property
    def found(self) -> Signs:
        """Counts and examples."""
        return Signs(
            n_avoiding=self._counts[True],
            n_doing=self._counts[False],
            avoiding=tuple(self._examples[True]),
            doing=tuple(self._examples[False]),
        )

    @property
    def tags(self) -> list[str]:
        """The first of the tags, in their order."""
        return list(self._tags)


def read_signs(items: Iterable[Item]) -> Signs:
    """Count how criteria with negative points are worded.

    Parameters
    ----------
    items : iterable of Item
        With their criteria.

    Returns
    -------
    Signs
    """
    found = SignCounts()
    found.add(items)
    return found.found


def settle_signs(signs: Signs, negative: Negative | None) -> Negative | None:
    """Say what negative points mean, or refuse to guess where texts say what is avoided."""
    if negative is not None:
        check_choice("negative", negative, Negative)
    if not signs.n_avoiding + signs.n_doing:
        return None
    if negative is not None or not signs.n_avoiding:
        return negative or "met_is_bad"

    def quote(texts: Sequence[str]) -> str:
        return "; ".join(repr(shorten(text, width=60)) for text in texts)

    msg = (
        f"`negative` must say what negative points mean: of the criteria with them "
        f"{signs.n_avoiding:,} say what a response avoids ({quote(signs.avoiding)}) and "
        f"{signs.n_doing:,} what it does ({quote(signs.doing)}). Say negative='met_is_bad' if "
        "meeting any of them is bad, or negative='met_is_good' if it is good, and correct others."
    )
    raise InputError(msg)


def _points(criterion: Criterion, negative: Negative | None) -> float:
    return abs(criterion.points) if negative == "met_is_good" else criterion.points


# The score ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ItemScore:
    """The score of an item by its criteria.

    Attributes
    ----------
    by_labels, expected : float
        By which criteria are met, and by how probable that is; nan where there is none.
    missing : str or None
        Why there is none.
    tags : mapping of str to tuple of float
        Both numbers by the criteria with one tag; nan where these have no score.
    """

    by_labels: float
    expected: float
    missing: str | None
    tags: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class CriteriaRule:
    """How criteria are paid.

    Attributes
    ----------
    negative : {"met_is_bad", "met_is_good"} or None
        What negative points mean; None where there were none.
    must : str or None
        A tag: an item that does not meet all criteria with it, or meets one with negative points,
        scores 0 at most.
    clip : bool
        Whether the score of each item is clipped to [0, 1].
    tags : tuple of str
        Those that have a score of their own.
    """

    negative: Negative | None = None
    must: str | None = None
    clip: bool = False
    tags: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the score and of the scores by tag."""
        return (SCORE, *(f"{TAG}{tag}" for tag in self.tags))

    def share(
        self, item: Item, p: NDArray[np.float64], *, threshold: float
    ) -> list[dict[str, Any]]:
        """Say what each criterion of an item adds to its score by labels; nan without an answer."""
        points = np.array([_points(each, self.negative) for each in item.criteria])
        whole = points[~np.isnan(p) & (points > 0)].sum() or math.nan
        rows = zip(item.criteria, p.tolist(), (points / whole).tolist(), strict=True)
        return [
            {"criterion": each.text, "points": each.points, "probability": chance}
            | ({"is_met": None, "share": math.nan} if math.isnan(chance)
               else {"is_met": chance >= threshold, "share": own * (chance >= threshold)})
            for each, chance, own in rows
        ]  # fmt: skip

    def score(self, item: Item, p: NDArray[np.float64], *, threshold: float) -> ItemScore:
        """Score an item whose criteria have these probabilities, nan where there is no answer."""
        points = np.array([_points(each, self.negative) for each in item.criteria])
        is_known = ~np.isnan(p)
        is_met = p >= threshold

        def add_up(chosen: NDArray[np.bool_]) -> tuple[float, float]:
            whole = points[chosen & (points > 0)].sum()
            if not whole:
                return math.nan, math.nan
            both = (points[chosen] @ is_met[chosen], points[chosen] @ p[chosen])
            found = [float(x / whole) for x in both]
            ends = np.clip(found, 0.0, 1.0).tolist() if self.clip else found
            return ends[0], ends[1]

        by_labels, expected = add_up(is_known)
        is_must = np.array([self.must in each.tags for each in item.criteria], dtype=bool)
        why = None
        is_right = is_met == (points >= 0)  # what is fined must not be met
        is_failed = bool((is_must & is_known & ~is_right).any())
        if math.isnan(by_labels):
            why = "no positive points"
            if (points > 0).any():
                why = "no answer on positive points" if is_known.any() else "no answers"
        elif (is_must & ~is_known).any() and not is_failed:
            why, by_labels, expected = "no answer on a must-have", math.nan, math.nan
        elif is_failed:  # never more than it would get
            by_labels, expected = min(by_labels, 0.0), min(expected, 0.0)
        own = {tag for each in item.criteria for tag in each.tags}
        return ItemScore(
            by_labels=by_labels,
            expected=expected,
            missing=why,
            tags={
                tag: add_up(is_known & np.array([tag in each.tags for each in item.criteria]))
                for tag in self.tags
                if tag in own
            },
        )

    def combine(
        self, items: Sequence[Item], judged: Verdicts, *, not_asked: Mapping[str, str]
    ) -> tuple[Verdicts, tuple[NDArray[np.float64], dict[str, str]]]:
        """Make of the verdicts on criteria those on items, with their rewards.

        A reward is the expected score. An item that lacks an answer on a criterion with points has
        none: without that criterion it would be paid by others than the rest of its group.

        Parameters
        ----------
        items : sequence of Item
            With their criteria.
        judged : Verdicts
            On each of these, as `split_criteria` names them.
        not_asked : mapping of str to str
            By item id why it was not asked about.

        Returns
        -------
        tuple of Verdicts and of rewards with reasons
            The scores of the items in `columns`; the rewards, nan where `reasons` say why by id.
        """
        [question] = judged.questions
        [threshold] = get_thresholds(judged.threshold, [question])
        parts = judged.take([part.id for item in items for part in split_criteria(item)])
        chances, lacking = parts.probability(question), parts.missing
        values = np.full((len(items), len(self.columns)), np.nan)
        reasons: dict[str, str] = {}
        start = 0
        for row, item in enumerate(items):
            p = chances[start : start + len(item.criteria)]
            names = parts.items[start : start + len(item.criteria)]
            start += len(item.criteria)
            paying = [self.must in x.tags or x.points != 0 for x in item.criteria]
            why = not_asked.get(item.id)
            if why is None and not item.criteria:
                why = NO_CRITERIA
            for name, pays in zip(names, paying, strict=True):
                if why is None and pays and name in lacking:
                    why = lacking[name]
            if why is not None:
                reasons[item.id] = why if why == NO_VERDICT else f"failed verdict: {shorten(why)}"
                continue
            if self.negative is None and read_signs([item]).n_avoiding:
                reasons[item.id] = _UNSETTLED
                continue
            found = self.score(item, p, threshold=float(threshold))
            if found.missing is not None:
                reasons[item.id] = found.missing
            values[row] = [
                found.expected,
                *(found.tags.get(tag, (math.nan, math.nan))[1] for tag in self.tags),
            ]
        whole = Verdicts(
            items=tuple(item.id for item in items),
            behaviors=(CRITERIA,) * len(items),
            questions=self.columns,
            probabilities=values,
            judge=judged.judge,
            fingerprint=judged.fingerprint,
            threshold=judged.threshold,
        ).with_reasons(reasons)
        return whole, (values[:, 0].copy(), reasons)
