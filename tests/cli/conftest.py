"""The command line called in this process, and as a real program."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from servers.faulty import faulty_server  # noqa: F401  # a fixture
from voirdire.cli import app, run

SCRIPT = Path(sys.executable).with_name("voirdire")
PROGRAM = (
    [str(SCRIPT)]
    if SCRIPT.exists()
    else [sys.executable, "-c", "import voirdire.cli as c; c.run()"]
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A test that starts the program is one with something real."""
    for item in items:
        if {"execute", "program"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.ci)


@dataclass(frozen=True)
class Done:
    """What a call left."""

    code: int
    out: str
    err: str

    @property
    def said(self):
        """What stands on standard error below the line of what was understood."""
        return re.sub(r"(?m)^[\d,]+ annotators? \(.* set aside.*\n", "", self.err)

    @property
    def json(self):
        def refuse(word):
            raise AssertionError(word)

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture(scope="session")
def environment():
    """Give the environment of a plain pipe: no width, no colour."""
    unwanted = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TERMINAL_WIDTH", "PYTHONIOENCODING")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


@pytest.fixture
def call(monkeypatch, capsys, environment):
    """Call `voirdire` in this process, as its script does."""
    for name in set(os.environ) - set(environment):
        monkeypatch.delenv(name)

    def voirdire(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["voirdire", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = 0
        try:
            run()
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return voirdire


@pytest.fixture(scope="session")
def list_options():
    """List the options of a command by name, from its own definition; `""` for the program."""

    def listed(command):
        if command in ("", "certify", "rubric"):
            return dict.fromkeys([] if command else ["--install-completion", "--version"])
        place = app
        words = command.split()
        for name in ["-".join(words)] if words[0] == "annotate" else words:
            place = place[name]
        options = place.assemble_argument_collection(default_parameter=app.default_parameter)
        return {name: row for row in options if row.parse for name in row.names if name[:1] == "-"}

    return listed


@pytest.fixture(scope="session")
def program():
    """Give the program and its first arguments."""
    return PROGRAM


@pytest.fixture
def execute(program, environment):
    """Run `voirdire` as a program of its own."""

    def voirdire(*arguments, stdin=b"", cwd=None, **variables):
        done = subprocess.run(
            [*program, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=environment | variables,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return voirdire


@pytest.fixture(scope="session")
def study():
    """Give labels of 60 items by three annotators and two judges, `good` and `bad`."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)

    def rows(slips):
        codes = np.where(rng.random(60) < slips, 1 - truth, truth)
        return {f"i{row}": ("no", "yes")[code] for row, code in enumerate(codes)}

    humans = {name: rows(0.1) for name in ("ann", "bob", "eve")}
    return {"humans": humans, "judges": {"good": rows(0.03), "bad": rows(0.7)}}


@pytest.fixture
def files(study, tmp_path):
    """Write the study to CSV files, and give the options that name them."""
    for name, role in (("humans", "annotator"), ("judges", "judge")):
        lines = [f"item,{role},label"]
        lines += [f"{i},{r},{x}" for r, labels in study[name].items() for i, x in labels.items()]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["--humans", tmp_path / "humans.csv", "--judges", tmp_path / "judges.csv"]


@pytest.fixture(scope="session")
def understood():
    """Give what standard error says of the study before anything else."""
    who = "3 annotators (ann, bob, eve), 2 judges (good, bad)"
    return f"{who}, 60 items, choice, 2 labels, nothing set aside\n"


@pytest.fixture(scope="session")
def assert_one_line():
    """Check that a call ended with our error: exit 1, one line on stderr, nothing on stdout."""

    def check(done, *words):
        assert done.code == 1, done
        assert done.out == ""
        assert done.said.startswith("voirdire: ")
        assert done.said.count("\n") == 1
        assert done.said.endswith("\n")
        assert "Traceback" not in done.said
        for word in words:
            assert str(word) in done.said

    return check
