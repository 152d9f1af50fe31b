"""Finds what looks like a key in a file, and refuses it without repeating it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.documents import Document, Path

__all__ = ["find_keys", "refuse_key_fields"]

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
"""Patterns of providers' keys; the last one matches long strings of mixed case and digits."""

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
"""Names of fields that hold keys, in lower case and without separators."""

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def find_keys(text: str) -> Iterator[tuple[int, str]]:
    """Find text that looks like a key, in comments too; the messages never repeat it."""
    for match in _KEY.finditer(text):
        yield match.start(), f"be without keys, got text that looks like one. {_WAY_OUT}"


def refuse_key_fields(document: Document) -> Document:
    """Refuse fields that hold a key, and a key where a variable's name should be."""
    _check_value(document.value, (), document)
    document.raise_problems()
    return document


def _check_value(value: Any, path: Path, document: Document) -> None:
    if isinstance(value, list):
        for place, item in enumerate(value):
            _check_value(item, (*path, place), document)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        message = _describe_problem(str(key), inner, what=document.what)
        if message is not None:
            document.add((*path, key), message, at_key=True)
        _check_value(inner, (*path, key), document)


def _describe_problem(name: str, value: Any, *, what: str) -> str | None:
    if re.sub(r"[-_. ]", "", name).lower() in _FIELDS:
        return f"{what} must be without keys, got `{shorten(name)}`. {_WAY_OUT}"
    if name == "api_key_env" and isinstance(value, str) and not _VARIABLE.fullmatch(value):
        return (
            "`api_key_env` must be the name of an environment variable, capital letters, digits "
            "and underscores. Write the name, such as OPENAI_API_KEY, and not the key."
        )
    return None
