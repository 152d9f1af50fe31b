"""What a server says of its errors, in whichever of the many shapes it says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ErrorWords", "read_error", "without_echo"]

_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_SPACE = re.compile(r"\s+")
_MOST_READ = 20_000  # characters of a body; a proxy's page may be any length
_DEEPEST = 4  # errors of a provider, quoted by a router, quoted by a gateway
_ECHO = 24  # characters in a row that are no coincidence


@dataclass(frozen=True, kw_only=True)
class ErrorWords:
    """An error of a server.

    Attributes
    ----------
    text : str
        What it says, on one line; never what it repeats of the request.
    codes : frozenset of str
        Its codes and types, in lower case.
    param : str
        The parameter that it blames, in lower case; empty where it blames none.
    status : int or None
        The HTTP status that it names itself, in a body whose own status says otherwise.
    """

    text: str
    codes: frozenset[str] = frozenset()
    param: str = ""
    status: int | None = None


def read_error(body: bytes | Any) -> ErrorWords:
    """Read the body of an error.

    Parameters
    ----------
    body : bytes or object
        As it came, or what was decoded of it.

    Returns
    -------
    ErrorWords
        Its text is empty where the body says nothing.
    """
    if not isinstance(body, bytes):
        return _read(body, depth=0)
    try:
        return _read(msgspec.json.decode(body), depth=0)
    except (msgspec.DecodeError, RecursionError):
        text = body[:_MOST_READ].decode("utf-8", "replace")
        return ErrorWords(text=_on_one_line(_TAGS.sub(" ", text) if "<" in text else text))


def _read(value: Any, *, depth: int) -> ErrorWords:
    if isinstance(value, str):
        return _read_text(value, depth=depth)
    if depth > _DEEPEST or not value:
        return ErrorWords(text="")
    if isinstance(value, list):
        if isinstance(value[0], dict) and "msg" in value[0]:
            return _read_validation(value)
        return _read(value[0], depth=depth + 1)
    if not isinstance(value, dict):
        return ErrorWords(text="")
    inner = value.get("error") or value.get("message") or value.get("detail")
    quoted = value.get("metadata")
    said = [_read(inner, depth=depth + 1)]
    if isinstance(quoted, dict) and quoted.get("raw"):  # a router quotes its provider
        said.append(_read(quoted["raw"], depth=depth + 1))
    return _joined(said, value)


def _read_text(text: str, *, depth: int) -> ErrorWords:
    if depth <= _DEEPEST and text.lstrip()[:1] in ("{", "["):
        try:
            return _read(msgspec.json.decode(text.encode()), depth=depth + 1)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            pass
    return ErrorWords(text=_on_one_line(text[:_MOST_READ]))


def _read_validation(problems: Sequence[Any]) -> ErrorWords:
    """Read a list of fields that a server does not take; their values are left out."""
    texts, codes, params = [], set(), []
    for problem in problems[:5]:
        if not isinstance(problem, dict):
            continue
        where = problem.get("loc")
        names = where if isinstance(where, list) else [where]
        param = ".".join(str(name) for name in names if name not in (None, "body"))
        texts.append(f"{param}: {problem.get('msg')}" if param else str(problem.get("msg")))
        params.append(param)
        codes.add(str(problem.get("type", "")).lower())
    param = params[0].lower() if params else ""
    return ErrorWords(text=_on_one_line("; ".join(texts)), codes=frozenset(codes), param=param)


def _joined(said: Sequence[ErrorWords], value: Mapping[str, Any]) -> ErrorWords:
    names = [value.get(name) for name in ("code", "type", "status")]
    innermost = value.get("innererror")
    names += [innermost.get("code")] if isinstance(innermost, dict) else []
    codes = {name.lower() for name in names if isinstance(name, str)}
    own = value.get("code")
    status = own if isinstance(own, int) and not isinstance(own, bool) else None
    param = value.get("param")
    return ErrorWords(
        text=": ".join(dict.fromkeys(words.text for words in said if words.text)),
        codes=frozenset(codes).union(*(words.codes for words in said)),
        param=param.lower() if isinstance(param, str) else next(w.param for w in said),
        status=next((w.status for w in said if w.status), status),
    )


def _on_one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def without_echo(text: str, *, contents: Sequence[str]) -> str:
    """Cut a server's words off where they begin to repeat the request.

    Parameters
    ----------
    text : str
        What the server says.
    contents : sequence of str
        What it was sent.

    Returns
    -------
    str
        The words before the repetition, with an ellipsis; all of them where there is none.
    """
    text = text[:2_000]
    sent = [_on_one_line(content) for content in contents]
    # Half a window stands whole in every window, at one of few places: where none of these is in
    # what was sent, which may be a megabyte, the windows themselves need not be looked for.
    half = _ECHO // 2
    near = [
        at
        for at in range(0, len(text) - half + 1, half)
        if any(text[at : at + half] in content for content in sent)
    ]
    places = {at - back for at in near for back in range(half + 1)}
    for at in sorted(places.intersection(range(len(text) - _ECHO + 1))):
        window = text[at : at + _ECHO]
        if any(window in content for content in sent):
            return f"{text[:at].rstrip()} …"
    return text
