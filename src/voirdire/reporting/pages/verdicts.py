"""Make the page of a file of verdicts: rates of the questions, then the items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from voirdire._messages import shorten
from voirdire.io.verdict_rows import SAID_COLUMNS, TEXT_COLUMNS
from voirdire.reporting.pages.examination_items import (
    item_rows,
    item_texts,
    slice_columns,
    text_start,
)
from voirdire.reporting.pages.frame import page_environment, page_head, page_words, style_sheet
from voirdire.reporting.pages.items import ItemCard, as_written
from voirdire.reporting.pages.speech import Decimal, Label, Listing, Name, Speaker, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voirdire._types import Language
    from voirdire.reporting.pages.speech import Said

__all__ = ["verdicts_page"]

_MOST_ITEMS = 1_000
_MOST_QUESTIONS = 500
_MOST_OF_AN_ITEM = 100
_MOST_LABELS = 4
_MOST_FAILURES = 20
_CLASS = "derived"
"""The source of a completion class: it follows from answers, and nobody was asked for it."""


@dataclass(frozen=True, kw_only=True)
class QuestionRates:
    """How often a judge said what.

    `share_true` and `mean` (of the probabilities) are None for questions that are not boolean;
    `labels` are then what was said, the most frequent first.
    """

    judge: str
    question: str
    is_class: bool
    n_answers: int
    n_failures: int
    share_true: float | None
    mean: float | None
    labels: Listing | None = None


def verdicts_page(
    rows: pl.DataFrame,
    *,
    name: str,
    metadata: pl.DataFrame | None = None,
    language: Language = "en",
    title: str | None = None,
) -> str:
    """Write verdicts as one HTML page; `rows` are as `read_verdict_rows` gives them.

    `metadata` is what is known of the items, as `read_metadata` gives it: it counts before texts
    that stand in the file of verdicts.
    """
    speaker = Speaker(language, "verdicts")
    head = page_head(title=title, created=None)
    rates = _compute_rates(rows)
    items = rows["item"].unique(maintain_order=True)
    shown = items.head(_MOST_ITEMS)
    cards = _make_cards(rows.filter(pl.col("item").is_in(shown.implode())), metadata)
    reasons = Counter(rows["failure"].drop_nulls().to_list())
    template = page_environment().get_template("verdicts_page.html.j2")
    return template.render(
        **page_words(speaker),
        **head,
        heading="verdicts.title",
        css=style_sheet(),
        name=name,
        judges=Listing(tuple(map(Name, rows["judge"].unique(maintain_order=True).to_list()))),
        n_judges=rows["judge"].n_unique(),
        n_items=len(items),
        n_failures=sum(reasons.values()),
        failures=reasons.most_common(_MOST_FAILURES),
        n_reasons=len(reasons),
        tables=[
            (key, those[:_MOST_QUESTIONS], len(those))
            for key, those in (
                ("verdicts.questions", [row for row in rates if not row.is_class]),
                ("verdicts.classes", [row for row in rates if row.is_class]),
            )
            if those
        ],
        cards=cards,
        has_items=bool(cards),
    )


def _compute_rates(rows: pl.DataFrame) -> list[QuestionRates]:
    label, labels = pl.col("label"), pl.col("label").drop_nulls()
    is_truth = labels.str.to_lowercase().is_in(["true", "false"])
    counted = rows.group_by("judge", "question", maintain_order=True).agg(
        is_class=(pl.col("source") == _CLASS).any().fill_null(value=False),
        n_answers=labels.len(),
        n_failures=(label.is_null() & pl.col("failure").is_not_null()).sum(),
        is_boolean=is_truth.all(),
        n_true=(labels.str.to_lowercase() == "true").sum(),
        mean=pl.col("probability").mean(),
        labels=labels.value_counts(sort=True).head(_MOST_LABELS),
        n_labels=labels.n_unique(),
    )
    rates = []
    for row in counted.iter_rows(named=True):
        n, is_boolean = row["n_answers"], row["is_boolean"] and row["n_answers"] > 0
        rates.append(
            QuestionRates(
                judge=row["judge"],
                question=row["question"],
                is_class=row["is_class"],
                n_answers=n,
                n_failures=row["n_failures"],
                share_true=row["n_true"] / n if is_boolean else None,
                mean=row["mean"],
                labels=None
                if is_boolean or not n
                else _list_usual_labels(row["labels"], row["n_labels"]),
            )
        )
    return rates


def _list_usual_labels(counts: Iterable[Mapping[str, Any]], n_labels: int) -> Listing:
    parts = [say("items.counted", label=Label(row["label"]), n=row["count"]) for row in counts]
    return Listing(tuple(parts), n_hidden=n_labels - len(parts))


# Items --------------------------------------------------------------------------------------------


def _make_cards(rows: pl.DataFrame, metadata: pl.DataFrame | None) -> list[ItemCard]:
    items = rows.partition_by("item", maintain_order=True)
    texts = _collect_texts(rows, metadata)
    columns = slice_columns([texts.get(part["item"][0], {}) for part in items])
    several = rows["judge"].n_unique() > 1
    return [
        _make_card(
            list(part.iter_rows(named=True)), texts.get(part["item"][0], {}), columns, several
        )
        for part in items
    ]


def _collect_texts(rows: pl.DataFrame, metadata: pl.DataFrame | None) -> dict[str, dict[str, str]]:
    by_item: dict[str, dict[str, str]] = {}
    given = [name for name in TEXT_COLUMNS if name in rows.columns]
    columns = {"item", *(name for name in SAID_COLUMNS if rows[name].null_count() < len(rows))}
    frames = [rows.select("item", *given).unique("item", maintain_order=True)] if given else []
    if metadata is not None:
        frames.append(metadata.filter(pl.col("item").is_in(rows["item"].unique().implode())))
    for frame in frames:
        for row in frame.iter_rows(named=True):
            texts = {k: str(x) for k, x in row.items() if k not in columns and x is not None}
            by_item.setdefault(row["item"], {}).update(texts)
    return by_item


def _make_card(
    rows: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
    columns: Sequence[str],
    several: bool,  # noqa: FBT001  # judges
) -> ItemCard:
    asked = [row for row in rows if row["source"] != _CLASS]
    tags: dict[str, str | list[str]] = {
        "verdicts.question": [row["question"] for row in asked],
        "items.answer": [_answer(row) for row in asked],
    }
    if several:
        tags["items.judge"] = [row["judge"] for row in asked]
    behavior = next((row["behavior"] for row in rows if row["behavior"]), None)
    classes = [
        row["question"] for row in rows if row["source"] == _CLASS and row["label"] == "true"
    ]
    failure = next((row["failure"] for row in asked if row["failure"]), None)
    one_each = {
        "verdicts.behavior": behavior,
        "verdicts.class": classes[0] if classes else None,
        "verdicts.failure": failure and shorten(failure.partition(":")[0]),
        **{f"={name}": texts.get(name) for name in columns},
    }
    tags |= {key: value for key, value in one_each.items() if value}
    n_failed = sum(row["label"] is None for row in asked)
    summary: list[Any] = [Name(name, 40) for name in classes[:1]]
    if n_failed:
        summary.append(say("verdicts.failed", n=n_failed))
    return ItemCard(
        title=rows[0]["item"],
        summary=(*summary, *text_start(texts)),
        texts=item_texts(texts),
        rows=[*(_write_row(row, several) for row in rows[:_MOST_OF_AN_ITEM]), *item_rows(texts)],
        tags=tags,
    )


def _answer(row: Mapping[str, Any]) -> str:
    return "–" if row["label"] is None else shorten(row["label"], width=60)


def _write_row(row: Mapping[str, Any], several: bool) -> tuple[Any, Any, Any]:  # noqa: FBT001
    who: Said | Name = Name(row["question"])
    if several:
        who = say("verdicts.who", question=who, judge=Name(row["judge"], 24))
    why = row["failure"] or row["reason"]
    what: Any = None
    if row["label"] is not None:
        is_true = row["label"].lower() == "true"
        what = as_written(row["label"], width=200)
        what = say("items.against", label=what) if is_true else what
    if row["probability"] is not None:
        what = say("verdicts.said", label=what or "–", p=Decimal(row["probability"]))
    return who, what, None if why is None else as_written(why)
