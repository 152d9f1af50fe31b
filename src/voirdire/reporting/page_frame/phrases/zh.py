"""What every page says, whatever it is about, in Chinese."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "page.skip": "直接看结论",
    "page.contents": "本页内容",
    "yes": "是",
    "no": "否",
    "sentence.space": "",
}
_LISTS = {
    "quotes": "“”",
    "list.clause": "；",
    "list.comma": "、",
    "list.and": "{shown}、{last}",
    "list.or": "{shown} 或 {last}",
    "list.more": "{shown} 等（另有 {n} 项）",
    "interval": "{low}–{high}",
    "interval.negative": "{low} 至 {high}",
}
_COUNTS = {
    "count.completions.one": "{n} 条回复",
    "count.completions.many": "{n} 条回复",
    "count.annotators.one": "{n} 名标注员",
    "count.annotators.many": "{n} 名标注员",
    "count.items.one": "{n} 个条目",
    "count.items.many": "{n} 个条目",
    "count.pairs.one": "{n} 对",
    "count.pairs.many": "{n} 对",
}
_TABLES = {
    "table.hint": "横向滑动可看到更多列 →",
    "table.cut": "共 {n} 行，这里列出 {shown} 行；JSON 中有全部 {n} 行。",
    "column.first_place": "首次出现",
    "column.item": "条目",
    "column.reason": "原因",
    "column.value": "值",
}
PHRASES: dict[str, str] = _PAGE | _LISTS | _COUNTS | _TABLES
