"""Finds what looks like a key in a file, and refuses it without repeating it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.documents import Document, Path

__all__ = ["keys_in", "refuse_key_fields"]

_WAY_OUT = "Name the environment variable that holds it: `api_key_env: OPENAI_API_KEY`."

_KEY = re.compile(
    r"""
    (?<![A-Za-z0-9])
    (?: (?:sk|pk|rk|gsk|xai|pplx|nvapi|tgp|csk|fw|r8|hf|ghp|key)[-_][A-Za-z0-9_-]{16,}
      | AIza[A-Za-z0-9_-]{30,}                                   # Google
      | (?:AKIA|ASIA|ABSK)[A-Za-z0-9]{16,}                       # Amazon
      | eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}                # tokens of three parts
      | [Bb]earer[ ]+[A-Za-z0-9._~+/-]{8,}
      | [A-Za-z][A-Za-z0-9+.-]*://[^\s/@"']*:[^\s/@"']*@         # a password in an address
      | [?&][\w-]*(?:key|token|secret|password|signature)[\w-]*=[^\s&"']+
    )
    | (?<![A-Za-z0-9_-])(?=[A-Za-z]*[0-9])(?=[A-Z0-9]*[a-z])(?=[a-z0-9]*[A-Z])
      [A-Za-z0-9]{32,}(?![A-Za-z0-9_-])
    """,
    re.VERBOSE,
)
"""What providers' keys look like; last, what has no name but is long and mixes all it can."""

_FIELDS = {
    "accesskey",
    "accesstoken",
    "apikey",
    "apisecret",
    "apitoken",
    "authorization",
    "authtoken",
    "bearer",
    "clientsecret",
    "credentials",
    "key",
    "passwd",
    "password",
    "secret",
    "secretkey",
    "token",
    "xapikey",
}
"""Names of fields that hold keys, in lower case and without marks between the words."""

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def keys_in(text: str) -> Iterator[tuple[int, str]]:
    """Find what looks like a key in a text, comments included; the rule never repeats it."""
    for match in _KEY.finditer(text):
        yield match.start(), f"be without keys, got what looks like one. {_WAY_OUT}"


def refuse_key_fields(document: Document) -> Document:
    """Refuse fields that are there to hold a key, and a key where a variable's name should be."""
    _look(document.value, (), document)
    document.raise_problems()
    return document


def _look(value: Any, path: Path, document: Document) -> None:
    if isinstance(value, list):
        for place, item in enumerate(value):
            _look(item, (*path, place), document)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        message = _describe_problem(str(key), inner, what=document.what)
        if message is not None:
            document.add((*path, key), message, at_key=True)
        _look(inner, (*path, key), document)


def _describe_problem(name: str, value: Any, *, what: str) -> str | None:
    if re.sub(r"[-_. ]", "", name).lower() in _FIELDS:
        return f"{what} must be without keys, got `{shorten(name)}`. {_WAY_OUT}"
    if name == "api_key_env" and isinstance(value, str) and not _VARIABLE.fullmatch(value):
        return (
            "`api_key_env` must be the name of an environment variable, capital letters, digits "
            "and underscores. Write the name, such as OPENAI_API_KEY, and not the key."
        )
    return None
