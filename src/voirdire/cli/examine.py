"""`voirdire examine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire._types import (
    AlignmentName,
    Language,
    QuestionKind,
)
from voirdire.cli.gate import check_gates, closed_gates
from voirdire.cli.label_options import kind_option, labels_option, missing_option, rater_option
from voirdire.cli.option_groups import takes_groups
from voirdire.cli.options import as_labels, as_mapping
from voirdire.cli.output_options import json_option
from voirdire.cli.plan_options import PlanOptions
from voirdire.cli.printing import print_examination, progress
from voirdire.cli.reading_options import column_option
from voirdire.cli.study_files import Reading, read_items, read_study
from voirdire.cli.written_files import (
    check_apart,
    check_certificate,
    check_report,
    write_report,
    write_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from voirdire.cli.study_files import Study
    from voirdire.studies import Examination

__all__ = ["examine_command"]

GATE_NOT_PASSED = 3
_MOST_SAID = 5
_COLUMNS = "item, annotator, judge, label, question, failure, probability"
_FORMATS = "csv, tsv, jsonl, json, parquet, alttest, label-studio, argilla, rbr-gold"
FILES, STUDY, OUTPUT = "Files", "What is asked", "Output"


@takes_groups
def examine_command(
    *,
    humans: Annotated[
        list[str],
        typer.Option(
            help="Annotations: CSV, JSONL, JSON or Parquet, long or wide; - reads standard input.",
            metavar="FILE",
            rich_help_panel=FILES,
        ),
    ],
    judges: Annotated[
        list[str],
        typer.Option(
            help="Judge labels, likewise; or a folder of them.",
            metavar="FILE",
            rich_help_panel=FILES,
        ),
    ],
    gold: Annotated[
        str | None,
        typer.Option(
            help="Gold labels that stand for the other annotators; ε defaults to 0: does the "
            "judge outperform the humans?",
            metavar="FILE",
            rich_help_panel=FILES,
        ),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            help="What is known about the items: a column item (or id), and one per property to "
            "slice by.",
            metavar="FILE",
            rich_help_panel=FILES,
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format", help=f"Instead of the file's ending: {_FORMATS}.", rich_help_panel=FILES
        ),
    ] = None,
    column: Annotated[list[str], column_option(_COLUMNS, panel=FILES)] = [],  # noqa: B006  # typer copies it
    rater: Annotated[list[str], rater_option(panel=FILES)] = [],  # noqa: B006
    separator: Annotated[
        str | None,
        typer.Option(
            help="What parts the labels of a set in one text cell, such as |. Default: JSON array.",
            rich_help_panel=FILES,
        ),
    ] = None,
    missing: Annotated[list[str], missing_option(panel=FILES)] = [],  # noqa: B006
    question: Annotated[
        list[str],
        typer.Option(help="Examine this question only; repeatable.", rich_help_panel=STUDY),
    ] = [],  # noqa: B006
    judge: Annotated[
        list[str],
        typer.Option(help="Examine this judge only; repeatable.", rich_help_panel=STUDY),
    ] = [],  # noqa: B006
    kind: Annotated[QuestionKind | None, kind_option(panel=STUDY)] = None,
    labels: Annotated[str | None, labels_option(panel=STUDY)] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Boolean judges given as probabilities: true from here on. Fix it beforehand. "
            "Default: what verdicts of `voirdire judge` declare, else .5.",
            show_default=False,
            rich_help_panel=STUDY,
        ),
    ] = None,
    testing: PlanOptions,
    gate: Annotated[
        list[str],
        typer.Option(
            help="Exit 3 unless this judge's outcome is passed, for every question, alignment and "
            "ε of the run; repeatable; without a name, unless every judge's is.",
            metavar="[JUDGE]",
            rich_help_panel=OUTPUT,
        ),
    ] = [],  # noqa: B006
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write everything to this HTML file, to be read without a statistician.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    language: Annotated[
        Language, typer.Option(help="Of the report.", rich_help_panel=OUTPUT)
    ] = "en",
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="Write the record of the examination to this JSON file.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print every annotator.", rich_help_panel=OUTPUT)
    ] = False,
    as_json: Annotated[bool, json_option(panel=OUTPUT)] = False,
) -> None:
    """Examine whether LLM judges may replace human annotators: the alternative annotator test."""
    alignments = testing.alignments()
    declared = _declared_kind(kind, alignments)
    universe = as_labels(labels, numeric=declared == "scale")
    reading = Reading(
        kind=declared,
        file_format=file_format,
        columns=as_mapping(column, option="--column"),
        raters=rater,
        labels=universe,
        separator=separator,
        missing=missing,
        threshold=threshold,
        cluster=testing.cluster,
        questions=question,
        streamed="-" in [*humans, *judges, gold],
    )
    if [*humans, *judges, gold, items].count("-") > 1:
        msg = "standard input (-) can be read once, got it twice."
        raise typer.BadParameter(msg)
    if testing.slices and items is None:
        msg = "`--slice` must name a column of `--items`, which is not given."
        raise typer.BadParameter(msg)
    plan = testing.settings(has_gold=bool(gold))
    check_apart(report=report, certificate=certificate)
    check_certificate(certificate)
    check_report(report)
    with progress("reading"):
        study = read_study(humans, judges, gold, reading=reading, only=judge)
        metadata = read_items(items, reading, testing.slices)
    check_gates(gate, study.judge_names)
    with progress("examining"):
        examination = _examine(study, alignments, reading, metadata=metadata, **plan)
    if certificate is not None:
        _write_certificate(certificate, examination, study, reading, plan["epsilon_reason"])
    if report is not None:
        with progress("writing the report"):
            write_report(report, examination, language=language)
        typer.echo(f"report: {report}", err=True)
    print_examination(examination, as_json=as_json, details=details)
    _leave_if_closed(closed_gates(examination, gate, study.judge_names))


def _leave_if_closed(closed: Sequence[str]) -> None:
    """Leave with status 3, and say which gates are not passed."""
    if not closed:
        return
    more = f"; and {len(closed) - _MOST_SAID} more" if len(closed) > _MOST_SAID else ""
    typer.echo(f"voirdire: gate not passed: {'; '.join(closed[:_MOST_SAID])}{more}", err=True)
    raise typer.Exit(GATE_NOT_PASSED)


def _declared_kind(kind: QuestionKind | None, alignments: Sequence[AlignmentName]) -> QuestionKind:
    """Take the kind that was declared, or the one kind that the alignments declare together."""
    from voirdire.studies.examination import kind_of

    needed = {kind_of(alignment) for alignment in alignments} - {"choice"}
    if len(needed) > 1:
        msg = f"`--alignment` must suit one kind of question, got {', '.join(alignments)}."
        raise typer.BadParameter(msg)
    if kind is None:
        return needed.pop() if needed else "choice"
    if needed - {kind}:
        msg = f"`--kind` must be {needed.pop()} for {', '.join(alignments)}, got {kind}."
        raise typer.BadParameter(msg)
    return kind


def _examine(
    study: Study,
    alignments: Sequence[AlignmentName],
    reading: Reading,
    *,
    metadata: pl.DataFrame | None,
    **plan: Any,
) -> Examination:
    from voirdire.studies import TestPlan, examine

    return examine(
        study.humans,
        study.judges,
        alignments=alignments,
        plan=TestPlan(**plan),
        questions=reading.questions or None,
        labels=reading.labels,
        gold=study.gold,
        clustered=reading.cluster is not None,
        metadata=metadata,
    )


def _write_certificate(
    path: Path,
    examination: Examination,
    study: Study,
    reading: Reading,
    epsilon_reason: str | None,
) -> None:
    from voirdire.reporting import certificate_to_json
    from voirdire.studies import certify

    record = certify(
        examination,
        humans=study.humans,
        judges=study.judges,
        gold=study.gold,
        epsilon_reason=epsilon_reason,
        reading={"threshold": _threshold(study, reading), "missing": list(reading.missing)},
    )
    write_text(path, certificate_to_json(record) + "\n")


def _threshold(study: Study, reading: Reading) -> float | list[float]:
    """Name the threshold of the run: declared here, else by the verdicts, else .5."""
    if reading.threshold is not None:
        return reading.threshold
    found = study.judges.thresholds or (0.5,)
    return found[0] if len(found) == 1 else list(found)
