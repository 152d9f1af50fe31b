"""Loads cascades and juries from YAML files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from voirdire.documents import Filled, Form, Name, open_regular, rule_error
from voirdire.judging.judges.cascade import DEFAULT, Bounds, CascadeJudge, read_pair
from voirdire.judging.judges.judges_file import (
    Positive,
    SharedForm,
    make_judge,
    make_spec,
    open_judges_file,
)
from voirdire.judging.judges.jury import Combine, JuryJudge
from voirdire.judging.local.judge import BUNDLED

if TYPE_CHECKING:
    from voirdire.judging.judges.jury import JuryMember

__all__ = ["detect_kind", "load_cascade", "load_judge_file", "load_jury"]


_SUFFIXES = (".yaml", ".yml")
_HEAD_BYTES = 1 << 16
_MARK = re.compile(
    r"""^(?:\{\s*)?["']?(?:(cascade|jury)["']?\s*:|schema["']?\s*:\s*["']?voirdire\.(cascade|jury)/)""",
    re.MULTILINE,
)


def detect_kind(judge: str | Path) -> Literal["cascade", "jury"] | None:
    """Return the kind of a judge's YAML file, cascade or jury; None for anything else.

    The file may still break a rule.
    """
    path = Path(judge)
    if path.suffix.lower() not in _SUFFIXES:
        return None
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    found = _MARK.search(head.replace("\r\n", "\n").replace("\r", "\n"))
    if found is None:
        return None
    return "cascade" if "cascade" in found.groups() else "jury"


def load_judge_file(
    path: str | Path, *, reads_keys: bool = True, max_cost: float | None = None
) -> CascadeJudge | JuryJudge | None:
    """Load a cascade or a jury from its file; None where it is neither."""
    kind = detect_kind(path)
    if kind is None:
        return None
    load = load_cascade if kind == "cascade" else load_jury
    return load(path, reads_keys=reads_keys, max_cost=max_cost)


def load_cascade(
    path: str | Path, *, reads_keys: bool = True, max_cost: float | None = None
) -> CascadeJudge:
    """Load a cascade from a YAML file.

    Parameters
    ----------
    path : str or path
        A file in the form ``voirdire.cascade/1``. Paths in `first` are relative to its folder.
    reads_keys : bool, optional
        As for `voirdire.models.load_model`.
    max_cost : float, optional
        US dollars at which the language model stops, in place of the file's limit.

    Returns
    -------
    CascadeJudge
        The cascade; its `then` is read like a judge of a file of judges.

    Raises
    ------
    RubricError
        If the file cannot be read or breaks a rule; the message begins with file, line and column,
        and `problems` has all of them.
    InputError
        If a key is missing from the environment, or may not go where the file sends it.

    Notes
    -----
    The file must not hold a key: text that looks like one is refused, and no message repeats it.
    `voirdire.judging.load_llm_judges` says which environment variables it may name.
    """
    document = open_judges_file(path, what="a cascade's file")
    document.read(CascadeFileForm)
    form = then = spec = None
    if document.has(("cascade",)):
        form = document.read(CascadeForm, ("cascade",), what="`cascade`")
    if document.has(("cascade", "then")):
        then = document.read(SharedForm, ("cascade", "then"), what="a judge")
    if then is not None:
        spec = make_spec(then, document, path=("cascade", "then"), max_cost=max_cost)
    if document.is_wrong or form is None or spec is None:
        raise document.error()
    return CascadeJudge(
        first=_resolve_path(path, form.first),
        then=make_judge(spec, reads_keys=reads_keys),
        unsure=form.unsure,
        propositions=None if form.propositions is None else tuple(form.propositions),
        name=form.name or "",
    )


def load_jury(
    path: str | Path, *, reads_keys: bool = True, max_cost: float | None = None
) -> JuryJudge:
    """Load a jury from a YAML file.

    Parameters
    ----------
    path : str or path
        A file in the form ``voirdire.jury/1``. Paths of judges are relative to its folder.
    reads_keys : bool, optional
        As for `voirdire.models.load_model`.
    max_cost : float, optional
        US dollars at which each language model stops, in place of the file's limits.

    Returns
    -------
    JuryJudge
        The jury; its language models are read like those of a file of judges.

    Raises
    ------
    RubricError
        If the file cannot be read or breaks a rule; the message begins with file, line and column,
        and `problems` has all of them.
    InputError
        If a key is missing from the environment, or may not go where the file sends it.

    Notes
    -----
    The file must not hold a key; see `load_cascade`.
    """
    document = open_judges_file(path, what="a jury's file")
    document.read(JuryFileForm)
    form = None
    if document.has(("jury",)):
        form = document.read(JuryForm, ("jury",), what="`jury`")
    judges: list[JuryMember] = []
    weights: list[float] = []
    rows = document.get(("jury", "judges"))
    for place in range(len(rows) if isinstance(rows, list) else 0):
        at = ("jury", "judges", place)
        row = document.read(JurorForm, at, what="a judge")
        if row is None:
            continue
        weights.append(1.0 if row.weight is None else row.weight)
        if row.judge is not None:
            if row.model_fields_set - {"judge", "weight"}:
                message = "a judge must have `judge` with nothing but `weight`, or `model`."
                document.add(at, message)
            judges.append(_resolve_path(path, row.judge))
            continue
        spec = make_spec(
            row, document, path=at, name=row.name or row.model or "", max_cost=max_cost
        )
        if spec is not None:
            judges.append(make_judge(spec, reads_keys=reads_keys and not document.is_wrong))
    if document.is_wrong or form is None:
        raise document.error()
    is_weighed = len(set(weights)) > 1
    return JuryJudge(
        judges=judges,
        combine=form.combine,
        weights=weights if is_weighed else None,
        name=form.name or "",
    )


def _resolve_path(path: str | Path, first: str) -> str:
    """Resolve the path of the first judge against the file's folder."""
    from voirdire.models import is_model_name

    if first == BUNDLED or is_model_name(
        first
    ):  # `CascadeJudge` refuses a model with a message of its own
        return first
    return str(Path(path).parent / first)


def _read_bounds(value: Any) -> Any:
    """Read one pair of numbers, or pairs by proposition."""
    if not isinstance(value, dict):
        return _read_pair(value)
    if DEFAULT not in value:
        raise rule_error(f"have the key `{DEFAULT}` beside those of propositions")
    return {str(name): _read_pair(pair) for name, pair in value.items()}


def _read_pair(value: Any) -> Bounds:
    pair = read_pair(value)
    if pair is None:
        raise rule_error("be two numbers such as [0.05, 0.95], the lower one first")
    return pair


class CascadeForm(Form):
    """The value of `cascade`; its second judge is read by the form of a file of judges."""

    name: Name | None = None
    first: Filled
    unsure: Annotated[Any, BeforeValidator(_read_bounds)]
    propositions: Annotated[list[Filled], Field(min_length=1)] | None = None
    then: Any


class CascadeFileForm(Form):
    """The whole file."""

    schema_: Annotated[Literal["voirdire.cascade/1"], Field(alias="schema")]
    cascade: Any


def _check_judges(value: Any) -> Any:
    if not isinstance(value, list) or len(value) < 2:
        raise rule_error("be a list of at least two judges, such as `{judge: local}`")
    return value


class JurorForm(SharedForm):
    """One entry of `judges` of a jury: a language model, or `judge` with a local one."""

    name: Name | None = None
    judge: Filled | None = None
    weight: Positive | None = None


class JuryForm(Form):
    """The value of `jury`; each judge is read by its own form."""

    name: Name | None = None
    combine: Combine = "mean"
    judges: Annotated[list[Any], BeforeValidator(_check_judges)]


class JuryFileForm(Form):
    """The whole file."""

    schema_: Annotated[Literal["voirdire.jury/1"], Field(alias="schema")]
    jury: Any
