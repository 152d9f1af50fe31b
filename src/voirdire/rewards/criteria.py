"""What the criteria of an item pay: their points, the wording of these, and the score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.records.items import SCORE, TAG, split_criteria
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import NO_VERDICT, Verdicts
from voirdire.rubrics.wording import says_what_is_avoided

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Criterion, Item

CRITERIA = "criteria"
"""Name of the rubric that asks about criteria, and of the behavior of the reward that pays them."""

NO_CRITERIA = "no criteria"
_UNSETTLED = (
    "negative points of a criterion that says what is avoided: the reward has no `negative`"
)

Negative: TypeAlias = Literal["met_is_bad", "met_is_good"]
"""What negative points mean: that what is described is bad, or that it is good to avoid it."""

_EXAMPLES = 3


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


def read_signs(texts: Iterable[str]) -> Signs:
    """Count how criteria with negative points are worded.

    Parameters
    ----------
    texts : iterable of str
        Each of them once.

    Returns
    -------
    Signs
    """
    avoiding, doing = list[str](), list[str]()
    for text in texts:
        (avoiding if says_what_is_avoided(text) else doing).append(text)
    return Signs(
        n_avoiding=len(avoiding),
        n_doing=len(doing),
        avoiding=tuple(avoiding[:_EXAMPLES]),
        doing=tuple(doing[:_EXAMPLES]),
    )


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

    def score(
        self, items: Sequence[Item], p: NDArray[np.float64], *, threshold: float
    ) -> tuple[NDArray[np.float64], list[str | None]]:
        """Score items whose criteria, one after another, have these probabilities.

        Returns the scores by which criteria are met and by how probable that is, of shape
        (2, n_items, n_columns), nan where there is none, and by item why it has none.
        """
        criteria = [each for item in items for each in item.criteria]
        counts = np.array([len(item.criteria) for item in items], np.int64)
        rows = np.repeat(np.arange(len(items)), counts)
        points = np.array([_points(each, self.negative) for each in criteria], dtype=np.float64)
        is_known, is_met = ~np.isnan(p), p >= threshold

        def add_up(values: Any, chosen: NDArray[np.bool_]) -> Any:
            return np.bincount(rows[chosen], values[chosen], len(items))

        def has_any(chosen: NDArray[np.bool_]) -> Any:
            return add_up(chosen, chosen) > 0

        scores = np.full((2, len(items), len(self.columns)), np.nan)
        known_tags = {tag for each in criteria for tag in each.tags}
        for column, tag in enumerate((None, *self.tags)):
            if tag is not None and tag not in known_tags:
                continue
            chosen = is_known & np.array([tag in (None, *each.tags) for each in criteria], np.bool_)
            whole = add_up(points, chosen & (points > 0))
            whole = np.where(whole == 0, np.nan, whole)
            for place, answers in enumerate((is_met.astype(np.float64), p)):
                scores[place, :, column] = add_up(points * answers, chosen) / whole
        scores = np.clip(scores, 0.0, 1.0) if self.clip else scores
        is_must = np.array([self.must in each.tags for each in criteria], np.bool_)
        # what is fined must not be met; who fails a must never gets more than without it
        is_failed = has_any(is_must & is_known & (is_met != (points >= 0)))
        scores[:, is_failed, 0] = np.minimum(scores[:, is_failed, 0], 0.0)
        is_open, has_score = has_any(is_must & ~is_known) & ~is_failed, ~np.isnan(scores[0, :, 0])
        scores[:, is_open, 0] = np.nan
        reasons = np.select(
            [has_score & ~is_open, has_score, ~has_any(points > 0), has_any(is_known)],
            ["", "no answer on a must-have", "no positive points", "no answer on positive points"],
            "no answers",
        )
        return scores, [why or None for why in reasons.tolist()]

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
        p, lacking, names = parts.probability(question), parts.missing, iter(parts.items)
        scores, unscored = self.score(items, p, threshold=float(threshold))
        values, reasons = scores[1], dict[str, str]()
        for row, (item, why) in enumerate(zip(items, unscored, strict=True)):
            lost = not_asked.get(item.id) or (None if item.criteria else NO_CRITERIA)
            for each, name in zip(item.criteria, names, strict=False):
                if lost is None and (self.must in each.tags or each.points != 0):
                    lost = lacking.get(name)
            if lost is not None:
                lost = lost if lost == NO_VERDICT else f"failed verdict: {shorten(lost)}"
            elif (
                self.negative is None
                and read_signs(x.text for x in item.criteria if x.points < 0).n_avoiding
            ):
                lost = _UNSETTLED
            values[row] = np.nan if lost is not None else values[row]
            if told := lost or why:
                reasons[item.id] = told
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
