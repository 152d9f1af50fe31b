"""Opens the judges of a name or a YAML file: language models, a cascade, a jury."""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from pydantic import Field, create_model

from voirdire._types import ReplyForm
from voirdire._validation import is_number
from voirdire.documents import Filled, Form, Name, read_document
from voirdire.errors import InputError
from voirdire.judging.cascade import CascadeJudge
from voirdire.judging.jury import JuryJudge
from voirdire.judging.local.judge import BUNDLED
from voirdire.judging.model_settings import LlmJudge, ModelSettings, open_judge
from voirdire.judging.pricing import Price
from voirdire.models import Capabilities, is_model_name
from voirdire.models.providers import check_key_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from voirdire.documents import Document
    from voirdire.documents import Path as Keys
    from voirdire.judging.jury import JudgeLike

T = TypeVar("T")

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
      [A-Za-z0-9]{32,}(?![A-Za-z0-9_-])                          # mixed case and digits
    | ^(?:[^\#\n]*[\s{,"'?])?(?P<field>(?i:(?:x[-_.])?(?:(?:api|access|auth|client|secret)[-_. ]?)?
      (?:key|token|secret|passw(?:or)?d|authorization|bearer|credentials)))["']?\s*:(?=\s|["'])
    | api_key_env["']?\s*:\s*(?P<word>
      (?!["']?[A-Z_][A-Z0-9_]{0,99}["']?\s*(?:[,}\#]|$)|null|~)\S)  # and not a variable's name
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Keys of providers, fields that hold one, and what is no name of a variable where one stands."""


def is_judges_file(name: str | Path) -> bool:
    """Return whether a judge's name is that of a YAML file."""
    return str(name).lower().endswith((".yaml", ".yml"))


def open_judges(
    name: str | Path, settings: ModelSettings | None = None, *, reads_keys: bool = True
) -> tuple[JudgeLike, ...]:
    """Open a language model with these settings, or the judges of a YAML file.

    Any other name is a local judge's, and stays as it is. With an address in the settings every
    name but a local judge's is that of a model.
    """
    settings = settings or ModelSettings()
    if is_judges_file(name):
        return load_judges(name, reads_keys=reads_keys, max_cost=settings.max_cost)
    is_local = str(name) == BUNDLED or Path(name).is_file()
    if is_model_name(str(name)) or (settings.base_url is not None and not is_local):
        return (open_judge(replace(settings, model=str(name)), reads_keys=reads_keys),)
    return (name,)


def load_judges(
    path: str | Path, *, reads_keys: bool = True, max_cost: float | None = None
) -> tuple[LlmJudge | CascadeJudge | JuryJudge, ...]:
    """Load the judges of a YAML file: its language models, or its one cascade or jury.

    Parameters
    ----------
    path : str or path
        A file with ``schema: voirdire.judges/1``, ``voirdire.cascade/1`` or ``voirdire.jury/1``.
        Paths in it are relative to its folder.
    reads_keys : bool, optional
        As for `voirdire.models.load_model`.
    max_cost : float, optional
        US dollars at which each language model stops, in place of the file's limits.

    Returns
    -------
    tuple of LlmJudge, CascadeJudge or JuryJudge
        In the order of the file, the file's defaults filled in.

    Raises
    ------
    RubricError
        If the file cannot be read, breaks a rule, sends a key to another address than its
        provider's without leave, or a key is missing from the environment; the message begins with
        file, line and column, and `problems` has all of them.

    Notes
    -----
    An entry of `judges` has the fields of `ModelSettings`, ``n_samples`` as ``samples`` and
    ``n_examples`` as ``examples``. They override `defaults`; null takes a default back. `price`,
    `capabilities` and `extra` are taken whole, from one or the other.

    The file must not hold a key, not even in a comment: text that looks like one is refused, and no
    message repeats it. A file, and the addresses in it, may come from a stranger. So its
    `api_key_env` may name only the provider's own variable, at the provider's own address. The user
    can allow others: ``VOIRDIRE_KEY_VARIABLES=MY_KEY@judge.example.com,OTHER@localhost:8000``.
    """
    document = read_document(path, what="a file of judges", check_text=_find_keys)
    document.read(_FileForm)
    reader = _Reader(document, reads_keys, max_cost)
    kind = str(document.get(("schema",))).removeprefix("voirdire.").removesuffix("/1")
    if kind in _FileForm.model_fields and not document.has((kind,)):
        document.add((), f"a file of judges must have the key `{kind}`. Add it.")
    read: Any = {"cascade": reader.cascade, "jury": reader.jury}.get(kind, reader.judges)
    judges = tuple(read())
    document.raise_problems()
    return judges


def _find_keys(text: str) -> Iterator[tuple[int, str]]:
    """Find text that looks like a key, in comments too; the messages never repeat it."""
    for match in _KEY.finditer(text):
        yield (
            match.start(match.lastgroup or 0),
            f"be without keys, got text that looks like one. {_WAY_OUT}",
        )


def _form_of(record: type, **kinds: Any) -> type[Form]:
    """Make the form of a record in a file: its keys, and the kinds of some; it checks the rest."""
    made: dict[str, Any] = {}
    for row in fields(record):
        kind = kinds.get(row.name, Filled if "str" in str(row.type) else Any)
        default = ... if row.default is MISSING else None
        key = Field(default, alias=row.name.removeprefix("n_"))
        made[row.name] = (kind if default is ... else kind | None, key)
    return create_model(record.__name__, __base__=Form, **made)


class _PriceForm(Form):
    input: Any
    cached_input: Any = None
    output: Any


class _CapabilitiesForm(Form):
    forms: Annotated[list[ReplyForm], Field(min_length=1)] = Field(list(get_args(ReplyForm)))
    top_logprobs: Annotated[int, Field(gt=-1)] | None = None
    images: bool = False


_SettingsForm = _form_of(
    ModelSettings,
    name=Name,
    price=_PriceForm,
    capabilities=_CapabilitiesForm,
    extra=dict[str, Any],
)
_CascadeForm = _form_of(CascadeJudge, name=Name, propositions=list[Any])
_JuryForm = _form_of(JuryJudge, name=Name, judges=list[Any])


class _JurorForm(_SettingsForm):  # type: ignore[misc,valid-type]  # made above
    """One entry of `judges` of a jury: a language model, or `judge` with a local one."""

    judge: Filled | None = None
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class _FileForm(Form):
    """The whole file; what is in it is read by forms of its own."""

    schema_: Annotated[
        Literal["voirdire.judges/1", "voirdire.cascade/1", "voirdire.jury/1"], Field(alias="schema")
    ]
    defaults: Any = None
    judges: Annotated[list[Any], Field(min_length=1, max_length=500)] | None = None
    cascade: Any = None
    jury: Any = None


@dataclass(frozen=True)
class _Reader:
    """Reads the judges of a document, and notes its problems."""

    document: Document
    reads_keys: bool
    max_cost: float | None

    def judges(self) -> list[LlmJudge | None]:
        """Read a list of judges."""
        return [self._open(values, path) for path, values in self._rows(_SettingsForm, ("judges",))]

    def cascade(self) -> list[CascadeJudge | None]:
        """Read a cascade."""
        path = ("cascade", "then")
        settings = self._values(_CascadeForm, path[:1], what="`cascade`")
        values = self._values(_SettingsForm, path)
        then = None if values is None else self._open(values, path)
        if settings is None or then is None:
            return []
        first = self._find(settings["first"])
        return [self._make(path[:1], CascadeJudge, settings | {"first": first, "then": then})]

    def jury(self) -> list[JuryJudge | None]:
        """Read a jury."""
        settings = self._values(_JuryForm, ("jury",), what="`jury`")
        judges: list[Any] = []
        weights = []
        for path, values in self._rows(_JurorForm, ("jury", "judges")):
            weights.append(values.pop("weight", 1.0))
            local = values.pop("judge", None)
            if local is not None and values:
                message = "a judge must have `judge` with nothing but `weight`, or `model`."
                self.document.add(path, message)
            judges.append(self._open(values, path) if local is None else self._find(local))
        if settings is None or self.document.is_wrong:
            return []
        given = {"weights": weights} if len(set(weights)) > 1 else {}
        return [self._make(("jury",), JuryJudge, settings | given | {"judges": judges})]

    @cached_property
    def _defaults(self) -> dict[str, Any] | None:
        """The settings of every judge that does not say otherwise; None where they are wrong."""
        path = ("defaults",)
        if self.document.get(path) is None:
            return {}
        values = self._values(_SettingsForm, path, what="`defaults`")
        is_right = values is not None and self._make(path, ModelSettings, values) is not None
        return values if is_right else None

    def _rows(self, form: type[Form], path: Keys) -> Iterator[tuple[Keys, dict[str, Any]]]:
        rows = self.document.get(path)
        for place in range(len(rows) if isinstance(rows, list) else 0):
            values = self._values(form, (*path, place))
            if values is not None:
                yield (*path, place), values

    def _values(
        self, form: type[Form], path: Keys, *, what: str = "a judge"
    ) -> dict[str, Any] | None:
        """Read what an entry says."""
        entry = self.document.read(form, path, what=what) if self.document.has(path) else None
        if entry is None:
            return None
        values = {name: getattr(entry, name) for name in entry.model_fields_set}
        for name, value in values.items():
            if isinstance(value, _PriceForm):
                values[name] = self._make((*path, name), Price, vars(value))
            elif isinstance(value, _CapabilitiesForm):
                forms = tuple(word for word in get_args(ReplyForm) if word in value.forms)
                values[name] = Capabilities(**vars(value) | {"forms": forms})
            elif name == "calibration" and value is not None:
                values[name] = str(Path(self.document.source).parent / value)
            elif is_number(value):  # 1e6 is a whole number, and 0 a temperature
                is_whole = value == int(value) and name not in ("temperature", "weight")
                values[name] = int(value) if is_whole else float(value)
        return values

    def _open(self, values: dict[str, Any], path: Keys) -> LlmJudge | None:
        """Open a language model; null takes a default back."""
        if self._defaults is None:
            return None
        most = {} if self.max_cost is None else {"max_cost": self.max_cost}
        told = self._defaults | values | most
        if told.get("model") is None:
            message = "a judge must have the key `model`. Add it, or add it to `defaults`."
            self.document.add(path, message)
            return None
        return self._make(path, self._open_checked, told)

    def _open_checked(self, **told: Any) -> LlmJudge:
        settings = ModelSettings(**told)
        if self.reads_keys:
            check_key_of_file(
                settings.api_key_env, model=str(settings.model), base_url=settings.base_url
            )
        return open_judge(settings, reads_keys=self.reads_keys)

    def _make(self, path: Keys, make: Callable[..., T], values: dict[str, Any]) -> T | None:
        """Make a record of what is not null; note a value that breaks one of its rules."""
        try:
            return make(**{name: value for name, value in values.items() if value is not None})
        except InputError as error:
            key = re.match(r"`(?:n_)?(\w+)", str(error))
            at = (*path, key[1]) if key else path
            self.document.add(at if self.document.has(at) else path, str(error))
            return None

    def _find(self, local: str) -> str:
        """Find the file of a local judge from the folder of this file."""
        # `CascadeJudge` refuses a model in words of its own
        is_kept = local == BUNDLED or is_model_name(local)
        return local if is_kept else str(Path(self.document.source).parent / local)
