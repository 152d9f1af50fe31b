"""What is typed: kinds of options, and settings records as groups of them.

A field is declared once, in its record, whose docstring is its help. `options.toml` says how those
are spelled and shown whose name and type do not show it, and here stands how they are read.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from inspect import get_annotations, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from voirdire._messages import shorten
from voirdire._types import Judged, Language
from voirdire.cli.calls import UsageError, is_source
from voirdire.io.declared import ItemLayout, Reading

R = TypeVar("R")
OPTIONS = Group("Options", sort_key=0)
_SHOWN = tomllib.loads(files("voirdire.cli").joinpath("options.toml").read_text(encoding="utf-8"))


# How values are read --------------------------------------------------------------------------


def _read_pair(text: str, metavar: str) -> tuple[str, Any]:
    """Read NAME=VALUE; where [NAME=] is left out, `*` stands for all other names."""
    text = f"*={text}" if metavar.startswith("[") and "=" not in text else text
    has_text = metavar.endswith(
        ("VALUE", "TEXT", "ORDER")
    )  # a name may hold the sign where no value does
    name, _, value = map(str.strip, text.partition("=") if has_text else text.rpartition("="))
    if not (name and value) or (metavar.endswith("ORDER") and ">" not in value):
        raise ValueError
    return name, float(value) if metavar.endswith("NUMBER") else value


def _read_labels(text: str, _metavar: str) -> list[str]:
    labels = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
    words = [str(x).strip() for x in labels if type(x) in (str, int, float)]
    if not words or "" in words or len(words) < len(labels):
        raise ValueError
    return words


def _read_price(text: str, _metavar: str) -> Any:
    """Read a price: US dollars per million tokens in and out."""
    from voirdire.judging import Price

    paid_in, paid_out = map(float, text.split(","))
    return Price(input=paid_in, output=paid_out)


def _read_utf8(text: str, _metavar: str) -> str:
    """Refuse text that is not valid UTF-8, which no file could hold."""
    return text.encode().decode()


_READERS: dict[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(("columns", "fixed", "margins", "orders", "quality", "signs"), _read_pair),
    **dict.fromkeys(("labels", "order"), _read_labels),
    **dict.fromkeys(("NewFile", "epsilon_reason"), _read_utf8),
    "Sizes": lambda text, _: [int(number) for number in text.split(",")],
    "epsilon": lambda text, _: float(text),
    "max_body": lambda text, _: int(text) << 20,
    "n_items": lambda text, _: None if text == "all" else int(text),
    "price": _read_price,
}


def _option(name: str, **more: Any) -> Parameter:
    """Give what is shown of an option, and how its values are read."""
    about = _SHOWN[name] | more
    metavar = about.get("metavar", "")
    rule = about.pop("rule", f"be {metavar}")
    read = _READERS.get(name)
    if read is None:
        return Parameter(**about)
    is_list = name in ("Sizes", "epsilon")

    def convert(_kind: Any, tokens: Sequence[Token]) -> Any:
        values: list[Any] = []
        for token in tokens:
            try:
                values.append(read(token.value, metavar))
            except ValueError:
                msg = f"`{token.keyword or 'text'}` must {rule}, got {token.value!r}."
                raise UsageError(msg) from None
        if read is not _read_pair:
            return values if is_list else values[0]
        if twice := [key for key, n in Counter(key for key, _ in values).items() if n > 1]:
            msg = f"`{tokens[0].keyword}` must name {shorten(twice[0])!r} once, got it twice."
            raise UsageError(msg)
        return dict(values)

    n_tokens = -1 if is_list or read is _read_pair else 1
    return Parameter(converter=convert, n_tokens=n_tokens, accepts_keys=False, **about)


# Kinds ----------------------------------------------------------------------------------------

Address: TypeAlias = Annotated[str | None, _option("Address")]
AsCsv: TypeAlias = Annotated[bool, _option("AsCsv")]
AsJson: TypeAlias = Annotated[bool, _option("AsJson")]
Batch: TypeAlias = Annotated[Path | None, _option("Batch")]
Behavior: TypeAlias = Annotated[str | None, _option("Behavior")]
Columns: TypeAlias = Annotated[Any, _option("columns")]
Comparisons: TypeAlias = Annotated[str | None, _option("Comparisons", validator=is_source)]
DryRun: TypeAlias = Annotated[bool, _option("DryRun")]
Engine: TypeAlias = Annotated[Literal["local", "ray"], _option("Engine")]
Format: TypeAlias = Annotated[str | None, _option("Format")]
Items: TypeAlias = Annotated[str, _option("Items", validator=is_source)]
JudgeName: TypeAlias = Annotated[str, _option("Judge")]
JudgedPart: TypeAlias = Annotated[Judged, _option("JudgedPart")]
Sample: TypeAlias = Annotated[int | None, _option("Sample", validator=Number(gte=1))]
Must: TypeAlias = Annotated[str | None, _option("Must")]
NewFile: TypeAlias = Annotated[str, _option("NewFile")]
Numbers: TypeAlias = Annotated[Any, _option("epsilon")]
Only: TypeAlias = Annotated[str | None, _option("Only")]
OptionalItems: TypeAlias = Annotated[str | None, _option("Items", validator=is_source)]
OptionalJudge: TypeAlias = Annotated[str | None, _option("Judge")]
OptionalReward: TypeAlias = Annotated[
    Path | None, Parameter(metavar="FILE.json", validator=is_source)
]
Output: TypeAlias = Annotated[Path | None, _option("Output")]
Prompts: TypeAlias = Annotated[str, _option("Prompts", validator=is_source)]
Questions: TypeAlias = Annotated[list[str], Parameter(name="--question")]
ReportLanguage: TypeAlias = Annotated[Language, _option("ReportLanguage")]
RequireCertified: TypeAlias = Annotated[bool, _option("RequireCertified")]
RewardFile: TypeAlias = Annotated[Path, _option("RewardFile", validator=is_source)]
RewardJudge: TypeAlias = Annotated[str | None, _option("RewardJudge")]
RewardRubric: TypeAlias = Annotated[str | None, _option("RewardRubric")]
RubricName: TypeAlias = Annotated[str, _option("RubricName")]
Run: TypeAlias = Annotated[Path, _option("Run", validator=is_source)]
Source: TypeAlias = Annotated[str | None, _option("Source", validator=is_source)]
Sources: TypeAlias = Annotated[list[str], _option("Source", validator=is_source)]
Shard: TypeAlias = Annotated[str | None, _option("Shard")]
Sizes: TypeAlias = Annotated[list[Any], _option("Sizes")]
Store: TypeAlias = Annotated[str | None, _option("Store")]
Target: TypeAlias = Annotated[Path, _option("Output")]
Text: TypeAlias = Annotated[Any, _option("epsilon_reason")]
Workers: TypeAlias = Annotated[int, _option("Workers", validator=Number(gte=0))]


# Records as groups ----------------------------------------------------------------------------

_OF_RUN: dict[str, Any] = {
    "behavior": Behavior,
    "columns": Columns,
    "format": Format,
    "judged": JudgedPart,
    "retry_failures": bool,
    "store": Store,
    "threshold": float | None,
}
"""What a run over a file of items says, whatever it does with them."""


def group_of(
    title: str = OPTIONS.name,
    place: int = 0,
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Callable[[type[R]], type[R]]:
    """Make the fields of a settings record, the base of a class, options under a title.

    `only` names the fields that are options, `without` those that are none. What is said of a file
    of items stands among the command's own options, and some of it can be said in Python only.
    """

    def make_group(cls: type[R]) -> type[R]:
        record: Any = cls.__base__
        hints, own = get_type_hints(cls, include_extras=True), get_annotations(cls)
        is_run = not issubclass(record, Reading) and not {"columns", "store"}.isdisjoint(hints)
        kinds = _OF_RUN if is_run else {}
        hidden = {*without, "make_item", "similarity"}
        if issubclass(record, ItemLayout):
            hidden |= {"delimiter", "sheet", "workers"}
        group = Group(title, sort_key=place) if place else OPTIONS
        for name, hint in hints.items():
            kind = kinds.get(name, hint)
            if name not in {*own, *kinds} and name in _SHOWN:
                kind = Annotated[Any if name in _READERS else hint, _option(name)]
            if name in hidden or name not in (only or hints):
                own[name] = Annotated[Any, Parameter(parse=False)]
            else:
                own[name] = Annotated[kind, Parameter(group=OPTIONS if name in kinds else group)]

        def of_fields(_self: R) -> None:
            """Say what there is to give: a group makes the record itself."""

        of_fields.__annotations__ = own
        of_fields.__signature__ = signature(record.__init__)  # type: ignore[attr-defined]
        cls.__annotations__ = own
        cls.__init__ = of_fields  # type: ignore[assignment]
        cls.__new__ = lambda _cls, **given: record(**given)  # type: ignore[method-assign]
        cls.__get_pydantic_core_schema__ = classmethod(_skip_check)  # type: ignore[attr-defined]
        return Parameter(name="*")(cls)

    return make_group


def _skip_check(_cls: type, _source: Any, _handler: Any) -> Any:
    """Keep pydantic from checking what the record checks."""
    from pydantic_core import core_schema

    return core_schema.any_schema()
