"""`voirdire demo`: one command, no data of one's own."""

import json
import re
import shlex
import subprocess
from importlib.resources import files as package_files

import polars as pl
import pytest

from voirdire.cli.demo_responses import EPSILON
from voirdire.cli.demo_texts import ALIGNMENTS, EPSILONS
from voirdire.rubrics import load_rubric

WRITTEN = {"verdicts.parquet", "examination.json", "report.html"}
COPIED = {
    "texts.jsonl",
    "annotations.jsonl",
    "judges.jsonl",
    "responses.jsonl",
    "response_annotations.jsonl",
    "dataset.json",
    "README.md",
}
COMMANDS = re.compile(r"^  (voirdire \w.*?[^\\])$", re.DOTALL | re.MULTILINE)


def commands(text):
    """Find the commands that are printed, each as its words."""
    return [shlex.split(found.replace("\\\n", " ")) for found in COMMANDS.findall(text)]


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


def test_it_says_who_is_simulated(demonstration):
    folder, done = demonstration

    text = done.stdout.decode()
    assert text.splitlines()[0].startswith("Report: voirdire-demo/report.html")
    assert text.splitlines()[2].startswith("A REAL JUDGE, SIMULATED ANNOTATORS: the local judge")
    assert "\nSIMULATED DATA: 50 short texts" in text
    assert "simulated judges" in text
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    assert written["settings"]["simulated"] is True
    assert written["settings"]["real_judges"] == ["local"]
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 120


def test_it_examines_every_judge_by_every_margin(demonstration):
    folder, _ = demonstration

    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    n_alignments = sum(map(len, ALIGNMENTS.values()))
    simulated = [row for row in written["examinations"] if row["judge"] != "local"]
    assert len(simulated) == 8 * len(EPSILONS) * n_alignments
    assert {row["question"] for row in simulated} == set(ALIGNMENTS)
    outcomes = {row["outcome"] for row in simulated}
    assert outcomes >= {"passed", "failed"}
    constant = [row for row in written["examinations"] if row["judge"] == "sim-constant"]
    assert "passed" not in {row["outcome"] for row in constant}


def test_the_local_judge_is_examined_on_every_proposition(demonstration):
    folder, _ = demonstration

    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())

    found = [row for row in written["examinations"] if row["judge"] == "local"]
    propositions = load_rubric("safety").propositions
    assert [row["question"] for row in found] == list(propositions)
    assert {(row["epsilon"], row["alignment"]) for row in found} == {(EPSILON, "accuracy")}
    assert {(row["n_items"], row["n_annotators"]) for row in found} == {(90, 4)}
    order = [row["question"] for row in written["questions"]]
    assert order == [*ALIGNMENTS, *propositions]
    assert not [row for row in written["dropped"] if row["rater"] == "local"]


def test_the_verdicts_hold_propositions_and_classes_of_every_response(demonstration):
    folder, _ = demonstration

    table = pl.read_parquet(folder / "voirdire-demo" / "verdicts.parquet")

    classes = table.filter(pl.col("source") == "derived")
    assert table.height - classes.height == 90 * 21
    assert table["failure"].null_count() == table.height
    assert classes.group_by("item").agg(pl.col("label").sum())["label"].to_list() == [1] * 90


def test_it_prints_what_people_and_the_judge_say_and_what_comes_of_it(demonstration):
    folder, done = demonstration
    text = done.stdout.decode()
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    table = pl.read_parquet(folder / "voirdire-demo" / "verdicts.parquet")
    answers = read_lines(folder / "voirdire-demo" / "response_annotations.jsonl")

    marks = {"passed": "✓ passed", "failed": "✗ failed", "no_evidence": "? no evidence"}
    for row in written["examinations"]:
        if row["judge"] != "local":
            continue
        votes = [sum(list(x.values())[2:]) for x in answers if x["question"] == row["question"]]
        judged = table.filter(pl.col("question") == row["question"])["label"].sum()
        figures = [row[key] for key in ("winning_rate", "advantage_probability", "human_advantage")]
        cells = [
            rf"{row['question']}(?: \*)?",
            str(sum(vote > 2 for vote in votes)),
            str(judged),
            *(f"{figure:.2f}" for figure in figures),
            re.escape(marks[row["outcome"]]),
        ]
        assert re.search("^" + r"\s+".join(cells), text, re.MULTILINE), cells


def test_it_prints_the_share_of_every_class(demonstration):
    folder, done = demonstration
    text = done.stdout.decode()
    table = pl.read_parquet(folder / "voirdire-demo" / "verdicts.parquet")

    names = ("ideal", "less_good", "unacceptable", "illogical", "disallowed")
    for behavior in ("hard_refuse", "soft_refuse", "comply"):
        cells = []
        for name in names:
            rows = table.filter(pl.col("question") == f"{behavior}.{name}")
            assert rows.height == 30
            cells.append(rf"{rows['label'].mean():.0%} \({rows['probability'].mean():.2f}\)")
        assert re.search(rf"^{behavior}\s+" + r"\s+".join(cells), text, re.MULTILINE), cells


def test_it_says_where_its_output_is_and_how_to_get_it_from_files(
    demonstration, environment, program
):
    folder, done = demonstration
    text = done.stdout.decode()
    assert "examination.json" in text
    assert "voirdire-demo/" in text
    written = json.loads((folder / "voirdire-demo" / "examination.json").read_text())
    judging, *examining = commands(text)
    verdicts = (folder / "voirdire-demo" / "verdicts.parquet").read_bytes()

    def call(words):
        line = [*program, *words[1:], "--json"]
        done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    assert call(judging)["n_items"] == 90
    assert (folder / "voirdire-demo" / "verdicts.parquet").read_bytes() == verdicts
    chosen = [lambda row: row["judge"] == "local", is_needs_review]
    for words, wanted, count in zip(examining, chosen, (21, 8), strict=True):
        expected = [row for row in written["examinations"] if wanted(row)]
        assert without_classes(call(words)["examinations"]) == without_classes(expected)
        assert len(expected) == count


def is_needs_review(row):
    return (row["question"], row["epsilon"]) == ("needs_review", 0.2)


def without_classes(rows):
    """Leave out what was set aside: by hand that includes the completion classes."""
    return [{key: row[key] for key in row if key != "dropped"} for row in rows]


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("brief")
def test_json_is_alone_on_stdout_and_what_the_file_holds(call, tmp_path):
    done = call("demo", "--json", "--output", tmp_path / "made" / "here")

    assert (done.code, done.err) == (0, "")
    assert done.json["settings"]["simulated"] is True
    assert done.out == (tmp_path / "made" / "here" / "examination.json").read_text(encoding="utf-8")


@pytest.fixture
def brief(monkeypatch):
    """Examine at one margin only, where figures are not what is tested."""
    monkeypatch.setattr("voirdire.cli.demo_texts.EPSILONS", (0.2,))


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

    judging, *examining = commands(done.out)
    assert judging[2] == str(folder / "responses.jsonl")
    assert judging[-1] == str(folder / "verdicts.parquet")
    for words, humans, judges in zip(
        examining,
        ("response_annotations.jsonl", "annotations.jsonl"),
        ("verdicts.parquet", "judges.jsonl"),
        strict=True,
    ):
        assert words[words.index("--humans") + 1] == str(folder / humans)
        assert words[words.index("--judges") + 1] == str(folder / judges)
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
    assert "gentle_encouragement" in page
