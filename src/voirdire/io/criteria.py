"""Reads the criteria that an item brings: lists of text with points, as public data write them."""

from __future__ import annotations

import ast
import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.io.files import RowError, got, is_unicode
from voirdire.records import Criterion, Rule
from voirdire.rubrics.rules import read_rule

if TYPE_CHECKING:
    from collections.abc import Callable

CRITERIA_COLUMNS = ("criteria", "rubrics", "rubric", "rubric_items", "Rubrics", "rubric_list")
"""Names of the list, in HealthBench, RaR, RubricHub, NeMo Gym, open-instruct and others."""

REFERENCE_COLUMNS = ("reference", "reference_answer", "ideal_completion", "gold_answer")
"""Names of an answer that is known to be right."""

_TEXTS = ("criterion", "criteria", "description", "requirement", "text", "rule")
_POINTS = ("points", "weight", "score")
_IDS = ("id", "name", "title")
_TAGS = ("tags", "tag", "categories", "category", "axis")
_MOST = 10_000
_MOST_TEXT = 1 << 22


def read_criteria(
    row: dict[str, Any], *, may_repeat: bool = False
) -> tuple[str, tuple[Criterion, ...]] | None:
    """Return the column of a row with criteria, and these; None where it has none.

    Raises
    ------
    RowError
        If they are not a list of texts, if a number of points is none, or two texts are equal,
        unless they may repeat.
    """
    column, found = list_criteria(row)
    if column is None:
        return None
    if not is_unicode(found):
        raise RowError("criteria must be Unicode, got half a surrogate pair", column=column)
    if len(found) > _MOST:
        raise RowError(f"there must be at most {_MOST:,} criteria, got {len(found):,}")
    criteria = tuple(_read_one(each, column) for each in found)
    texts = [each.text for each in criteria]
    if len(set(texts)) < len(texts) and not may_repeat:
        twice = next(text for text in texts if texts.count(text) > 1)
        raise RowError(f"criteria must differ, got {got(twice)} twice", column=column)
    return column, criteria


def list_criteria(row: dict[str, Any]) -> tuple[str | None, list[Any]]:
    """Find the column of a row with criteria, and the list in it as it is written."""
    column = next((name for name in CRITERIA_COLUMNS if row.get(name) is not None), None)
    if column is None:
        return None, []
    found = _decode(row[column], column)
    if isinstance(found, dict):  # a list within an object
        inner = next((found[name] for name in CRITERIA_COLUMNS if name in found), None)
        found = inner if isinstance(inner, list) else [found]
    if not isinstance(found, list):
        raise RowError(f"criteria must be a list, got {got(row[column])}", column=column)
    return column, found


META_EVALUATION = {"completion_id", "binary_labels", "anonymized_physician_ids", "rubric"}
"""Keys of a row of HealthBench's meta-evaluation, which is about one criterion of a response."""


def read_meta_row(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row of HealthBench's meta-evaluation the form of an item; others stay as they are.

    Its item is called ``COMPLETION:KEY``, as labels and verdicts on it are, and its cluster is its
    prompt.
    """
    text = row.get("rubric")
    if not (row.keys() >= META_EVALUATION and isinstance(text, str) and text.strip()):
        return row
    prompt, tag = row.get("prompt"), row.get("category")
    with suppress(RowError):
        prompt = _decode(prompt, "prompt") if str(prompt).lstrip().startswith("[") else prompt
    criterion = {"criterion": text, "tags": [tag] if isinstance(tag, str) else []}
    of_prompt = row.get("prompt_id")
    return {
        "id": f"{row['completion_id']}:{name_criterion(text)}",
        "prompt": prompt,
        "response": row.get("completion"),
        "group": of_prompt,
        "cluster": of_prompt,
        "criteria": [criterion],
    }


def name_criterion(text: str) -> str:
    """Return the key of a criterion with this text."""
    return Criterion(text=text.strip()).key


def read_of_item(row: dict[str, Any]) -> dict[str, Any]:
    """Take the criteria of an item, and its reference answer, out of what else its row says."""
    column, criteria = read_criteria(row) or ("", ())
    check_criteria(criteria, are_asked=True)
    del row[column]
    name = next((x for x in REFERENCE_COLUMNS if isinstance(row.get(x), str)), None)
    return {"criteria": criteria, "reference": None if name is None else row.pop(name)}


def check_criteria(criteria: tuple[Criterion, ...], *, are_asked: bool) -> None:
    """Refuse an item without criteria where the rubric asks about these."""
    if are_asked and not criteria:
        names = ", ".join(CRITERIA_COLUMNS)
        raise RowError(f"no criteria: they must be in a column named {names}; rename theirs")


def _decode(value: Any, column: str) -> Any:
    """Decode a list in a text cell: JSON, or Python as some copies of public data hold it."""
    if not isinstance(value, str):
        return value
    if len(value) > _MOST_TEXT:
        raise RowError("criteria must be at most 4 MiB of text, got more", column=column)
    for decode in (json.loads, ast.literal_eval):
        try:
            return decode(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    raise RowError(f"criteria must be a list in JSON, got {got(value)}", column=column)


def _read_one(value: Any, column: str) -> Criterion:
    if isinstance(value, str):
        value = {"criterion": value}
    if not isinstance(value, dict):
        raise RowError(f"a criterion must be text or an object, got {got(value)}", column=column)
    text = _first(value, _TEXTS)
    if not isinstance(text, str) or not text.strip():
        raise RowError(f"a criterion must have a text, got {got(value)}", column=column)
    points = _first(value, _POINTS)
    try:
        number = 1.0 if points is None else float(points)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or isinstance(points, bool):
        raise RowError(f"points must be a number, got {got(points)}", column=column)
    tags = _first(value, _TAGS)
    rule = _without_nulls(value.get("rule"))  # of columns that other rows fill
    if isinstance(rule, dict) and rule:
        try:
            rule = read_rule(rule, may_call=False)
        except InputError as error:
            raise RowError(f"a rule {error}", column=column) from error
    else:
        rule = _read_verifier(value, tags)
    if isinstance(tags, dict):
        tags = [f"{name}:{x}" for name, x in tags.items() if name not in _OF_VERIFIER]
    tags = [tags] if isinstance(tags, str) else tags or []
    if not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        raise RowError(f"tags must be a list of words, got {got(tags)}", column=column)
    name = _first(value, _IDS)
    return Criterion(
        text=text.strip(),
        points=0.0 if rule is not None and rule.kind == "verifier" else number,
        id=str(name) if isinstance(name, str | int) and str(name) != text else None,
        tags=tuple(tags),
        rule=rule,
    )


# Verifiers ---------------------------------------------------------------------------------------


def _read_verifier(row: dict[str, Any], tags: Any) -> Rule | None:
    """Read the rule of a row with ``verifier: rule``, as RubricHub and IFEval name functions.

    Where none fits, the criterion has no answer, so that it counts neither for nor against.
    """
    known = row
    if isinstance(tags, dict):
        known = row | tags
    elif isinstance(tags, list):
        pairs = [tag.partition(":") for tag in tags if isinstance(tag, str)]
        known = row | {name: value for name, _, value in pairs if name in _OF_VERIFIER}
    if known.get("verifier") in (None, "", "llm", "model"):
        return None
    name = str(known.get("function") or known["verifier"]).rpartition(":")[2]
    with suppress(RowError, InputError, TypeError, ValueError, KeyError, AttributeError):
        given = _without_nulls(known.get("parameters"))
        parameters = _decode({} if given is None else given, "parameters")
        return read_rule(_VERIFIERS[name](parameters), may_call=False)
    return Rule(kind="verifier", value=shorten(name, width=40))


def _bound(parameters: dict[str, Any], name: str) -> dict[str, int]:
    """Read "at least n" or "less than n"."""
    number = int(parameters[name])
    if parameters["relation"] in ("less than", "at most"):
        return {"at_most": number - (parameters["relation"] == "less than")}
    return {"at_least": {"at least": number, "more than": number + 1}[parameters["relation"]]}


def _match_often(parameters: dict[str, Any]) -> dict[str, Any]:
    ends = _bound(parameters, "frequency")
    is_most = "at_most" in ends
    number = ends["at_most"] + 1 if is_most else ends["at_least"]
    pattern = f"(?is)(?:{_escape(parameters['keyword'])}.*){{{number}}}"
    return {"regex": pattern, "negated": is_most}


def _escape(text: str) -> str:
    """Write a text so that a regular expression of Rust matches it as it is."""
    return "".join(rf"\x{{{ord(x):x}}}" if not x.isalnum() else x for x in text)


def _match_word(word: str) -> str:
    """Match a word; where it begins or ends with a sign, or in Chinese, there is no border."""
    ends = [r"\b" if re.match(r"[^\W\u3040-\u9fff]", end) else "" for end in (word[:1], word[-1:])]
    return f"{ends[0]}{_escape(word)}{ends[1]}"


_OF_VERIFIER = ("verifier", "function", "parameters")
_VERIFIERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "word_count_range": lambda x: {
        "words": {"at_least": int(x["min_count"]), "at_most": int(x["max_count"])}
    },
    "math_verify": lambda x: {"number": {"value": float(x), "tolerance": 1e-6}},
    "number_words": lambda x: {"words": _bound(x, "num_words")},
    "existence": lambda x: {"contains": x["keywords"], "ignore_case": True},
    "forbidden_words": lambda x: {
        "regex": rf"(?i)(?:{'|'.join(map(_match_word, x['forbidden_words']))})",
        "negated": True,
    },
    "frequency": _match_often,
    "no_comma": lambda _: {"contains": ",", "negated": True},
    "json_format": lambda _: {"json": True},
    "title": lambda _: {"regex": r"<<[^\n<>]+>>"},
    "postscript": lambda x: {"contains": x["postscript_marker"], "ignore_case": True},
    "quotation": lambda _: {"regex": r'(?s)^\s*".*"\s*$'},
    "end_checker": lambda x: {"regex": rf'(?i){_escape(x["end_phrase"].strip())}"*\s*$'},
    "english_lowercase": lambda _: {"regex": r"\p{Lu}", "negated": True},
    "english_capital": lambda _: {"regex": r"\p{Ll}", "negated": True},
}
"""By the name of a function, without the group before its colon."""


def _without_nulls(value: Any) -> Any:
    """Leave out what is null in mappings: Arrow fills up the keys of other rows."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(x) for key, x in value.items() if x is not None}


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)
