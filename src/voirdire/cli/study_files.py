"""Files of labels and the plan of a test: how they are typed, and how those of a study are read."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import CycloptsError

from voirdire._messages import shorten
from voirdire.cli.calls import UsageError, require, rewrite_as_options
from voirdire.cli.options import group_of
from voirdire.cli.printing import say_notes
from voirdire.errors import InputError, NoDataError
from voirdire.io import Reading
from voirdire.studies import TestPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable
    from voirdire.studies.study import Study


@group_of("How labels are read", 2)
class ReadingOptions(Reading):
    """How files of labels are read."""


@group_of("The test", 3)
class PlanOptions(TestPlan):
    """The plan of the test."""


def check_streams(*sources: str | None) -> None:
    """Refuse standard input twice."""
    require(sources.count("-") < 2, "standard input (-) can be read once, got it twice.")


def read_files(
    humans: Sequence[str] | LabelTable,
    judges: Sequence[str],
    gold: str | LabelTable | None = None,
    *,
    reading: Reading,
    alignments: Sequence[AlignmentName] = (),
    questions: Sequence[str] = (),
    only: Sequence[str] = (),
    is_test: bool = False,
    large: bool | None = False,
) -> Study:
    """Read annotations, judges (or only some of them) and gold labels.

    A test of judges needs several labels an item, and a note says where they are gold.
    """
    from voirdire.studies.study import notes_on_gold
    from voirdire.studies.whole_study import read_any_study

    asked = {"reading": reading, "alignments": alignments, "questions": questions}
    study = read_any_study(
        humans,
        judges,
        gold,
        **asked,  # type: ignore[arg-type]
        clusters=reading.cluster is not None,
        large=large,
    )
    is_held = is_test and study.matrices is None
    notes = notes_on_gold(study, humans, reading.judge_columns or ()) if is_held else ()
    say_notes([*study.notes, *notes])
    lost = [name for name in only if name not in study.judges.raters]
    listed = ", ".join(repr(shorten(name)) for name in sorted(study.judges.raters)[:10])
    require(not lost, f"`--only` must be one of {listed}, got {lost and shorten(lost[0])!r}.")
    return study.of_judges(only) if only else study


def read_items(
    items: str | None, reading: Reading, slices: Sequence[str], *, streams: bool
) -> pl.DataFrame | None:
    """Read what is known about the items, if anything; of the columns only those to slice by."""
    if items is None:
        return None
    from voirdire.io import read_metadata

    return read_metadata(
        items,
        item=(reading.columns or {}).get("item"),
        columns=slices or None,
        format=reading.format if items == "-" or not streams else None,
    )


def read_known(
    items: str | None, reading: Reading, slices: Sequence[str], *, streams: bool, study: Study
) -> tuple[pl.DataFrame | None, Any]:
    """Read what is known about the items, and which of them depend on each other.

    Rows that bring criteria say of these what they are about, and of which prompt they are, where
    no column does.
    """
    from voirdire.records.items import IS_MET

    clusters: Any = reading.cluster is not None
    if items not in (None, "-") and list(study.questions) == [IS_MET]:
        from voirdire.io import read_criteria_metadata

        with suppress(NoDataError):
            known, prompts = read_criteria_metadata(str(items), columns=slices or None)
            is_whole = set(study.humans.item.used()) <= prompts.keys()
            return known, prompts if is_whole and not clusters else clusters
    return read_items(items, reading, slices, streams=streams), clusters


# The call that reads a file ---------------------------------------------------------------------

_ASKED = re.compile(r"--(?:column|rater|kind|separator|labels) (?:'[^']*'|[^\s'.]+(?:\.[^\s'.]+)*)")
_UNKNOWN = re.compile(r"(?:^|=)(?:YOURS|COLUMN|WORD|FILE)$")
_MOST_STEPS, _MOST_BYTES = 8, 1 << 25
"""Times that files are read again, and how large they may be for it."""


def explain_call(humans: Sequence[str], judges: Sequence[str]) -> str:
    """Say what a message asks for to be read, and after it for what, until files are read.

    Then it is one line to paste; empty where nobody can say it.
    """
    from voirdire.cli.main import app
    from voirdire.io.label_reading import columns_of
    from voirdire.studies.study import MODEL_NAME, read_side, read_study

    sizes = [Path(x).stat().st_size for x in (*humans, *judges) if Path(x).is_file()]
    if sum(sizes) > _MOST_BYTES:
        return ""
    words, told = list(sys.argv[1:]), []
    for _ in range(_MOST_STEPS):
        reading = Reading()
        try:
            _, bound, _ = app.parse_args(words, print_error=False, exit_on_error=False)
            reading = bound.arguments.get("reading", reading)
            if judges or reading.judge_columns:
                read_study(humans, judges or humans, bound.arguments.get("gold"), reading=reading)
                break
            raters = read_side("humans", humans, reading).raters
        except InputError as error:
            message = rewrite_as_options(str(error))
            if "One label an item is gold" in message and len(humans) == 1:
                columns = [x for x in columns_of(humans[0], reading) if MODEL_NAME.search(x)]
                words = ["examine", "--gold", humans[0], "--judges", humans[0]]
                words += [x for name in sorted(columns) for x in ("--judge-column", name)]
                told.append("One label an item is gold.")
                return _as_line(words if columns else [*words[:-1], "FILE"], told)
            pairs = [shlex.split(found.rstrip(",;")) for found in _ASKED.findall(message)]
            more = {x[0] if x[0] != "--column" else tuple(x): x for x in reversed(pairs)}
            more = {
                k: x for k, x in more.items()
                if not _UNKNOWN.search(x[1]) and k not in words and x[1] not in words
            }  # fmt: skip
            if not more:
                return ""
            told.append(message if "--kind" in more else "")
            words += [word for pair in more.values() for word in pair]
            continue
        except (CycloptsError, UsageError):
            return ""
        models = [name for name in raters if MODEL_NAME.search(name)]
        if not models or len(raters) < 2:
            names = ", ".join(repr(shorten(name)) for name in raters[:10])
            told.append(
                f"{humans[0]} holds labels by {names}: if one of them is the judge, name it with "
                "--judge-column."
            )
            return _as_line([*words, "--judges", _find_judges(humans[0], raters, reading)], told)
        if "--rater" in words:  # a message took the judges for people
            place = words.index("--rater")
            people = [x for x in raters if x not in models]
            words[place : place + 2] = ["--rater", ",".join(people)]
        words += [word for name in models for word in ("--judge-column", name)]
    else:
        return ""
    return _as_line(words, told)


def _find_judges(file: str, people: Sequence[str], reading: Reading) -> str:
    """Name the file of judges, where it is that of people: by its predictions, or on a sheet."""
    from voirdire.io.files import DataFile
    from voirdire.io.rows import open_table
    from voirdire.studies.study import read_side

    sheets = open_table(DataFile(file)).sheets if file.lower().endswith(".xlsx") else ()
    if len(sheets) > 1:
        return f"{file}#{sheets[1]}"
    with suppress(InputError):
        if not {*read_side("judges", [file], reading).raters} & {*people, "judge"}:
            return file
    return "FILE"


def _as_line(words: Sequence[str], told: Sequence[str]) -> str:
    return " ".join([*filter(None, told), f"Write: voirdire {shlex.join(words)}"])
