"""Errors of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re

from voirdire.cli.shell import as_option

__all__ = ["in_options"]

_ARGUMENT = re.compile(r"(?<!column )`(\w+)`")
_COLUMNS = re.compile(r"""columns=\{(['"])(\w+)\1: [^}]*\}""")
_RATERS = re.compile(r"raters=\[[^\]]*\]")
_KEYWORD = re.compile(r"""\b(\w+)=(['"])([^'"]*)\2""")


def in_options(message: str) -> str:
    """Rewrite what a message says about arguments."""
    message = _COLUMNS.sub(r"--column \2=YOURS", message)
    message = message.replace("columns={...}", "--column OURS=YOURS")
    message = message.replace("`source` must be a file", "what is read must be a file", 1)
    message = _RATERS.sub("--rater COLUMN", message)
    message = message.replace("`other_judge=True`", "`--other-judge`")
    message = _KEYWORD.sub(_as_keyword, message)
    return _ARGUMENT.sub(lambda found: f"`{as_option(found[1]) or found[1]}`", message)


def _as_keyword(found: re.Match[str]) -> str:
    option = as_option(found[1])
    return f"{option} {found[3]!r}" if option else found[0]
