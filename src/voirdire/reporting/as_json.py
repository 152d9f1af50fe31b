"""Results as JSON and back: the JSON is the record, and an undefined figure is null.

Files come from anywhere: they are bounded, unknown and missing keys are refused, and every error
names the place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from voirdire._messages import shorten
from voirdire._types import Margin, Share
from voirdire.errors import InputError
from voirdire.io.files import RowError, check_keys
from voirdire.records.plain import as_plain, without_nan

MOST_BYTES = 256 * 2**20
"""Longest JSON of a result; the largest study in the tests has a tenth of it."""

_KINDS = {
    "examinations": "studies.whole_study.Examination",
    "drives": "studies.reward.result.RewardExamination",
    "wanted_power": "stats.power_analysis.PowerResult",
    "gold": "studies.gold.GoldExamination",
    "rates": "studies.rates.RateReport",
    "self_preference": "studies.probing.results.ProbeReport",
    "winning_rate": "stats.results.AltTestResult",
    "batches": "judging.batch_run.BatchRun",
    "mean_expected": "rewards.criteria_scoring.CriteriaScores",
    "parts": "rewards.folder_scoring.FolderScores",
    "n_left_out": "studies.rubric_check.RubricCheck",
    "n_files_there": "judging.folder_run.FolderSummary",
    "layout": "judging.summary.JudgingSummary",
    "replies": "judging.replies.ReplyListing",
    "n_scored": "rewards.scoring.ScoringSummary",
    "slots": "rewards.synthesis.synthesize.SynthesisSummary",
    "strata": "rewards.training.sample.TrainingSample",
}
"""A key by which each kind of result is known, and where the kind is."""
_BESIDE = {"calibration", "reward_examination"}
"""What commands print beside an examination."""
_NUMBER = {
    float: float | None,
    Share: Annotated[float, Meta(ge=-1e-9, le=1 + 1e-9)] | None,
    Margin: Annotated[float, Meta(ge=0, lt=1)],
    int: Annotated[int, Meta(ge=0, le=10**15)],
}

Build: TypeAlias = Callable[[Any], Any]


def to_json(result: Any) -> str:
    """Write any result as indented JSON; an undefined figure is null.

    Parameters
    ----------
    result : dataclass instance
        What `examine`, `alt_test`, `power`, `fit` and their like return, or a certificate.

    Returns
    -------
    str
        One object: the fields of the record under their names.
    """
    plain = result.as_dict() if hasattr(result, "as_dict") else as_plain(result)
    return json.dumps(without_nan(plain), indent=2, ensure_ascii=False, allow_nan=False)


def from_json(
    content: str | bytes | Mapping[str, Any],
    kind: type | None = None,
    *,
    source: str = "result.json",
) -> Any:
    """Read what `to_json` wrote.

    Parameters
    ----------
    content : str, bytes or mapping
        The JSON, as text, as UTF-8, or decoded; null and nan are alike.
    kind : type, optional
        Which record it is, by default told by its keys.
    source : str, optional
        What errors call it.

    Returns
    -------
    dataclass instance
        The record, nan where the JSON has null.

    Raises
    ------
    InputError
        If it is no such JSON, longer than 256 MiB, or a key is unknown, missing, of a wrong type or
        out of range; the message names the place.

    Examples
    --------
    >>> import voirdire
    >>> truth = {i: i % 2 for i in range(60)}
    >>> found = voirdire.alt_test(truth, {"ann": truth, "bob": truth})
    >>> from_json(to_json(found)).outcome
    'passed'
    """
    if isinstance(content, str | bytes) and len(content) > MOST_BYTES:
        sizes = f"at most {MOST_BYTES >> 20} MiB, got {len(content) / 2**20:,.0f} MiB"
        msg = f"{source}: must be JSON of {sizes}. Write a part of it."
        raise InputError(msg)
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        plain: Any = text
        if isinstance(text, str):
            plain = json.loads(text, object_pairs_hook=check_keys)
        plain = without_nan(plain)
    except (RecursionError, RowError, ValueError) as error:  # no JSON, a key twice, no UTF-8
        msg = f"{source}: must be JSON that voirdire wrote: {shorten(str(error))}."
        raise InputError(msg) from error
    if isinstance(plain, dict) and kind is None:
        path = next((path for key, path in _KINDS.items() if key in plain), "")
        module, _, name = f"voirdire.{path}".rpartition(".")
        kind = getattr(import_module(module), name) if path else None
    if not isinstance(plain, dict) or kind is None:
        got = shorten(repr(plain), width=60)
        msg = f"{source}: must be a result that voirdire wrote, got {got}. Write it with `--json`."
        raise InputError(msg)
    if "examinations" in plain:
        plain = {key: value for key, value in plain.items() if key not in _BESIDE}
    form, build = _form(kind)
    try:
        return build(msgspec.convert(plain, form))
    except msgspec.ValidationError as error:
        said, _, place = shorten(str(error), width=300).replace("`", "'").partition(" - at '")
        place = place.rstrip("'") or "$"
        msg = (
            f"{source}: {place} must be as voirdire writes it: {said}. Write it anew with `--json`."
        )
        raise InputError(msg) from None


# Types ------------------------------------------------------------------------------------------


@cache
def _form(hint: Any) -> tuple[Any, Build]:
    """Return the type that msgspec checks, and what makes the record of what it has read."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _NUMBER:
        return _NUMBER[hint], _to_figure if hint in (float, Share) else _keep
    if origin in (Union, UnionType):
        return _form_of_union([part for part in parts if part is not NoneType])
    if origin is tuple:
        form, build = _form(parts[0])
        return GenericAlias(tuple, (form, ...)), lambda values: tuple(map(build, values))
    if origin in (dict, Mapping):
        form, build = _form(parts[1])
        return GenericAlias(dict, (str, form)), lambda members: {
            k: build(x) for k, x in members.items()
        }
    return _form_of_record(hint) if is_dataclass(hint) else (hint, _keep)


def _keep(value: Any) -> Any:
    return value


def _to_figure(value: float | None) -> float:
    return float("nan") if value is None else value


def _form_of_union(hints: list[Any]) -> tuple[Any, Build]:
    """Read None as it is; of several records that one whose keys fit."""
    forms = [_form(hint) for hint in hints]
    if sum(map(is_dataclass, hints)) < 2:
        form: Any = Union[(*(form for form, _ in forms), NoneType)]  # of a list
        build = forms[0][1] if is_dataclass(hints[0]) or get_origin(hints[0]) else _keep
        return form, lambda value: None if value is None else build(value)

    def read(value: dict[str, Any]) -> Any:
        names = [{each.name for each in fields(hint)} for hint in hints]
        place = next((at for at, those in enumerate(names) if value.keys() <= those), 0)
        form, build = forms[place]
        return build(msgspec.convert(value, form))

    return dict[str, Any], read


def _form_of_record(record: Any) -> tuple[Any, Build]:
    hints = get_type_hints(record, include_extras=True)
    keys = {each.name: each.metadata.get("key", each.name) for each in fields(record)}
    members = {name: _form(hints[name]) for name, key in keys.items() if key is not None}
    form = msgspec.defstruct(
        record.__name__,
        [
            *((name, member) for name, (member, _) in members.items()),
            *((name, Any) for name in getattr(record, "PLAIN", ())),
        ],
        rename={name: key for name, key in keys.items() if key not in (None, name)},
        kw_only=True,
        forbid_unknown_fields=True,
    )
    builds = [(name, build) for name, (_, build) in members.items()]
    return form, lambda read: record(**{name: make(getattr(read, name)) for name, make in builds})
