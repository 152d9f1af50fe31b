"""Rules: code that answers a proposition about a response, true or false, without a call.

A regular expression is matched by polars, whose engine takes time in proportion to the text; it
and its text are bounded beside that, since both may come from an attacker. A schema of JSON is a
part of JSON Schema that refers to nothing. Functions are entry points of installed packages.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache
from importlib import metadata
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

import msgspec

from voirdire._messages import did_you_mean, shorten
from voirdire._types import RuleKind
from voirdire.errors import InputError
from voirdire.records import Failure, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.records import Item

RULE_FUNCTIONS = "voirdire.rules"
"""The group of entry points that a rule may name."""

_KINDS = get_args(RuleKind)
_MOST_TEXTS = 1_000
_MOST_PATTERN, _MOST_REPEATED, _MOST_MATCHED = 1_000, 100, 100_000
_REPEATS = re.compile(r"\{(\d{1,6})(?:,(\d{0,6}))?\}")
_ASIAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"[{_ASIAN}]|[^\W_{_ASIAN}]+(?:(?:['\u2019_-]|(?<=\d)[.,](?=\d))[^\W_{_ASIAN}]+)*"
)
"""A Chinese character, or letters and digits, with an apostrophe, hyphen or point between them."""

_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_NUMBER = re.compile(
    r"((?:(?<!\w)[-+\u2212])?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![\d.])\.\d+)"
    r"(?:[eE][-+]?\d{1,3}\b)?)(?:/(\d+)(?![\d/]))?"
)
"""A number, and what it is divided by."""

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\r?\n(.*?)\s*```\s*", re.DOTALL | re.IGNORECASE)


def read_rule(document: Any, *, may_call: bool = True) -> Rule:
    """Read a rule: a mapping with one kind, and perhaps `negated` and `ignore_case`.

    Parameters
    ----------
    document : mapping
        Such as ``{"contains": "refund"}`` or ``{"words": {"at_most": 150}}``.
    may_call : bool, optional
        Whether it may name a function; data may not.

    Returns
    -------
    Rule

    Raises
    ------
    InputError
        If it is no rule; the message begins with what a rule must do.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> apply_rule(read_rule({"words": {"at_most": 3}}), Item(id="1", response="Take two pills."))
    1.0
    """
    if not isinstance(document, dict):
        raise _refuse("be a mapping", document, "Write {contains: text}.")
    kinds = [key for key in document if key not in ("negated", "ignore_case")]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        wrong = next((str(key) for key in kinds if key not in _KINDS), "")
        way = did_you_mean(wrong, _KINDS).strip() if wrong else ""
        raise _refuse(f"have one of {', '.join(_KINDS)}", document, way)
    [kind] = kinds
    marks = {key: document.get(key, False) for key in ("negated", "ignore_case")}
    if not all(isinstance(mark, bool) for mark in marks.values()):
        raise _refuse("have true or false as `negated` and `ignore_case`", document)
    if marks["ignore_case"] and kind not in ("contains", "contains_any", "exact"):
        way = "Begin a regular expression with (?i)." if kind == "regex" else ""
        raise _refuse("have `ignore_case` with contains, contains_any or exact", document, way)
    if kind == "function" and not may_call:
        raise _refuse("not name a function in data", document, "Put it into a rubric's file.")
    return Rule(kind=kind, value=_RULES[kind][0](document[kind]), **marks)


def rule_document(rule: Rule) -> dict[str, Any]:
    """Write a rule as `read_rule` reads it."""
    value = rule.value["name"] if rule.kind == "function" else rule.value
    marks = {"negated": rule.negated, "ignore_case": rule.ignore_case}
    return {rule.kind: value} | {key: True for key, mark in marks.items() if mark}


def apply_rule(rule: Rule, item: Item) -> float | Failure:
    """Answer by a rule.

    Parameters
    ----------
    rule : Rule
        As `read_rule` gives it.
    item : Item
        Whose response it is about.

    Returns
    -------
    float or Failure
        1.0 where the rule holds, else 0.0; a `Failure` where it cannot say: a function that raises,
        a text that is too long for a regular expression.
    """
    if rule.kind == "verifier":
        return Failure(reason=f"no rule fits the verifier {rule.value!r}")
    holds = _RULES[rule.kind][1](rule, item)
    return holds if isinstance(holds, Failure) else float(holds is not rule.negated)


def _refuse(rule: str, value: Any, way: str = "") -> InputError:
    return InputError(f"must {rule}, got {shorten(value)!r}.{' ' if way else ''}{way}")


# The values ------------------------------------------------------------------------------------


def _read_texts(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    is_list = isinstance(texts, list) and 0 < len(texts) <= _MOST_TEXTS
    if not (is_list and all(isinstance(x, str) and x for x in texts)):
        raise _refuse(f"be text, or a list of at most {_MOST_TEXTS} texts", value)
    return texts


def _read_pattern(value: Any) -> str:
    if not (isinstance(value, str) and 0 < len(value) <= _MOST_PATTERN):
        raise _refuse(f"be a regular expression of at most {_MOST_PATTERN:,} characters", value)
    counts = [max(int(low), int(high or 0)) for low, high in _REPEATS.findall(value)]
    if math.prod(max(n, 1) for n in counts) > _MOST_REPEATED:
        raise _refuse(f"repeat at most {_MOST_REPEATED} times in all", value)
    try:
        _matches(value, "")
    except Exception as error:
        why = str(error).rpartition("error: ")[2].partition("\n")[0].strip(" .")
        rule = "be a regular expression that polars takes"
        raise _refuse(rule, value, f"It says: {why}.") from error
    return value


def _read_ends(value: Any) -> dict[str, int]:
    is_right = isinstance(value, dict) and bool(value) and value.keys() <= {"at_least", "at_most"}
    if not is_right or not all(_is_number(n) and n == int(n) for n in value.values()):
        raise _refuse("be whole numbers `at_least` and `at_most`", value, "Write {at_most: 150}.")
    ends = {key: int(n) for key, n in value.items()}
    if ends.get("at_least", 0) > ends.get("at_most", math.inf) or min(ends.values()) < 0:
        raise _refuse("have `at_least` from 0 to `at_most`", value)
    return ends


def _read_number(value: Any) -> dict[str, float]:
    known = value if isinstance(value, dict) else {"value": value}
    numbers = {"tolerance": 0.0} | known
    if numbers.keys() != {"value", "tolerance"} or not all(map(_is_number, numbers.values())):
        raise _refuse("be a number, or `value` and `tolerance`", value)
    if numbers["tolerance"] < 0:
        raise _refuse("have a `tolerance` of at least 0", value)
    return {key: float(number) for key, number in numbers.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _read_function(value: Any) -> dict[str, str]:
    if not isinstance(value, str):
        raise _refuse("name an entry point", value)
    return {"name": value, "version": _find_function(value)[1]}


@cache
def _find_function(name: str) -> tuple[Callable[[Item], bool], str]:
    """Load a function, and say of which distribution and version it is."""
    known = {each.name: each for each in metadata.entry_points(group=RULE_FUNCTIONS)}
    if name not in known:
        shown = ", ".join(sorted(known)) or "none"
        raise _refuse(f"name an entry point of `{RULE_FUNCTIONS}` ({shown})", name)
    dist = known[name].dist
    return known[name].load(), "" if dist is None else f"{dist.name} {dist.version}"


def _read_schema(value: Any, level: int = 0) -> Any:
    """Check a schema: each keyword is known, so that none is passed over in silence."""
    if isinstance(value, bool) and (value or level):
        return value
    if not isinstance(value, dict) or level > _MOST_LEVELS:
        raise _refuse(f"be true or a JSON Schema of at most {_MOST_LEVELS} levels", value)
    for key, inner in value.items():
        if key not in _KEYWORDS:
            raise _refuse(f"be a JSON Schema of {', '.join(_KEYWORDS)}", key)
        try:
            msgspec.convert(inner, _KEYWORDS[key])
        except msgspec.ValidationError as error:
            raise _refuse(f"be a JSON Schema with another `{key}`", inner, f"{error}.") from error
        _ = key != "pattern" or _read_pattern(inner)
        nested = inner.values() if key == "properties" else inner if key == "anyOf" else [inner]
        for part in nested if key in _NESTED else ():
            _read_schema(part, level + 1)
    return value


# The checks ------------------------------------------------------------------------------------


def _fold(rule: Rule, *texts: str) -> list[str]:
    return [text.casefold() for text in texts] if rule.ignore_case else list(texts)


def _check_contains(rule: Rule, item: Item) -> bool:
    text, *parts = _fold(rule, item.response, *rule.value)
    return (any if rule.kind == "contains_any" else all)(part in text for part in parts)


def _check_exact(rule: Rule, item: Item) -> bool:
    text, *answers = (x.strip() for x in _fold(rule, item.response, *rule.value))
    return text in answers


def _check_pattern(rule: Rule, item: Item) -> bool | Failure:
    if len(item.response) > _MOST_MATCHED:
        return Failure(reason=f"over {_MOST_MATCHED:,} characters for a regular expression")
    return _matches(rule.value, item.response)


def _matches(pattern: str, text: str) -> bool:
    import polars as pl

    written = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return bool(pl.Series([written]).str.contains(pattern, strict=True).item())


def _check_length(rule: Rule, item: Item) -> bool:
    is_words = rule.kind == "words"
    text = item.response
    if is_words and not text.isascii():  # signs above and below letters part no word
        text = "".join(x for x in text if unicodedata.category(x)[0] != "M")
    n = len(_WORD.findall(text)) if is_words else len(text)
    return bool(rule.value.get("at_least", 0) <= n <= rule.value.get("at_most", math.inf))


def _check_number(rule: Rule, item: Item) -> bool:
    """Compare with the last number of the response, or that of its last box."""
    boxes = _BOXED.findall(item.response)
    written = [*_NUMBER.finditer(boxes[-1] if boxes else item.response)]
    if not written:
        return False
    last = written[-1]
    number = float(last[1].replace(",", "").replace("\u2212", "-"))
    if last[2]:
        is_date = last.string[: last.start()].endswith("/")
        number = float(last[2]) if is_date else number / (float(last[2]) or math.nan)
    gap, most = abs(number - rule.value["value"]), rule.value["tolerance"]
    return bool(gap <= most or math.isclose(gap, most, rel_tol=1e-9, abs_tol=1e-12))


def _check_json(rule: Rule, item: Item) -> bool:
    fenced = _FENCED.fullmatch(item.response)
    try:
        value = msgspec.json.decode(fenced[1] if fenced else item.response.strip())
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return _fits(value, rule.value)


_MOST_LEVELS = 32
_NESTED = ("properties", "additionalProperties", "items", "anyOf")
_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_SIZED = {"Items": list, "Length": str, "Properties": dict}
_LIMITS = {"minimum": ge, "maximum": le, "exclusiveMinimum": gt, "exclusiveMaximum": lt}
_LIMITS |= {f"min{name}": ge for name in _SIZED} | {f"max{name}": le for name in _SIZED}
_Type: TypeAlias = Literal["object", "array", "string", "number", "integer", "boolean", "null"]
_KEYWORDS: dict[str, Any] = {
    "type": _Type | list[_Type],
    "enum": list[Any],
    "const": Any,
    "anyOf": Annotated[list[Any], msgspec.Meta(min_length=1)],
    "required": list[str],
    "properties": dict[str, Any],
    **dict.fromkeys(("additionalProperties", "items"), dict[str, Any] | bool),
    "pattern": str,
    **dict.fromkeys(_LIMITS, int | float),
    **dict.fromkeys(("title", "description", "default", "examples"), Any),
    **dict.fromkeys(("$schema", "$id", "$comment"), Any),
}
"""The part of JSON Schema that a rule knows, with the type of each value."""


def _fits(value: Any, schema: Any) -> bool:
    """Whether a value fits a schema that `_read_schema` has checked."""
    if isinstance(schema, bool):
        return schema
    inner = []
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if not {*schema.get("required", ())} <= value.keys():
            return False
        inner = [(x, known.get(name, others)) for name, x in value.items()]
    elif isinstance(value, list):
        inner = [(x, schema.get("items", True)) for x in value]
    is_one = any(_fits(value, part) for part in schema.get("anyOf", (True,)))
    return is_one and _fits_alone(value, schema) and all(_fits(*each) for each in inner)


def _fits_alone(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value fits what a schema says of it beside its parts."""
    for name in _LIMITS.keys() & schema.keys():
        kind = _SIZED.get(name[3:])
        is_meant = _is_number(value) if kind is None else isinstance(value, kind)
        if is_meant and not _LIMITS[name](len(value) if kind else value, schema[name]):
            return False
    equals = [[schema["const"]]] if "const" in schema else []
    equals += [schema["enum"]] if "enum" in schema else []
    for each in equals:  # true is not 1
        if not any(value == x and isinstance(value, bool) is isinstance(x, bool) for x in each):
            return False
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if "type" in schema and not any(_is_type(value, name) for name in names):
        return False
    pattern = schema.get("pattern") if isinstance(value, str) else None
    return pattern is None or (len(value) <= _MOST_MATCHED and _matches(pattern, value))


def _is_type(value: Any, name: str) -> bool:
    if name not in _TYPES:
        return _is_number(value) and (name == "number" or float(value).is_integer())
    return isinstance(value, _TYPES[name])


def _call_function(rule: Rule, item: Item) -> bool | Failure:
    answer: Any
    try:
        answer = _find_function(rule.value["name"])[0](item)
    except Exception as error:  # noqa: BLE001  # a fault of the function: no answer
        return Failure(reason=f"the rule raised {type(error).__name__}")
    if not isinstance(answer, bool):
        return Failure(reason=f"the rule gave {type(answer).__name__}, not true or false")
    return answer


_RULES: Mapping[str, tuple[Callable[[Any], Any], Callable[[Rule, Item], bool | Failure]]] = {
    "contains": (_read_texts, _check_contains),
    "contains_any": (_read_texts, _check_contains),
    "exact": (_read_texts, _check_exact),
    "regex": (_read_pattern, _check_pattern),
    "characters": (_read_ends, _check_length),
    "words": (_read_ends, _check_length),
    "json": (_read_schema, _check_json),
    "number": (_read_number, _check_number),
    "function": (_read_function, _call_function),
}
"""How the value of each kind is read, and what checks it."""
