"""Reads several judges from one YAML file: their models, settings and limits of cost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from voirdire._messages import shorten
from voirdire._types import (  # pydantic reads the annotations
    Language,
    Mode,
    ModelSource,
    ReplyForm,
)
from voirdire._validation import is_number
from voirdire.documents import Filled, Form, Name, read_document, rule_error
from voirdire.judging.judges.key_material import find_keys, refuse_key_fields
from voirdire.judging.judges.llm_judge import Asking, load_llm_judge
from voirdire.judging.pricing import Price
from voirdire.models import Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.documents import Document
    from voirdire.documents import Path as Keys
    from voirdire.judging.judges.llm_judge import LlmJudge

__all__ = [
    "JudgeSpec",
    "load_judges",
    "load_llm_judges",
    "make_judge",
    "make_spec",
    "open_judges_file",
]

_MOST_JUDGES = 500

_MODEL = re.compile(r"[a-z][a-z0-9_.-]*/\S(?:.*\S)?")
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def _read_whole_number(value: Any, *, least: int) -> Any:
    """Read a whole number; 1e6 is one, true is none."""
    if not is_number(value) or value != int(value) or value < least:
        raise rule_error(f"be a whole number of at least {least}")
    return int(value)


def _make_number_reader(rule: str, is_right: Callable[[float], bool]) -> BeforeValidator:
    def read(value: Any) -> float:
        if not is_number(value) or not is_right(value):
            raise rule_error(f"be a number {rule}")
        return float(value)

    return BeforeValidator(read)


def _model(word: str) -> str:
    if not _MODEL.fullmatch(word):
        raise rule_error("be a provider and a model, such as openai/gpt-4o-mini")
    return word


def _effort(word: str) -> str:
    if not _WORD.fullmatch(word):
        raise rule_error("be a word, such as low, medium or high")
    return word


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_right = is_right and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        is_right = False
    if not is_right or any(character.isspace() for character in text):
        raise rule_error("be an address such as https://api.example.com/v1")
    return text


def _forms(words: list[ReplyForm]) -> list[ReplyForm]:
    if len(set(words)) != len(words):
        raise rule_error("hold each form once")
    return words


def _body(body: dict[str, Any]) -> dict[str, Any]:
    if not _is_json(body):
        raise rule_error("hold text for keys and finite numbers")
    return body


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(_is_json(inner) for inner in value)
    return not isinstance(value, float) or math.isfinite(value)


Natural = Annotated[int, BeforeValidator(lambda value: _read_whole_number(value, least=0))]
Count = Annotated[int, BeforeValidator(lambda value: _read_whole_number(value, least=1))]
Several = Annotated[int, BeforeValidator(lambda value: _read_whole_number(value, least=2))]
Dollars = Annotated[float, _make_number_reader("of at least 0", lambda number: number >= 0)]
Positive = Annotated[float, _make_number_reader("above 0", lambda number: number > 0)]
Temperature = Annotated[float, _make_number_reader("from 0 to 2", lambda number: 0 <= number <= 2)]
Url: TypeAlias = Annotated[Filled, AfterValidator(_url)]


class PriceForm(Form):
    """Prices of tokens, in US dollars per million."""

    input: Dollars
    cached_input: Dollars | None = None
    output: Dollars


class CapabilitiesForm(Form):
    """Abilities of a server."""

    forms: Annotated[list[ReplyForm], Field(min_length=1), AfterValidator(_forms)] | None = None
    top_logprobs: Natural | None = None
    images: bool = False


class SharedForm(Form):
    """Settings of a judge, and of `defaults` for all judges."""

    model: Annotated[Filled, AfterValidator(_model)] | None = None
    base_url: Url | None = None
    api_key_env: str | None = None
    reasoning_effort: Annotated[str, AfterValidator(_effort)] | None = None
    temperature: Temperature | None = None
    max_tokens: Count | None = None
    mode: Mode | None = None
    probability: ModelSource | None = None
    language: Language | None = None
    n_samples: Annotated[Count | None, Field(alias="samples")] = None
    n_examples: Annotated[Natural | None, Field(alias="examples")] = None
    top_logprobs: Several | None = None
    seed: Natural | None = None
    concurrency: Count | None = None
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    timeout_s: Positive | None = None
    max_cost: Positive | None = None
    keep_going: bool | None = None
    price: PriceForm | None = None
    capabilities: CapabilitiesForm | None = None
    extra: Annotated[dict[str, Any], AfterValidator(_body)] | None = None
    calibration: Filled | None = None


class JudgeForm(SharedForm):
    """One entry of `judges`."""

    name: Name


class JudgesForm(Form):
    """The whole file; the defaults and each judge are read by their own forms."""

    schema_: Annotated[Literal["voirdire.judges/1"], Field(alias="schema")]
    defaults: Any = None
    judges: Annotated[list[Any], Field(min_length=1, max_length=_MOST_JUDGES)]


_WHAT = "a file of judges"

_OWN_KEYS = {
    "logprobs": "probability",
    "max_completion_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    "messages": None,
    "model": "model",
    "n": "samples",
    "reasoning_effort": "reasoning_effort",
    "response_format": "capabilities",
    "seed": "seed",
    "stream": None,
    "temperature": "temperature",
    "top_logprobs": "top_logprobs",
}
"""Fields of a request that voirdire fills in, and the key that sets each of them."""


@dataclass(frozen=True, kw_only=True)
class JudgeSpec(Asking):
    """One judge of a file: its name, its model, and the fields of `Asking`.

    Attributes
    ----------
    name : str
        Its name in verdicts, unique in the file.
    model : str
        As `voirdire.models.load_model` takes it, such as ``"openai/o3-mini"``.
    """

    name: str
    model: str


def load_judges(path: str | Path) -> tuple[JudgeSpec, ...]:
    """Load the judges of a YAML file.

    Parameters
    ----------
    path : str or path
        A file in the form ``voirdire.judges/1``.

    Returns
    -------
    tuple of JudgeSpec
        In the order of the file, the file's defaults filled in.

    Raises
    ------
    RubricError
        If the file cannot be read or breaks a rule; the message begins with file, line and column,
        and `problems` has all of them.

    Notes
    -----
    The settings of a judge override `defaults`; null in a judge removes a default. `price`,
    `capabilities` and `extra` are taken whole, from one or the other.

    The file must not hold a key, not even in a comment: text that looks like one is refused, and no
    message repeats it.
    """
    return _read_judges(open_judges_file(path, what=_WHAT))


def open_judges_file(path: str | Path, *, what: str) -> Document:
    """Open a YAML file about judges, and refuse keys in it."""
    return refuse_key_fields(read_document(path, what=what, check_text=find_keys))


def make_spec(
    form: SharedForm,
    document: Document,
    *,
    path: Keys,
    name: str = "",
    max_cost: float | None = None,
) -> JudgeSpec | None:
    """Make a judge's spec from its form; None, with a noted problem, where it has no model."""
    _check_extra(form, document, path=(*path, "extra"))
    if form.model is None:
        document.add(path, "a judge must have the key `model`. Add it.")
        return None
    told = {
        key: value for key, value in _get_set_fields(form).items() if key in SharedForm.model_fields
    }
    spec = _spec({**told, "name": name}, document)
    return spec if max_cost is None else replace(spec, max_cost=max_cost)


def _read_judges(document: Document) -> tuple[JudgeSpec, ...]:
    """Read every readable judge, and note the problems of the others."""
    document.read(JudgesForm)
    shared = _read_defaults(document)
    rows = document.get(("judges",))
    lines: dict[str, int | None] = {}
    specs = []
    for place in range(len(rows) if isinstance(rows, list) else 0):
        form = document.read(JudgeForm, ("judges", place), what="a judge")
        if form is None:
            continue
        _check_name(form.name, document, path=("judges", place, "name"), lines=lines)
        _check_extra(form, document, path=("judges", place, "extra"))
        told = {**(shared or {}), **_get_set_fields(form)}
        if told.get("model") is not None:
            specs.append(_spec(told, document))
        elif shared is not None:  # else they may have named the model
            message = "a judge must have the key `model`. Add it, or add it to `defaults`."
            document.add(("judges", place), message)
    document.raise_problems()
    return tuple(specs)


def _read_defaults(document: Document) -> dict[str, Any] | None:
    """Read the defaults; None where something is wrong with them."""
    if document.get(("defaults",)) is None:
        return {}
    form = document.read(SharedForm, ("defaults",), what="`defaults`")
    if form is None:
        return None
    _check_extra(form, document, path=("defaults", "extra"))
    return _get_set_fields(form)


def _get_set_fields(form: SharedForm) -> dict[str, Any]:
    return {name: getattr(form, name) for name in form.model_fields_set}


def _check_name(name: str, document: Document, *, path: Keys, lines: dict[str, int | None]) -> None:
    """Check that a name is unique: it names a file, and some disks ignore case."""
    word, line = name.casefold(), document.line(path)
    if word in lines:
        message = (
            f"`name` must be different for each judge, got {shorten(name)!r} again "
            f"(first on line {lines[word]})."
        )
        document.add(path, message)
    lines.setdefault(word, line)


def _check_extra(form: SharedForm, document: Document, *, path: Keys) -> None:
    for name in form.extra or ():
        if name in _OWN_KEYS:
            ours = _OWN_KEYS[name]
            way_out = f"Use the key `{ours}`." if ours else "Delete it."
            message = f"`extra` must be without `{name}`, which voirdire fills in. {way_out}"
            document.add((*path, name), message, at_key=True)


def _spec(told: Mapping[str, Any], document: Document) -> JudgeSpec:
    said = {name: value for name, value in told.items() if value is not None}
    if "calibration" in said:  # its path is relative to the file
        said["calibration"] = str(Path(document.source).parent / said["calibration"])
    if "price" in said:
        said["price"] = Price(**said["price"].model_dump(), source="declared")
    if "capabilities" in said:
        said["capabilities"] = _capabilities(said["capabilities"])
    return JudgeSpec(**said)


def _capabilities(form: CapabilitiesForm) -> Capabilities:
    """Sort the forms, the strictest first."""
    known = get_args(ReplyForm)
    forms = known if form.forms is None else tuple(word for word in known if word in form.forms)
    return Capabilities(forms=forms, top_logprobs=form.top_logprobs, images=form.images)


def load_llm_judges(path: str | Path, *, reads_keys: bool = True) -> tuple[LlmJudge, ...]:
    """Load the language models of a YAML file of judges.

    Parameters
    ----------
    path : str or path
        A file with ``schema: voirdire.judges/1``.
    reads_keys : bool, optional
        As for `voirdire.models.load_model`.

    Returns
    -------
    tuple of LlmJudge
        In the order of the file.

    Raises
    ------
    InputError
        If the file breaks a rule, or a key is missing from the environment; the message says which.
        If it sends a key to another address than its provider's, and the environment variable
        ``VOIRDIRE_KEY_VARIABLES`` does not allow that.

    Notes
    -----
    A file, and the addresses in it, may come from a stranger. So its `api_key_env` may name only
    the provider's own variable, at the provider's own address. The user can allow others:
    ``VOIRDIRE_KEY_VARIABLES=MY_KEY@judge.example.com,OTHER@localhost:8000``.
    """
    return tuple(make_judge(spec, reads_keys=reads_keys) for spec in load_judges(path))


def make_judge(spec: JudgeSpec, *, reads_keys: bool) -> LlmJudge:
    """Make the judge of a spec."""
    return load_llm_judge(
        spec.model, spec, name=spec.name, reads_keys=reads_keys, is_from_file=True
    )
