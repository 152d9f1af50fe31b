"""Finds the JSON object of a reply, and the places of its values."""

from __future__ import annotations

import json
import re

import msgspec

__all__ = [
    "Member",
    "find_end_of_thoughts",
    "find_members",
    "find_object_in_fence",
    "find_object_in_prose",
]

Member = tuple[str, int, int]
"""A key, with the begin and end of its value."""

_GAP = r"[ \t\n\r]*+"
# Every repetition is possessive, so that a hostile text costs one pass and no backtracking.
_IN_STRING = r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
_SCALAR = (
    r"true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|" + f'"{_IN_STRING}"'
)
_KEY = re.compile(f'{_GAP}"({_IN_STRING})"{_GAP}:{_GAP}')
_MEMBER = re.compile(f'{_GAP}"({_IN_STRING})"{_GAP}:{_GAP}({_SCALAR}){_GAP}([,}}])')
_START = re.compile(rf"{_GAP}\{{{_GAP}(\}}?)")
_AFTER = re.compile(f"{_GAP}([,}}])")
_END = re.compile(_GAP)
_NESTED = json.JSONDecoder()

_THOUGHTS_BEGIN, _THOUGHTS_END = "<think>", "</think>"
_THOUGHTS = re.compile(rf"\s*{_THOUGHTS_BEGIN}.*?{_THOUGHTS_END}", re.DOTALL)
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\r?\n(?P<object>.*)```\s*", re.DOTALL)


def find_members(text: str) -> list[Member] | None:
    """Find the members of the JSON object `text`; None where it is not one.

    A repeated key is returned each time. The inside of a nested value is checked less strictly: it
    may hold ``NaN``. Time and memory are linear in the text.
    """
    begin = _START.match(text)
    if begin is None:
        return None
    members: list[Member] = []
    place, sign = begin.end(), begin[1]
    while sign != "}":
        found = _MEMBER.match(text, place)
        if found is not None:
            key, (start, end), sign, place = found[1], found.span(2), found[3], found.end()
        else:
            nested = _nested_member(text, place)
            if nested is None:
                return None
            (key, start, end), sign, place = nested
        members.append((key if "\\" not in key else _unescape(key), start, end))
    return members if _END.fullmatch(text, place) else None


def find_end_of_thoughts(text: str) -> int:
    """Return where the leading block ``<think>…</think>`` of a text ends; 0 where there is none."""
    thoughts = _THOUGHTS.match(text)
    return 0 if thoughts is None else thoughts.end()


def find_object_in_fence(text: str, begin: int) -> tuple[int, int] | None:
    """Return the span inside a code fence, where the text from `begin` on is one fence.

    Models often write one where the server does not enforce a form.
    """
    fence = _FENCE.fullmatch(text, begin)
    return None if fence is None else fence.span("object")


def find_object_in_prose(text: str) -> tuple[int, int] | None:
    """Return the span of the one object in a text with thoughts, explanations, or a code fence.

    No brace may stand outside of the object, so that nothing else can be taken for an answer. None
    where there is no candidate or more than one. The span need not be JSON.
    """
    begin = text.find("{")
    is_first = not text[: max(begin, 0)].strip()
    thought = -1 if is_first else text.find(_THOUGHTS_END)
    after = 0 if thought < 0 else thought + len(_THOUGHTS_END)
    begin, end = text.find("{", after), text.rfind("}") + 1
    if not 0 <= begin < end:
        return None
    before, behind = text[after:begin], text[end:]
    if "}" in before or "{" in behind or _THOUGHTS_BEGIN in before or _THOUGHTS_BEGIN in behind:
        return None
    is_in_list = before.rstrip().endswith("[") or behind.lstrip().startswith("]")
    return None if is_in_list else (begin, end)


def _nested_member(text: str, place: int) -> tuple[Member, str, int] | None:
    """Read a member whose value is a list or an object."""
    key = _KEY.match(text, place)
    if key is None or not text.startswith(("[", "{"), key.end()):
        return None
    try:
        _, end = _NESTED.raw_decode(text, key.end())
    except (ValueError, RecursionError):  # not JSON, a number with too many digits, or too deep
        return None
    after = _AFTER.match(text, end)
    return None if after is None else ((key[1], key.end(), end), after[1], after.end())


def _unescape(key: str) -> str:
    try:
        return msgspec.json.decode(f'"{key}"', type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):  # a lone surrogate: it cannot be a key
        return key
