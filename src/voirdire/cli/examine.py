"""`voirdire examine`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire import reporting, studies
from voirdire._types import AlignmentName
from voirdire.cli import options as typed
from voirdire.cli import printing, study_files
from voirdire.cli.calls import UsageError, list_typed, refuse, require, say
from voirdire.cli.models import OF_EXAMINED, are_several, make_judges
from voirdire.cli.written_files import write_text
from voirdire.errors import InputError
from voirdire.io import Reading
from voirdire.judging import JudgingSettings, ModelSettings

if TYPE_CHECKING:
    from voirdire.judging import JudgeLike
    from voirdire.studies.study import Study

GATE_NOT_PASSED = 3


@typed.group_of("Language models", 10, only=OF_EXAMINED)
class ExaminedOptions(ModelSettings):
    """How a judge is asked that is examined at once."""


def examine_command(
    humans: Annotated[typed.Sources, Parameter(name="--humans")] = [],
    *,
    judges: typed.Sources = [],
    judge: typed.OptionalJudge = None,
    rubric: typed.RubricName = "safety",
    behavior: typed.Behavior = None,
    store: typed.Store = None,
    gold: typed.Source = None,
    items: typed.Source = None,
    questions: typed.Questions = [],
    only: list[str] = [],
    alignments: Annotated[list[AlignmentName], Parameter(name="--alignment")] = [],
    slices: Annotated[list[str], Parameter(name="--slice", metavar="COLUMN")] = [],
    reading: study_files.ReadingOptions = study_files.ReadingOptions(),
    plan: study_files.PlanOptions = study_files.PlanOptions(),
    large: Annotated[bool | None, Parameter(negative="--held")] = None,
    gate: bool = False,
    shown: printing.Shown = printing.Shown(),
    stop: typed.Source = None,
    certificate: Path | None = None,
    calibration: Path | None = None,
    population: str | None = None,
    asking: ExaminedOptions = ExaminedOptions(),
    details: bool = False,
) -> None:
    """Examine whether LLM judges may replace human annotators: the alternative annotator test.

    Parameters
    ----------
    humans
        Annotations: CSV, JSONL, JSON, Parquet or XLSX, long or wide; - reads standard input. They
        may be named first, without the option. Left out, judges are measured against --gold alone.
    judges
        Judge labels, likewise; or a folder of them. By default those of --humans that
        --judge-column names.
    judge
        Judge --items now, as `voirdire judge` does: local, a file that `voirdire distill` made, a
        language model such as openai/gpt-4o-mini, a decision model such as systemone/NAME, or the
        YAML file of a cascade, a jury or several judges, which says how they are asked.
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
        How close two labels are; repeatable. By default neg_rmse (the distance) for a scale, else
        accuracy (equal or not).
    slices
        Slice by this column of --items only; repeatable.
    large
        Count the labels of Parquet files instead of holding them: files may be larger than memory,
        and what needs every item is left out, which a line says; --held holds them. By default
        beyond ten million labels.
    gate
        Exit 3 unless the outcome of every judge that is examined is passed, for every question,
        alignment and ε of the run.
    stop
        The certificate of a stop, which `voirdire annotate export` writes: it decides about the
        judges that were watched while people labelled, and the test describes.
    certificate
        Write the record of the examination to this JSON file.
    calibration
        Write what calibrates the probabilities of one judge to this JSON file, for --calibration of
        every command that asks it: fitted to --gold, or to the majority of --humans.
    population
        Which items the examined ones represent, in words, for the certificate.
    details
        Print the controls and every annotator of each question, and all notes.
    """
    study_files.check_streams(*humans, *judges, gold, items)
    _check_sources(bool(humans), judges, judge, gold=gold, items=items)
    shown.check(calibration=calibration, certificate=certificate)
    printing.start_reading()
    from voirdire.reporting.progress_text import gate_text
    from voirdire.studies.whole_study import examine_study

    beside = {
        "judge": judge,
        "gold": gold,
        "items": items,
        "stop": stop,
        "certificate": certificate,
    }
    needing = [name for name, x in (beside | {"calibration": calibration}).items() if x is not None]
    rule = f"`--large` must be left out beside `--{needing[0]}`" if needing else ""
    require(not (large and needing), f"{rule}, which needs every item.")
    people: Any = humans
    truth: Any = gold
    made: Sequence[JudgeLike] = ()
    if judge is not None:
        first: Any = _read_first(humans, gold, rubric, reading, alignments, questions)
        people, truth, reading = first
        made = make_judges(judge, asking, options=OF_EXAMINED)
    elif not (judges or reading.judge_columns):
        rule = "`--judges` must be given, or `--judge-column` where a file holds people and judges"
        with printing.progress("reading"):
            line = "" if "-" in humans else study_files.explain_call(humans, judges)
        raise UsageError(f"{rule}. {line}" if line else f"{rule}, or `--judge` with `--items`.")
    measuring: dict[str, Any] = {
        "questions": questions or None,
        "clustered": reading.cluster is not None,
        "reading": reading,
        "confidence_level": plan.confidence_level,
        "seed": plan.seed,
    }
    with tempfile.TemporaryDirectory(prefix="voirdire-") as folder:
        run = JudgingSettings(behavior=behavior, store=store)
        if judge is not None:
            judges = _judge_now(judge, made, run, str(items), folder, rubric)
        with printing.progress("reading"):
            if not humans:
                measured = studies.examine_gold(judges=judges, gold=truth, **measuring)
            else:
                try:
                    study = study_files.read_files(
                        people,
                        judges or humans,
                        truth,
                        reading=reading,
                        alignments=alignments,
                        questions=questions,
                        only=only,
                        is_test=True,
                        large=False if needing else large,
                    )
                except InputError as error:
                    is_read_again = judge is None and "-" not in (*humans, *judges, gold)
                    line = study_files.explain_call(humans, judges) if is_read_again else ""
                    raise InputError(f"{error} {line}".strip()) from error
                streams = "-" in [*humans, *judges, gold]
                known = items if judge is None or slices else None
                metadata, clusters = study_files.read_known(
                    known, reading, slices, streams=streams, study=study
                )
    if not humans:
        say(measured.understood)
        _write_calibration(calibration, measured)
        shown.show(measured, details=details)
        return
    say(study.understood())
    with printing.progress("examining"):
        examination = examine_study(
            study,
            alignments={x: x for x in alignments},
            plan=replace(plan, epsilon=0.0) if gold and "epsilon" not in list_typed() else plan,
            labels=reading.labels,
            clusters=clusters,
            metadata=metadata,
        )
    watched = () if stop is None else studies.read_stop(stop)
    examination = studies.apply_stop(examination, watched, humans=study.humans, judges=study.judges)
    if certificate is not None:
        sides: dict[str, Any] = {"humans": study.humans, "judges": study.judges, "gold": study.gold}
        record = studies.certify(
            examination, population=population, reading=reading, stop=watched, **sides
        )
        write_text(certificate, reporting.to_json(record) + "\n")
    _show(examination, study, shown, calibration, measuring, details=details)
    closed = gate_text(examination, study.judges.raters) if gate else ""
    if closed:
        say(f"voirdire: gate not passed: {closed}")
    is_void = all(row.because.code == "vocabulary" for row in examination.results)  # of judges
    if closed or is_void:
        raise SystemExit(GATE_NOT_PASSED if closed else 1)


def _show(
    examination: studies.Examination,
    study: Study,
    shown: printing.Shown,
    calibration: Path | None,
    measuring: dict[str, Any],
    *,
    details: bool,
) -> None:
    """Show an examination; fit a calibration to gold labels or the majority."""
    from voirdire.records import as_plain
    from voirdire.studies.gold import majority_labels

    content = {} if not shown.is_data else as_plain(examination)
    if not shown.is_data:
        shown.show(examination, details=details)
    if calibration is not None:
        with printing.progress("calibrating"):
            labels = study.gold or majority_labels(study.humans)
            measured = studies.examine_gold(judges=study.judges, gold=labels, **measuring)
        if not shown.is_data:
            whose = "majority of the annotators, as if it were right"
            printing.print_text(f"\nAgainst the {'gold labels' if study.gold else whose}:\n")
            printing.print_tables(reporting.ResultTables(measured, details=details))
        _write_calibration(calibration, measured)
        content["calibration"] = measured.results
    if shown.is_data:
        shown.show(examination, content=content)


def _write_calibration(path: Path | None, measured: studies.GoldExamination) -> None:
    if path is not None and all(row.recommended is None for row in measured.results):
        say(f"calibration: {path} is not written, since no calibrator helps. Use the judge as is.")
    elif path is not None:
        measured.calibration().save(path)
        say(f"calibration: {path}")


_OF_GOLD = (
    *("judges", "judge", "rubric", "behavior", "store", *OF_EXAMINED),
    *("gold", "questions", "calibration", "details", "confidence_level", "seed"),
    *(row.name for record in (printing.Shown, Reading) for row in fields(record)),
)
"""What means something without annotators."""


def _check_sources(
    people: bool, judges: Sequence[str], judge: str | None, *, gold: str | None, items: str | None
) -> None:
    """Refuse sources that are missing, and options that mean nothing beside those given."""
    if judge is None:
        asking = ("rubric", "behavior", "store", *OF_EXAMINED)
        refuse(asking, why="nobody is asked. Name a `--judge`")
    else:
        rule = "`--judge` must be left out beside `--judges`: `--only` chooses among those"
        require(not judges, f"{rule} examined.")
        rule = "`--judge` needs a file of prompts with responses as `--items`"
        got = "none" if items is None else "standard input, which cannot be read again"
        require(items not in (None, "-"), f"{rule}, got {got}.")
    if not people:
        rule = "`--humans` is missing (or `--gold`, to see how often a judge is right)."
        require(gold is not None, rule)
        require(judges or judge, "`--judges` is missing.")
        known = _OF_GOLD if judge is None else (*_OF_GOLD, "items")
        idle = [name for name in list_typed() if name not in known]
        refuse(idle, why="there are no `--humans`, and gold labels are no annotators")
    if items is None:
        refuse(["slices"], why="it names a column of `--items`, which is not given")


def _read_first(
    humans: list[str],
    gold: str | None,
    rubric: str,
    reading: Reading,
    alignments: Sequence[AlignmentName],
    questions: Sequence[str],
) -> tuple[Any, Any, Reading]:
    """Read what people say: a wrong file of labels is seen before a judge is paid.

    The kind is that of the questions that are judged, where they are of one. A declared format is
    that of these files, and not of verdicts.
    """
    from voirdire.rubrics import load_rubric
    from voirdire.studies.study import check_kinds, read_side

    rows = load_rubric(rubric).questions
    kinds = {row.kind for row in rows if row.id in questions or not questions}
    if len(kinds) == 1 and not reading.kind:
        reading = replace(reading, kind=kinds.pop())
    people: Any = humans
    truth = None
    with printing.progress("reading"):
        as_gold = replace(reading, raters=None, judge_columns=None, threshold=None)
        if humans:
            people = read_side("humans", humans, reading, questions)
            check_kinds([people.kind], alignments)
            reading = replace(reading, kind=people.kind)
            as_gold = replace(as_gold, kind=people.kind, cluster=None)
        if gold is not None:
            truth = read_side("gold", gold, as_gold, questions)
    return people, truth, replace(reading, format=None)


def _judge_now(
    judge: str,
    made: Sequence[JudgeLike],
    run: JudgingSettings,
    items: str,
    folder: str,
    rubric: str,
) -> list[str]:
    """Give the files of verdicts of a judge that is asked now."""
    from voirdire.cli.judge import run_judges, say_problems
    from voirdire.judging.outputs import STORE_NAME

    run = replace(run, store=run.store or STORE_NAME)
    target = folder if are_several(judge, made) else str(Path(folder) / "verdicts.parquet")
    judged = run_judges(items, target, run, judge=judge, judges=made, rubric=rubric)
    if say_problems(judged) or not judged:
        raise SystemExit(1)
    printing.say_notes(dict.fromkeys(note for row in judged for note in row.notes))
    return [row.output for row in judged]
