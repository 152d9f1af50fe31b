"""`voirdire examine`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Group, Parameter

from voirdire._types import AlignmentName
from voirdire._validation import shorten
from voirdire.cli.option_groups import Text, option_group
from voirdire.cli.options import AsJson, File, Files, ReportLanguage
from voirdire.cli.printing import print_examination, print_gold, progress
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.study_files import ReadingOptions, declare_kind, read_files, read_items
from voirdire.cli.written_files import (
    check_apart,
    check_calibration,
    check_certificate,
    check_report,
    write_report,
    write_text,
)
from voirdire.io import Reading
from voirdire.studies import TestPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.studies import Examination, GoldExamination
    from voirdire.studies.study import Study

    PlanOptions: TypeAlias = TestPlan
else:
    PlanOptions = option_group(
        TestPlan,
        panel=Group("The test", sort_key=3),
        without=("similarity",),
        epsilon_reason=Text,
    )

__all__ = ["examine_command"]

GATE_NOT_PASSED = 3
_MOST_SAID = 5


def examine_command(
    *,
    call: Call,
    humans: Files = [],
    judges: Files = [],
    gold: File = None,
    items: File = None,
    questions: Annotated[list[str], Parameter(name="--question")] = [],
    only: list[str] = [],
    alignments: Annotated[list[AlignmentName], Parameter(name="--alignment")] = ["accuracy"],
    slices: Annotated[list[str], Parameter(name="--slice", metavar="COLUMN")] = [],
    reading: ReadingOptions = Reading(),
    plan: PlanOptions = TestPlan(),
    gate: bool = False,
    report: Path | None = None,
    language: ReportLanguage = "en",
    certificate: Path | None = None,
    calibration: Path | None = None,
    population: str | None = None,
    details: bool = False,
    as_json: AsJson = False,
) -> None:
    """Examine whether LLM judges may replace human annotators: the alternative annotator test.

    Parameters
    ----------
    humans
        Annotations: CSV, JSONL, JSON, Parquet or XLSX, long or wide; - reads standard input. Left
        out, judges are measured against --gold alone.
    judges
        Judge labels, likewise; or a folder of them. By default those of --humans that
        --judge-column names.
    gold
        Gold labels that stand for the other annotators; ε defaults to 0: does the judge outperform
        the humans? Without --humans: how often is the judge right?
    items
        What is known about the items: a column item (or id), and one per property to slice by.
    questions
        Examine this question only; repeatable.
    only
        Examine this judge only; repeatable.
    alignments
        How close two labels are; repeatable.
    slices
        Slice by this column of --items only; repeatable.
    gate
        Exit 3 unless the outcome of every judge that is examined is passed, for every question,
        alignment and ε of the run.
    report
        Write everything to this HTML file, to be read without a statistician.
    certificate
        Write the record of the examination to this JSON file.
    calibration
        Without --humans: write what calibrates the probabilities of one judge to this JSON file,
        for --calibration of every command that asks it.
    population
        Which items the examined ones stand for, in words; stands in the certificate.
    details
        Print every annotator.
    """
    if not humans:
        check_calibration(calibration)
        found = _examine_gold(
            call, judges, gold, reading, plan, questions=questions, calibration=calibration
        )
        print_gold(found, as_json=as_json, details=details)
        return
    if calibration is not None:
        msg = "`--calibration` must be left out beside `--humans`: it is fitted to `--gold` alone."
        raise UsageError(msg)
    alignments = list(dict.fromkeys(alignments))
    reading = declare_kind(reading, alignments)
    if not judges and not reading.judge_columns:
        msg = (
            "`--judges` must be given, or `--judge-column` where one file holds people and judges."
        )
        raise UsageError(msg)
    judges = judges or humans
    sources = [*humans, *(judges if judges is not humans else []), gold, items]
    if sources.count("-") > 1:
        msg = "standard input (-) can be read once, got it twice."
        raise UsageError(msg)
    if slices and items is None:
        msg = "`--slice` must name a column of `--items`, which is not given."
        raise UsageError(msg)
    if gold is not None and "epsilon" not in call.options:
        plan = replace(plan, epsilon=0.0)
    check_apart(report=report, certificate=certificate)
    check_certificate(certificate)
    check_report(report)
    with progress("reading"):
        study = read_files(humans, judges, gold, reading=reading, questions=questions, only=only)
        metadata = read_items(items, reading, slices, streams="-" in sources[:-1])
    say(study.understood())
    with progress("examining"):
        from voirdire.studies import examine

        examination = examine(
            judges=study.judges,
            humans=study.humans,
            alignment=alignments,
            plan=plan,
            questions=questions or None,
            labels=reading.labels,
            gold=study.gold,
            clusters=reading.cluster is not None,
            metadata=metadata,
        )
    if certificate is not None:
        _write_certificate(certificate, examination, study, reading, population)
    if report is not None:
        with progress("writing the report"):
            write_report(report, examination, language=language)
        say(f"report: {report}")
    print_examination(examination, as_json=as_json, details=details)
    if gate:
        _leave_if_closed(closed_gates(examination, study.judges.raters))


_OF_PEOPLE = (
    *("items", "only", "alignments", "slices", "gate", "report", "certificate", "population"),
    *("epsilon", "epsilon_reason", "epsilon_mode", "method", "weights", "quality", "expert"),
    *("normalize", "min_items", "min_annotators", "family", "n_resamples", "false_discovery_rate"),
)


def _examine_gold(
    call: Call,
    judges: Sequence[str],
    gold: str | None,
    reading: Reading,
    plan: TestPlan,
    *,
    questions: Sequence[str],
    calibration: Path | None,
) -> GoldExamination:
    """Measure judges against gold labels, where there are no annotators; write a calibration."""
    if gold is None or not judges:
        lacking = "`--judges`" if gold else "`--humans`"
        known = " (or `--gold`, to see how often a judge is right)" if gold is None else ""
        msg = f"{lacking} is missing{known}. Test whether judges may stand in for human annotators."
        raise UsageError(msg)
    strange = [call.options[name] for name in _OF_PEOPLE if name in call.options]
    if strange:
        msg = f"`{strange[0]}` must be left out without `--humans`: gold labels are no annotators."
        raise UsageError(msg)
    with progress("reading and measuring"):
        from voirdire.studies import examine_gold

        found = examine_gold(
            judges=list(judges),
            gold=gold,
            questions=questions or None,
            clustered=reading.cluster is not None,
            reading=reading,
            confidence_level=plan.confidence_level,
            seed=plan.seed,
        )
    say(found.understood)
    if calibration is not None:
        _write_calibration(calibration, found)
    return found


def _write_calibration(path: Path, examination: GoldExamination) -> None:
    """Write the calibration of the one judge that was examined, and say what it is worth."""
    found = examination.calibration()
    found.save(path)
    say(f"calibration: {path}")
    for question in dict.fromkeys(row.question for row in examination.results):
        row = found.questions.get(question)
        said = "left as it is, since no calibrator helps"
        if row is not None:
            figures = f"{row.brier:.3f} to {row.calibrated_brier:.3f}"
            said = f"{row.calibrator.method}, Brier score {figures} on items it was not fitted to"
        say(f"  {shorten(question)}: {said}")


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


def _write_certificate(
    path: Path,
    examination: Examination,
    study: Study,
    reading: Reading,
    population: str | None,
) -> None:
    from voirdire.reporting import certificate_to_json
    from voirdire.studies import certify

    threshold = reading.threshold
    if threshold is None and not study.judges.thresholds:
        threshold = 0.5
    record = certify(
        examination,
        humans=study.humans,
        judges=study.judges,
        gold=study.gold,
        population=population,
        reading={"threshold": threshold, "missing": list(reading.missing)},
    )
    write_text(path, certificate_to_json(record) + "\n")
