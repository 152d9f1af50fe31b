"""`voirdire judge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from voirdire._types import Judged
from voirdire.cli.judging_output import print_card, print_summary, say_how_to_go_on
from voirdire.cli.judging_progress import judging_progress
from voirdire.cli.options import as_mapping
from voirdire.cli.printing import listen_for_interrupts

if TYPE_CHECKING:
    from voirdire.judging import JudgingSummary

__all__ = ["judge_command"]

ASKED, READ, WRITTEN = "What is asked", "The items", "The verdicts"


def judge_command(
    items: Annotated[
        str | None,
        typer.Argument(
            help="Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.",
            metavar="ITEMS",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The verdicts: .parquet, .jsonl or .csv; - prints JSONL.",
            metavar="FILE",
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    rubric: Annotated[
        str,
        typer.Option(
            help="A built-in rubric, or a YAML file.", metavar="NAME|FILE", rich_help_panel=ASKED
        ),
    ] = "safety",
    judge: Annotated[
        str,
        typer.Option(
            help="Who answers: local, or a file that `voirdire distill` made.",
            metavar="local|FILE",
            rich_help_panel=ASKED,
        ),
    ] = "local",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="A proposition is true from this probability on. Fix it beforehand. Default: "
            "what the rubric says.",
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ] = None,
    judged: Annotated[
        Judged,
        typer.Option(
            help="What of a response is judged, where it has reasoning or tool turns.",
            rich_help_panel=ASKED,
        ),
    ] = "final_answer",
    behavior: Annotated[
        str | None,
        typer.Option(help="The behavior of items that have none.", rich_help_panel=ASKED),
    ] = None,
    column: Annotated[
        list[str],
        typer.Option(
            help="Your name for a column, as OURS=YOURS (id, prompt, response, messages, chosen, "
            "rejected, behavior, group, cluster); repeatable.",
            metavar="OURS=YOURS",
            rich_help_panel=READ,
        ),
    ] = [],  # noqa: B006  # typer copies it
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Instead of the file's ending: jsonl, csv, tsv, json, parquet.",
            rich_help_panel=READ,
        ),
    ] = None,
    layout: Annotated[
        Literal["long", "wide"],
        typer.Option(
            help="One row per item and question, for `voirdire examine`; or one row per item.",
            rich_help_panel=WRITTEN,
        ),
    ] = "long",
    workers: Annotated[
        int,
        typer.Option(
            help="Processes; 0: one per core, at most 8, where there are more than 20,000 items.",
            rich_help_panel=WRITTEN,
        ),
    ] = 0,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="Throw away what an interrupted run left.",
            rich_help_panel=WRITTEN,
        ),
    ] = False,
    show_card: Annotated[
        bool,
        typer.Option(
            "--show-card",
            help="Print what is known of the judge: training data, held-out figures. No ITEMS.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge responses by a rubric: probabilities, labels and completion classes, to a file.

    A run that was interrupted goes on where it was when the same command is given again.
    """
    if show_card:
        print_card(judge, as_json=as_json)
        return
    source, target = _given(items, output)
    if target == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise typer.BadParameter(msg)
    named = as_mapping(column, option="--column")
    listen_for_interrupts()
    from voirdire.judging import judge_file

    try:
        with judging_progress(source) as tell:
            summary: JudgingSummary = judge_file(
                source,
                target,
                rubric=rubric,
                judge=judge,
                threshold=threshold,
                judged=judged,
                behavior=behavior,
                columns=named or None,
                format=file_format,
                layout=layout,
                workers=workers or "auto",
                restart=restart,
                progress=tell,
            )
    except KeyboardInterrupt:
        say_how_to_go_on(target)
        raise
    print_summary(summary, as_json=as_json)


def _given(items: str | None, output: Path | None) -> tuple[str, str]:
    if items is None:
        msg = "`ITEMS` must be a file of items. Name one, or ask for --show-card."
        raise typer.BadParameter(msg)
    if output is None:
        msg = "`--output` must name the file of verdicts: -o verdicts.parquet."
        raise typer.BadParameter(msg)
    return items, str(output)
