"""Shows untrusted text as escaped JSON between marker lines that it cannot forge."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.records import Message

__all__ = ["escape_invisible", "fence_item", "new_nonce", "quote_trusted", "quote_untrusted"]

# Ranges (first, last) of invisible characters, and of those that move or join their neighbours.
_INVISIBLE = (
    (0x00, 0x1F),  # controls
    (0x7F, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x34F, 0x34F),  # grapheme joiner
    (0x600, 0x605),  # marks that span what follows
    (0x61C, 0x61C),  # direction
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x890, 0x891),
    (0x8E2, 0x8E2),
    (0x115F, 0x1160),  # fillers
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),  # variants and a vowel separator
    (0x200B, 0x200F),  # zero width, direction
    (0x2028, 0x202E),  # ends of lines, overrides of direction
    (0x2060, 0x206F),  # joiners, invisible operators, isolates
    (0x2800, 0x2800),  # a blank
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # halves of a pair that lack the other half
    (0xE000, 0xF8FF),  # private use
    (0xFDD0, 0xFDEF),  # no characters
    (0xFE00, 0xFE0D),  # variants; the two of emoji are ordinary one at a time, see `_REPEATED`
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0xE0000, 0x10FFFF),  # tags, further variants, private use
)
# Marks of rare scripts are separate: every range above U+FFFF slows a search by a quarter.
_RARE = (
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1345F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
)


def _ranges(pairs: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in pairs)


# Angle brackets, and what compatibility normalization turns into angle or square brackets: some
# tokenizers normalize before they look for their special tokens.
_BRACKETS = "<>\u226e\u226f\ufe64\ufe65\uff1c\uff1e\ufe47\ufe48\uff3b\uff3d"

# A class first, then its repetition: so the search is fast on ordinary text.
_HOSTILE = re.compile("[{0}][{0}]*".format(_ranges(_INVISIBLE) + _BRACKETS))
_SELDOM = re.compile(f"[{_ranges(_RARE)}]")
_UNSEEN = re.compile(f"(?![\n\t])[{_ranges(_INVISIBLE + _RARE)}]")
_REPEATED = re.compile("[\ufe0e\ufe0f][\ufe0e\ufe0f]+")
# A square bracket that may begin a special token: [INST], [/INST], [gMASK], [|user|], [e~[.
_SQUARE = re.compile(r"\[(?=[|~/]|[a-z]?[A-Z\uff21-\uff3a]{2}|e~)")

_encode = json.JSONEncoder(ensure_ascii=False).encode


def new_nonce() -> str:
    """Draw the random code of a fence: 16 hexadecimal digits (64 bits)."""
    return secrets.token_hex(8)


def fence_item(
    conversation: tuple[Message, ...], responses: Mapping[str, str], *, nonce: str
) -> str:
    """Write an item as JSON between two lines with the nonce.

    JSON strings hold no line ends, so that every line of the result begins with our own characters.
    """
    messages = ",\n".join(
        [
            f'{{"role": {quote_untrusted(message.role)}, '
            f'"content": {quote_untrusted(message.content)}}}'
            for message in conversation
        ]
    )
    parts = [f'"conversation": [\n{messages}\n]' if messages else '"conversation": []']
    parts += [f'"{key}": {quote_untrusted(text)}' for key, text in responses.items()]
    document = ",\n".join(parts)
    return f"-----BEGIN ITEM {nonce}-----\n{{{document}}}\n-----END ITEM {nonce}-----"


def quote_untrusted(text: str) -> str:
    r"""Write untrusted text as a JSON string on one line.

    It decodes to `text`, and holds no angle bracket, no control or invisible character and no
    beginning of a special token: these are written ``\uXXXX``. Other characters stay readable.
    """
    written = _encode(text)
    if written.isascii():
        if "<" in written:
            written = written.replace("<", "\\u003c")
        if ">" in written:
            written = written.replace(">", "\\u003e")
        if "\x7f" in written:
            written = written.replace("\x7f", "\\u007f")
    else:
        written = _HOSTILE.sub(_escape_run, written)
        if not written.isprintable():
            written = _SELDOM.sub(_escape_run, written)
        if "\ufe0e" in written or "\ufe0f" in written:
            written = _REPEATED.sub(_escape_run, written)
    if "[" in written:
        written = _SQUARE.sub(_escape_run, written)
    if "]~" in written:  # it continues one, such as ]~b]
        written = written.replace("]~", "\\u005d~")
    return written


def quote_trusted(text: str) -> str:
    """Write text of the rubric as a JSON string; only invisible characters are escaped."""
    return _UNSEEN.sub(_escape_run, _encode(text))


def escape_invisible(text: str) -> str:
    """Return text of the rubric with only invisible characters escaped."""
    return _UNSEEN.sub(_escape_run, "\n".join(text.splitlines()))


def _escape_run(match: re.Match[str]) -> str:
    """Escape a run of characters as UTF-16 units, as JSON does."""
    units = match.group().encode("utf-16-be", "surrogatepass").hex("u", 2)
    return "\\u" + units.replace("u", "\\u")
