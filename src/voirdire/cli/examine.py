"""`voirdire examine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from voirdire._types import (
    AlignmentName,
    EpsilonMode,
    Language,
    Method,
    Normalization,
    QuestionKind,
    WeightScheme,
)
from voirdire.cli.gate import check_gates, closed_gates
from voirdire.cli.options import as_labels, as_mapping, as_text, as_weights
from voirdire.cli.printing import print_examination, progress
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
_FORMATS = "csv, tsv, jsonl, json, parquet, alttest, label-studio, argilla, rbr-gold"
FILES, STUDY, TEST, OUTPUT = "Files", "What is asked", "The test", "Output"


def examine_command(
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
    column: Annotated[
        list[str],
        typer.Option(
            help="Your name for a column, as OURS=YOURS (item, annotator, judge, label, question, "
            "failure, probability); repeatable.",
            metavar="OURS=YOURS",
            rich_help_panel=FILES,
        ),
    ] = [],  # noqa: B006  # typer copies it
    rater: Annotated[
        list[str],
        typer.Option(
            help="Wide annotations: a column that is an annotator; repeatable. Default: all.",
            metavar="COLUMN",
            rich_help_panel=FILES,
        ),
    ] = [],  # noqa: B006
    separator: Annotated[
        str | None,
        typer.Option(
            help="What parts the labels of a set in one text cell, such as |. Default: JSON array.",
            rich_help_panel=FILES,
        ),
    ] = None,
    missing: Annotated[
        list[str],
        typer.Option(
            help="A word that means no answer; repeatable.", rich_help_panel=FILES, metavar="WORD"
        ),
    ] = [],  # noqa: B006
    question: Annotated[
        list[str],
        typer.Option(help="Examine this question only; repeatable.", rich_help_panel=STUDY),
    ] = [],  # noqa: B006
    judge: Annotated[
        list[str],
        typer.Option(help="Examine this judge only; repeatable.", rich_help_panel=STUDY),
    ] = [],  # noqa: B006
    kind: Annotated[
        QuestionKind | None,
        typer.Option(
            help="What the question asks for. Default: what the alignment needs; accuracy: choice.",
            rich_help_panel=STUDY,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="The label universe, as a,b,c or a JSON array.",
            metavar="LABELS",
            rich_help_panel=STUDY,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Boolean judges given as probabilities: true from here on. Fix it beforehand. "
            "Default: what verdicts of `voirdire judge` declare, else .5.",
            show_default=False,
            rich_help_panel=STUDY,
        ),
    ] = None,
    alignment: Annotated[
        list[str],
        typer.Option(
            help="How close two labels are; repeatable.",
            metavar=f"[{'|'.join(get_args(AlignmentName))}]",
            rich_help_panel=TEST,
        ),
    ] = ["accuracy"],  # noqa: B006
    epsilon: Annotated[
        list[float],
        typer.Option(
            help="Cost-benefit margin in [0, 1); repeatable. Default .2; experts .2, skilled "
            "annotators .15, crowd workers .1.",
            rich_help_panel=TEST,
            show_default=False,
        ),
    ] = [],  # noqa: B006
    epsilon_mode: Annotated[
        EpsilonMode, typer.Option(help="How ε enters.", rich_help_panel=TEST)
    ] = "additive",
    epsilon_reason: Annotated[
        str | None,
        typer.Option(
            help="Why this ε was fixed in advance; goes into report and certificate.",
            metavar="TEXT",
            rich_help_panel=TEST,
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="The t-test, or the exact test for few items or many ties.", rich_help_panel=TEST
        ),
    ] = "t",
    weights: Annotated[
        WeightScheme | None,
        typer.Option(help="Weights for skewed labels.", rich_help_panel=TEST),
    ] = None,
    quality: Annotated[
        list[str],
        typer.Option(
            help="Weight of an annotator; repeatable, all or none.",
            metavar="ANNOTATOR=NUMBER",
            rich_help_panel=TEST,
        ),
    ] = [],  # noqa: B006
    expert: Annotated[
        str | None,
        typer.Option(
            help="The annotator who stands for the others of everyone else.",
            metavar="ANNOTATOR",
            rich_help_panel=TEST,
        ),
    ] = None,
    normalize: Annotated[
        Normalization | None,
        typer.Option(help="Rescale each rater's numbers first (neg_rmse).", rich_help_panel=TEST),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Column of the annotations that names what an item shares its source with.",
            metavar="COLUMN",
            rich_help_panel=TEST,
        ),
    ] = None,
    min_items: Annotated[
        int, typer.Option(help="Fewest items of a tested annotator.", rich_help_panel=TEST)
    ] = 30,
    min_annotators: Annotated[
        int, typer.Option(help="Fewest annotators on an item.", rich_help_panel=TEST)
    ] = 2,
    false_discovery_rate: Annotated[
        float, typer.Option(help="q of Benjamini-Yekutieli.", rich_help_panel=TEST)
    ] = 0.05,
    slices: Annotated[
        list[str],
        typer.Option(
            "--slice",
            help="Slice by this column of --items only; repeatable.",
            metavar="COLUMN",
            rich_help_panel=TEST,
        ),
    ] = [],  # noqa: B006
    resamples: Annotated[
        int,
        typer.Option(
            help="Bootstrap resamples for the interval of ρ and the stability of ω; 0: none.",
            rich_help_panel=TEST,
        ),
    ] = 1_000,
    confidence_level: Annotated[
        float, typer.Option(help="Of every interval, in (0, 1).", rich_help_panel=TEST)
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(help="Of the random control and the resamples.", rich_help_panel=TEST)
    ] = 0,
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Examine whether LLM judges may replace human annotators: the alternative annotator test."""
    alignments = _checked_alignments(alignment)
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
        cluster=cluster,
        questions=question,
        streamed="-" in [*humans, *judges, gold],
    )
    if [*humans, *judges, gold, items].count("-") > 1:
        msg = "standard input (-) can be read once, got it twice."
        raise typer.BadParameter(msg)
    if slices and items is None:
        msg = "`--slice` must name a column of `--items`, which is not given."
        raise typer.BadParameter(msg)
    weight_of = as_weights(quality)
    reason = as_text(epsilon_reason, option="--epsilon-reason")
    check_apart(report=report, certificate=certificate)
    check_certificate(certificate)
    check_report(report)
    with progress("reading"):
        study = read_study(humans, judges, gold, reading=reading, only=judge)
        metadata = read_items(items, reading, slices)
    check_gates(gate, study.judge_names)
    with progress("examining"):
        examination = _examine(
            study,
            alignments,
            reading,
            epsilon=epsilon or [0.0 if gold else 0.2],
            epsilon_mode=epsilon_mode,
            method=method,
            weights=weights,
            quality=weight_of,
            expert=expert,
            normalize=normalize,
            min_items=min_items,
            min_annotators=min_annotators,
            false_discovery_rate=false_discovery_rate,
            n_resamples=resamples,
            confidence_level=confidence_level,
            seed=seed,
            metadata=metadata,
            epsilon_reason=reason,
        )
    if certificate is not None:
        _write_certificate(certificate, examination, study, reading, reason)
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


def _checked_alignments(names: Sequence[str]) -> list[AlignmentName]:
    for name in names:
        if name not in get_args(AlignmentName):
            known = ", ".join(get_args(AlignmentName))
            msg = f"`--alignment` must be one of {known}, got {name!r}."
            raise typer.BadParameter(msg)
    return [cast("AlignmentName", name) for name in dict.fromkeys(names)]


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
