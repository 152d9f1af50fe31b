"""Shows untrusted text as escaped JSON between marker lines that it cannot forge."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.records import Message

# Invisible characters, and those that move or join their neighbours.
_INVISIBLE = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f"  # controls, soft hyphen, grapheme joiner
    r"\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2"  # marks that span what follows
    r"\u115f\u1160\u3164\uffa0\u2800"  # fillers, a blank
    r"\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, direction, ends of lines
    r"\u17b4\u17b5\u180b-\u180f"  # variants and a vowel separator
    r"\ufe00-\ufe0d"  # variants; the two of emoji are ordinary one at a time, see `_REPEATED`
    r"\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef"  # lone halves of pairs, private use, no characters
    r"\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U0010ffff"  # byte order mark, tags, private use
)
# Marks of rare scripts are separate: every range above U+FFFF slows a search by a quarter.
_RARE = r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
# Angle brackets, and what compatibility normalization turns into angle or square brackets: some
# tokenizers normalize before they look for their special tokens.
_BRACKETS = "<>\u226e\u226f\ufe64\ufe65\uff1c\uff1e\ufe47\ufe48\uff3b\uff3d"

# A class first, then its repetition: so the search is fast on ordinary text.
_HOSTILE = re.compile(f"[{_INVISIBLE}{_BRACKETS}][{_INVISIBLE}{_BRACKETS}]*")
_SELDOM = re.compile(f"[{_RARE}]")
_UNSEEN = re.compile(f"(?![\n\t])[{_INVISIBLE}{_RARE}]")
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
