"""Make cards of the items on which judges and people disagree, with all labels and reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.reporting.pages.items import ItemCard, ItemText, as_written
from voirdire.reporting.pages.speech import Label, Listing, Name, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from markupsafe import Markup

    from voirdire.studies import Examination
    from voirdire.studies.disputed_items import DisputedItem
    from voirdire.studies.findings import QuestionFindings

__all__ = [
    "add_texts",
    "item_rows",
    "item_texts",
    "make_disputed_cards",
    "slice_columns",
    "text_start",
]

_MOST_ITEMS = 200
"""Items of a question."""
_MOST_ON_PAGE = 800
"""Items of the page, in equal shares: a reader of many questions reads few items of each."""
_FEWEST_ITEMS = 10
_MOST_RATERS = 80
_MOST_VALUES = 20
_SHORT = 40
"""Longest value of a column that is a property of the item, and no text to read."""
_MAIN = {"prompt": "items.prompt", "response": "items.response"}


def make_disputed_cards(findings: QuestionFindings, *, n_questions: int) -> tuple[ItemCard, ...]:
    """Make a card of each item in dispute, the largest disagreement first."""
    most = min(_MOST_ITEMS, max(_MOST_ON_PAGE // n_questions, _FEWEST_ITEMS))
    disputed = findings.disputed[:most]
    columns = slice_columns([item.texts for item in disputed])
    is_scale = findings.kind == "scale"
    return tuple(_make_card(item, columns, is_scale=is_scale) for item in disputed)


def add_texts(report: Examination, metadata: pl.DataFrame) -> Examination:
    """Add metadata to the items in dispute; texts that the report has take precedence."""
    import polars as pl

    wanted = {item.item for question in report.questions for item in question.disputed}
    rows = metadata.filter(pl.col("item").is_in(list(wanted))).iter_rows(named=True)
    texts = {
        row["item"]: {k: str(x) for k, x in row.items() if k != "item" and x is not None}
        for row in rows
    }
    if wanted and not texts:
        msg = (
            f"`items` must hold items in dispute, such as {shorten(min(wanted), width=40)!r}, got "
            f"none of these {len(wanted):,} items. Name the file of the items that were examined."
        )
        raise InputError(msg)
    return replace(
        report, questions=tuple(_add_texts_to_question(each, texts) for each in report.questions)
    )


def _add_texts_to_question(
    findings: QuestionFindings, texts_by_item: Mapping[str, dict[str, str]]
) -> QuestionFindings:
    disputed = (
        replace(item, texts=texts_by_item.get(item.item, {}) | item.texts)
        for item in findings.disputed
    )
    return replace(findings, disputed=tuple(disputed))


def slice_columns(items: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Name the columns by which items can be filtered: 2 to 20 short values."""
    values: dict[str, set[str]] = {}
    for texts in items:
        for name, value in texts.items():
            values.setdefault(name, set()).add(value)
    return tuple(
        name
        for name, those in values.items()
        if name not in _MAIN and 1 < len(those) <= _MOST_VALUES and max(map(len, those)) <= _SHORT
    )


def item_texts(texts: Mapping[str, str]) -> tuple[ItemText, ...]:
    """Show prompt and response, then the other columns with something to read."""
    main = [ItemText(heading=_MAIN[name], text=texts[name]) for name in _MAIN if name in texts]
    others = [
        ItemText(heading=f"={name}", text=text)
        for name, text in texts.items()
        if name not in _MAIN and len(text) > _SHORT
    ]
    return (*main, *others)


def text_start(texts: Mapping[str, str]) -> tuple[Markup, ...]:
    """Show the beginning of the prompt or response, by which a reader knows a folded item."""
    text = texts.get("prompt") or texts.get("response")
    return (as_written(text, width=60),) if text else ()


def item_rows(texts: Mapping[str, str]) -> list[tuple[Any, Any, Any]]:
    """List the short columns."""
    return [
        (Name(name), as_written(text), None)
        for name, text in texts.items()
        if name not in _MAIN and len(text) <= _SHORT
    ]


def _make_card(item: DisputedItem, columns: Sequence[str], *, is_scale: bool) -> ItemCard:
    counts = Counter(item.labels.values())
    usual = _find_single_mode(counts)
    others = [
        judge
        for judge, label in item.answers.items()
        if (judge in item.judges if is_scale or usual is None else label != usual)
    ]
    asked = [judge for judge in item.judges if judge in item.answers]
    rows = [
        (
            Name(judge),
            say("items.against", label=Label(label)) if judge in others else Label(label),
            as_written(item.reasons[judge]) if judge in item.reasons else None,
        )
        for judge, label in list(item.answers.items())[:_MOST_RATERS]
    ]
    rows += [
        (Name(name), Label(label), None) for name, label in list(item.labels.items())[:_MOST_RATERS]
    ]
    return ItemCard(
        title=item.item,
        summary=_write_summary(item, asked, counts),
        texts=item_texts(item.texts),
        rows=[*rows, *item_rows(item.texts)],
        tags={
            "items.judge": asked,
            "items.answer": [item.answers[judge] for judge in asked],
            **{f"={name}": item.texts[name] for name in columns if name in item.texts},
        },
    )


def _find_single_mode(counts: Counter[str]) -> str | None:
    """Return the most frequent label, None where two are."""
    [*first, (label, most)] = counts.most_common(2)[::-1] or [("", 0)]
    return None if not most or any(n == most for _, n in first) else label


def _write_summary(
    item: DisputedItem, asked: Sequence[str], counts: Counter[str]
) -> tuple[Any, ...]:
    answers = [
        say("items.said", who=Name(judge, 24), label=Label(item.answers[judge], 24))
        for judge in asked
    ]
    people = [say("items.counted", label=Label(x, 24), n=n) for x, n in counts.most_common()]
    judges, labels = (Listing(tuple(each), most=3) for each in (answers, people))
    return (say("items.dispute", judges=judges, people=labels), *text_start(item.texts))
