"""Rules of the house that no linter knows."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = ROOT / "tests"
MAX_CODE_LINES = 700
EMPTY_NAMES = {"utils", "helpers", "misc", "common", "core"}
# A path of somebody's machine: it starts at the root, in a folder where people keep their work.
PACKAGES = {
    f"voirdire.{path.parent.name}" for path in (ROOT / "src/voirdire").glob("*/__init__.py")
}
ALT_TEST = "voirdire.stats" + ".alt_test"  # a public function, and the module that holds it
# These still show how something works inside. The list only ever shrinks.
BELOW_A_FACE = {
    path
    for path in (ROOT / "tests" / "below_a_face.txt").read_text(encoding="utf-8").split("\n")
    if path
}
MACHINE_PATH = re.compile(r"(?<![\w.~$}:/-])/(?:work|root|(?:home|Users)/\w+)/")


def tracked_files() -> list[Path]:
    """List what is, or would be, committed; in a tree without git, everything not hidden."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [Path(name) for name in listed.stdout.split("\0") if name]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        names = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    built = {"__pycache__", "_build", "build", "dist", "htmlcov", "voirdire-demo"}
    return sorted(
        ROOT / name
        for name in names
        if (ROOT / name).is_file() and not built.intersection(name.parts)
    )


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def n_code_lines(path: Path) -> int:
    """Count the lines that are neither blank, nor comments, nor docstrings."""
    text = path.read_text(encoding="utf-8")
    lines = {
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    }
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(parsed(path)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


@pytest.mark.ci
def test_no_source_file_outgrows_a_chapter():
    sizes = {path.relative_to(ROOT).as_posix(): n_code_lines(path) for path in SOURCES}

    assert {name: size for name, size in sizes.items() if size > MAX_CODE_LINES} == {}


def test_modules_are_named_for_their_idea():
    parts = {part for path in SOURCES for part in path.relative_to(ROOT).with_suffix("").parts}

    assert not EMPTY_NAMES & {part.lstrip("_") for part in parts}


@pytest.mark.ci
def test_nothing_is_persisted_with_pickle():
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if {"pickle", "cloudpickle", "dill", "joblib", "shelve"} & imported_packages(node)
    ]

    assert offenders == []


def imported_packages(node: ast.AST) -> set[str]:
    """Name the top-level packages that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return {str(node.module).partition(".")[0]}
    return set()


@pytest.mark.ci
def test_no_file_names_a_place_on_somebodys_machine():
    offenders = []
    for path in tracked_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        offenders += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(lines, start=1)
            if MACHINE_PATH.search(line)
        ]

    assert offenders == []


@pytest.mark.parametrize(
    ("text", "is_place"),
    [
        ("see " + "/work" + "/main/x.py", True),
        ('"' + "/root" + '/.cache"', True),
        ("/home" + "/ada/data.csv", True),
        ("src/work/x.py", False),
        ("https://example.org/work/paper", False),
        ("the root / the work", False),
    ],
)
def test_the_rule_about_places_finds_places_only(text, is_place):
    assert bool(MACHINE_PATH.search(text)) is is_place


ADAPTERS = ("trl", "verl", "openrlhf", "verifiers", "inspect")
"""The modules that users name, each after its framework."""


def modules_below_a_face() -> set[str]:
    """Name the modules that only their own package imports."""
    names = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in SOURCES}
    names |= {name.removesuffix(".__init__") for name in names}
    inner = {name for name in names if name.count(".") > 1 and not name.endswith(".__init__")}
    return inner - {f"voirdire.adapters.{name}" for name in ADAPTERS}


def modules_named_in(path: Path) -> set[str]:
    """Find what a test imports, and what it names in a string to patch."""
    named: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            named |= {node.module}
            if node.module in ("voirdire", *PACKAGES):  # `from voirdire.rewards import json_file`
                named |= {f"{node.module}.{alias.name}" for alias in node.names} - {ALT_TEST}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"voirdire(\.\w+)+", str(node.value)):
            parts = str(node.value).split(".")
            named |= {".".join(parts[:length]) for length in range(3, len(parts) + 1)}
    return named


@pytest.mark.ci
def test_tests_import_from_the_faces_that_users_import():
    below = modules_below_a_face()

    reaching = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if modules_named_in(path) & below
    }

    assert reaching == BELOW_A_FACE
