"""`voirdire certify`: check a certificate."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from voirdire.cli import options as typed
from voirdire.cli.calls import list_typed, refuse, require
from voirdire.cli.examine import GATE_NOT_PASSED
from voirdire.cli.printing import Shown, progress, start_reading
from voirdire.cli.study_files import PlanOptions, ReadingOptions, read_files


def check_command(
    certificate: Annotated[str, Parameter(metavar="CERTIFICATE")],
    /,
    *,
    humans: typed.Sources,
    judges: typed.Sources = [],
    gold: typed.Source = None,
    rubric: Annotated[str | None, Parameter(metavar="NAME|FILE")] = None,
    reading: ReadingOptions = ReadingOptions(),
    plan: PlanOptions = PlanOptions(),
    shown: Shown = Shown(),
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
    shown.check()
    refuse(("kind", "labels", "missing", "threshold"), why="the certificate says it")
    rule = "`--judges` must be given, or `--judge-column` where one file holds people and judges."
    require(judges or reading.judge_columns, rule)
    start_reading()
    from voirdire.rewards import read_certificate
    from voirdire.rubrics import load_rubric
    from voirdire.studies import check_certificate, recorded_reading

    record = read_certificate(certificate)
    with progress("reading"):
        study = read_files(
            humans,
            judges or humans,
            gold,
            reading=recorded_reading(record, reading),
            questions=record.settings.get("questions") or (),
        )
    with progress("examining"):
        changes = check_certificate(
            record,
            humans=study.humans,
            judges=study.judges,
            gold=study.gold,
            rubric_hash=None if rubric is None else load_rubric(rubric).content_hash,
            settings={name: x for name, x in plan.as_settings().items() if name in list_typed()},
        )
    content = {"certificate": record.content_hash, "holds": not changes, "changes": changes}
    shown.show(record, content=content, changes=changes)
    if changes:
        raise SystemExit(GATE_NOT_PASSED)
