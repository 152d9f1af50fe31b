"""The program itself: help, version, exit codes, pipes and interruptions."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from rich.cells import cell_len

import voirdire
from voirdire.cli import app
from voirdire.cli.main import COMMANDS

# Help and version -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["", "demo", "distill", "examine", "judge", "power", "rubric"])
@pytest.mark.parametrize("columns", [None, "80", "100"])
def test_help_fits_100_columns_and_names_every_option(execute, list_options, command, columns):
    variables = {} if columns is None else {"COLUMNS": columns}

    done = execute(*[command][: bool(command)], "--help-all", **variables)

    assert (done.code, done.err) == (0, "")
    assert max(cell_len(line) for line in done.out.splitlines()) <= int(columns or 100)
    for option in list_options(command):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", done.out), option
    assert "\x1b" not in done.out


def test_help_groups_the_commands_by_task_in_one_screen(execute):
    lines = execute("--help", COLUMNS="80").out.splitlines()

    assert 24 <= len(lines) <= 30
    tasks = ["Label", "Judge", "Examine", "Reward", "Train"]
    assert [line for line in lines if line in tasks] == tasks


def test_help_lists_the_commands_with_what_they_do(call):
    done = call("--help")

    assert done.code == 0
    assert re.search(r"\bexamine +Test .*\n(.*\n)*.*\bfit +Fit ", done.out)


@pytest.mark.edges
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_plain_help_shows_twenty_options_at_most_and_how_to_see_the_others(call, command):
    shown, listed = (
        set(re.findall(r"^  (--[\w-]+)", call(*command.split(), option).out, re.MULTILINE))
        for option in ("--help", "--help-all")
    )

    assert shown <= listed
    assert len(shown) <= 20
    assert ("--help-all" in call(*command.split(), "--help").out) == (shown != listed)


@pytest.mark.edges
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_usual_options_of_a_command_are_options_of_it(list_options, command):
    assert {*COMMANDS[command].usual.split()} <= {*list_options(command)}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("examine",), "`--humans`"),
        (("sample",), "RUN"),
        (("score",), "ITEMS"),
        (("view",), "RESULT"),
        (("rubric", "show"), "NAME"),
    ],
    ids=str,
)
def test_a_call_that_lacks_something_gets_three_lines(call, words, missing):
    done = call(*words)

    said, example, more = done.err.splitlines()
    command = COMMANDS[" ".join(words)]
    assert (done.code, done.out) == (2, "")
    assert said.endswith(f"{command.summary}")
    assert f"{missing} is missing" in said
    assert example == f"Example: {command.example}"
    assert more == f"Help: voirdire {' '.join(words)} --help"


@pytest.mark.edges
@pytest.mark.parametrize("command", ["distill", "fit", "judge", "power"])
def test_a_bare_call_gets_an_example(call, command):
    done = call(command)

    assert done.code == 2
    assert COMMANDS[command].summary in done.err.splitlines()[0]
    assert done.err.splitlines()[1:] == [
        f"Example: {COMMANDS[command].example}",
        f"Help: voirdire {command} --help",
    ]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("examine", "--humns", "x"), "`--humns` is no option. Did you mean `--humans`?"),
        (
            ("examine", "--humans", "h", "--judges", "v", "--judge", "x"),
            "`--judge` must be left out beside `--judges`",
        ),
        (("fit", "c.jsonl", "--verdicts", "v", "--judge", "x", "-o", "r"), "`--only` says whose"),
        (("score", "i.jsonl", "--reward", "r", "--only", "x", "-o", "r"), "beside `--verdicts`"),
        (("judge", "i.jsonl", "extra"), "takes no 'extra' there"),
        (("power", "--seed", "x"), "`--seed` must be a whole number, got 'x'."),
        (
            ("power", "--epsilon-mode", "z"),
            "`--epsilon-mode` must be one of additive, multiplicative, got 'z'.",
        ),
        (("judge", "i.jsonl", "-o"), "`--output` needs a value."),
        (("examin", "--humns", "x"), "`examin` is no command. Did you mean `examine`?"),
        (("rubric", "chek", "x"), "`rubric chek` is no command. Did you mean `rubric check`?"),
        (("judg",), "`judg` is no command. Did you mean `judge`?"),
    ],
    ids=str,
)
def test_a_call_that_cannot_be_meant_says_what_may_be(call, words, said):
    done = call(*words)

    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.splitlines()[-1].startswith("Help: voirdire")


@pytest.mark.edges
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_example_of_a_command_is_a_call_of_it(command):
    words = COMMANDS[command].example.split()
    family, _, last = command.rpartition(" ")

    typed = [f"{family}-{last}", *words[3:]] if family in COMMANDS else words[1:]
    app.parse_args(typed, print_error=False, exit_on_error=False)

    assert words[0] == "voirdire"
    assert words[1 : 1 + len(command.split())] == command.split()


def test_the_options_of_the_design_are_all_there(list_options):
    promised = "--weights --labels --cluster --question --threshold --gate --certificate --json"

    assert set(promised.split()) <= set(list_options("examine"))
    assert "--json" in list_options("demo")


def test_version(call):
    done = call("--version")

    assert (done.code, done.out) == (0, f"voirdire {voirdire.__version__}\n")


# Exit codes -----------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["unknown"],
        ["examine"],
        ["examine", "--nonsense"],
        ["examine", "--humans", "h.csv", "--judges", "j.csv", "--epsilon", "much"],
        ["examine", "extra", "--humans", "h.csv", "--judges", "j.csv"],
        ["examine", "--humans", "h.csv", "--judges", "j.csv", "--epsilon-mode", "ratio"],
        ["demo", "--nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2(call, arguments):
    done = call(*arguments)

    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.out == "" or arguments == []


def test_a_bug_keeps_its_traceback(call, monkeypatch, files):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("voirdire.studies.whole_study.examine_study", fail)

    with pytest.raises(ZeroDivisionError, match="a bug"):
        call("examine", *files)


# Loading --------------------------------------------------------------------------------------

HEAVY = ("numpy", "scipy", "polars", "pandas", "pyarrow", "sklearn", "narwhals", "msgspec")
WATCHED = """
import json, sys
sys.argv = ["voirdire", *{arguments}]
from voirdire.cli import run
try:
    run()
except SystemExit:
    pass
print(json.dumps(sorted(set({heavy}) & set(sys.modules))), file=sys.stderr)
"""


@pytest.mark.edges
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["examine", "--help"], ["demo", "-h"]]
)
def test_help_loads_nothing_heavy(arguments, environment):
    code = WATCHED.format(arguments=arguments, heavy=HEAVY)

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )

    assert json.loads(done.stderr) == []
    assert done.stdout


def test_importing_the_package_loads_no_numbers(environment):
    code = f"import json, sys, voirdire; print(json.dumps(sorted(set({HEAVY}) & set(sys.modules))))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )

    assert json.loads(done.stdout) == []


# Pipes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ["--json", "--details", "-h"])
def test_a_reader_that_leaves_early_sees_no_traceback(
    program, environment, files, understood, options
):
    epsilons = [f"--epsilon={number / 100}" for number in range(30)]
    words = [*program, "examine", *map(str, files), *epsilons, options]
    piped = f"{shlex.join(words)} | head -1"

    done = subprocess.run(
        ["bash", "-c", piped], capture_output=True, text=True, env=environment, check=False
    )

    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert done.stderr == ("" if options == "-h" else understood)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("option", ["--json", "--details"])
def test_a_full_disk_is_our_error_in_one_line(program, environment, files, understood, option):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*program, "examine", *map(str, files), option],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )

    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    first, error = done.stderr.decode().splitlines(keepends=True)
    assert first == understood
    assert error.startswith("voirdire: ")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk"])
def test_json_is_whole_in_any_encoding(program, environment, study, tmp_path, encoding):
    judges = {"评判者 ω": study["judges"]["good"]}
    (tmp_path / "h.json").write_text(json.dumps(study["humans"]))
    (tmp_path / "j.json").write_text(json.dumps(judges))

    done = subprocess.run(
        [*program, "examine", "--humans", "h.json", "--judges", "j.json", "--json"],
        capture_output=True,
        cwd=tmp_path,
        env=environment | {"PYTHONIOENCODING": encoding},
        check=False,
    )

    said = done.stderr.decode(encoding)
    assert said.startswith("3 annotators (ann, bob, eve), 1 judge (")
    assert said.endswith("), 60 items, choice, 2 labels, nothing set aside\n")
    assert said.count("\n") == 1
    assert done.returncode == 0
    # JSON is UTF-8 (RFC 8259), whatever the terminal speaks; ASCII with escapes is UTF-8 too.
    assert json.loads(done.stdout.decode("utf-8"))["examinations"][0]["judge"] == "评判者 ω"


# Interruptions --------------------------------------------------------------------------------


def interrupted(program, environment, arguments, opened):
    """Start the program, interrupt it once it has opened what it waits for, give what it left."""
    process = subprocess.Popen(
        [*program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    try:
        opened(process)
        time.sleep(0.3)  # from having opened it to waiting for it
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=60)  # while what it reads from stays open
    finally:
        process.kill()
        out, err = process.communicate()
    return code, out, err


def test_an_interruption_while_reading_standard_input_exits_130(program, environment, tmp_path):
    (tmp_path / "x.csv").touch()

    def opened(process):
        process.stdin.write(b"x" * 1_000_000)  # more than a pipe holds: it returns when read from
        process.stdin.flush()

    code, out, err = interrupted(
        program,
        environment,
        ["examine", "--humans", "-", "--format", "csv", "--judges", tmp_path / "x.csv"],
        opened,
    )

    assert code == 130
    assert out == b""
    assert err == b"voirdire: interrupted\n"


# Terminals ------------------------------------------------------------------------------------


def on_terminal(words, environment, *, columns):
    """Run a program on a terminal of some width and give what stands on it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm-256color", "COLUMNS": str(columns)},
    )
    os.close(theirs)
    pieces = []

    def drain():
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                return
            if not piece:
                return
            pieces.append(piece)

    reader = threading.Thread(target=drain)
    reader.start()
    process.wait(timeout=60)
    reader.join(timeout=60)
    os.close(ours)
    return process.returncode, b"".join(pieces).decode()


def test_a_terminal_gets_colours_and_a_pipe_none(program, environment, execute, files):
    words = [*program, "examine", *map(str, files)]

    code, seen = on_terminal(words, environment, columns=80)
    _, plain = on_terminal(words, environment | {"NO_COLOR": "1"}, columns=80)
    piped = execute("examine", *files)

    assert code == 0
    assert re.search(r"\x1b\[[\d;]*m", seen)
    assert not re.search(r"\x1b\[(?:\d+;)*3\dm", plain)
    assert "\x1b" not in piped.out
    assert "✓ passed" in seen
    assert "✓ passed" in piped.out
    assert piped.said == ""


def test_an_interruption_while_the_program_is_loaded_is_told_in_a_line():
    script = textwrap.dedent(
        """
        import atexit, os, signal, sys
        atexit.register(os.kill, os.getpid(), signal.SIGINT)  # one more while Python ends
        class Interrupting:
            def find_spec(self, name, path=None, target=None):
                if name == "voirdire.cli.main":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupting())
        from voirdire.cli import run
        run()
        """
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (130, "voirdire: interrupted\n")
