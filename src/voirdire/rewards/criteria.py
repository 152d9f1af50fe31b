"""Scores responses by the criteria that their items bring: points of those that are met."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.io.items import stream_items
from voirdire.judging.outputs import TableWriter
from voirdire.judging.tables import split_criteria
from voirdire.records.plain import encode_json, without_nan
from voirdire.records.tables import Tabular
from voirdire.records.thresholds import select_threshold
from voirdire.rewards.verdict_source import open_verdicts
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import polars as pl

    from voirdire.io.declared import ItemReading
    from voirdire.records import Criterion, Item

__all__ = [
    "CriteriaScores",
    "CriterionScore",
    "Negative",
    "Signs",
    "TagScore",
    "explain_criteria",
    "read_signs",
    "score_criteria",
]

Negative: TypeAlias = Literal["met_is_bad", "met_is_good"]
"""What negative points mean: that what is described is bad, or that it is good to avoid it."""

_RUBRIC = "criteria"
_COLUMNS = ("item", "score", "expected_score", "n_criteria", "n_missing", "missing")
_TAG = "tag:"
_MOST_TAGS, _EXAMPLES = 200, 3
_AVOIDS = re.compile(
    r"^\W*+(?:\w[\w ]{0,40}[:：]\W*+)?"  # such as "Pitfall: "
    r"(?:(?:(?:the |an? )?(?:response|answer|reply|model|assistant|it) )?"
    r"(?:(?:(?:should|must|shall|will|to) )?(?:avoids?|refrains?|abstains?|never|be free of)"
    r"|(?:do|does|should|must|shall|will|can|could|may)(?: ?not|n['’]t)|(?:is )?free (?:of|from)"
    r"|(?:contains|makes|has|gives) no|no(?! (?:more|fewer|less|longer|later|earlier)\b)(?= ))\b"
    r"|(?:[该該此本]?(?:回[答应應复復]|答案|模型|助手)中?)?(?:应该|应当|必须|[应應須需请請])?"
    r"(?:避免|避开|并?(?:没有|沒有|未)(?![来來经經知能必])|切?勿|无(?:任何|需)"
    r"|不(?:[得应應要会會能含包提给給存出推建泄透编編夸涉使引]|可(?![靠信行读取控]))))",
    re.IGNORECASE,
)
"""How a text begins that is true of a response which leaves something out."""


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


@dataclass(frozen=True, kw_only=True)
class CriterionScore:
    """What a criterion adds to the score of an item.

    Attributes
    ----------
    criterion : Criterion
        With its points.
    probability : float
        That it is met; nan where there is no answer.
    is_met : bool or None
        By the threshold; None where there is no answer.
    share : float
        What it adds to the score; nan where there is no answer.
    """

    criterion: Criterion
    probability: float
    is_met: bool | None
    share: float


@dataclass(frozen=True, kw_only=True)
class TagScore:
    """The scores by the criteria with one tag.

    Attributes
    ----------
    tag : str
        The tag.
    n_items : int
        Items with a score by it.
    mean : float
        Of these scores.
    """

    tag: str
    n_items: int
    mean: float


@dataclass(frozen=True, kw_only=True)
class CriteriaScores(Tabular, rows="tags"):
    """The scores of a file by criteria of its items.

    Attributes
    ----------
    output : str
        The file of scores.
    judge, fingerprint : str
        Whose verdicts were used.
    n_items, n_scored : int
        Items, and those of them with a score.
    n_criteria, n_missing : int
        Criteria of the items, and those of them without an answer.
    mean, mean_expected : float
        Of the scores by labels and by probabilities, in that order; clipped to [0, 1] at last.
    tags : tuple of TagScore
        By tag.
    missing : mapping of str to int
        Why items have no score.
    negative : {"met_is_bad", "met_is_good"} or None
        What negative points meant; None where there are none.
    n_dropped : int
        Rows that are no items.
    """

    output: str
    judge: str
    fingerprint: str
    n_items: int
    n_scored: int
    n_criteria: int
    n_missing: int
    mean: float
    mean_expected: float
    tags: tuple[TagScore, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    negative: Negative | None = None
    n_dropped: int = 0


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
    found = _Signs()
    found.add(items)
    return found.found


def _settle_signs(signs: Signs, negative: Negative | None) -> Negative | None:
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


def explain_criteria(
    item: Item,
    probabilities: Mapping[str, float],
    *,
    threshold: float = 0.5,
    negative: Negative | None = None,
) -> tuple[CriterionScore, ...]:
    r"""Say how an item comes to its score.

    Parameters
    ----------
    item : Item
        With its criteria.
    probabilities : mapping of str to float
        By the `key` of a criterion, in [0, 1]; a missing one has no answer.
    threshold : float, optional
        A criterion is met from this probability on.
    negative : {"met_is_bad", "met_is_good"}, optional
        What negative points mean; by default that meeting such a criterion is bad, where none says
        what a response avoids.

    Returns
    -------
    tuple of CriterionScore
        In the order of the item.

    Notes
    -----
    The score is :math:`\sum_{met} p_c / \sum_{p_c > 0} p_c` over the points :math:`p_c` of the
    criteria with an answer, and is not clipped; without positive points there is none.

    Examples
    --------
    >>> from voirdire.records import Criterion, Item
    >>> says, sells = Criterion(text="Says when", points=4), Criterion(text="Sells", points=-2)
    >>> item = Item(id="1", response="At noon. Buy now!", criteria=(says, sells))
    >>> rows = explain_criteria(item, {says.key: 0.9, sells.key: 0.8})
    >>> [row.share for row in rows]
    [1.0, -0.5]
    """
    meaning = _settle_signs(read_signs([item]), negative)
    points = np.array([_points(each, meaning) for each in item.criteria])
    chances = np.array([probabilities.get(each.key, math.nan) for each in item.criteria])
    is_known = ~np.isnan(chances)
    whole = points[is_known & (points > 0)].sum()
    rows = []
    for each, p, own in zip(item.criteria, chances.tolist(), points.tolist(), strict=True):
        is_met = None if math.isnan(p) else p >= threshold
        share = float(own * is_met / whole) if is_met is not None and whole else math.nan
        rows.append(CriterionScore(criterion=each, probability=p, is_met=is_met, share=share))
    return tuple(rows)


def score_criteria(
    source: str | Path,
    output: str | Path,
    *,
    verdicts: Any,
    judge: str | None = None,
    negative: Negative | None = None,
    must: str | None = None,
    clip: bool = False,
    explain: bool = False,
    reading: ItemReading | None = None,
    **layout: Any,
) -> CriteriaScores:
    """Score the responses of a file by the criteria that their items bring.

    Parameters
    ----------
    source : str or path
        The items, each with its criteria.
    output : str or path
        The scores, ``.parquet``, ``.jsonl`` or ``.csv``: by labels and by probabilities, how many
        criteria there are and how many have no answer, why an item has no score, and the score by
        each tag.
    verdicts : path, sequence of paths, or anything that `read_verdicts` reads
        Verdicts of ``voirdire judge --rubric criteria`` on the items.
    judge : str, optional
        Whose verdicts count, where they are of several judges.
    negative : {"met_is_bad", "met_is_good"}, optional
        What negative points mean. By default that a criterion with them is bad to meet, where none
        is worded as what a response avoids: "Avoids X" with -3 points may mean either.
    must : str, optional
        A tag: an item that does not meet all criteria with it scores 0; without an answer on one
        it has no score, unless another is not met.
    clip : bool, optional
        Whether the score of each item is clipped to [0, 1]; otherwise only their mean is.
    explain : bool, optional
        Whether a column `criteria` says, as JSON, what each criterion adds.
    reading : ItemReading, optional
        How the file is laid out.
    **layout
        Fields of `ItemReading`, each of which counts before that of `reading`.

    Returns
    -------
    CriteriaScores

    Raises
    ------
    InputError
        If a criterion with negative points says what a response avoids and `negative` is not said;
        if no criterion has the tag `must`; if a file cannot be read or written.

    Warns
    -----
    UserWarning
        If the verdicts are labels without probabilities: `expected_score` then says no more.

    Notes
    -----
    See `explain_criteria` for the formula. A criterion without an answer is missing, never 0: it
    is left out of both sums. An item without positive points, or without one answer, has no score.
    """
    from voirdire.io.declared import ItemReading as Reading

    about = vars(reading or Reading()) | layout | {"criteria": True}
    signs = _Signs(must)
    for batch in stream_items(source, reading=Reading(**about)):
        signs.add(batch.items)
    if must is not None and not signs.has_must:
        known = ", ".join(map(repr, signs.tags[:_EXAMPLES])) or "none"
        msg = f"`must` must be a tag of some criterion, got {must!r}. There are {known}."
        raise InputError(msg)
    meaning = _settle_signs(signs.found, negative)
    rubric = load_rubric(_RUBRIC)
    stored = open_verdicts(verdicts, rubric=rubric, judge=judge)
    for note in stored.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    [question] = rubric.propositions
    threshold = select_threshold(stored.verdicts.threshold, (question,))
    limit = threshold if isinstance(threshold, float) else threshold[question]
    tally = _Tally(meaning, threshold=limit, must=must, clip=clip, explain=explain)
    with ExitStack() as stack:
        writer = stack.enter_context(
            TableWriter(output, source=source, holds="scores",
                        is_ours=lambda names: names[: len(_COLUMNS)] == _COLUMNS)
        )  # fmt: skip
        for batch in stream_items(source, reading=Reading(**about)):
            writer.set_aside.add(batch.dropped)
            parts = [each for item in batch.items for each in split_criteria(item)]
            found = stored.collect(parts).probability(question) if parts else np.zeros(0)
            writer.add(tally.add(batch.items, found, tags=signs.tags))
        writer.publish(tally.columns(signs.tags))
    return tally.sum_up(
        output=str(output),
        judge=stored.verdicts.judge,
        fingerprint=stored.verdicts.fingerprint,
        negative=meaning,
        n_dropped=writer.set_aside.count,
    )


class _Signs:
    """The wording of negative points, and the tags, of a file that is read once."""

    def __init__(self, must: str | None = None) -> None:
        self._must, self.has_must = must, False
        self._counts: Counter[bool] = Counter()
        self._examples: dict[bool, dict[str, None]] = {True: {}, False: {}}
        self._tags: dict[str, None] = {}

    def add(self, items: Iterable[Item]) -> None:
        for each in (each for item in items for each in item.criteria):
            self.has_must = self.has_must or self._must in each.tags
            if len(self._tags) < _MOST_TAGS:
                self._tags |= dict.fromkeys(each.tags)
            if each.points < 0:
                avoids = bool(_AVOIDS.search(each.text))
                self._counts[avoids] += 1
                if len(self._examples[avoids]) < _EXAMPLES:
                    self._examples[avoids][each.text] = None

    @property
    def found(self) -> Signs:
        return Signs(
            n_avoiding=self._counts[True],
            n_doing=self._counts[False],
            avoiding=tuple(self._examples[True]),
            doing=tuple(self._examples[False]),
        )

    @property
    def tags(self) -> list[str]:
        return list(self._tags)


class _Tally:
    """Scores items batch by batch, and adds up."""

    def __init__(
        self,
        negative: Negative | None,
        *,
        threshold: float,
        must: str | None,
        clip: bool,
        explain: bool,
    ) -> None:
        self._negative, self._threshold, self._must, self._clip = negative, threshold, must, clip
        self._explain = explain
        self._n_items = self._n_scored = self._n_criteria = self._n_missing = 0
        self._sums = np.zeros(2)
        self._tags: dict[str, list[float]] = {}
        self._missing: Counter[str] = Counter()

    def columns(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of the scores."""
        explained = ("criteria",) if self._explain else ()
        return (*_COLUMNS, *explained, *(f"{_TAG}{tag}" for tag in tags))

    def add(self, items: Sequence[Item], chances: Any, *, tags: Sequence[str]) -> pl.DataFrame:
        """Score a batch, whose criteria have these probabilities one after another."""
        import polars as pl

        rows: list[dict[str, Any]] = []
        start = 0
        for item in items:
            p = chances[start : start + len(item.criteria)]
            start += len(item.criteria)
            rows.append(self._score(item, p, tags=tags))
        kinds: Any = dict.fromkeys(("n_criteria", "n_missing"), pl.Int64)
        kinds |= dict.fromkeys(("item", "missing", "criteria"), pl.String)
        types = {name: kinds.get(name, pl.Float64) for name in self.columns(tags)}
        return pl.DataFrame(rows, schema=types)

    def _score(self, item: Item, p: Any, *, tags: Sequence[str]) -> dict[str, Any]:
        points = np.array([_points(each, self._negative) for each in item.criteria])
        is_known = ~np.isnan(p)
        is_met = p >= self._threshold
        self._n_items += 1
        self._n_criteria += len(points)
        self._n_missing += int((~is_known).sum())

        def score(chosen: Any) -> tuple[float, float]:
            whole = points[chosen & (points > 0)].sum()
            if not whole:
                return math.nan, math.nan
            both = (points[chosen] @ is_met[chosen], points[chosen] @ p[chosen])
            found = [float(x / whole) for x in both]
            ends = np.clip(found, 0.0, 1.0).tolist() if self._clip else found
            return ends[0], ends[1]

        by_labels, expected = score(is_known)
        is_must = np.array([self._must in each.tags for each in item.criteria], dtype=bool)
        why = None
        is_failed = (is_must & is_known & ~is_met).any()
        if math.isnan(by_labels):
            has_points, has_answers = (points > 0).any(), is_known.any()
            why = "no answer on positive points" if has_answers else "no answers"
            why = why if has_points else "no positive points"
        elif (is_must & ~is_known).any() and not is_failed:
            why, by_labels, expected = "no answer on a must-have", math.nan, math.nan
        if why is not None:
            self._missing[why] += 1
        else:
            if is_failed:
                by_labels = expected = 0.0
            self._n_scored += 1
            self._sums += (by_labels, expected)
        row = {"item": item.id, "score": by_labels, "expected_score": expected, "missing": why,
               "n_criteria": len(points), "n_missing": int((~is_known).sum())}  # fmt: skip
        if self._explain:
            row["criteria"] = self._write_shares(item, p)
        own = {tag for each in item.criteria for tag in each.tags}
        for tag in tags:
            has = np.array([tag in each.tags for each in item.criteria]) if tag in own else None
            value = math.nan if has is None else score(is_known & has)[0]
            row[f"{_TAG}{tag}"] = None if math.isnan(value) else value
            if not math.isnan(value):
                self._tags.setdefault(tag, []).append(value)
        return {
            key: None if isinstance(x, float) and math.isnan(x) else x for key, x in row.items()
        }

    def _write_shares(self, item: Item, p: Any) -> str:
        known = {each.key: x for each, x in zip(item.criteria, p.tolist(), strict=True)}
        known = {key: x for key, x in known.items() if not math.isnan(x)}
        rows = explain_criteria(item, known, threshold=self._threshold, negative=self._negative)
        told = [
            {"criterion": row.criterion.text, "points": row.criterion.points,
             "probability": row.probability, "is_met": row.is_met, "share": row.share}
            for row in rows
        ]  # fmt: skip
        return encode_json(without_nan(told)).decode()

    def sum_up(self, **about: Any) -> CriteriaScores:
        """Return the figures of the file; the means are clipped at last."""
        n = self._n_scored
        means = np.clip(self._sums / n, 0.0, 1.0) if n else np.full(2, np.nan)
        return CriteriaScores(
            n_items=self._n_items,
            n_scored=n,
            n_criteria=self._n_criteria,
            n_missing=self._n_missing,
            mean=float(means[0]),
            mean_expected=float(means[1]),
            tags=tuple(
                TagScore(tag=tag, n_items=len(x), mean=float(np.mean(x)))
                for tag, x in self._tags.items()
            ),
            missing=dict(self._missing.most_common()),
            **about,
        )
