"""Draw a random sample of a training run's completions into a folder to label it in."""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import Language
from voirdire._validation import check_choice, check_count
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import escape_cell, write_csv
from voirdire.records.items import SCORE
from voirdire.records.thresholds import get_thresholds
from voirdire.records.verdicts import NO_VERDICT
from voirdire.rewards.training.completion_rows import (
    TEXTS,
    make_item,
    name_proposition_column,
    read_texts,
    write_prompt,
)
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_reading import read_completion_frames, read_training_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.records import Item

_PHASES = ("early", "middle", "late")
"""Thirds of the steps."""

_SHEET = ("item", "question", "label", "asked", "annotator", "prompt", "response")
"""Columns of a sheet: one row for every question about an item, with its texts in the first."""

_ITEMS, _VERDICTS, _KEY = "items.jsonl", "verdicts.parquet", "key.jsonl"
_FEWEST_ITEMS = 30
_ITEM = (*TEXTS, "behavior")
"""Columns that a judge sees; completions that are equal in them are one item."""


@dataclass(frozen=True, kw_only=True)
class TrainingSample:
    """Completions that were drawn from a training run, and the folder that they were written to.

    Attributes
    ----------
    run : str
        The folder of the run.
    n_items : int
        Completions that were drawn.
    n_completions, n_different : int
        Of the run, as far as they are text or messages and are paid for; the different ones among
        them: by prompt, response as it was written, and behavior.
    strata : mapping of str to mapping of str to int
        By stratum how many different completions there are (`n_different`), and how many were
        drawn (`n_drawn`).
    seed : int
        Gives the same sample again.
    sheets : tuple of str
        One for each annotator, to be filled.
    items, verdicts, key : str
        The items without anything that a judge said; the run's verdicts on them; where each item
        is from, with its inclusion probability.
    n_labels : int
        Cells that an annotator fills.
    command : str
        What examines the judge once the sheets are filled.
    notes : tuple of str
        What the reader should know.
    dropped : tuple of str
        What could not be read of the run, and why.
    """

    run: str
    n_items: int
    n_completions: int
    n_different: int
    strata: Mapping[str, Mapping[str, int]]
    seed: int
    sheets: tuple[str, ...]
    items: str
    verdicts: str
    key: str
    n_labels: int
    command: str
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = field(default=(), repr=False)


def sample_training_run(
    run: TrainingRun | str | Path,
    folder: str | Path,
    *,
    n: int = 60,
    n_annotators: int = 3,
    language: Language = "en",
    seed: int = 0,
) -> TrainingSample:
    """Draw completions of a training run at random, for people to label.

    Parameters
    ----------
    run : TrainingRun, str or path
        The run, or its folder.
    folder : str or path
        Where the sample is written, for its owner only; one with labels in it is never touched.
    n : int, optional
        How many different completions, at least 1; all of them where there are fewer.
    n_annotators : int, optional
        Sheets to write, at least 1: one for each annotator, so that nobody sees the labels of
        another.
    language : {"en", "zh"}, optional
        Of the questions, where the rubric has them in it.
    seed : int, optional
        The same seed gives the same sample, at least 0.

    Returns
    -------
    TrainingSample
        What was drawn, the names of the files, and the command that comes next.

    Raises
    ------
    NoDataError
        If no completion is text or messages of a behavior that the reward pays for.
    InputError
        If an argument breaks its rule, if the folder holds labels or anything else that is no
        sample, if it cannot be written, or if a spreadsheet would run the name of a proposition.

    Notes
    -----
    A policy that has learnt repeats itself. People label a text once, so what is drawn are
    different completions: the same response to the same prompt counts once, in the phase of one
    of its occurrences, chosen at random. How often it occurs is told with it.

    Strata are the behaviors in thirds of the steps. They get their share of `n` by the largest
    remainder, and at least one; every completion of a stratum has the same probability. Memory:
    some 100 bytes for each completion, and the texts of what is drawn.

    Sheets hold no verdict, no reward and no step, and the items have names of their own in a random
    order: who labels is blind. Each item is asked about with the propositions that its reward
    depends on. A cell whose text a spreadsheet would run as a formula begins with an apostrophe,
    and its lines end as on Unix.
    """
    check_count("n", n, minimum=1)
    check_count("n_annotators", n_annotators, minimum=1)
    check_choice("language", language, Language)
    check_count("seed", seed, minimum=0)
    loaded = run if isinstance(run, TrainingRun) else read_training_run(run)
    if loaded.propositions[:1] == (SCORE,):
        msg = (
            "`run` must be of a reward that asks about propositions, got one by criteria of items. "
            "Have a second judge look: voirdire score RUN --reward REWARD --judge OTHER."
        )
        raise InputError(msg)
    sampled, strata, n_completions = _draw(loaded, n=n, rng=np.random.default_rng(seed))
    asked = [
        (item, row, name)
        for item, row in sampled
        for name in loaded.paying.get(row["behavior"], ())
        if name in loaded.question_texts
    ]
    target = Path(folder)
    sheets = tuple(target / f"labels-{number}.csv" for number in range(1, n_annotators + 1))
    files = {
        sheet: _write_sheet(loaded, asked, annotator=f"annotator-{number}", language=language)
        for number, sheet in enumerate(sheets, start=1)
    }
    files[target / _ITEMS] = _write_lines(
        {
            "id": item.id,
            **dict(zip(("prompt", "response"), read_texts(row), strict=True)),
            "behavior": row["behavior"],
        }
        for item, row in sampled
    )
    from_run = ("step", "group", "stratum", "n_occurrences", "inclusion_probability")
    files[target / _KEY] = _write_lines(
        {"item": item.id, "completion": row["item"]} | {name: row[name] for name in from_run}
        for item, row in sampled
    )
    files[target / _VERDICTS] = _write_verdicts(loaded, asked)
    _write_files(target, files)
    humans = " ".join(f"--humans {shlex.quote(str(path))}" for path in sheets)
    verdicts = shlex.quote(str(target / _VERDICTS))
    return TrainingSample(
        run=str(loaded.folder),
        n_items=len(sampled),
        n_completions=n_completions,
        n_different=sum(row["n_different"] for row in strata.values()),
        strata=strata,
        seed=seed,
        sheets=tuple(map(str, sheets)),
        items=str(target / _ITEMS),
        verdicts=str(target / _VERDICTS),
        key=str(target / _KEY),
        n_labels=len(asked),
        command=f"voirdire examine {humans} --judges {verdicts} --kind boolean",
        notes=_note_few_items(Counter(name for _, _, name in asked)),
        dropped=loaded.dropped,
    )


def _draw(
    run: TrainingRun, *, n: int, rng: np.random.Generator
) -> tuple[list[tuple[Item, dict[str, Any]]], dict[str, dict[str, int]], int]:
    """Draw items with their rows, in a random order; give sizes of strata, and of everything."""
    completions = _list_completions(run)
    if completions.is_empty():
        msg = (
            f"`run` must hold completions of a behavior that its reward pays for, got none in "
            f"{str(run.folder)!r}."
        )
        raise NoDataError(msg)
    different = (
        completions[rng.permutation(completions.height)]  # the first of equal ones is any of them
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
    rows = pl.concat(
        frame.join(drawn, on="item", maintain_order="left") for frame in read_completion_frames(run)
    ).to_dicts()
    width = max(3, len(str(len(rows))))
    sampled = []
    for place, number in enumerate(rng.permutation(len(rows)).tolist(), start=1):
        item = make_item(rows[number], name=f"s{place:0{width}d}", judged=run.judged)
        if item is not None:
            sampled.append((item, rows[number]))
    strata = {name: {"n_different": size, "n_drawn": shares[name]} for name, size in sizes.items()}
    return sampled, strata, completions.height


def _list_completions(run: TrainingRun) -> pl.DataFrame:
    """List the completions that people can label, each with a hash of its texts and its stratum."""
    n = len(run.steps)
    phases = {step.step: _PHASES[k * len(_PHASES) // n] for k, step in enumerate(run.steps)}
    phase = pl.col("step").replace_strict(phases, default=_PHASES[-1], return_dtype=pl.String)
    columns = {
        "item": pl.col("item"),
        "key": pl.struct(_ITEM).hash(),
        "stratum": pl.concat_str("behavior", phase, separator="/").cast(pl.Categorical),
    }
    frames = []
    for frame in read_completion_frames(run, columns=["item", "step", "missing", *_ITEM]):
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


# The folder --------------------------------------------------------------------------------------

_Asked = list[tuple["Item", dict[str, Any], str]]
"""Items, their rows, and the propositions that are asked about them."""


def _write_sheet(run: TrainingRun, asked: _Asked, *, annotator: str, language: Language) -> bytes:
    rows = []
    seen: set[str] = set()
    for item, _, name in asked:
        if escape_cell(name) != name:  # it must stay, or no verdict would be found to a label
            msg = (
                f"`run` must have propositions that no spreadsheet runs as a formula, got "
                f"{shorten(name)!r}. No rubric has such names: ask where the run is from."
            )
            raise InputError(msg)
        by_language = run.question_texts[name]
        text = by_language.get(language) or next(iter(by_language.values()), name)
        texts = ("", "") if item.id in seen else (write_prompt(item), item.response)
        seen.add(item.id)
        rows.append((item.id, name, "", text, annotator, *texts))
    frame = pl.DataFrame(rows, schema=dict.fromkeys(_SHEET, pl.String), orient="row")
    return write_csv(frame).encode()


def _write_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _write_verdicts(run: TrainingRun, asked: _Asked) -> bytes:
    """Write a table of the run's verdicts as `voirdire judge` does."""
    names = [name for _, _, name in asked]
    probability = pl.Series(
        [row[name_proposition_column(name)] for _, row, name in asked], dtype=pl.Float64
    )
    thresholds = pl.Series(get_thresholds(run.threshold, names), dtype=pl.Float64)
    missing = pl.Series([row["missing"] for _, row, _ in asked], dtype=pl.String)
    table = pl.DataFrame(
        {
            "item": [item.id for item, _, _ in asked],
            "judge": [run.judge] * len(asked),
            "question": names,
            "label": probability >= thresholds,
            "probability": probability,
            "source": pl.Series([None] * len(asked), dtype=pl.String),
            "threshold": thresholds,
            "behavior": [row["behavior"] for _, row, _ in asked],
            "failure": missing.fill_null(NO_VERDICT).zip_with(
                probability.is_null(), pl.Series([None], dtype=pl.String)
            ),
            "fingerprint": [row["fingerprint"] for _, row, _ in asked],
        }
    )
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def _note_few_items(counts: Mapping[str, int]) -> tuple[str, ...]:
    few = [name for name, n in counts.items() if n < _FEWEST_ITEMS]
    if not few:
        return ()
    listed = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
    least = f"fewer than {_FEWEST_ITEMS} items, the least that an examination takes"
    return (f"{least}, are asked about {listed}",)


def _write_files(folder: Path, files: Mapping[Path, bytes]) -> None:
    """Write the files of a sample into its folder, after checking that this holds no labels."""
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
        for name in names:
            if name.startswith("labels-") and name.endswith(".csv"):
                _refuse_labels(folder / name)
            elif name not in (_ITEMS, _VERDICTS, _KEY):
                msg = (
                    f"`output` must be an empty folder, got {str(folder)!r}, which holds "
                    f"{shorten(name)!r}. Name another."
                )
                raise InputError(msg)
        for name in names:
            (folder / name).unlink()
        for path, content in files.items():
            with os.fdopen(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(content)
    except FileExistsError:
        msg = f"`output` must be a folder, got the file {str(folder)!r}. Name another."
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{folder}: cannot be written ({error.strerror}). Name another folder."
        raise InputError(msg) from error


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
