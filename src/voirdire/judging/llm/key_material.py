"""Keys have no place in a file: find what looks like one, and never repeat it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.rubrics.problems import MOST_PROBLEMS, Problem, problem_error
from voirdire.rubrics.yaml_nodes import ListNode, MappingNode, ScalarNode

if TYPE_CHECKING:
    from voirdire.rubrics.yaml_nodes import Node

__all__ = ["refuse_key_fields", "refuse_keys"]

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


def refuse_keys(text: str, *, source: str) -> None:
    """Refuse a text in which anything looks like a key, comments included.

    Raises
    ------
    RubricError
        With every place, and none of the keys.
    """
    message = f"a file of judges must be without keys, got what looks like one. {_WAY_OUT}"
    problems = []
    for match in islice(_KEY.finditer(text), MOST_PROBLEMS):
        lines = re.split(r"\r\n|\r|\n", text[: match.start()])
        line, column = len(lines), len(lines[-1]) + 1
        problems.append(Problem(source=source, line=line, column=column, message=message))
    if problems:
        raise problem_error(*problems)


def refuse_key_fields(root: Node, *, source: str) -> None:
    """Refuse fields that are there to hold a key, and a key where a variable's name should be.

    Raises
    ------
    RubricError
        With every such field, and none of the values.
    """
    problems: list[Problem] = []
    _look(root, problems, source=source)
    if problems:
        raise problem_error(*problems[:MOST_PROBLEMS])


def _look(node: Node, problems: list[Problem], *, source: str) -> None:
    if isinstance(node, ListNode):
        for item in node.items:
            _look(item, problems, source=source)
    if not isinstance(node, MappingNode):
        return
    for key, value in node.pairs.values():
        message = _wrong(str(key.value), value)
        if message is not None:
            problems.append(
                Problem(source=source, line=key.line, column=key.column, message=message)
            )
        _look(value, problems, source=source)


def _wrong(name: str, value: Node) -> str | None:
    if re.sub(r"[-_. ]", "", name).lower() in _FIELDS:
        return f"a file of judges must be without keys, got `{shorten(name)}`. {_WAY_OUT}"
    word = value.value if isinstance(value, ScalarNode) else None
    if name == "api_key_env" and isinstance(word, str) and not _VARIABLE.fullmatch(word):
        return (
            "`api_key_env` must be the name of an environment variable, capital letters, digits "
            "and underscores. Write the name, such as OPENAI_API_KEY, and not the key."
        )
    return None
