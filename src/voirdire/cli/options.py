"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from voirdire._messages import shorten
from voirdire._types import Judged, Language
from voirdire.cli.option_groups import option_group, pairs_of, with_reader, with_spelling
from voirdire.cli.shell import OPTIONS, UsageError

R = TypeVar("R")

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Columns: TypeAlias = Mapping[str, str] | None
    Orders: TypeAlias = Mapping[str, str]
else:
    Columns = with_spelling("--column", pairs_of(str, named="OURS"))
    Orders = with_spelling(
        "--order",
        with_reader(
            lambda tokens: _read_orders([token.value for token in tokens]),
            is_repeated=True,
            metavar="[BEHAVIOR=]TEXT",
        ),
    )

__all__ = [
    "AsJson",
    "Base",
    "Behavior",
    "Center",
    "Columns",
    "Confidence",
    "File",
    "Files",
    "Format",
    "JudgeName",
    "JudgedPart",
    "OptionalJudge",
    "Orders",
    "OtherJudge",
    "Output",
    "Questions",
    "ReportLanguage",
    "RequireCertified",
    "RewardFile",
    "RewardJudge",
    "RewardRubric",
    "RubricName",
    "Workers",
    "run_options",
]

File: TypeAlias = Annotated[str | None, Parameter(metavar="FILE")]
Files: TypeAlias = Annotated[list[str], Parameter(metavar="FILE")]
Output: TypeAlias = Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="FILE")]
AsJson: TypeAlias = Annotated[bool, Parameter(name="--json", help="Print one JSON object.")]
ReportLanguage: TypeAlias = Annotated[
    Language,
    Parameter(name="--report-language", help="Of the page: English or Simplified Chinese."),
]
Confidence: TypeAlias = Annotated[
    float,
    Parameter(name=("--confidence-level", "--confidence"), help="Of all intervals, in (0, 1)."),
]
_JUDGE = Parameter(metavar="local|FILE|MODEL", allow_repeating=False)
JudgeName: TypeAlias = Annotated[str, _JUDGE]
OptionalJudge: TypeAlias = Annotated[str | None, _JUDGE]
RewardJudge: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="Who judges: local, a file that `voirdire distill` made, a language model, the YAML "
        "file of a cascade or a jury, or own: the judge that the reward was fitted on, wherever "
        "that is. Default: own where that is local.",
        metavar="local|own|FILE|MODEL",
        allow_repeating=False,
    ),
]
Questions: TypeAlias = Annotated[list[str], Parameter(name="--question")]
RubricName: TypeAlias = Annotated[
    str, Parameter(help="A built-in rubric, or a YAML file.", metavar="NAME|FILE")
]

Behavior: TypeAlias = Annotated[
    str | None, Parameter(help="The behavior of items that have none.", metavar="ID")
]
Format: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--format", help="Instead of the file's ending: jsonl, csv, tsv, json, parquet."
    ),
]
JudgedPart: TypeAlias = Annotated[
    Judged,
    Parameter(help="What of a response is judged, where it has reasoning or tool turns."),
]
Base: TypeAlias = Annotated[str | None, Parameter(metavar="COLUMN")]
Workers: TypeAlias = Annotated[
    int,
    Parameter(
        help="Processes of a local judge; 0: one per core, at most 8, where there are more than "
        "20,000 items.",
        validator=Number(gte=0),
    ),
]

RewardFile: TypeAlias = Annotated[
    Path, Parameter(help="The reward, as `voirdire fit` writes it.", metavar="FILE.json")
]
RewardRubric: TypeAlias = Annotated[
    str | None,
    Parameter(
        help="The rubric that the reward must belong to. Default: the one that it was made from, "
        "where that is still found.",
        metavar="NAME|FILE",
    ),
]
RequireCertified: TypeAlias = Annotated[
    bool,
    Parameter(help="Fail if a proposition with a weight has no valid certificate."),
]
Center: TypeAlias = Annotated[
    bool,
    Parameter(
        help="Take off the mean that each behavior's rule rewards had in the fit, so that "
        "behaviors compare."
    ),
]
OtherJudge: TypeAlias = Annotated[
    bool,
    Parameter(
        help="Take another judge than the weights were fitted on; certificates say nothing of "
        "that one.",
    ),
]


_NOT_TYPED = ("delimiter", "encoding", "sheet", "workers")
"""What is said of a run over a file of items in Python only, or by each command for itself."""

_OF_RUN: dict[str, Any] = {
    "columns": Columns,
    "behavior": Behavior,
    "format": Format,
    "judged": JudgedPart,
    "threshold": float | None,
    "store": Annotated[str | None, Parameter(metavar="FILE|URL")],
}
"""How fields are typed that several records of runs share."""


def run_options(
    record: type[R], *, panel: Group = OPTIONS, without: Sequence[str] = (), **own: Any
) -> type[R]:
    """Make the settings of a run options of the command, its own fields perhaps in a panel."""
    return option_group(
        record,
        panel=panel,
        without=(*without, *_NOT_TYPED),
        plain=(*_OF_RUN, "retry_failures"),
        **_OF_RUN | own,
    )


def _read_orders(typed: Sequence[str]) -> dict[str, str]:
    """Read orders of labels, each for the behavior before it; text alone is for all behaviors."""
    orders: dict[str, str] = {}
    for text in typed:
        behavior, equals, order = text.partition("=")
        name = behavior.strip() if equals else "*"
        if name in orders:
            msg = f"`--order` must name {shorten(name)!r} once, got it twice."
            raise UsageError(msg)
        orders[name] = order.strip() if equals else text.strip()
        if ">" not in orders[name]:
            msg = f"`--order` must put better labels first, as in full > part, got {text!r}."
            raise UsageError(msg)
    return orders
