"""`voirdire certify`: check a certificate."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from voirdire.cli.examine import GATE_NOT_PASSED, PlanOptions
from voirdire.cli.options import AsJson, File, Files
from voirdire.cli.printing import print_result, progress
from voirdire.cli.shell import Call, UsageError
from voirdire.cli.study_files import ReadingOptions, read_files
from voirdire.cli.written_files import Page, check_written
from voirdire.io import Reading
from voirdire.studies import TestPlan

__all__ = ["check_command"]


def check_command(
    certificate: Annotated[str, Parameter(metavar="CERTIFICATE")],
    /,
    *,
    call: Call,
    humans: Files,
    judges: Files = [],
    gold: File = None,
    rubric: File = None,
    reading: ReadingOptions = Reading(),
    plan: PlanOptions = TestPlan(),
    page: Page = Page(),
    as_json: AsJson = False,
) -> None:
    """Examine again as a certificate says; exit 3 if a label, a setting or an outcome changed.

    Parameters
    ----------
    certificate
        What `voirdire examine --certificate` wrote.
    humans
        Annotations, in any format and order of rows.
    judges
        Judge labels, likewise; by default those of --humans that --judge-column names.
    gold
        Gold labels, where the certificate has them.
    rubric
        A rubric that must be the one of the certificate: a name or a YAML file.
    """
    from voirdire.reporting.study_tables import change_lines
    from voirdire.rewards import read_certificate
    from voirdire.studies import check_certificate, recorded_reading

    check_written(report=page.report)
    call.refuse(("kind", "labels", "missing", "threshold"), why="the certificate says it")
    if not judges and not reading.judge_columns:
        msg = (
            "`--judges` must be given, or `--judge-column` where one file holds people and judges."
        )
        raise UsageError(msg)
    record = read_certificate(certificate)
    with progress("reading"):
        study = read_files(
            humans,
            judges or humans,
            gold,
            reading=recorded_reading(record, reading),
            questions=record.settings.get("questions") or (),
        )
    settings = {name: x for name, x in plan.as_settings().items() if name in call.options}
    rubric_hash = None
    if rubric is not None:
        from voirdire.rubrics import load_rubric

        rubric_hash = load_rubric(rubric).content_hash
    with progress("examining"):
        changes = check_certificate(
            record,
            humans=study.humans,
            judges=study.judges,
            gold=study.gold,
            rubric_hash=rubric_hash,
            settings=settings,
        )
    page.write(record, changes=changes)
    content = {"certificate": record.content_hash, "holds": not changes, "changes": changes}
    print_result(content, *change_lines(changes, len(record.outcomes)), as_json=as_json)
    if changes:
        raise SystemExit(GATE_NOT_PASSED)
