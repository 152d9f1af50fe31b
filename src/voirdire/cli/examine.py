"""`voirdire examine`."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._types import AlignmentName
from voirdire._validation import shorten
from voirdire.cli.option_groups import Text, option_group
from voirdire.cli.options import AsJson, Behavior, File, Files, ReportLanguage, RubricName
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
from voirdire.errors import InputError
from voirdire.io import Reading
from voirdire.studies import TestPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    judge: Annotated[
        str | None, Parameter(metavar="local|FILE|MODEL", allow_repeating=False)
    ] = None,
    rubric: RubricName = "safety",
    behavior: Behavior = None,
    store: Annotated[str | None, Parameter(metavar="FILE|URL")] = None,
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
    judge
        Judge --items now, as `voirdire judge` does: local, a file that `voirdire distill` made, a
        language model, or the YAML file of a cascade, a jury or several judges, which says how
        they are asked.
    store
        Where a language model's replies are kept: a file, or postgresql://... Default:
        voirdire-replies.sqlite in the current folder.
    gold
        Gold labels that stand for the other annotators; ε defaults to 0: does the judge outperform
        the humans? Without --humans: how often is the judge right?
    items
        What is known about the items: a column item (or id), and one per property to slice by.
        With --judge, the prompts with responses that it judges.
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
    reading = _check_step(
        call, judges, judge, items=items, rubric=rubric, reading=reading, questions=questions
    )
    judging = _verdict_files(
        judges, judge, call=call, source=str(items), rubric=rubric, behavior=behavior, store=store
    )
    if not humans:
        check_calibration(calibration)
        _check_gold(call, judges, judge, gold)
        with judging as judges:
            found = _examine_gold(
                judges, str(gold), reading, plan, questions=questions, calibration=calibration
            )
        print_gold(found, as_json=as_json, details=details)
        return
    if calibration is not None:
        msg = "`--calibration` must be left out beside `--humans`: it is fitted to `--gold` alone."
        raise UsageError(msg)
    alignments = list(dict.fromkeys(alignments))
    reading = declare_kind(reading, alignments)
    if not judges and judge is None and not reading.judge_columns:
        msg = (
            "`--judges` must be given, or `--judge-column` where one file holds people and judges, "
            "or `--judge` with `--items`."
        )
        raise UsageError(msg)
    sources = [*humans, *judges, gold, items]
    _check_sources(sources, slices=slices)
    if gold is not None and "epsilon" not in call.options:
        plan = replace(plan, epsilon=0.0)
    check_apart(report=report, certificate=certificate)
    check_certificate(certificate)
    check_report(report)
    with judging as found_in, progress("reading"):
        study = read_files(
            humans, found_in or humans, gold, reading=reading, questions=questions, only=only
        )
    metadata = None
    if judge is None or slices:
        with progress("reading"):
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


_OF_STEP = ("rubric", "behavior", "store")
_OF_PEOPLE = (
    *("items", "only", "alignments", "slices", "gate", "report", "certificate", "population"),
    *("epsilon", "epsilon_reason", "epsilon_mode", "method", "weights", "quality", "expert"),
    *("normalize", "min_items", "min_annotators", "family", "n_resamples", "false_discovery_rate"),
)


def _check_sources(sources: Sequence[str | None], *, slices: Sequence[str]) -> None:
    """Refuse standard input twice, and slices without items, which stand last."""
    if sources.count("-") > 1:
        msg = "standard input (-) can be read once, got it twice."
        raise UsageError(msg)
    if slices and sources[-1] is None:
        msg = "`--slice` must name a column of `--items`, which is not given."
        raise UsageError(msg)


def _check_step(
    call: Call,
    judges: Sequence[str],
    judge: str | None,
    *,
    items: str | None,
    rubric: str,
    reading: Reading,
    questions: Sequence[str],
) -> Reading:
    """Refuse a judge beside verdicts or without items; say how what it says is read."""
    if judge is None:
        idle = [call.options[name] for name in _OF_STEP if name in call.options]
        if idle:
            msg = f"{', '.join(idle)} must be left out: nobody is asked. Name a `--judge`."
            raise UsageError(msg)
        return reading
    if judges:
        msg = "`--judge` beside `--judges` is now `--only`: it chooses among those examined."
        raise UsageError(msg)
    if items is None or items == "-":
        got = "none" if items is None else "standard input, which cannot be read again"
        msg = f"`--judge` needs a file of prompts with responses as `--items`, got {got}."
        raise UsageError(msg)
    return _reading_of(rubric, reading, questions)


def _reading_of(rubric: str, reading: Reading, questions: Sequence[str]) -> Reading:
    """Take the kind of the questions that are judged, where they are of one."""
    from voirdire.rubrics import load_rubric

    asked = load_rubric(rubric).questions
    kinds = {row.kind for row in asked if row.id in questions or not questions}
    return replace(reading, kind=kinds.pop()) if len(kinds) == 1 and not reading.kind else reading


@contextmanager
def _verdict_files(
    judges: list[str],
    judge: str | None,
    *,
    call: Call,
    source: str,
    store: str | None,
    **asked: Any,
) -> Iterator[list[str]]:
    """Give the files of verdicts; where a judge is named, those that it gives now."""
    if judge is None:
        yield judges
        return
    from voirdire.cli.judge import run_judges
    from voirdire.cli.judging_output import say_drops, say_if_all_failed
    from voirdire.cli.model_judges import asked_judge, is_judges_file
    from voirdire.judging import Asking
    from voirdire.judging.runs.outputs import STORE_NAME

    several = Path(judge) if is_judges_file(judge) else None
    settings = asked | {"store": store or STORE_NAME}
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        judged = run_judges(
            source,
            folder if several else str(Path(folder) / "verdicts.parquet"),
            judges=several,
            asked=asked_judge(judge, Asking(), call=call),
            settings=settings,
        )
        for name, error in judged.failed.items():
            say(f"{shorten(name)} did not come to its end: {error}")
        if say_if_all_failed(judged) or not judged:
            raise SystemExit(1)
        say_drops(judged[0].dropped, n_dropped=judged[0].n_dropped)
        for note in dict.fromkeys(note for row in judged for note in row.notes):
            say(f"note: {note}")
        yield [row.output for row in judged]


def _check_gold(call: Call, judges: Sequence[str], judge: str | None, gold: str | None) -> None:
    """Refuse what means nothing where there are no annotators."""
    if gold is None or not (judges or judge):
        lacking = "`--judges`" if gold else "`--humans`"
        known = " (or `--gold`, to see how often a judge is right)" if gold is None else ""
        msg = f"{lacking} is missing{known}. Test whether judges may stand in for human annotators."
        raise UsageError(msg)
    strange = [
        call.options[name]
        for name in _OF_PEOPLE
        if name in call.options and not (name == "items" and judge)
    ]
    if strange:
        msg = f"`{strange[0]}` must be left out without `--humans`: gold labels are no annotators."
        raise UsageError(msg)


def _examine_gold(
    judges: Sequence[str],
    gold: str,
    reading: Reading,
    plan: TestPlan,
    *,
    questions: Sequence[str],
    calibration: Path | None,
) -> GoldExamination:
    """Measure judges against gold labels, where there are no annotators; write a calibration."""
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
    judges = dict.fromkeys(row.judge for row in examination.results)
    if len(judges) > 1:
        listed = ", ".join(repr(shorten(name)) for name in judges)
        msg = f"`--calibration` must be of one judge, got {listed}. Give verdicts of one."
        raise InputError(msg)
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
