"""`voirdire examine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from voirdire._types import (
    AlignmentName,
    Language,
    QuestionKind,
)
from voirdire._validation import shorten
from voirdire.cli.label_options import kind_option, labels_option, missing_option, rater_option
from voirdire.cli.options import as_labels, as_mapping
from voirdire.cli.output_options import json_option
from voirdire.cli.plan_options import PlanOptions
from voirdire.cli.printing import print_examination, progress
from voirdire.cli.reading_options import column_option
from voirdire.cli.shell import UsageError, say
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
FILES = Group("Files", sort_key=1)
STUDY = Group("What is asked", sort_key=2)
OUTPUT = Group("Output", sort_key=9)


def examine_command(
    *,
    humans: Annotated[
        list[str],
        Parameter(
            help="Annotations: CSV, JSONL, JSON or Parquet, long or wide; - reads standard input.",
            metavar="FILE",
            group=FILES,
        ),
    ],
    judges: Annotated[
        list[str],
        Parameter(help="Judge labels, likewise; or a folder of them.", metavar="FILE", group=FILES),
    ],
    gold: Annotated[
        str | None,
        Parameter(
            help="Gold labels that stand for the other annotators; ε defaults to 0: does the "
            "judge outperform the humans?",
            metavar="FILE",
            group=FILES,
        ),
    ] = None,
    items: Annotated[
        str | None,
        Parameter(
            help="What is known about the items: a column item (or id), and one per property to "
            "slice by.",
            metavar="FILE",
            group=FILES,
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        Parameter(name="--format", help=f"Instead of the file's ending: {_FORMATS}.", group=FILES),
    ] = None,
    column: Annotated[list[str], column_option(_COLUMNS, panel=FILES)] = [],
    rater: Annotated[list[str], rater_option(panel=FILES)] = [],
    separator: Annotated[
        str | None,
        Parameter(
            help="What parts the labels of a set in one text cell, such as |. Default: JSON array.",
            group=FILES,
        ),
    ] = None,
    missing: Annotated[list[str], missing_option(panel=FILES)] = [],
    question: Annotated[
        list[str],
        Parameter(help="Examine this question only; repeatable.", group=STUDY),
    ] = [],
    only: Annotated[
        list[str],
        Parameter(help="Examine this judge only; repeatable.", group=STUDY),
    ] = [],
    kind: Annotated[QuestionKind | None, kind_option(panel=STUDY)] = None,
    labels: Annotated[str | None, labels_option(panel=STUDY)] = None,
    threshold: Annotated[
        float | None,
        Parameter(
            help="Boolean judges given as probabilities: true from here on. Fix it beforehand. "
            "Default: what verdicts of `voirdire judge` declare, else .5.",
            show_default=False,
            group=STUDY,
        ),
    ] = None,
    testing: PlanOptions = PlanOptions(),
    gate: Annotated[
        bool,
        Parameter(
            help="Exit 3 unless the outcome of every judge that is examined is passed, for every "
            "question, alignment and ε of the run.",
            group=OUTPUT,
        ),
    ] = False,
    report: Annotated[
        Path | None,
        Parameter(
            help="Write everything to this HTML file, to be read without a statistician.",
            metavar="FILE",
            group=OUTPUT,
        ),
    ] = None,
    language: Annotated[
        Language, Parameter(name="--report-language", help="Of the report.", group=OUTPUT)
    ] = "en",
    certificate: Annotated[
        Path | None,
        Parameter(
            help="Write the record of the examination to this JSON file.",
            metavar="FILE",
            group=OUTPUT,
        ),
    ] = None,
    details: Annotated[
        bool, Parameter(name="--details", help="Print every annotator.", group=OUTPUT)
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
        raise UsageError(msg)
    if testing.slices and items is None:
        msg = "`--slice` must name a column of `--items`, which is not given."
        raise UsageError(msg)
    plan = testing.settings(has_gold=bool(gold))
    check_apart(report=report, certificate=certificate)
    check_certificate(certificate)
    check_report(report)
    with progress("reading"):
        study = read_study(humans, judges, gold, reading=reading, only=only)
        metadata = read_items(items, reading, testing.slices)
    with progress("examining"):
        examination = _examine(study, alignments, reading, metadata=metadata, **plan)
    if certificate is not None:
        _write_certificate(certificate, examination, study, reading, plan["epsilon_reason"])
    if report is not None:
        with progress("writing the report"):
            write_report(report, examination, language=language)
        say(f"report: {report}")
    print_examination(examination, as_json=as_json, details=details)
    if gate:
        _leave_if_closed(closed_gates(examination, study.judge_names))


def closed_gates(examination: Examination, judges: Sequence[str]) -> list[str]:
    """Say which results have another outcome than `passed`, or are missing.

    A judge without labels for a question that others were examined on has not passed it.
    """
    outcomes = {
        (row.judge, row.question, row.alignment, row.epsilon): row.outcome
        for row in examination.results
    }
    asked = dict.fromkeys(place[1:] for place in outcomes)
    found = [
        (judge, place, outcomes.get((judge, *place), "not examined"))
        for judge in dict.fromkeys([*judges, *(row.judge for row in examination.results)])
        for place in asked
    ]
    return [
        f"{shorten(judge)}: {outcome} ({shorten(question)}, {alignment}, ε {epsilon:g})"
        for judge, (question, alignment, epsilon), outcome in found
        if outcome != "passed"
    ]


def _leave_if_closed(closed: Sequence[str]) -> None:
    """Leave with status 3, and say which gates are not passed."""
    if not closed:
        return
    more = f"; and {len(closed) - _MOST_SAID} more" if len(closed) > _MOST_SAID else ""
    say(f"voirdire: gate not passed: {'; '.join(closed[:_MOST_SAID])}{more}")
    raise SystemExit(GATE_NOT_PASSED)


def _declared_kind(kind: QuestionKind | None, alignments: Sequence[AlignmentName]) -> QuestionKind:
    """Take the kind that was declared, or the one kind that the alignments declare together."""
    from voirdire.studies.examination import kind_of

    needed = {kind_of(alignment) for alignment in alignments} - {"choice"}
    if len(needed) > 1:
        msg = f"`--alignment` must suit one kind of question, got {', '.join(alignments)}."
        raise UsageError(msg)
    if kind is None:
        return needed.pop() if needed else "choice"
    if needed - {kind}:
        msg = f"`--kind` must be {needed.pop()} for {', '.join(alignments)}, got {kind}."
        raise UsageError(msg)
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
