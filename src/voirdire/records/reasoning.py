"""Finds the thoughts in what a reasoning model wrote, and special tokens left behind its end.

One table of markers serves the replies of judges and the responses that are judged. Every function
takes time linear in the text, whatever the text holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAGS = (
    "think",
    "thinking",
    "thoughts?",
    "thought_process",
    "reasoning",
    "reflection",
    "scratchpad",
    "longcat_think",
)
# Tags may have a namespace, as in <seed:think>, and attributes, but are no empty element.
_TAG_MARKERS = tuple(
    (
        rf"<\s*+(?:[a-z]++:)?+{tag}(?:\s[^<>]*+)?+(?<!/)>",
        rf"<\s*+/\s*+(?:[a-z]++:)?+{tag}\s*+>(?:\s*+<response>)?+",
    )
    for tag in _TAGS
)
_CHANNEL = r"(?:<\|start\|>\s*+assistant\s*+)?+<\|channel\|>\s*+"
_TO_MESSAGE = r"[^<]*+(?:<\|constrain\|>[^<]*+)?+<\|message\|>"
# How models begin their thoughts, and how they end them.
_MARKERS = (
    *_TAG_MARKERS,
    (r"\[THINK\]", r"\[/THINK\]"),  # Mistral
    ("◁think▷", "◁/think▷"),  # Kimi
    (  # Cohere
        r"<\|START_THINKING\|>",
        r"<\|END_THINKING\|>(?:\s*+<\|START_RESPONSE\|>)?+|<\|START_RESPONSE\|>",
    ),
    (r"<unused94>(?:thought\b)?+", "<unused95>"),  # Gemma 3
    (r"<\|channel>\s*+thought\b", r"<channel\|>"),  # Gemma 4
    (r"\[unused16\]", r"\[unused17\]"),  # openPangu
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>(?:\s*+<\|begin_of_solution\|>)?+"),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<\|im_start\|>think\b", r"<\|im_start\|>answer\b"),  # s1
    ("(?!)", r"\[BEGIN FINAL RESPONSE\]"),  # Apriel: its template writes the beginning
    (rf"{_CHANNEL}(?!final\b){_TO_MESSAGE}", rf"{_CHANNEL}final\b{_TO_MESSAGE}"),  # gpt-oss
)
# No special tokens: they count where a text begins with them.
_PHRASES = (
    (r"\s*+here(?:'s|’s| is) my thought process:", r"here(?:'s|’s| is) my response:"),  # Granite
    (r"\s*+(?-i:analysis(?=[A-Z]))", "assistantfinal"),  # gpt-oss, decoded without its tokens
)
_END_TOKENS = (
    "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<pad>", "[PAD]", "<seed:eos>", "</response>",
    "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<|eom_id|>", "<|eot_id|>", "<|eot|>",
    "<|end_of_turn|>", "<|finetune_right_pad_id|>", "<|im_end|>", "<|return|>",
    "<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>", "<|end_of_solution|>", "<｜end▁of▁sentence｜>",
)  # fmt: skip


_FENCE_END = r"\n[ \t]*(?P=fence)(?P=mark)*+[ \t]*$"
# Fenced blocks, which end at a line with at least as many marks or at the end, and spans on a line.
_CODE = re.compile(
    r"^[ \t]*(?P<fence>(?P<mark>[`~])(?P=mark){2,}+)"
    rf"(?:[^\n]++|(?!{_FENCE_END})\n)*+(?P<end>{_FENCE_END})?|``[^`\n]++``|`[^`\n]*+`",
    re.MULTILINE,
)
# A fast sieve of places where a marker may begin.
_FIRST = re.compile(
    r"<(?=\s*+/?\s*+(?:[a-z]++:)?+(?:th|re|sc|lo|un|ch|\|))|\[(?=/?(?:TH|BE|un))|◁", re.I
)
_OPENINGS, _CLOSINGS = zip(*_MARKERS, strict=True)
_MARKER = re.compile("|".join(f"({marker})" for marker in (*_OPENINGS, *_CLOSINGS)), re.I)
_END_OF = [re.compile(closing, re.I) for closing in _CLOSINGS]
_PHRASE_OF = [(re.compile(begin, re.I), re.compile(end, re.I)) for begin, end in _PHRASES]
_ANY_OPENING = "|".join(_OPENINGS)
_LEADING = re.compile(
    "|".join((*(begin for begin, _ in _PHRASES), rf"\s*+(?:{_ANY_OPENING})")), re.I
)
_AT_END = re.compile(rf"(?:{_ANY_OPENING})\s*+\Z", re.I)
_OPENING_ENDS = (">", "]", "▷", "t", "T", "k", "K")
_LONGEST = 200  # characters of an opening in a prompt, with the white space behind it
_BLANK = re.compile(r"\s*+")
_BEGINS_AFTER = frozenset("\n\r.!?…。！？>]\ufeff")
_QUOTES = frozenset("`\"'“”‘’«»「」『』()（）")


def strip_reasoning(text: str) -> str | None:
    """Return the final answer in a text; None where the text ends inside its thoughts.

    Thoughts go from an opening marker to the closing one of the same kind. An opening marker counts
    where the text, a line or a sentence begins; elsewhere it is a mention, and so is the next
    closing marker of its kind. Without an opening one, a closing marker ends thoughts that began in
    the prompt, as with chat templates that write the opening marker: everything before it is
    thoughts. That counts once, before any other thoughts. Markers in code (fenced, or between
    backticks) and closing markers in quotes are mentions.

    Special tokens behind the answer are left out, too. The answer is stripped where thoughts were
    taken out; a text without thoughts and special tokens is returned as it is.
    """
    kept: list[str] = []
    place = 0
    for begin, end in _iter_thoughts(text):
        if end is None:
            return None
        kept.append(text[place:begin])
        place = end
    end = find_end(text)
    if not kept:
        return text[:end]
    return "".join([*kept, text[place:end]]).strip()


def find_answer(text: str) -> int | None:
    """Return where a text goes on behind the thoughts at its beginning; None if they never end."""
    place = 0
    for begin, end in _iter_thoughts(text):
        if end is None or text[place:begin].strip():
            return None if end is None else place
        place = end
    return place


def closes_unopened_thoughts(text: str) -> bool:
    """Return whether a text begins with thoughts that it ends without having opened them."""
    return bool(find_answer(text)) and _LEADING.match(text) is None


def find_opening(prompt: str) -> str:
    """Return the opening marker at the end of a prompt, with which a template makes a model think.

    It is empty where there is none, or where it stands in quotes.
    """
    tail = prompt[-_LONGEST:]
    opening = _AT_END.search(tail) if tail.rstrip().endswith(_OPENING_ENDS) else None
    if opening is None or tail[opening.start() - 1 : opening.start()] in _QUOTES:
        return ""
    return opening.group()


def has_marker(text: str) -> bool:
    """Return whether a text holds an opening or closing marker anywhere."""
    return any(_MARKER.match(text, first.start()) for first in _FIRST.finditer(text))


def has_end_token(text: str, more: tuple[str, ...] = ()) -> bool:
    """Tell whether a text has a special token that ends one: a known one, or one of `more`."""
    return any(token in text for token in _END_TOKENS + more)


def find_end(text: str, more: tuple[str, ...] = ()) -> int:
    """Return where the special tokens at the end of a text begin, the known ones and `more`."""
    tokens = _END_TOKENS + more
    kept = end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        if not text.endswith(tokens, 0, end):
            return kept
        kept = end = end - next(len(token) for token in tokens if text.endswith(token, 0, end))


def _iter_thoughts(text: str) -> Iterator[tuple[int, int | None]]:
    """Yield where thoughts begin and end, with their markers; None where they never end."""
    place = 0
    for begins, ends in _PHRASE_OF:
        if phrase := begins.match(text):
            closing = ends.search(text, phrase.end())
            place = closing.end() if closing else len(text)
            yield 0, place if closing else None
    last, is_first, markers = place, not place, _MarkerFinder(text)
    n_mentioned = [0] * len(_MARKERS)
    while marker := markers.find(place):
        begin, place = marker.span()
        is_closing, kind = divmod((marker.lastindex or 0) - 1, len(_MARKERS))
        if not is_closing:
            if not _begins_sentence(text, begin):
                n_mentioned[kind] += 1
                continue
            closing = _END_OF[kind].search(text, place)
            place = closing.end() if closing else len(text)
            yield begin, place if closing else None
        elif n_mentioned[kind]:
            n_mentioned[kind] -= 1
            continue
        elif (is_first and not _is_quoted(text, begin, place)) or _BLANK.fullmatch(
            text, last, begin
        ):
            yield last, place
        else:
            continue
        last, is_first = place, False


class _MarkerFinder:
    """Finds markers outside of code; code that begins inside of thoughts is none."""

    def __init__(self, text: str) -> None:
        self._text = text
        has_markers = "<" in text or "[" in text or "◁" in text
        self._end = len(text) if has_markers else 0
        self._code = (0, 0) if "`" in text or "~~~" in text else (len(text), len(text))

    def find(self, place: int) -> re.Match[str] | None:
        """Find the next marker from a place on that no code goes around.

        A closing marker counts in a fence that is not closed, where its opening one is not there:
        so thoughts end whose code was broken off.
        """
        text = self._text
        begin, end = self._code if self._code[0] >= place else (place, place)
        is_broken, shown = False, set()
        for first in _FIRST.finditer(text, place, self._end):
            marker = _MARKER.match(text, first.start())
            if marker is None:
                continue
            while end <= marker.start():
                code = _CODE.search(text, end)
                begin, end = code.span() if code else (len(text), len(text))
                is_broken = bool(code and code["fence"] and code["end"] is None)
            is_closing, kind = divmod((marker.lastindex or 0) - 1, len(_MARKERS))
            if begin > marker.start() or (is_broken and is_closing and kind not in shown):
                self._code = begin, end
                return marker
            shown.add(kind)
        return None


def _begins_sentence(text: str, place: int) -> bool:
    while place and text[place - 1].isspace() and text[place - 1] not in _BEGINS_AFTER:
        place -= 1
    return not place or text[place - 1] in _BEGINS_AFTER


def _is_quoted(text: str, begin: int, end: int) -> bool:
    return text[max(begin - 1, 0) : begin] in _QUOTES and text[end : end + 1] in _QUOTES
