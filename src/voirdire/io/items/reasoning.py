"""The answer without the reasoning that a model wrote between tags before it."""

from __future__ import annotations

import re

import msgspec

__all__ = ["Answer", "without_reasoning"]

_TAG = r"(?P<tag><(?P<close>/?)(?P<name>think|thinking|reasoning)>)"
# A tag inside code is text about tags: fenced blocks, and spans on one line.
_MARKS = re.compile(
    rf"{_TAG}|^[ \t]*(?P<fence>```+|~~~+)|``[^`\n]++``|`[^`\n]*+`",
    re.MULTILINE,
)
_TAGS_ALONE = re.compile(_TAG)
_FENCE_END = re.compile(r"^[ \t]*(?P<fence>```+|~~~+)[ \t]*$", re.MULTILINE)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a text without its reasoning.

    Attributes
    ----------
    text : str
        The answer; the text itself, to the letter, where it holds no reasoning.
    is_unfinished : bool
        Whether the text ends inside the reasoning.
    """

    text: str
    is_unfinished: bool = False


def without_reasoning(text: str) -> Answer:
    """Take out ``<think>``, ``<thinking>`` and ``<reasoning>`` blocks.

    A block without an end goes to the end of the text. Where the first tag is a closing one, the
    text before it is reasoning: some chat templates write the opening tag into the prompt.
    """
    if not ("<think" in text or "</think" in text or "reasoning>" in text):
        return Answer(text=text)
    may_hold_code = "`" in text or "~~~" in text
    marks = _MARKS if may_hold_code else _TAGS_ALONE
    kept: list[str] = []
    at = start = 0  # where to look on, and where the answer goes on
    is_first = True
    is_changed = False
    while match := marks.search(text, at):
        at = match.end()
        if may_hold_code and match["fence"]:
            at = _end_of_fence(text, at, fence=match["fence"])
        elif match["tag"] and match["close"]:
            if is_first:
                start = at
                is_changed = True
            is_first = False
        elif match["tag"]:
            kept.append(text[start : match.start()])
            is_first, is_changed = False, True
            end = text.find(f"</{match['name']}>", at)
            if end < 0:
                return Answer(text="".join(kept).strip(), is_unfinished=True)
            at = start = end + len(match["name"]) + len("</>")
    kept.append(text[start:])
    return Answer(text="".join(kept).strip()) if is_changed else Answer(text=text)


def _end_of_fence(text: str, at: int, *, fence: str) -> int:
    """Find where a code block ends; one that is not closed goes to the end of the text."""
    for match in _FENCE_END.finditer(text, at):
        if match["fence"].startswith(fence):
            return match.end()
    return len(text)
