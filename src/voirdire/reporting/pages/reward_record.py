"""The record that the page of a reward is made from: the JSON of its examination."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records.plain import without_nan
from voirdire.reporting.pages.frame import Dropped  # noqa: TC001  # msgspec reads it
from voirdire.reporting.reward_json import reward_examination_as_dict
from voirdire.studies.reward.result import DegenerateKind  # noqa: TC001

if TYPE_CHECKING:
    from voirdire.studies.reward.result import RewardExamination

__all__ = [
    "MOST_BYTES",
    "SIGNALS",
    "BehaviorScale",
    "BenchSubset",
    "DegenerateCheck",
    "DegenerateExample",
    "ErrorRate",
    "FeatureDrive",
    "LabelHistogram",
    "NearIdeal",
    "PolicyCheck",
    "Rate",
    "RefusalErrors",
    "RewardNote",
    "RewardReport",
    "RouterCheck",
    "as_reward_report",
    "read_reward_report",
]

SCHEMA = "voirdire.reward_examination/1"
SIGNALS = ("base", "total", "rules")
_WITH_SIGNALS = ("error_rates", "histograms", "near_ideal", "refusals", "bench")

Signal: TypeAlias = Literal["base", "total", "rules"]
Number: TypeAlias = float | None
Share: TypeAlias = Annotated[float, Meta(ge=-1e-9, le=1 + 1e-9)] | None
Count: TypeAlias = Annotated[int, Meta(ge=0, le=10**15)]


class Rate(Struct, frozen=True, kw_only=True):
    """A share or a mean with its interval."""

    value: Number
    low: Number = None
    high: Number = None
    n: Count = 0
    n_prompts: Count = 0


class ErrorRate(Struct, frozen=True, kw_only=True):
    """How often a signal ranks a comparison the wrong way; no behavior is all together."""

    behavior: str | None
    signal: Signal
    against: Literal["all", "best"]
    rate: Rate
    tie_share: Share = None


class LabelHistogram(Struct, frozen=True, kw_only=True):
    """Centred rewards of the completions with one label."""

    behavior: str
    signal: Signal
    label: str
    edges: list[float]
    counts: list[Count]
    mean: Number = None
    standard_deviation: Number = None


class NearIdeal(Struct, frozen=True, kw_only=True):
    """The best label against the next."""

    behavior: str
    signal: Signal
    best: str
    next: str
    error_rate: Rate
    mean_gap: Rate


class RefusalErrors(Struct, frozen=True, kw_only=True):
    """Prompts whose best-rewarded completion refuses and should not, or the other way round."""

    behavior: str
    signal: Signal
    kind: Literal["false_refusal", "missed_refusal"]
    by: Literal["labels", "judge"] = "judge"
    rate: Rate


class DegenerateExample(Struct, frozen=True, kw_only=True):
    """Nonsense that gets more reward than the best real response of its prompt."""

    prompt: str
    response: str
    reward: Number
    best_response: str
    best_reward: Number


class DegenerateCheck(Struct, frozen=True, kw_only=True):
    """What one kind of nonsense gets beside the real responses of its prompts."""

    behavior: str
    kind: DegenerateKind
    n_prompts: Count = 0
    mean_reward: Number = None
    mean_best: Number = None
    mean_median: Number = None
    share_above_best: Share = None
    share_above_median: Share = None
    examples: list[DegenerateExample] = field(default_factory=list)


class FeatureDrive(Struct, frozen=True, kw_only=True):
    """What one feature does to the reward of its behavior."""

    behavior: str
    feature: str
    weight: Number
    low: Number = None
    high: Number = None
    mean: Number = None
    spread: Number = None
    share: Share = None
    error_rate_without: Share = None
    is_dead: bool = False
    is_contradictory: bool = False
    demand: str = ""
    is_certified: bool = False


class BehaviorScale(Struct, frozen=True, kw_only=True):
    """Origin and scale of the rule rewards of one behavior."""

    behavior: str
    n_items: Count = 0
    n_prompts: Count = 0
    mean: Number = None
    standard_deviation: Number = None
    lowest: Number = None
    highest: Number = None
    mean_ideal: Number = None
    mean_worst: Number = None
    base_standard_deviation: Number = None


class RouterCheck(Struct, frozen=True, kw_only=True):
    """What the behavior router chose, and what a wrong weight vector costs."""

    behaviors: list[str]
    confusion: list[list[Count]]
    error_rate_right: Rate
    error_rate_routed: Rate
    cost: list[list[Share]]
    n_unrouted: Count = 0


class PolicyCheck(Struct, frozen=True, kw_only=True):
    """A pre-flight on the policy's own responses."""

    n_items: Count
    n_groups: Count
    group_size: Number = None
    n_without_variance: Count = 0
    n_missing: Count = 0
    base_spread: Number = None
    rule_spread: Number = None
    spread_ratio: Number = None
    class_shares: dict[str, Share] = field(default_factory=dict)
    n_calls: Count = 0
    n_tokens: Count = 0
    cost: Number = None
    seconds: Number = None
    step_size: Count = 0
    step_calls: Number = None
    step_cost: Number = None
    step_seconds: Number = None
    behaviors: dict[str, dict[str, Number]] = field(default_factory=dict)


class BenchSubset(Struct, frozen=True, kw_only=True):
    """Accuracy on chosen and rejected responses; no subset is all, ``*`` the mean over subsets."""

    subset: str | None
    signal: Signal
    accuracy: Rate
    tie_share: Share = None


class RewardNote(Struct, frozen=True, kw_only=True):
    """Something that the reader should know."""

    code: str
    sentence: str
    figures: dict[str, Any] = field(default_factory=dict)


class RewardReport(Struct, frozen=True, kw_only=True):
    """What `voirdire examine-reward --json` prints."""

    reward: dict[str, Any]
    n_items: Count
    n_prompts: Count
    n_comparisons: Count
    is_held_out: bool
    schema: str = SCHEMA
    error_rates: list[ErrorRate] = field(default_factory=list)
    histograms: list[LabelHistogram] = field(default_factory=list)
    near_ideal: list[NearIdeal] = field(default_factory=list)
    refusals: list[RefusalErrors] = field(default_factory=list)
    degenerate: list[DegenerateCheck] = field(default_factory=list)
    drives: list[FeatureDrive] = field(default_factory=list)
    scales: list[BehaviorScale] = field(default_factory=list)
    router: RouterCheck | None = None
    policy: PolicyCheck | None = None
    bench: list[BenchSubset] = field(default_factory=list)
    notes: list[RewardNote] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def as_reward_report(content: Any) -> RewardReport:
    """Turn plain values into records; `msgspec.ValidationError` says where they are not fit.

    Where there is no base reward, the JSON calls the rules ``"total"``: here they are the rules.
    """
    report = msgspec.convert(content, RewardReport, strict=True)
    parts: dict[str, list[Any]] = {name: getattr(report, name) for name in _WITH_SIGNALS}
    alone = {
        name: [msgspec.structs.replace(row, signal="rules") for row in rows]
        for name, rows in parts.items()
        if {row.signal for row in rows} == {"total"}
    }
    return msgspec.structs.replace(report, **alone)


MOST_BYTES = 64 * 2**20
"""Longest JSON that a page is made of: a thousand times a usual one."""
_MADE_BY = "Make one with `voirdire examine-reward --json`"
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_EXPECTED = re.compile(r"Expected `([^`]+)`")
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")


def read_reward_report(
    content: RewardExamination | dict[str, Any] | str | bytes, *, source: str = "reward.json"
) -> RewardReport:
    """Turn an examination of a reward, or its JSON, into checked records.

    Parameters
    ----------
    content : RewardExamination, dict, str or bytes
        What is read; nan and null are alike. Keys of newer versions are left aside.
    source : str, optional
        What errors call it.

    Returns
    -------
    RewardReport
        What the page shows.

    Raises
    ------
    InputError
        If it is no such JSON, longer than 64 MiB, or a value is of a wrong type or out of range.
    """
    plain = _plain(content, source)
    _check_sort(plain, source)
    try:
        report = as_reward_report(plain)
    except msgspec.ValidationError as error:
        raise InputError(_in_our_words(str(error), plain, source)) from error
    _check_shapes(report, source)
    return report


def _plain(content: Any, source: str) -> Any:
    if isinstance(content, str | bytes | bytearray):
        content = _decoded(content, source)
    elif not isinstance(content, dict):
        try:
            content = reward_examination_as_dict(content)
        except TypeError as error:  # no dataclass
            msg = "`content` must be the examination of a reward or its JSON, "
            raise InputError(f"{msg}got {shorten(content)}. {_MADE_BY}.") from error
    try:
        return without_nan(content)
    except RecursionError as error:
        msg = f"{source}: must be of sensible depth, got objects nested too deep. {_MADE_BY}."
        raise InputError(msg) from error


def _decoded(content: str | bytes | bytearray, source: str) -> Any:
    if len(content) > MOST_BYTES:
        size = f"{len(content) / 2**20:,.0f} MiB"
        msg = f"{source}: must be JSON of at most {MOST_BYTES // 2**20} MiB, got {size}. {_MADE_BY}"
        raise InputError(f"{msg} with fewer bins.")
    try:
        return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        found = error.doc[error.pos : error.pos + 20]
        shown = repr(shorten(found)) if found else "the end"
        msg = f"{source}:{error.lineno}:{error.colno}: must be JSON, got {shown}. {_MADE_BY}."
        raise InputError(msg) from error
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        msg = f"{source}: must be JSON in UTF-8, got {byte}. {_MADE_BY}."
        raise InputError(msg) from error
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        msg = f"{source}: must be JSON of sensible depth and numbers, got {error}. {_MADE_BY}."
        raise InputError(msg) from error


def _check_sort(plain: Any, source: str) -> None:
    """Tell other files of voirdire from the one that is wanted, before its keys are looked at."""
    wanted = f"{source}: must be what `voirdire examine-reward --json` prints"
    if not isinstance(plain, dict):
        msg = f"{wanted}, got {_sort_of(plain)}. {_MADE_BY}."
        raise InputError(msg)
    schema = plain.get("schema")
    if schema != SCHEMA:
        found = "no `schema`" if schema is None else f"schema {shorten(schema, width=60)!r}"
        msg = f"{wanted}, with the schema {SCHEMA!r}, got {found}. {_MADE_BY}."
        raise InputError(msg)


def _sort_of(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)}"
    return "null" if value is None else shorten(repr(value), width=60)


def _in_our_words(message: str, plain: Any, source: str) -> str:
    """Say where, what it must be, and what it is, instead of msgspec's sentence."""
    what, _, path = message.rpartition(" - at `")
    what, path = (what, path.rstrip("`")) if what else (message, "$")
    found = _at(plain, path)
    missing = re.search(r"missing required field `(\w+)`", what)
    if missing:
        return f"{source}: {path} must have the key `{missing[1]}`, got none. {_MADE_BY}."
    expected = _EXPECTED.match(what)
    if expected is None:
        rule = "one of the words that voirdire writes"
    else:
        rule = " or ".join(_WORDS.get(word, word) for word in expected[1].split(" | "))
        bounds = re.search(r"[<>]=? \S+?(?=,|$)", what[expected.end() :])
        rule += f" {bounds[0].replace('1.000000001', '1').replace('-1e-09', '0')}" if bounds else ""
    return f"{source}: {path} must be {rule}, got {found}. {_MADE_BY}."


def _at(plain: Any, path: str) -> str:
    """Follow a path of msgspec; ``[...]`` stands for any key of an object, so it ends there."""
    value = plain
    for step in _STEP.finditer(path):
        try:
            value = value[step["key"]] if step["key"] else value[int(step["index"])]
        except (KeyError, IndexError, TypeError, ValueError):
            return "something else"
    return _sort_of(value)


def _check_shapes(report: RewardReport, source: str) -> None:
    for place, row in enumerate(report.histograms):
        n_edges = len(row.edges)
        if n_edges != len(row.counts) + 1 or any(a >= b for a, b in pairwise(row.edges)):
            rule = f"rise, one more than the {len(row.counts)} counts"
            msg = f"{source}: $.histograms[{place}].edges must {rule}, got {n_edges}. {_MADE_BY}."
            raise InputError(msg)
    if report.router is None:
        return
    size = len(report.router.behaviors)
    for name, rows in (("confusion", report.router.confusion), ("cost", report.router.cost)):
        if len(rows) != size or any(len(row) != size for row in rows):
            msg = f"{source}: $.router.{name} must be a table of {size} x {size}, got "
            raise InputError(f"{msg}{len(rows)} rows. {_MADE_BY}.")
