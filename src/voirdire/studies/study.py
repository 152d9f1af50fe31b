"""Reads the labels of a study: people's, judges' and gold."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire.errors import InputError, NoDataError
from voirdire.io import LabelTable, Reading, read_labels
from voirdire.io.files import files_of
from voirdire.io.label_reading import columns_of
from voirdire.io.labels import check_tops, join_tables, list_words, match_pairs, split_raters
from voirdire.stats.cautions import list_names
from voirdire.studies.examination import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire._types import QuestionKind
    from voirdire.io import Role
    from voirdire.io.declared import LabelSource
    from voirdire.records import Dropped, Verdicts
    from voirdire.studies.label_matrix import LabelMatrix

Labels: TypeAlias = "LabelSource | LabelTable | Verdicts | Sequence[LabelSource | Verdicts]"
"""Sources of judges, annotators or gold labels."""

_MOST_SHOWN, _MOST_NAMED = 10, 12
_RATERS = ("rater", "annotator", "judge")
_PLAIN_NAME = re.compile(r"[\w.@+/:-]{1,60}")
MODEL_NAME = re.compile(
    r"(?<![a-z0-9])(?:gpt|claude|gemini|llama|qwen|mistral|deepseek|llm|judge)", re.IGNORECASE
)
"""How a word begins that looks like a model."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """All labels of one kind, with the questions and notes for the reader.

    Where labels are counted, `matrices` hold them by question, and the tables one row for each
    label that a rater gives.
    """

    humans: LabelTable
    judges: LabelTable
    gold: LabelTable | None
    questions: Sequence[str]
    notes: Sequence[str] = ()
    matrices: Mapping[str, LabelMatrix] | None = None

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Rows that were set aside in reading."""
        tables = (self.humans, self.judges, self.gold)
        rows = (row for table in tables if table is not None for row in table.dropped)
        return tuple(dict.fromkeys(rows))

    def of_judges(self, names: Sequence[str]) -> Study:
        """Return the study of some judges."""
        matrices = None
        if self.matrices is not None:
            matrices = {question: x.of_judges(names) for question, x in self.matrices.items()}
        return replace(self, judges=self.judges.of_raters(names), matrices=matrices)

    def understood(self) -> str:
        """Describe the labels that were read in one line."""
        humans, judges = self.humans, self.judges
        n_items = max(
            matrix.n_items
            if (matrix := (self.matrices or {}).get(each)) is not None
            else len(humans.of_questions([each]).item.used())
            for each in self.questions
        )
        parts = [
            _name_all(humans.raters, "annotator"),
            _name_all(judges.raters, "judge"),
        ]
        if len(self.questions) > 1:
            parts.append(format_count(len(self.questions), "question"))
        parts += [format_count(n_items, "item"), humans.kind]
        if humans.kind in ("choice", "multilabel"):
            used_labels = humans.label.used()
            labels = used_labels if humans.kind == "choice" else frozenset().union(*used_labels)
            parts.append(format_count(len(labels), "label"))
        parts.append(format_set_aside(sum(row.n_rows for row in self.dropped)))
        # a seen judge that is not in the study may be a mistake
        expected = {*judges.rater.values, *TRUE_WORDS, *FALSE_WORDS}
        seen = [] if humans.seen is None else humans.seen.values
        others = [name for name in seen if not {name, name.strip().casefold()} & expected]
        parts += [f"annotators had seen answers of {shorten(name)!r}" for name in others[:1]]
        notes = dict.fromkeys([*humans.notes, *judges.notes])
        return " ".join([", ".join(parts), *(f"({note})" for note in notes)])


def _name_all(raters: Sequence[str], noun: str) -> str:
    names = [x if _PLAIN_NAME.fullmatch(x) else repr(shorten(x)) for x in raters[:_MOST_NAMED]]
    more = len(raters) - len(names)
    listing = ", ".join([*names, *([f"and {more} more"] if more else [])])
    return f"{format_count(len(raters), noun)} ({listing})"


def format_count(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_set_aside(n_rows: int) -> str:
    """Write the number of rows that were set aside."""
    return f"{format_count(n_rows, 'row')} set aside" if n_rows else "nothing set aside"


def read_study(
    humans: Labels,
    judges: Labels,
    gold: Labels | None = None,
    *,
    reading: Reading,
    alignments: Sequence[Any] = (),
    questions: Sequence[str] | None = None,
) -> Study:
    """Read annotators, judges and gold.

    The annotators come first, since their labels show the kind. A declared format is for standard
    input where that is read, else for every file.
    """
    verdicts, kinds = _join_verdicts(judges)
    kind = _kind_before(reading, (humans, judges, gold), alignments, kinds, questions)
    asked = list(questions or ())
    if verdicts is not None:
        judged = verdicts["question"].unique(maintain_order=True).to_list()
        if asked and not set(asked) & set(judged):
            msg = (
                "`questions` must be among those that were judged, got "
                f"{shorten(asked[0])!r}. Ask for one of {list_names(judged, most=_MOST_SHOWN)}."
            )
            raise NoDataError(msg)
        if not asked and reading.labels is None and kind is not None:
            # completion classes are boolean too
            of_kind = [name for name in judged if kinds.get(name, "boolean") == kind]
            judged = of_kind or judged
        judges = verdicts.filter(verdicts["question"].is_in(judged))
        asked = asked or (judged if len(judged) == 1 else [])
    piped = any(_is_pipe(x) for side in (humans, judges, gold) for x in _several(side))
    columns_of_file: dict[str, frozenset[str]] = {}
    if (reading.columns or reading.where) and not piped:
        sources = [x for side in (humans, judges, gold) for x in _several(side)]
        files = [file for x in sources if isinstance(x, str | Path) for file in files_of(x)]
        columns_of_file = {str(file): columns_of(file, reading) for file in files}
    read_tables = partial(_read, piped=piped, columns_of_file=columns_of_file)
    by_people = replace(reading, kind=kind)
    people = join_tables(read_tables("humans", humans, by_people, asked))
    by_judges = replace(reading, kind=people.kind, raters=None, cluster=None)
    tables = read_tables("judges", judges, by_judges, asked)
    machines, truth = join_tables(tables), None
    if gold is not None:
        unnamed = {ours: x for ours, x in (reading.columns or {}).items() if ours not in _RATERS}
        by_gold = replace(by_judges, columns=unnamed, threshold=None, judge_columns=None)
        truth = join_tables(read_tables("gold", gold, by_gold, asked))
    if kind is None and truth is None:
        people, machines = _unify_booleans(people, machines)
    check_tops([x for x in (people, machines, truth) if x is not None])
    sides = match_pairs([x for x in (people, machines, truth) if x is not None], reading.labels)
    people, machines, truth = sides[0], sides[1], sides[2] if gold is not None else None
    check_kinds([x.kind for x in (people, machines, truth) if x is not None], alignments)
    return Study(
        humans=people,
        judges=machines,
        gold=truth,
        questions=_questions(people, questions),
        notes=[
            *_note_models(people.raters),
            *(
                f"{shorten(rater)!r} has verdicts on "
                f"{', '.join(f'{n:,} items in {name}' for name, n in counts.items())}: one judge."
                for rater, counts in split_raters(tables if len(tables) > 1 else []).items()
            ),
        ],
    )


def declare(
    reading: Reading | None, kind: QuestionKind | None, labels: Sequence[Any] | None
) -> Reading:
    """Return how labels are read, where a kind and labels that are named count first."""
    fields: dict[str, Any] = {"kind": kind, "labels": labels}
    return replace(reading or Reading(), **{name: x for name, x in fields.items() if x is not None})


def _unify_booleans(*sides: LabelTable) -> Sequence[LabelTable]:
    """Read words as truth values where people write yes and no, and judges true and false."""
    words = [{word.casefold() for word in list_words(side.label)} for side in sides]
    is_boolean = all(side.kind == "choice" for side in sides) and all(
        each <= {*TRUE_WORDS, *FALSE_WORDS} for each in words
    )
    if not is_boolean or words[1] <= words[0]:
        return sides
    return [
        replace(
            side,
            kind="boolean",
            label=side.label.recode([word.casefold() in TRUE_WORDS for word in side.label.values]),
        )
        for side in sides
    ]


def notes_on_gold(study: Study, humans: Any, judge_columns: Sequence[str] = ()) -> list[str]:
    """Say that one label of each item is gold, and how it is used; `humans` are the files."""
    people = study.humans
    n_names = len(people.item.values) + 1
    n_items = len(np.unique(people.question.codes.astype(np.int64) * n_names + people.item.codes))
    if study.gold is not None or n_items < len(people):
        return []
    if len(people.raters) > 1:
        n_raters = len(people.raters)
        note = f"each of {n_items:,} items has one label, by one of {n_raters:,} annotators: nobody"
        return [f"{note} is compared with another. Gold, `--gold`, must be of one person."]
    files = [shlex.quote(str(x)) for x in _several(humans) if isinstance(x, str | Path)]
    file, judges = files[0] if files else "FILE", "FILE"
    if judge_columns:
        judges = " ".join([file, *(f"--judge-column {shlex.quote(x)}" for x in judge_columns)])
    command = f"`voirdire examine --gold {file} --judges {judges}`"
    return [
        f"each of {n_items:,} items has one label, which is gold: {command} measures judges by it"
    ]


def _note_models(annotators: Sequence[str]) -> Iterator[str]:
    """Say that annotators with the name of a model count as people, and how to declare judges."""
    if models := [name for name in annotators if MODEL_NAME.search(name)]:
        what = "counts as a person" if len(models) == 1 else "count as people"
        yield (
            f"{list_names(models)} {what}, among the annotators. If a model gave these labels, "
            "name its column with `--judge-column`, or exchange the files of `--humans` and "
            "`--judges`."
        )


def read_side(
    side: Literal["humans", "judges", "gold"],
    given: Labels,
    reading: Reading,
    questions: Sequence[str] = (),
) -> LabelTable:
    """Read one side of a study by itself."""
    verdicts, _ = _join_verdicts(given)
    source: Any = given if verdicts is None else verdicts
    piped = any(map(_is_pipe, _several(source)))
    return join_tables(_read(side, source, reading, questions, piped=piped))


def _kind_before(
    reading: Reading,
    sides: Sequence[Any],
    alignments: Sequence[Any],
    kinds: Mapping[str, QuestionKind],
    questions: Sequence[str] | None,
) -> QuestionKind | None:
    """Return the kind before labels are read: declared, or of a table, verdicts, or alignments."""
    of_table: QuestionKind | None = next((x.kind for x in sides if isinstance(x, LabelTable)), None)
    if of_table is not None and reading.kind not in (None, of_table):
        msg = f"`kind` must be that of the tables, {of_table!r}, got {reading.kind!r}."
        raise InputError(msg)
    if of_table is not None or reading.kind is not None:
        return of_table or reading.kind
    implied = {kind_of(alignment) for alignment in alignments} - {"choice"}
    names = [*(questions or kinds)] if kinds else []
    first = {kinds.get(name, "boolean"): name for name in reversed(names)}
    if len(first) == 1:
        return next(iter(first))
    if len(implied) == 1 and (not first or implied <= set(first)):
        return implied.pop()
    if not first:
        return None
    word, name = min(first.items())
    listing = ", ".join(f"{kind} ({shorten(name)!r})" for kind, name in sorted(first.items()))
    msg = (
        f"`kind` must be given for verdicts on several kinds of question, got {listing}. Name it "
        f"with the questions: kind={word!r}, questions=[{shorten(name)!r}]."
    )
    raise InputError(msg)


def check_kinds(kinds: Sequence[QuestionKind], alignments: Sequence[Any]) -> None:
    """Refuse tables of several kinds, and alignments that do not suit their kind."""
    if len(set(kinds)) > 1:
        sides = "`humans`, `judges` and `gold`" if len(kinds) > 2 else "`humans` and `judges`"
        msg = f"{sides} must be of one kind, got {sorted(set(kinds))!r}."
        raise InputError(msg)
    for alignment in alignments:
        if kind_of(alignment) not in ("choice", "text", kinds[0]):
            msg = f"`alignment` must suit a {kinds[0]} question, got {alignment!r}."
            raise InputError(msg)


def _questions(humans: LabelTable, names: Sequence[str] | None) -> list[str]:
    answered = humans.questions
    if not answered:
        msg = f"no annotation is left to examine, {len(humans.dropped):,} are dropped."
        if humans.dropped:
            first = humans.dropped[0]
            msg += f" The first: {first.place()}: {first.reason}."
        else:
            msg += " Is every annotator's column named as one of judges?"
        raise NoDataError(msg)
    for question in names or ():
        if question not in answered:
            listing = list_names(answered, most=_MOST_SHOWN)
            msg = f"`question` must be one of {listing}, got {shorten(question)!r}."
            raise NoDataError(msg)
    return list(dict.fromkeys(names or answered))


# Sources --------------------------------------------------------------------------------------


def _read(
    side: Literal["humans", "judges", "gold"],
    given: Any,
    reading: Reading,
    questions: Sequence[str],
    *,
    piped: bool,
    columns_of_file: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> list[LabelTable]:
    """Read every source of a side, question by question, since kinds may differ.

    The path of judges may be a folder. A column that the caller names is not looked for in a file
    without it where another file has it; `columns_of_file` has the columns of each.
    """
    if isinstance(given, LabelTable):
        return [given]
    role: Role = "annotator" if side == "humans" else "judge"
    name = "gold" if side == "gold" else None
    sources: list[tuple[str | None, Any]] = [(name, each) for each in _several(given)]
    if isinstance(given, Mapping) and given and all(map(_is_frame, given.values())):
        sources = [(str(name), frame) for name, frame in given.items()]
    tables = []
    are_files = side == "humans" and len(sources) > 1
    stems = Counter(Path(x).stem for _, x in sources if isinstance(x, str | Path))
    for name, source in sources:
        is_path = isinstance(source, str | Path)
        if _is_frame(source) and hasattr(source, "reset_index"):
            has_index = not hasattr(source.index, "step")  # it is no range
            known = {"item", "id", "label", "value", *(reading.columns or ())}
            source = name_rows(source) if has_index and known.isdisjoint(source.columns) else source  # noqa: PLW2901
        is_open = hasattr(source, "read")
        if not (is_path or is_open or isinstance(source, Mapping) or _is_frame(source)):
            msg = (
                f"`{side}` must be a label table, a data frame, a path, or a mapping "
                f"{{rater: {{item: label}}}}, got {type(source).__name__}."
            )
            raise InputError(msg)
        who = name
        if are_files and is_path and not _is_pipe(source):  # people without names are files
            path = Path(source)
            who = path.stem if stems[path.stem] < 2 else f"{path.parent.name}/{path.stem}"
        held = "labels" if side == "humans" else "verdicts"
        for file in files_of(source, held=held) if is_path else [source]:
            settings = reading if _is_pipe(file) or not piped else replace(reading, format=None)
            if is_path and str(file) in columns_of_file:
                lacking = frozenset().union(*columns_of_file.values()) - columns_of_file[str(file)]
                column_names = {
                    ours: yours
                    for ours, yours in (settings.columns or {}).items()
                    if lacking.isdisjoint([yours, *map(str.strip, yours.split(","))])
                }
                where = [each for each in settings.where if each.partition("=")[0] not in lacking]
                settings = replace(settings, columns=column_names, where=where)
            # a stream can be read only once
            asked = questions if len(questions) == 1 or not _is_pipe(file) else ()
            of_questions = [
                read_labels(file, role=role, reading=settings, question=question, rater_name=who)
                for question in asked or (None,)
            ]
            if len(of_questions) > 1 and of_questions[0].frame.drop("question").equals(
                of_questions[1].frame.drop("question")
            ):
                msg = (
                    "`questions` must name one question for labels without a column `question`, "
                    f"got {len(questions)}."
                )
                raise InputError(msg)
            tables += of_questions
    return tables


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) and given else [given]


def _is_pipe(source: Any) -> bool:
    return isinstance(source, str) and source == "-"


def _is_frame(given: Any) -> bool:
    return hasattr(type(given), "columns")


def is_column(given: Any) -> bool:
    """Tell whether labels are one column of a frame of pandas or polars."""
    return hasattr(given, "to_frame") and not _is_frame(given)


def name_rows(frame: Any) -> Any:
    """Give the rows of a frame items: its index in pandas, in polars their numbers."""
    if not {"item", "id"}.isdisjoint(frame.columns):
        return frame
    is_pandas = hasattr(frame, "reset_index")
    return frame.reset_index(names="item") if is_pandas else frame.with_row_index("item")


def join_column(name: str, column: Any, humans: Any) -> dict[str, Any]:
    """Give a column of labels the items of the annotators' frame: by index, or row by row."""
    if not _is_frame(humans):
        msg = (
            f"`humans` must be a data frame beside a column `{name}`, got {type(humans).__name__}."
        )
        raise InputError(msg)
    frame = name_rows(humans)
    items = frame["item" if "item" in frame.columns else "id"]
    if hasattr(column, "index"):
        items = items.set_axis(humans.index)
        rows = humans.index[humans.index.isin(column.index)]
        if not (len(rows) and column.index.is_unique and humans.index.is_unique):
            rule = "must have the same index, each value of which stands once"
            msg = f"`{name}` and `humans` {rule}. Take both from one frame."
            raise InputError(msg)
        labels = items.loc[rows].to_frame("item").assign(label=column.loc[rows].to_numpy())
    elif len(column) != len(items):
        lengths = {name: len(column), "humans": len(items)}
        msg = f"`{name}`, `humans` must have the same length, got {lengths}."
        raise InputError(msg)
    else:
        labels = items.alias("item").to_frame().with_columns(column.alias("label"))
    return {str(column.name or name): labels}


# Verdicts in memory as the judges -------------------------------------------------------------


def _join_verdicts(judges: Any) -> tuple[pl.DataFrame | None, dict[str, QuestionKind]]:
    """Return verdicts in memory as one frame, with the kind of every question.

    None for other sources. A mapping has names for the judges, and pairs are a choice of A, B and
    tie.
    """
    sources: list[tuple[str | None, Any]] = [(None, one) for one in _several(judges)]
    if isinstance(judges, Mapping):
        sources = [(str(name), one) for name, one in judges.items()]
    if not all(callable(getattr(type(one), "frame", None)) for _, one in sources):
        return None, {}
    frames: list[pl.DataFrame] = []
    kinds: dict[str, QuestionKind] = {}
    for name, one in sources:
        frame = one.frame()
        frames.append(frame if name is None else frame.with_columns(judge=pl.lit(name)))
        kinds |= dict.fromkeys(one.questions, "boolean")
        for row in () if one.calls is None else one.calls.answers:
            kinds[row.question] = "choice" if row.kind == "pairwise" else row.kind
    return (pl.concat(frames, how="diagonal_relaxed") if frames else None), kinds
