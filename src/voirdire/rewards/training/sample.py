"""Draw a random sample of a training run's completions, and write the folder to label it in."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import Language
from voirdire._validation import check_choice, check_count
from voirdire.documents import plain_json
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import escape_formula
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.training.completion_rows import (
    ITEM_COLUMNS,
    make_item,
    name_proposition_column,
    read_texts,
    write_prompt,
)
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_reading import read_completion_frames, read_training_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from voirdire.records import Item

__all__ = [
    "PHASES",
    "SHEET_COLUMNS",
    "SampleFiles",
    "SampledItem",
    "TrainingSample",
    "sample_training_run",
    "write_sample",
]

PHASES = ("early", "middle", "late")
"""Thirds of the steps."""


@dataclass(frozen=True, kw_only=True)
class SampledItem:
    """A completion that was drawn.

    Attributes
    ----------
    name : str
        What annotators know it by; says nothing of where it is from.
    completion : mapping of str to object
        The row of the run by column; `prompt` and `response` are text or messages.
    item : Item
        What the judge was asked about.
    stratum : str
        Behavior and phase that it was drawn from.
    n_occurrences : int
        How often the same completion to the same prompt is in the run, at least 1.
    inclusion_probability : float
        Of being drawn, in (0, 1].
    """

    name: str
    completion: Mapping[str, Any] = field(repr=False)
    item: Item = field(repr=False)
    stratum: str
    n_occurrences: int
    inclusion_probability: float


@dataclass(frozen=True, kw_only=True)
class TrainingSample:
    """Completions that were drawn from a training run.

    Attributes
    ----------
    run : TrainingRun
        Where they are from.
    items : tuple of SampledItem
        In a random order.
    strata : mapping of str to tuple of int
        By stratum how many different completions there are, and how many were drawn.
    n_completions : int
        Of the run; those that cannot be read are not among them.
    seed : int
        Gives the same sample again.
    dropped : tuple of str
        What could not be read, and why.
    """

    run: TrainingRun = field(repr=False)
    items: tuple[SampledItem, ...] = field(repr=False)
    strata: Mapping[str, tuple[int, int]]
    n_completions: int
    seed: int
    dropped: tuple[str, ...] = ()

    def asked(self, item: SampledItem) -> tuple[str, ...]:
        """Name the propositions that are asked about an item: those its reward depends on."""
        paying = self.run.paying.get(item.completion["behavior"], ())
        return tuple(name for name in paying if name in self.run.question_texts)

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON, without texts."""
        return {
            "run": str(self.run.folder),
            "n_items": len(self.items),
            "n_completions": self.n_completions,
            "n_different": sum(n for n, _ in self.strata.values()),
            "strata": {
                name: {"n_different": n, "n_drawn": n_drawn}
                for name, (n, n_drawn) in self.strata.items()
            },
            "seed": self.seed,
            "dropped": list(self.dropped),
        }


def sample_training_run(
    run: TrainingRun | str | Path,
    *,
    n: int = 60,
    seed: int = 0,
) -> TrainingSample:
    """Draw completions of a training run at random.

    Parameters
    ----------
    run : TrainingRun, str or path
        The run, or its folder.
    n : int, optional
        How many different completions, at least 1; all of them where there are fewer.
    seed : int, optional
        The same seed gives the same sample, at least 0.

    Returns
    -------
    TrainingSample
        Completions with the probability that each had of being drawn.

    Raises
    ------
    NoDataError
        If the run has no completion that can be read and is paid for.
    InputError
        If an argument breaks its rule.

    Notes
    -----
    A policy that has learnt repeats itself. People label a text once, so what is drawn are
    different completions: the same response to the same prompt counts once, in the phase of one
    of its occurrences, chosen at random. How often it occurs is told with it.

    Strata are the behaviors in thirds of the steps. They get their share of `n` by the largest
    remainder, and at least one; every completion of a stratum has the same probability. Memory:
    some 100 bytes for each completion, and the texts of what is drawn.
    """
    check_count("n", n, minimum=1)
    check_count("seed", seed, minimum=0)
    loaded = run if isinstance(run, TrainingRun) else read_training_run(run)
    rng = np.random.default_rng(seed)
    rows = _read_places(loaded)
    if rows.is_empty():
        msg = (
            f"`run` must hold completions of a behavior that its reward pays for, got none in "
            f"{str(loaded.folder)!r}."
        )
        raise NoDataError(msg)
    different = (
        rows[rng.permutation(rows.height)]  # so that the first of equal ones is any of them
        .group_by("key", maintain_order=True)
        .agg(pl.first("item"), pl.first("stratum").cast(pl.String), n_occurrences=pl.len())
    )
    sizes = dict(different["stratum"].value_counts().sort("stratum").iter_rows())
    shares = _share_out(sizes, n=n)
    drawn = pl.concat(
        different.filter(stratum=name)[rng.choice(size, size=shares[name], replace=False)]
        for name, size in sizes.items()
    ).with_columns(
        inclusion_probability=pl.col("stratum").replace_strict(
            {name: shares[name] / size for name, size in sizes.items()}
        )
    )
    return TrainingSample(
        run=loaded,
        items=_read_items(loaded, drawn, rng=rng),
        strata={name: (size, shares[name]) for name, size in sizes.items()},
        n_completions=rows.height,
        seed=seed,
        dropped=loaded.dropped,
    )


def _read_places(run: TrainingRun) -> pl.DataFrame:
    """List the completions that people can label, each with a hash of its texts and its stratum."""
    n = len(run.steps)
    phases = {step.step: PHASES[k * len(PHASES) // n] for k, step in enumerate(run.steps)}
    phase = pl.col("step").replace_strict(phases, default=PHASES[-1], return_dtype=pl.String)
    columns = {
        "item": pl.col("item").hash(),  # names of a million completions are large
        "key": pl.struct(ITEM_COLUMNS).hash(),
        "stratum": pl.concat_str("behavior", phase, separator="/").cast(pl.Categorical),
    }
    frames = []
    for frame in read_completion_frames(run, columns=["item", "step", "missing", *ITEM_COLUMNS]):
        rows = frame.filter(
            pl.col("behavior").is_in(list(run.paying)),
            pl.any_horizontal(pl.col("response", "messages").is_not_null()),
        )
        unpaid = rows.filter(pl.all_horizontal(pl.col("messages", "missing").is_not_null()))
        no_items = [
            row["item"]
            for row in unpaid.iter_rows(named=True)
            if make_item(row, name="", judged=run.judged) is None
        ]
        frames.append(rows.filter(~pl.col("item").is_in(no_items)).select(**columns))
    return pl.concat(frames)


def _share_out(sizes: Mapping[str, int], *, n: int) -> dict[str, int]:
    """Share `n` out by size: the largest remainders round up, and no stratum stays empty."""
    n_wanted = min(n, sum(sizes.values()))
    exact = {name: n_wanted * size / sum(sizes.values()) for name, size in sizes.items()}
    shares = {name: max(int(share), 1) for name, share in exact.items()}
    while gap := max(n_wanted, len(sizes)) - sum(shares.values()):
        step = 1 if gap > 0 else -1
        name = min(
            (name for name in sorted(shares) if 1 <= shares[name] + step <= sizes[name]),
            key=lambda name: step * (shares[name] - exact[name]),
        )
        shares[name] += step
    return shares


def _read_items(
    run: TrainingRun, drawn: pl.DataFrame, *, rng: np.random.Generator
) -> tuple[SampledItem, ...]:
    """Read the texts of the drawn completions, and shuffle them."""
    sampled = drawn.drop("key").rename({"item": "hash"})
    rows = [
        row
        for frame in read_completion_frames(run)
        for row in frame.with_columns(hash=pl.col("item").hash())
        .join(sampled, on="hash", maintain_order="left")
        .iter_rows(named=True)
    ]
    width = max(3, len(str(len(rows))))
    items = []
    for place, number in enumerate(rng.permutation(len(rows)).tolist(), start=1):
        row = rows[number]
        name = f"s{place:0{width}d}"
        item = make_item(row, name=name, judged=run.judged)
        if item is None:  # the file changed since the places were read
            continue
        fields = {column: row.pop(column) for column in sampled.columns}
        del fields["hash"]
        prompt, response = read_texts(row)
        completion = row | {"prompt": prompt, "response": response}
        items.append(SampledItem(name=name, completion=completion, item=item, **fields))
    return tuple(items)


# The folder --------------------------------------------------------------------------------------

SHEET_COLUMNS = ("item", "question", "label", "asked", "annotator", "prompt", "response")
"""Columns of a sheet: one row for every question about an item, with its texts in the first."""

ITEMS, VERDICTS, KEY = "items.jsonl", "verdicts.parquet", "key.jsonl"
_FEWEST_ITEMS = 30
_OWNER_ONLY = 0o600

_Asked: TypeAlias = tuple["SampledItem", str, str]
"""An item, a proposition that is asked about it, and the proposition's text."""


@dataclass(frozen=True, kw_only=True)
class SampleFiles:
    """What was written of a sample.

    Attributes
    ----------
    folder : Path
        Where.
    sheets : tuple of Path
        One for each annotator, to be filled.
    items, verdicts, key : Path
        The items without anything that a judge said; the run's verdicts on them; where each item
        is from, with its inclusion probability.
    n_labels : int
        Cells that an annotator fills.
    command : str
        What examines the judge once the sheets are filled.
    notes : tuple of str
        What the reader should know.
    """

    folder: Path
    sheets: tuple[Path, ...]
    items: Path
    verdicts: Path
    key: Path
    n_labels: int
    command: str
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        plain: dict[str, Any] = plain_json(asdict(self))
        return plain


def write_sample(
    sample: TrainingSample,
    folder: str | Path,
    *,
    n_annotators: int = 3,
    language: Language = "en",
) -> SampleFiles:
    """Write a sample so that people can label it, and the judge be examined on it.

    Parameters
    ----------
    sample : TrainingSample
        What was drawn.
    folder : str or path
        Made for its owner only; one with labels in it is never touched.
    n_annotators : int, optional
        Sheets to write, at least 1: one for each annotator, so that nobody sees the labels of
        another.
    language : {"en", "zh"}, optional
        Of the questions, where the rubric has them in it.

    Returns
    -------
    SampleFiles
        Their names, and the command that comes next.

    Raises
    ------
    InputError
        If the folder holds labels or anything else that is no sample, if it cannot be written, or
        if a spreadsheet would run the name of a proposition.

    Notes
    -----
    Sheets hold no verdict, no reward and no step, and the items have names of their own in a
    random order: who labels is blind. Each item is asked about with the propositions that its
    reward depends on. A cell whose text a spreadsheet would run as a formula begins with an
    apostrophe.
    """
    check_count("n_annotators", n_annotators, minimum=1)
    check_choice("language", language, Language)
    rows = list(_list_questions(sample, language))
    for _, name, _ in rows:  # it must stay as it is, or no verdict would be found to a label
        if escape_formula(name) != name:
            msg = (
                f"`run` must have propositions that no spreadsheet runs as a formula, got "
                f"{shorten(name)!r}. No rubric has such names: ask where the run is from."
            )
            raise InputError(msg)
    target = Path(folder)
    _make_folder(target)
    sheets = tuple(target / f"labels-{number}.csv" for number in range(1, n_annotators + 1))
    try:
        for number, sheet in enumerate(sheets, start=1):
            _write_file(sheet, _make_sheet(rows, annotator=f"annotator-{number}"))
        _write_file(target / ITEMS, _encode_json_lines(map(_make_blind_row, sample.items)))
        _write_file(target / KEY, _encode_json_lines(map(_make_key_row, sample.items)))
        buffer = io.BytesIO()
        _make_verdicts(sample, rows).write_parquet(buffer)
        _write_file(target / VERDICTS, buffer.getvalue())
    except OSError as error:
        msg = f"{target}: cannot be written ({error.strerror}). Name another folder."
        raise InputError(msg) from error
    return SampleFiles(
        folder=target,
        sheets=sheets,
        items=target / ITEMS,
        verdicts=target / VERDICTS,
        key=target / KEY,
        n_labels=len(rows),
        command=_write_command(sheets, target / VERDICTS),
        notes=_note_few_items(rows),
    )


def _list_questions(
    sample: TrainingSample, language: Language
) -> Iterator[tuple[SampledItem, str, str]]:
    """List item, proposition and its text, for every question that is asked."""
    texts = sample.run.question_texts
    for item in sample.items:
        for name in sample.asked(item):
            by_language = texts.get(name, {})
            yield item, name, by_language.get(language) or next(iter(by_language.values()), name)


def _make_sheet(rows: list[_Asked], *, annotator: str) -> bytes:
    text = io.StringIO(newline="")
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(SHEET_COLUMNS)
    written_items: set[str] = set()
    for item, name, question in rows:
        texts = ("", "")
        if item.name not in written_items:
            written_items.add(item.name)
            texts = (escape_formula(write_prompt(item.item)), escape_formula(item.item.response))
        sheet.writerow((item.name, name, "", escape_formula(question), annotator, *texts))
    return text.getvalue().encode("utf-8", "backslashreplace")


def _make_blind_row(item: SampledItem) -> dict[str, Any]:
    row = item.completion
    return {"id": item.name, **{name: row[name] for name in ("prompt", "response", "behavior")}}


def _make_key_row(item: SampledItem) -> dict[str, Any]:
    row = item.completion
    return {
        "item": item.name,
        "completion": row["item"],
        "step": row["step"],
        "group": row["group"],
        "stratum": item.stratum,
        "n_occurrences": item.n_occurrences,
        "inclusion_probability": item.inclusion_probability,
    }


def _encode_json_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
    return "".join(lines).encode("utf-8", "backslashreplace")  # half a surrogate pair: an escape


def _make_verdicts(sample: TrainingSample, rows: list[_Asked]) -> pl.DataFrame:
    """Make a table of the run's verdicts as `voirdire judge` writes it."""
    names = [name for _, name, _ in rows]
    table = pl.DataFrame(
        {
            "item": [item.name for item, _, _ in rows],
            "question": names,
            "threshold": get_thresholds(sample.run.threshold, names),
            "probability": pl.Series(
                [item.completion[name_proposition_column(name)] for item, name, _ in rows],
                dtype=pl.Float64,
            ),
            **{
                column: pl.Series([item.completion[column] for item, _, _ in rows], dtype=pl.String)
                for column in ("judge", "behavior", "missing", "fingerprint")
            },
        }
    )
    lacks = pl.col("probability").is_null()
    return table.select(
        "item",
        "judge",
        "question",
        (pl.col("probability") >= pl.col("threshold")).alias("label"),
        "probability",
        pl.lit(None, dtype=pl.String).alias("source"),
        "threshold",
        "behavior",
        pl.when(lacks).then(pl.coalesce("missing", pl.lit(NO_VERDICT))).alias("failure"),
        "fingerprint",
    )


def _write_command(sheets: tuple[Path, ...], verdicts: Path) -> str:
    humans = " ".join(f"--humans {shlex.quote(str(path))}" for path in sheets)
    return f"voirdire examine {humans} --judges {shlex.quote(str(verdicts))} --kind boolean"


def _note_few_items(rows: list[_Asked]) -> tuple[str, ...]:
    counts = Counter(name for _, name, _ in rows)
    few = [name for name, n in counts.items() if n < _FEWEST_ITEMS]
    if not few:
        return ()
    listed = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
    least = f"fewer than {_FEWEST_ITEMS} items, the least that an examination takes"
    return (f"{least}, are asked about {listed}",)


def _make_folder(folder: Path) -> None:
    """Make the folder, or empty it after checking that it holds no labels."""
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except FileExistsError:
        msg = f"`output` must be a folder, got the file {str(folder)!r}. Name another."
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{folder}: cannot be written ({error.strerror}). Name another folder."
        raise InputError(msg) from error
    for name in names:
        if name.startswith("labels-") and name.endswith(".csv"):
            _refuse_labels(folder / name)
        elif name not in (ITEMS, VERDICTS, KEY):
            msg = (
                f"`output` must be an empty folder, got {str(folder)!r}, which holds "
                f"{shorten(name)!r}. Name another."
            )
            raise InputError(msg)
    for name in names:
        (folder / name).unlink()


def _refuse_labels(sheet: Path) -> None:
    try:
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            labels = [row.get("label") for row in rows]
            has_labels = any(label is None or label.strip() for label in labels)
    except (OSError, ValueError, csv.Error):
        has_labels = True  # a sheet that cannot be read may hold somebody's work
    if has_labels:
        msg = f"`output` must hold no labels, got some in {str(sheet)!r}. Name another folder."
        raise InputError(msg)


def _write_file(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
