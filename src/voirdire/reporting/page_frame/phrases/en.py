"""What every page says, whatever it is about, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "page.skip": "Skip to the verdict",
    "page.contents": "On this page",
    "yes": "yes",
    "no": "no",
    "sentence.space": " ",
}
_LISTS = {
    "quotes": "“”",
    "list.clause": "; ",
    "list.comma": ", ",
    "list.and": "{shown} and {last}",
    "list.or": "{shown} or {last}",
    "list.more": "{shown} and {n} more",
    "interval": "{low}–{high}",
    "interval.negative": "{low} to {high}",
}
_COUNTS = {
    "count.completions.one": "{n} completion",
    "count.completions.many": "{n} completions",
    "count.annotators.one": "{n} annotator",
    "count.annotators.many": "{n} annotators",
    "count.items.one": "{n} item",
    "count.items.many": "{n} items",
    "count.pairs.one": "{n} pair",
    "count.pairs.many": "{n} pairs",
}
_TABLES = {
    "table.hint": "Scroll sideways for more columns →",
    "table.cut": "{shown} rows of {n} are shown; the JSON has all {n}.",
    "column.first_place": "First place",
    "column.item": "Item",
    "column.reason": "Reason",
    "column.value": "Value",
}
PHRASES: dict[str, str] = _PAGE | _LISTS | _COUNTS | _TABLES
