"""`voirdire demo`."""

from __future__ import annotations

import json
import os
import shlex
import sys
import webbrowser
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire._types import Language
from voirdire.cli.printing import print_examination, progress
from voirdire.cli.written_files import check_report, write_report, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import AlignmentName
    from voirdire.studies import Examination

__all__ = ["demo_command"]

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
ALIGNMENTS: dict[str, tuple[AlignmentName, ...]] = {
    "toxicity": ("accuracy", "jaccard", "jaccard_macro", "hamming"),
    "needs_review": ("accuracy",),
    "severity": ("neg_rmse",),
}
_COPIED = ("texts.jsonl", "annotations.jsonl", "judges.jsonl", "dataset.json", "README.md")
REPORT = "report.html"
DATASET = "voirdire-demo"
_INTRODUCTION = """\
SIMULATED DATA: 50 short texts in English and Chinese, six simulated annotators (one of them
careless), eight simulated judges (one always gives the same answer). May a judge replace the
annotators? Cells show ω, the share of annotators that the judge may replace, at each margin ε:
✓ passed, ✗ failed, ? no evidence.
"""


def demo_command(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for data and results.", metavar="DIR")
    ] = Path("voirdire-demo"),
    language: Annotated[Language, typer.Option(help="Of the report.")] = "en",
    browse: Annotated[
        bool,
        typer.Option(
            "--open/--no-open", help="Open the report in the browser, where there is a screen."
        ),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Examine eight simulated judges against six simulated annotators, on bundled data."""
    from voirdire.reporting import examination_to_json

    _check_folder(output)
    _make_folder(output)
    check_report(output / REPORT, option="--output")
    _copy_data(output)
    with progress("examining"):
        parts = [_examined(output, question) for question in ALIGNMENTS]
    whole = _together(parts)
    write_text(output / "examination.json", examination_to_json(whole) + "\n")
    with progress("writing the report"):
        write_report(output / REPORT, whole, language=language)
    if as_json:
        print_examination(whole, as_json=True, details=False)
        return
    typer.echo(f"Report: {output / REPORT}\n")
    typer.echo(_INTRODUCTION)
    for part in parts:
        print_examination(part, as_json=False, details=False)
    _say_how(output)
    if browse:
        _open_page(output / REPORT)


def _together(parts: Sequence[Examination]) -> Examination:
    """Put the examinations of several kinds of question into one."""
    from voirdire.studies import Examination

    return Examination(
        results=tuple(row for part in parts for row in part.results),
        dropped=tuple(dict.fromkeys(row for part in parts for row in part.dropped)),
        settings={"simulated": True, "questions": [part.settings for part in parts]},
        questions=tuple(row for part in parts for row in part.questions),
    )


def _say_how(output: Path) -> None:
    annotations, judges, texts = (
        shlex.quote(str(output / name))
        for name in ("annotations.jsonl", "judges.jsonl", "texts.jsonl")
    )
    typer.echo(
        f"\nData and every figure (examination.json) are in {output}/\nThe same from files:\n\n"
        f"  voirdire examine --humans {annotations} \\\n"
        f"    --judges {judges} --question needs_review --kind boolean --epsilon 0.2 \\\n"
        f"    --items {texts} --slice language --report report.html\n"
    )


def _open_page(page: Path) -> None:
    """Show the report, where somebody sits in front of a screen."""
    has_screen = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if sys.stdout.isatty() and has_screen and not os.environ.get("CI"):
        webbrowser.open(page.resolve().as_uri())


def _check_folder(output: Path) -> None:
    """Refuse a folder that holds files of these names, unless a demo was written there before."""
    from voirdire.errors import InputError

    with suppress(OSError, ValueError):
        card = json.loads((output / "dataset.json").read_text(encoding="utf-8"))
        if isinstance(card, dict) and card.get("name") == DATASET:
            return
    for name in (*_COPIED, "examination.json"):
        if (output / name).exists():
            msg = f"`--output` must not hold other files, got {str(output / name)!r}. Name another."
            raise InputError(msg)


def _make_folder(output: Path) -> None:
    from voirdire.errors import InputError

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = (
            f"`--output` must be a folder that can be made, got {str(output)!r} ({error.strerror})."
        )
        raise InputError(msg) from error


def _copy_data(output: Path) -> None:
    for name in _COPIED:
        with as_file(files("voirdire") / "data" / "demo" / name) as source:
            write_text(output / name, source.read_text(encoding="utf-8"))


def _examined(folder: Path, question: str) -> Examination:
    from voirdire.io import read_labels, read_metadata
    from voirdire.studies import TestPlan, examine

    readings: dict[str, dict[str, Any]] = {
        "toxicity": {"kind": "multilabel", "labels": _toxicity_labels(folder)},
        "needs_review": {"kind": "boolean"},
        "severity": {"kind": "scale"},
    }
    reading = readings[question]
    humans = read_labels(
        folder / "annotations.jsonl", role="annotator", question=question, **reading
    )
    judges = read_labels(folder / "judges.jsonl", role="judge", question=question, **reading)
    return examine(
        humans,
        judges,
        alignments=ALIGNMENTS[question],
        plan=TestPlan(epsilon=EPSILONS),
        labels=reading.get("labels"),
        metadata=read_metadata(folder / "texts.jsonl", columns=["language"]),
    )


def _toxicity_labels(folder: Path) -> list[str]:
    card = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return list(card["labels"])
