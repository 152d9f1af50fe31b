"""`voirdire demo`: one command, no data of one's own."""

import json
import re
import shlex
import subprocess
from importlib.resources import files as package_files

import pytest

from voirdire.cli.demo import ALIGNMENTS, EPSILONS

WRITTEN = {"examination.json", "report.html"}
COPIED = {"texts.jsonl", "annotations.jsonl", "judges.jsonl", "dataset.json", "README.md"}


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory, program, environment):
    """Run the program once, in a folder of its own."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [*program, "demo"], cwd=folder, env=environment, capture_output=True, check=False
    )
    return folder, done


def test_it_writes_its_folder_where_it_is_run(demonstration):
    folder, done = demonstration

    assert (done.returncode, done.stderr) == (0, b"")
    assert [path.name for path in folder.iterdir()] == ["voirdire-demo"]
    written = {path.name for path in (folder / "voirdire-demo").iterdir()}
    assert written == COPIED | WRITTEN
    for name in COPIED:
        bundled = (package_files("voirdire") / "data" / "demo" / name).read_bytes()
        assert (folder / "voirdire-demo" / name).read_bytes() == bundled


def test_it_says_that_everybody_is_simulated(demonstration):
    folder, done = demonstration

    text = done.stdout.decode()
    assert text.splitlines()[0].startswith("Report: voirdire-demo/report.html")
    assert text.splitlines()[2].startswith("SIMULATED DATA")
    assert "simulated judges" in text
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    assert written["settings"]["simulated"] is True
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 120


def test_it_examines_every_judge_by_every_margin(demonstration):
    folder, _ = demonstration

    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    n_alignments = sum(map(len, ALIGNMENTS.values()))
    assert len(written["examinations"]) == 8 * len(EPSILONS) * n_alignments
    assert {row["question"] for row in written["examinations"]} == set(ALIGNMENTS)
    outcomes = {row["outcome"] for row in written["examinations"]}
    assert outcomes >= {"passed", "failed"}
    constant = [row for row in written["examinations"] if row["judge"] == "sim-constant"]
    assert "passed" not in {row["outcome"] for row in constant}


def test_it_says_where_its_output_is_and_how_to_get_it_from_files(
    demonstration, environment, program
):
    folder, done = demonstration
    text = done.stdout.decode()
    assert "examination.json" in text
    assert "voirdire-demo/" in text

    printed = text[text.index("  voirdire examine") :].replace("\\\n", " ").strip()
    words = [*program, *shlex.split(printed)[1:], "--json"]
    again = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=True)

    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    expected = [
        row
        for row in written["examinations"]
        if (row["question"], row["epsilon"]) == ("needs_review", 0.2)
    ]
    assert json.loads(again.stdout)["examinations"] == expected
    assert len(expected) == 8


@pytest.mark.usefixtures("brief")
def test_json_is_alone_on_stdout_and_what_the_file_holds(call, tmp_path):
    done = call("demo", "--json", "--output", tmp_path / "made" / "here")

    assert (done.code, done.err) == (0, "")
    assert done.json["settings"]["simulated"] is True
    assert done.out == (tmp_path / "made" / "here" / "examination.json").read_text(encoding="utf-8")


@pytest.fixture
def brief(monkeypatch):
    """Examine at one margin only, where figures are not what is tested."""
    monkeypatch.setattr("voirdire.cli.demo.EPSILONS", (0.2,))


@pytest.mark.usefixtures("brief")
def test_a_second_run_overwrites(call, tmp_path):
    call("demo", "--output", tmp_path, "--json")
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "annotations.jsonl").write_text("broken")
    (tmp_path / "notes.txt").write_text("mine")

    done = call("demo", "-o", tmp_path, "--json")

    second = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert done.code == 0
    assert second.pop("notes.txt") == b"mine"
    assert second == first


@pytest.mark.usefixtures("brief")
def test_the_printed_command_can_be_pasted_whatever_the_folder(call, tmp_path):
    folder = tmp_path / "my demo's folder"

    done = call("demo", "--output", folder)

    printed = done.out[done.out.index("  voirdire examine") :].replace("\\\n", " ").strip()
    words = shlex.split(printed)
    assert words[words.index("--humans") + 1] == str(folder / "annotations.jsonl")
    assert words[words.index("--judges") + 1] == str(folder / "judges.jsonl")
    assert str(folder) in done.out


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_our_error(call, tmp_path, assert_one_line, place):
    (tmp_path / "file").write_text("x")

    done = call("demo", "--output", tmp_path / place)

    assert_one_line(done, "`--output` must be a folder that can be made", tmp_path / place)
    assert (tmp_path / "file").read_text() == "x"


def test_a_file_that_cannot_be_written_is_our_error(call, tmp_path, assert_one_line):
    (tmp_path / "texts.jsonl").mkdir()

    assert_one_line(call("demo", "--output", tmp_path), "must not hold other files", "texts.jsonl")


@pytest.mark.parametrize("name", sorted(COPIED | WRITTEN))
def test_nobodys_files_are_replaced(call, tmp_path, assert_one_line, name):
    (tmp_path / name).write_text("mine")

    assert_one_line(call("demo", "--output", tmp_path), "`--output` must not", name)

    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.usefixtures("brief")
def test_the_folder_we_are_in_will_do(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = call("demo", "--output", ".")

    assert done.code == 0
    assert {path.name for path in tmp_path.iterdir()} == COPIED | WRITTEN
    assert re.search(r"\bare in \.\s", done.out) or "are in ./" in done.out


@pytest.mark.usefixtures("brief")
def test_through_typers_runner(invoke, tmp_path):
    done = invoke("demo", "--output", tmp_path)

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Report: {tmp_path}")


@pytest.mark.usefixtures("brief")
def test_the_report_speaks_chinese_if_asked(call, tmp_path):
    call("demo", "--output", tmp_path, "--language", "zh", "--json")

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<html lang="zh' in page
