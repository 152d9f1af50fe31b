"""Runs the commands of the golden table in this process, and gathers the figures they leave."""

import contextlib
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from golden.figures import figures_of, figures_of_page, figures_of_table, shape_of
from golden.inputs import write_judges
from golden.server import running_server
from golden.training import record_run
from voirdire.cli import run as run_command_line

HERE = Path(__file__).parent
KEPT = HERE / "runs"
"""The goldens: a file for each run."""
FILES = HERE / "files"
"""Files that were written once, and are read as they are."""


@dataclass(frozen=True)
class Run:
    """A command, and what is kept of what it leaves.

    `words` may hold {inputs}, {shared}, {written} (files that were written once), {server} and
    {training}, a training run that is recorded first; the files judges.yaml and cascade.yaml, which
    name the server, are where the command runs. `keep` names
    the parts of the printed JSON that are kept; None stands for all. Of `tables` every number is
    kept, of `documents` every figure, of `shapes` columns and rows, of `pages` the numbers in their
    tables. Figures of `fits` may be off by 1e-6; `n_draws` is how often a seeded run draws.
    """

    name: str
    words: str
    quick: bool = False
    status: int = 0
    keep: tuple[str, ...] | None = None
    tables: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    fits: bool = False
    n_draws: int = 0

    @property
    def needs_shared(self) -> bool:
        return "{shared}" in self.words


@dataclass(frozen=True)
class Places:
    """Where things are that commands name."""

    inputs: Path
    shared: Path
    server: str = ""
    training: Path | None = None

    def filled(self, words: str) -> list[str]:
        places = {
            "{inputs}": self.inputs,
            "{shared}": self.shared,
            "{written}": FILES,
            "{server}": self.server,
            "{training}": self.training,
        }
        found = []
        for word in words.split():
            for name, place in places.items():
                word = word.replace(name, str(place))  # noqa: PLW2901
            found.append(word)
        return found


@contextlib.contextmanager
def plain_pipe(folder: Path) -> Iterator[None]:
    """Stand in a folder, with the environment of a plain pipe and no key of any provider."""
    unwanted = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TERMINAL_WIDTH")
    before, words, here = dict(os.environ), sys.argv, Path.cwd()
    for name in unwanted:
        os.environ.pop(name, None)
    os.environ["OPENAI_API_KEY"] = "none"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        sys.argv = words
        os.environ.clear()
        os.environ.update(before)


def call(words: list[str]) -> tuple[int, str, str]:
    """Call `voirdire` in this process; give its exit status and what it printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.argv = ["voirdire", *words]
    status = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        try:
            run_command_line()
        except SystemExit as leaving:
            status = int(leaving.code or 0)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return status, *texts


def figures_of_run(run: Run, places: Places, folder: Path) -> dict[str, Any]:
    """Run a command in an empty folder, and gather its figures."""
    with plain_pipe(folder), running_server() as server:
        places = replace(places, server=server, training=folder / "training")
        if "{training}" in run.words:
            record_run(folder / "training", reward=FILES / "first.json")
        write_judges(folder, server=server, first=str(FILES / "local.npz"))
        status, out, err = call(places.filled(run.words))
    if status != run.status:
        msg = f"{run.name} ended with status {status} instead of {run.status}: {err[-2000:]}"
        raise AssertionError(msg)
    found: dict[str, Any] = {"status": status}
    if "--json" in run.words and out:
        printed = json.loads(out)
        if run.keep is not None:
            printed = {name: printed[name] for name in run.keep}
        found["printed"] = figures_of(printed)
    found |= {f"table {name}": figures_of_table(folder / name) for name in run.tables}
    found |= {
        f"document {name}": figures_of(json.loads((folder / name).read_text(encoding="utf-8")))
        for name in run.documents
    }
    found |= {f"shape {name}": shape_of(folder / name) for name in run.shapes}
    found |= {f"page {name}": figures_of_page(folder / name) for name in run.pages}
    return json.loads(json.dumps(found))
