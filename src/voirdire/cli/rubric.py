"""`voirdire rubric`: list, show, check and start rubrics."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._types import RubricKind
from voirdire.cli.option_groups import read_utf8
from voirdire.cli.options import AsJson
from voirdire.cli.printing import print_json, print_result, print_text
from voirdire.cli.shell import UsageError
from voirdire.cli.written_files import write_text
from voirdire.errors import InputError, RubricError

if TYPE_CHECKING:
    from voirdire.rubrics import Rubric

__all__ = ["check_command", "list_command", "new_command", "show_command"]


def list_command(*, as_json: AsJson = False) -> None:
    """List the rubrics that come with voirdire."""
    from voirdire.reporting.rubric_tables import RubricList, rubric_summary
    from voirdire.rubrics import built_in_rubrics, load_rubric

    rubrics = [load_rubric(name) for name in built_in_rubrics()]
    content = {"rubrics": [rubric_summary(rubric) for rubric in rubrics]}
    print_result(content, RubricList(rubrics), as_json=as_json)


def show_command(
    name: Annotated[str, Parameter(metavar="NAME")],
    /,
    *,
    as_json: AsJson = False,
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
    as_json: AsJson = False,
) -> None:
    """Check rubric files: every problem on a line, with file, line and column; exit 1 if any.

    Parameters
    ----------
    files
        YAML files; - reads standard input.
    """
    from voirdire.reporting.rubric_tables import check_lines

    checked = [_check_file(file) for file in files]
    lines = [line for row in checked for line in check_lines(row)]
    print_result({"files": checked}, *lines, as_json=as_json)
    if not all(row["valid"] for row in checked):
        raise SystemExit(1)


def new_command(
    file: Annotated[
        str, Parameter(metavar="FILE", converter=lambda _kind, tokens: read_utf8(tokens))
    ],
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
    from voirdire.rubrics.rubric import name_of_file

    if start is not None and kind is not None:
        msg = "`--kind` and `--from` exclude each other."
        raise UsageError(msg)
    if file == "-":
        print_text(_write_new("my-rubric", kind, start))
        return
    path = Path(file)
    if path.exists() or path.is_symlink():
        msg = f"`FILE` must not exist yet, got {file!r}. Name another."
        raise InputError(msg)
    own = name_of_file(file, otherwise="my-rubric")
    write_text(path, _write_new(own, kind, start))
    print(f"{file}: written. Edit it, then: voirdire rubric check {file}")


def _write_new(name: str, kind: RubricKind | None, start: str | None) -> str:
    from voirdire import rubrics
    from voirdire.rubrics.files import built_in_text, starter_rubric

    if start is None:
        return starter_rubric(kind or "boolean", name=name)
    if start in rubrics.built_in_rubrics():
        return built_in_text(start)
    return rubrics.rubric_to_yaml(rubrics.load_rubric(start))


def _check_file(file: str) -> dict[str, Any]:
    """Check one file; what is wrong is a result here, and no error."""
    from voirdire.reporting.rubric_tables import rubric_summary

    named = {"file": file.encode("utf-8", "backslashreplace").decode()}  # a name may be any bytes
    try:
        return named | {"valid": True, "problems": []} | rubric_summary(_load(file))
    except RubricError as error:
        problems = [
            {"line": row.line, "column": row.column, "message": row.message, "text": str(row)}
            for row in error.problems
        ]
    except InputError as error:  # there is no such file
        problems = [{"line": None, "column": None, "message": str(error), "text": str(error)}]
    return named | {"valid": False, "problems": problems}


def _load(name: str) -> Rubric:
    from voirdire.documents.yaml_text import MOST_BYTES
    from voirdire.rubrics import load_rubric, rubric_from_text

    if name != "-":
        return load_rubric(name)
    return rubric_from_text(sys.stdin.buffer.read(MOST_BYTES + 1), source="<stdin>")
