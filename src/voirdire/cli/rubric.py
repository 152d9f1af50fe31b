"""`voirdire rubric`: list, show, check and start rubrics."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._types import RubricKind
from voirdire.cli import options as typed
from voirdire.cli.calls import refuse, require, say
from voirdire.cli.models import USUAL, UsualOptions, make_judge
from voirdire.cli.options import AsJson, NewFile
from voirdire.cli.printing import (
    Printed,
    Shown,
    print_json,
    print_text,
    start_reading,
)
from voirdire.cli.progress import running
from voirdire.cli.written_files import write_text
from voirdire.errors import InputError, RubricError
from voirdire.rewards import Negative

if TYPE_CHECKING:
    from voirdire.reporting import ResultTables
    from voirdire.rubrics import Rubric


def list_command(*, printed: Printed = Printed()) -> None:
    """List the rubrics that come with voirdire."""
    from voirdire.rubrics import built_in_rubrics, load_rubric

    rubrics = {name: load_rubric(name) for name in built_in_rubrics()}
    content = {"rubrics": [_sum_up(rubric) for rubric in rubrics.values()]}
    printed.print(content, _lay_out(rubrics))


def _lay_out(rubrics: dict[str, Rubric]) -> ResultTables:
    from voirdire.reporting import ResultTables
    from voirdire.reporting.pages.verdicts import rubrics_view

    return ResultTables(rubrics_view(rubrics))


def show_command(
    name: Annotated[str, Parameter(metavar="NAME")], /, *, as_json: AsJson = False
) -> None:
    """Show a rubric as YAML: questions with examples, what behaviors demand, completion classes.

    Parameters
    ----------
    name
        A built-in rubric, or a YAML file; - reads standard input.
    """
    from voirdire.rubrics import rubric_to_yaml
    from voirdire.rubrics.rubric import rubric_document

    rubric = _load(name)
    if as_json:
        print_json(rubric_document(rubric) | {"content_hash": rubric.content_hash})
    else:
        print_text(rubric_to_yaml(rubric))


def check_command(
    files: Annotated[list[str], Parameter(metavar="FILE...")],
    /,
    *,
    verdicts: typed.Sources = [],
    again: typed.Sources = [],
    humans: typed.Source = None,
    only: typed.Only = None,
    judge: typed.OptionalJudge = None,
    store: typed.Store = None,
    asking: UsualOptions = UsualOptions(),
    negative: Negative | None = None,
    output: typed.Output = None,
    certificate: Path | None = None,
    shown: Shown = Shown(),
) -> None:
    """Check rubric files, or the criteria that rows of items bring.

    Of a rubric every problem is a line with file, line and column; exit 1 if there is any. Of rows
    (JSONL, CSV, Parquet, JSON) words show repeated criteria, some wrong signs and double claims; a
    language model, with --judge, shows these, near duplicates and contradictions; --verdicts show
    criteria that always or never hold, or separate no responses. The worst stand first.

    Parameters
    ----------
    files
        YAML files of rubrics; - reads one from standard input. Or one file of rows.
    verdicts
        Verdicts of `voirdire judge --rubric criteria` on the rows; repeatable.
    again
        Verdicts of another run of the same judge, made with another --store; repeatable.
    humans
        Labels of people on the same responses and criteria: the judge is examined by tag.
    judge
        A language model that reads the criteria of each prompt, without points.
    store
        Where its replies are stored: a file, or postgresql://... Default: voirdire-replies.sqlite
        in the current folder, for a model on a server.
    negative
        What negative points mean. Default: what most criteria with them say.
    output
        Write the rows with the criteria to keep: .jsonl.
    certificate
        Write what was shown of the judge by tag here, for `voirdire score --require-certified`.
    """
    rubrics = ("", ".yaml", ".yml")  # endings: a built-in rubric has none
    rows = [file for file in files if Path(file).suffix.lower() not in rubrics]
    given = [verdicts, again, humans, only, judge, store, negative, output, certificate,
             shown.report]  # fmt: skip
    if not rows:
        require(not any(given), "Options but `--json` and `--csv` go with a file of rows.")
        _check_rubrics(files, shown)
        return
    require(len(files) == 1, "A file of rows must be the only FILE.")
    require(verdicts or not (again or humans), "`--again` and `--humans` go with `--verdicts`.")
    require(humans or not certificate, "`--certificate` goes with `--humans`.")
    if judge is None:
        refuse((*USUAL, "store"), why="`--judge` is not given")
    shown.check(output=output, certificate=certificate)
    start_reading()
    from voirdire import reporting
    from voirdire.studies import check_rubric

    model = None if judge is None else make_judge(judge, asking)
    with running(rows[0], store=store, keeps=model is not None) as lines:
        found = check_rubric(
            rows[0], verdicts=verdicts or None, again=again, humans=humans, only=only, judge=model,
            negative=negative, output=output, store=store, progress=lines.tell_judging,
        )  # fmt: skip
    shown.show(found)
    if certificate is not None and found.certificate is not None:
        write_text(certificate, reporting.to_json(found.certificate) + "\n")
        say(f"certificate: {certificate}")


def _check_rubrics(files: list[str], printed: Printed) -> None:
    """Check files of rubrics; what is wrong is a result here, and no error."""
    rubrics: dict[str, Rubric] = {}
    contents: list[dict[str, Any]] = []
    texts: list[str] = []
    for file in dict.fromkeys(files):
        name = file.encode("utf-8", "backslashreplace").decode()  # which may be any bytes
        problems: list[dict[str, Any]] = []
        about: dict[str, Any] = {}
        try:
            rubrics[name] = _load(file)
            about = _sum_up(rubrics[name])
        except RubricError as error:
            problems = [
                {"line": row.line, "column": row.column, "message": row.message, "text": str(row)}
                for row in error.problems
            ]
        except InputError as error:  # there is no such file
            problems = [{"line": None, "column": None, "message": str(error), "text": str(error)}]
        contents.append({"file": name, "valid": not problems, "problems": problems} | about)
        texts += [row["text"] for row in problems]
    printed.print({"files": contents}, *texts, *([_lay_out(rubrics)] if rubrics else []))
    if texts:
        raise SystemExit(1)


def new_command(
    file: NewFile,
    /,
    *,
    kind: RubricKind | None = None,
    start: Annotated[str | None, Parameter(name="--from", metavar="NAME")] = None,
) -> None:
    """Write a small commented rubric to edit, or a copy of another; no file is replaced.

    Parameters
    ----------
    file
        The file to write; - prints it.
    kind
        What the question asks for. Default: boolean.
    start
        Copy a built-in rubric, or a YAML file.
    """
    from voirdire import rubrics
    from voirdire.rubrics.files import built_in_text, starter_rubric
    from voirdire.rubrics.rubric import name_of_file

    require(start is None or kind is None, "`--kind` and `--from` exclude each other.")
    path = Path(file)
    if path.exists() or path.is_symlink():
        msg = f"`FILE` must not exist yet, got {file!r}. Name another."
        raise InputError(msg)
    if start is None:
        name = name_of_file(file, otherwise="my-rubric") if file != "-" else "my-rubric"
        text = starter_rubric(kind or "boolean", name=name)
    elif start in rubrics.built_in_rubrics():
        text = built_in_text(start)
    else:
        text = rubrics.rubric_to_yaml(rubrics.load_rubric(start))
    if file == "-":
        print_text(text)
        return
    write_text(path, text)
    print(f"{file}: written. Edit it, then: voirdire rubric check {file}")


def _sum_up(rubric: Rubric) -> dict[str, Any]:
    return {
        "name": rubric.name,
        "version": rubric.version,
        "description": dict(rubric.description),
        "languages": list(rubric.languages),
        "n_questions": len(rubric.questions),
        "behaviors": {
            row.id: {"propositions": len(row.propositions), "features": len(row.features)}
            for row in rubric.behaviors
        },
        "content_hash": rubric.content_hash,
    }


def _load(name: str) -> Rubric:
    from voirdire.documents import MOST_BYTES
    from voirdire.rubrics import load_rubric, rubric_from_text

    if name != "-":
        return load_rubric(name)
    return rubric_from_text(sys.stdin.buffer.read(MOST_BYTES["yaml"] + 1), source="<stdin>")
