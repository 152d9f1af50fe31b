"""`voirdire examine`."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire._types import AlignmentName
from voirdire.cli.option_groups import Text, option_group
from voirdire.cli.options import (
    AsJson,
    Behavior,
    File,
    Files,
    OptionalJudge,
    Questions,
    RubricName,
)
from voirdire.cli.printing import print_result, print_tables, print_text, progress
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.study_files import (
    ReadingOptions,
    check_streams,
    declare_kind,
    read_files,
    read_items,
)
from voirdire.cli.written_files import Page, check_written, write_text
from voirdire.io import Reading
from voirdire.judging.settings import JudgingSettings
from voirdire.studies import TestPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.studies import GoldExamination

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


def examine_command(
    *,
    call: Call,
    humans: Files = [],
    judges: Files = [],
    judge: OptionalJudge = None,
    rubric: RubricName = "safety",
    behavior: Behavior = None,
    store: Annotated[str | None, Parameter(metavar="FILE|URL")] = None,
    gold: File = None,
    items: File = None,
    questions: Questions = [],
    only: list[str] = [],
    alignments: Annotated[list[AlignmentName], Parameter(name="--alignment")] = ["accuracy"],
    slices: Annotated[list[str], Parameter(name="--slice", metavar="COLUMN")] = [],
    reading: ReadingOptions = Reading(),
    plan: PlanOptions = TestPlan(),
    gate: bool = False,
    page: Page = Page(),
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
        Where a language model's replies are stored: a file, or postgresql://... Default:
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
    certificate
        Write the record of the examination to this JSON file.
    calibration
        Without --humans: write what calibrates the probabilities of one judge to this JSON file,
        for --calibration of every command that asks it.
    population
        Which items the examined ones represent, in words, for the certificate.
    details
        Print the controls and every annotator of each question, and all notes.
    """
    from voirdire.reporting import ExaminationTables, certificate_to_json, examination_to_json
    from voirdire.reporting.result_tables import ResultTables
    from voirdire.reporting.study_tables import calibration_lines, gate_text

    check_streams(*humans, *judges, gold, items)
    _check_sources(call, judges, judge, people=bool(humans), gold=gold, items=items)
    check_written(calibration=calibration, certificate=certificate, report=page.report)
    alignments = list(dict.fromkeys(alignments))
    reading = declare_kind(reading, alignments) if humans else reading
    people: Any = humans
    truth: Any = gold
    if judge is not None:  # a wrong file of labels is seen before a judge is paid
        reading = _declare_kind_of_rubric(rubric, reading, questions)
        people, truth, reading = _read_first(humans, gold, reading, questions)
    run = JudgingSettings(behavior=behavior, store=store)
    judging = _open_verdicts(judges, judge, run, source=str(items), rubric=rubric)
    if not humans:
        with judging as files, progress("reading and measuring"):
            measured = _examine_gold(files, truth, questions, reading, plan)
        say(measured.understood)
        if calibration is not None:
            measured.calibration().save(calibration)
            for line in (f"calibration: {calibration}", *calibration_lines(measured)):
                say(line)
        page.write(measured)
        content = {"gold": measured.results, "dropped": measured.dropped}
        print_result(content, ResultTables(measured, details=details), as_json=as_json)
        return
    with judging as files, progress("reading"):
        study = read_files(
            people, files or humans, truth, reading=reading, questions=questions, only=only
        )
        metadata = None
        if judge is None or slices:
            streams = "-" in [*humans, *judges, gold]
            metadata = read_items(items, reading, slices, streams=streams)
    say(study.understood())
    with progress("examining"):
        from voirdire.studies import certify, examine

        examination = examine(
            judges=study.judges,
            humans=study.humans,
            alignment=alignments,
            plan=replace(plan, epsilon=0.0) if gold and "epsilon" not in call.options else plan,
            questions=questions or None,
            labels=reading.labels,
            gold=study.gold,
            clusters=reading.cluster is not None,
            metadata=metadata,
        )
    if certificate is not None:
        record = certify(
            examination,
            humans=study.humans,
            judges=study.judges,
            gold=study.gold,
            population=population,
            reading=reading,
        )
        write_text(certificate, certificate_to_json(record) + "\n")
    page.write(examination)
    if as_json:
        print_text(examination_to_json(examination) + "\n")
    else:
        print_tables(ExaminationTables(examination, details=details))
    if gate and (closed := gate_text(examination, study.judges.raters)):
        say(f"voirdire: gate not passed: {closed}")
        raise SystemExit(GATE_NOT_PASSED)


def _examine_gold(
    files: list[str], gold: Any, questions: list[str], reading: Reading, plan: TestPlan
) -> GoldExamination:
    from voirdire.studies import examine_gold

    return examine_gold(
        judges=files,
        gold=gold,
        questions=questions or None,
        clustered=reading.cluster is not None,
        reading=reading,
        confidence_level=plan.confidence_level,
        seed=plan.seed,
    )


_OF_GOLD = (
    *("judges", "judge", "rubric", "behavior", "store"),
    *("gold", "questions", "calibration", "details"),
    *("report", "language"),
    *("as_json", "confidence_level", "seed", *(row.name for row in fields(Reading))),
)
"""What means something without annotators."""


def _check_sources(
    call: Call,
    judges: Sequence[str],
    judge: str | None,
    *,
    people: bool,
    gold: str | None,
    items: str | None,
) -> None:
    """Refuse sources that are missing, and options that mean nothing beside those given."""
    typed = call.options
    if judge is None:
        call.refuse(("rubric", "behavior", "store"), why="nobody is asked. Name a `--judge`")
    if judge is not None and judges:
        msg = "`--judge` must be left out beside `--judges`: `--only` chooses among those examined."
        raise UsageError(msg)
    if judge is not None and items in (None, "-"):
        got = "none" if items is None else "standard input, which cannot be read again"
        msg = f"`--judge` needs a file of prompts with responses as `--items`, got {got}."
        raise UsageError(msg)
    if people:
        call.refuse(["calibration"], why="it is fitted to `--gold` alone, without `--humans`")
    if people and not (judges or judge or "judge_columns" in typed):
        msg = (
            "`--judges` must be given, or `--judge-column` where one file holds people and judges, "
            "or `--judge` with `--items`."
        )
        raise UsageError(msg)
    if not people and (gold is None or not (judges or judge)):
        missing = "`--judges`" if gold else "`--humans`"
        alternative = " (or `--gold`, to see how often a judge is right)" if gold is None else ""
        msg = (
            f"{missing} is missing{alternative}. Test whether judges may replace human annotators."
        )
        raise UsageError(msg)
    if not people:
        of_gold = (*_OF_GOLD, "items") if judge is not None else _OF_GOLD
        idle = [name for name in typed if name not in of_gold]
        call.refuse(idle, why="there are no `--humans`, and gold labels are no annotators")
    if items is None:
        call.refuse(["slices"], why="it names a column of `--items`, which is not given")


def _read_first(
    humans: list[str], gold: str | None, reading: Reading, questions: Sequence[str]
) -> tuple[Any, Any, Reading]:
    """Read what people say; a declared format is that of their files, and not of verdicts."""
    from voirdire.studies.study import read_side

    people: Any = humans
    with progress("reading"):
        if humans:
            people = read_side("humans", humans, reading, questions)
            reading = replace(reading, kind=people.kind)
        as_gold = replace(reading, raters=None, judge_columns=None, threshold=None)
        if humans:
            as_gold = replace(as_gold, cluster=None)
        truth = None if gold is None else read_side("gold", gold, as_gold, questions)
    return people, truth, replace(reading, format=None)


def _declare_kind_of_rubric(rubric: str, reading: Reading, questions: Sequence[str]) -> Reading:
    """Take the kind of the questions that are judged, where they are of one."""
    from voirdire.rubrics import load_rubric

    rubric_questions = load_rubric(rubric).questions
    kinds = {row.kind for row in rubric_questions if row.id in questions or not questions}
    return replace(reading, kind=kinds.pop()) if len(kinds) == 1 and not reading.kind else reading


@contextmanager
def _open_verdicts(
    judges: list[str],
    judge: str | None,
    run: JudgingSettings,
    *,
    source: str,
    rubric: str,
) -> Iterator[list[str]]:
    """Give the files of verdicts; where a judge is named, those that it gives now."""
    if judge is None:
        yield judges
        return
    from voirdire.cli.judge import run_judges, say_if_all_failed, say_problems
    from voirdire.cli.model_judges import are_several, make_judges
    from voirdire.judging import ModelSettings
    from voirdire.judging.outputs import STORE_NAME

    made = make_judges(judge, ModelSettings())
    several = are_several(judge, made)
    run = replace(run, store=run.store or STORE_NAME)
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        judged = run_judges(
            source,
            folder if several else str(Path(folder) / "verdicts.parquet"),
            run,
            judges=made,
            are_several=several,
            rubric=rubric,
        )
        say_problems(judged)
        if say_if_all_failed(judged) or not judged:
            raise SystemExit(1)
        for note in dict.fromkeys(note for row in judged for note in row.notes):
            say(f"note: {note}")
        yield [row.output for row in judged]
