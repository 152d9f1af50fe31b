"""Measures how a study goes while people label: who agrees with whom, and what splits them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import hypergeom

from voirdire._messages import shorten
from voirdire._types import Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.records.tables import Tabular
from voirdire.stats import Estimate  # noqa: TC001  # as above
from voirdire.stats.intervals import UNDEFINED, estimate_share
from voirdire.studies.watching import WatchedJudge  # noqa: TC001  # as above

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONGEST_PAUSE_S = 300
"""More between two answers is a break, and no work."""

_MOST_SPLIT, _MOST_CLAUSES, _FEWEST_OF_CLAUSE, _LEVEL = 50, 12, 3, 0.05
_WORDS = re.compile(r"[^\W\d_]{4,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")


@dataclass(frozen=True, kw_only=True)
class PersonProgress:
    """How far one person is, and how the labels agree.

    Attributes
    ----------
    annotator : str
        Who.
    n_done, n_assigned : int
        Items that are finished, and all of this person's.
    minutes : float
        Time between answers, pauses of more than five minutes left out.
    agreement : Estimate
        Share of the other people's labels of the same items that are the same; its interval takes
        items as the sample.
    own_repeats : Estimate
        Share of the items shown twice that got the same label again.
    """

    annotator: str
    n_done: int
    n_assigned: int
    minutes: float
    agreement: Estimate
    own_repeats: Estimate


@dataclass(frozen=True, kw_only=True)
class SplitItem:
    """An item on which people differ.

    Attributes
    ----------
    question, item : str
        Which.
    agreement : float
        Share of its labels that are the most frequent one.
    labels, notes : dict of str to str
        By person; notes of those who wrote one.
    text : str
        The beginning of the response.
    """

    question: str
    item: str
    agreement: Share
    labels: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class SplitClause:
    """What several split items have in common: a word of the notes, or a value of a column.

    Attributes
    ----------
    question : str
        Which.
    column : str
        ``"note"``, or the column.
    value : str
        The word or the value.
    n_split, n_items : int
        Split items of it, and all items of it; of a word only split ones are looked at.
    items : tuple of str
        Those split items, at most ten.
    labels : dict of str to int
        Their labels, the most frequent first.
    """

    question: str
    column: str
    value: str
    n_split: int
    n_items: int
    items: tuple[str, ...]
    labels: dict[str, int]

    @property
    def sentence(self) -> str:
        """A sentence for the rubric, which settles these items as most people did: to be edited."""
        label = next(iter(self.labels))
        if self.column == "note":
            return f"Where {self.value!r} matters, answer {label!r}."
        return f"Where {self.column} is {self.value!r}, answer {label!r}."


@dataclass(frozen=True, kw_only=True)
class LabellingProgress(Tabular, rows="people"):
    """How a study goes: what the coordinator's page shows.

    Attributes
    ----------
    n_items, n_closed : int
        Items of the study, and those of the seeded order that everybody has finished, without a
        gap.
    people : tuple of PersonProgress
        In the order of the study.
    watched : tuple of WatchedJudge
        Each judge and question; empty where no judge is watched.
    split : tuple of SplitItem
        Items on which people differ, those with the least agreement first; at most 50.
    clauses : tuple of SplitClause
        What they have in common, the most frequent first.
    """

    n_items: int
    n_closed: int
    people: tuple[PersonProgress, ...]
    watched: tuple[WatchedJudge, ...] = ()
    split: tuple[SplitItem, ...] = ()
    clauses: tuple[SplitClause, ...] = ()


def measure_labelling(
    answers: pl.DataFrame,
    *,
    items: pl.DataFrame,
    n_assigned: Mapping[str, int],
    n_done: Mapping[str, int],
    n_items: int,
    n_closed: int,
    watched: tuple[WatchedJudge, ...] = (),
) -> LabellingProgress:
    """Measure how a study goes.

    Parameters
    ----------
    answers : polars.DataFrame
        A row for each answer that counts: `item`, `question`, `annotator`, `label` (text; null is
        "can't tell"), `note` (text or null), `at` (seconds), and `is_repeat`, where an item was
        shown again.
    items : polars.DataFrame
        What is known of the items: `item`, `response`, and columns to group by.
    n_assigned : mapping of str to int
        Each person's items, repeats left out, in the order to show.
    n_done : mapping of str to int
        Those of them that are finished.
    n_items, n_closed : int
        Items of the study, and of its closed prefix.
    watched : tuple of WatchedJudge, optional
        What `watch_judge` says.

    Returns
    -------
    LabellingProgress
    """
    first = answers.filter(~pl.col("is_repeat"))
    labels = first.drop_nulls("label")
    keys = ["question", "item"]
    votes = labels.group_by([*keys, "label"]).len("votes")
    totals = votes.group_by(keys).agg(n=pl.col("votes").sum(), top=pl.col("votes").max())
    alone = labels.join(votes, on=[*keys, "label"]).join(totals, on=keys).filter(pl.col("n") > 1)
    same = alone.with_columns(same=(pl.col("votes") - 1) / (pl.col("n") - 1))
    again = answers.filter("is_repeat").join(
        first, on=[*keys, "annotator"], suffix="_first", how="inner"
    )
    again = again.with_columns(same=pl.col("label").eq_missing(pl.col("label_first")).cast(float))
    gaps = answers.sort("at").with_columns(gap=pl.col("at").diff().over("annotator"))
    worked = gaps.filter(pl.col("gap") <= _LONGEST_PAUSE_S).group_by("annotator").agg(
        pl.col("gap").sum())  # fmt: skip
    minutes = {who: seconds / 60 for who, seconds in worked.iter_rows()}
    people = tuple(
        PersonProgress(
            annotator=who,
            n_done=n_done[who],
            n_assigned=n,
            minutes=minutes.get(who, 0.0),
            agreement=_estimate(same.filter(annotator=who)),
            own_repeats=_estimate(again.filter(annotator=who)),
        )
        for who, n in n_assigned.items()
    )
    is_split = totals.filter(pl.col("top") < pl.col("n")).with_columns(
        agreement=pl.col("top") / pl.col("n")
    )
    texts = dict(items.select("item", "response").iter_rows())
    said = first.sort("annotator").group_by(keys).agg("annotator", "label", "note")
    ordered = is_split.join(said, on=keys).sort("agreement", *keys)
    split = []
    for question, item, agreement, *columns in ordered.select(
        *keys, "agreement", "annotator", "label", "note"
    ).iter_rows():
        rows = list(zip(*columns, strict=True))
        split.append(
            SplitItem(
                question=question,
                item=item,
                agreement=agreement,
                labels={who: label for who, label, _ in rows if label is not None},
                notes={who: note for who, _, note in rows if note is not None},
                text=shorten(texts.get(item) or "", width=300),
            )
        )
    clauses = [*_clauses_of_notes(split), *_clauses_of_columns(split, totals, items)]
    clauses.sort(key=lambda each: (-each.n_split, each.column, each.value))
    return LabellingProgress(
        n_items=n_items,
        n_closed=n_closed,
        people=people,
        watched=watched,
        split=tuple(split[:_MOST_SPLIT]),
        clauses=tuple(clauses[:_MOST_CLAUSES]),
    )


def _estimate(rows: pl.DataFrame) -> Estimate:
    if not len(rows):
        return UNDEFINED
    units = np.unique(rows["item"].to_numpy(), return_inverse=True)[1]
    return estimate_share(rows["same"].to_numpy(), units, confidence_level=0.95)


def _clauses_of_notes(split: list[SplitItem]) -> Iterator[SplitClause]:
    """Group split items by the words of their notes; of Chinese by two characters."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    by_word: dict[tuple[str, str], list[SplitItem]] = {}
    for each in split:
        text = " ".join(each.notes.values()).casefold()
        runs = _CHINESE.findall(text)
        words = {run[n : n + 2] for run in runs for n in range(len(run) - 1)}
        words |= set(_WORDS.findall(_CHINESE.sub(" ", text))) - ENGLISH_STOP_WORDS
        for word in words:
            by_word.setdefault((each.question, word), []).append(each)
    for (question, word), rows in by_word.items():
        if len(rows) >= _FEWEST_OF_CLAUSE:
            yield _make_clause(question, "note", word, rows, n_items=len(rows))


def _clauses_of_columns(
    split: list[SplitItem], totals: pl.DataFrame, items: pl.DataFrame
) -> Iterator[SplitClause]:
    """Find the values of columns whose items are split more often, by Fisher's test."""
    names = [
        name
        for name, dtype in items.schema.items()
        if name not in ("item", "prompt", "response")
        and (dtype == pl.String or dtype.is_integer() or dtype == pl.Boolean)
        and 1 < items[name].n_unique() <= max(2, len(items) // _FEWEST_OF_CLAUSE)
    ]
    tested: list[Any] = []
    several = totals.filter(pl.col("n") > 1)
    for question in several["question"].unique(maintain_order=True):
        rows = items.join(several.filter(question=question).select("item"), on="item", how="semi")
        of_question = {each.item: each for each in split if each.question == question}
        for name in names:
            for value, part in rows.drop_nulls(name).group_by(name):
                here = [of_question[x] for x in part["item"] if x in of_question]
                if len(here) >= _FEWEST_OF_CLAUSE:
                    p = hypergeom.sf(len(here) - 1, len(rows), len(of_question), len(part))
                    tested.append((float(p), question, name, str(value[0]), here, len(part)))
    for p, *clause, n_here in tested:
        if p * len(tested) <= _LEVEL:
            yield _make_clause(*clause, n_items=n_here)


def _make_clause(
    question: str, column: str, value: str, rows: list[SplitItem], *, n_items: int
) -> SplitClause:
    counts: dict[Any, int] = {}
    for row in rows:
        for label in row.labels.values():
            counts[label] = counts.get(label, 0) + 1
    return SplitClause(
        question=question,
        column=column,
        value=value,
        n_split=len(rows),
        n_items=n_items,
        items=tuple(row.item for row in rows[:10]),
        labels=dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
