"""What runs the checks side by side, and how all tests are parted."""

import importlib
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from web.served import until

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, str(ROOT / "scripts" / "side_by_side.py")]


def python(code):
    return shlex.join([sys.executable, "-c", code])


def run(*words):
    return subprocess.run(
        [*PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.ci
def test_green_checks_print_under_their_titles_and_end_green():
    done = run("one", python("print('of one')"), "two", python("print('of two')"))

    assert (done.returncode, done.stderr) == (0, "")
    assert "== one\nof one\n== one: " in done.stdout
    assert "== two\nof two\n== two: " in done.stdout
    assert "FAILED" not in done.stdout


@pytest.mark.ci
def test_what_a_red_check_prints_on_both_streams_comes_last_and_the_others_run(tmp_path):
    red = "import sys; print('why', flush=True); print('trace', file=sys.stderr); sys.exit(3)"
    later = [python(f"open({str(tmp_path / name)!r}, 'w'); print('fine')") for name in "abc"]

    done = run("red", python(red), "a", later[0], "b", later[1], "c", later[2])

    assert done.returncode == 1
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "c"}
    last_fine = done.stdout.rindex("fine")
    assert last_fine < done.stdout.index("why\ntrace\n== red: FAILED with status 3 after ")
    assert done.stdout.endswith("\n== FAILED: red\n")


@pytest.mark.ci
def test_two_run_at_once(tmp_path):
    # each waits for the other's file: one after the other, the first would not end
    wait = (
        "import pathlib, sys, time\n"
        "own, other = map(pathlib.Path, sys.argv[1:])\n"
        "own.touch()\n"
        "while not other.exists(): time.sleep(0.01)\n"
    )
    a, b = str(tmp_path / "a"), str(tmp_path / "b")

    done = run(
        *("a", shlex.join([sys.executable, "-c", wait, a, b])),
        *("b", shlex.join([sys.executable, "-c", wait, b, a])),
    )

    assert done.returncode == 0


@pytest.mark.ci
def test_a_signal_ends_what_runs_and_shows_how_far_it_was(tmp_path):
    noted = tmp_path / "pid"
    code = (
        "import os, pathlib, time\n"
        "print('so far', flush=True)\n"
        f"part = pathlib.Path({str(tmp_path / 'part')!r})\n"
        "part.write_text(str(os.getpid()))\n"
        f"part.rename({str(noted)!r})\n"
        "time.sleep(600)\n"
    )
    program = subprocess.Popen(
        [*PROGRAM, "endless", python(code)], stdout=subprocess.PIPE, text=True
    )
    try:
        until(noted.exists)
        program.send_signal(signal.SIGTERM)
        printed, _ = program.communicate(timeout=60)
    finally:
        program.kill()
        program.communicate()

    assert program.returncode == 128 + signal.SIGTERM
    assert "== endless\nso far\n== endless: FAILED" in printed
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


@pytest.mark.ci
@pytest.mark.parametrize("words", [[], ["a title alone"]])
def test_titles_and_commands_come_in_pairs(words):
    done = run(*words)

    assert done.returncode == 1
    assert done.stderr.startswith("usage: side_by_side.py TITLE COMMAND")


def test_every_file_of_tests_is_in_one_group(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    places = [ROOT / path for group in load("all_tests").groups() for path in group]

    for file in (ROOT / "tests").rglob("test_*.py"):
        holding = [place for place in places if file == place or place in file.parents]
        assert len(holding) == 1, file


def test_every_page_is_in_one_part(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    part = load("pages").part
    pages = list(range(7))

    assert pages[part("1/1")] == pages
    assert pages[part("1/2")] == [0, 2, 4, 6]
    assert pages[part("2/2")] == [1, 3, 5]
    for text in ("0/2", "3/2", "one", "1/"):
        with pytest.raises(ValueError, match=r".+"):
            part(text)


def load(name):
    return importlib.import_module(name)
