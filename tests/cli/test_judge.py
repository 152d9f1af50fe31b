"""`voirdire judge`: what is printed, what is written, and the way on to `voirdire examine`."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import polars as pl
import pytest

from judging_files import RUBRIC, make_items, write_items, write_labels
from voirdire.judging import distill_files, load_local_judge


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Give a judge that was made from 200 items, and its rubric."""
    folder = tmp_path_factory.mktemp("judge")
    rows = make_items(200, seed=9)
    (folder / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    found = distill_files(
        write_items(folder / "items.jsonl", rows),
        [write_labels(folder / "labels.csv", rows)],
        rubric=folder / "tiny.yaml",
        name="tiny-judge",
    )
    found.judge.save(folder / "tiny.npz")
    return folder


@pytest.fixture
def options(made):
    return ["--rubric", made / "tiny.yaml", "--judge", made / "tiny.npz"]


@pytest.fixture
def items(tmp_path):
    return write_items(tmp_path / "items.jsonl", make_items(60))


# What is printed ------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_run_says_what_it_came_to_and_what_to_do_next(call, items, options, tmp_path):
    done = call("judge", items, *options, "--behavior", "refuse", "-o", tmp_path / "out.parquet")

    assert done.code == 0
    assert done.err == ""
    cut = load_local_judge(options[-1]).thresholds["sorry"]
    assert f"on rubric tiny 1, threshold {cut:g}" in " ".join(done.out.split())
    assert re.search(r"^sorry +\d+% +\.\d{3} +60 +0", done.out, re.M)
    assert re.search(r"^refuse\.disallowed +\d+% ", done.out, re.M)
    assert f"written: {tmp_path / 'out.parquet'}" in done.out
    assert f"voirdire examine --humans labels.csv --judges {tmp_path / 'out.parquet'}" in done.out


def test_json_is_one_object_with_the_same_figures(call, items, options, tmp_path):
    done = call("judge", items, *options, "-o", tmp_path / "out.parquet", "--json")

    found = done.json
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert (done.code, done.err) == (0, "")
    assert (found["n_items"], found["n_dropped"], found["dropped"]) == (60, 0, [])
    for row in found["questions"]:
        part = frame.filter(pl.col("question") == row["question"])
        assert row["share_true"] == pytest.approx(part["label"].mean())
        assert row["mean_probability"] == pytest.approx(part["probability"].mean())
    assert found["fingerprint"] == frame["fingerprint"].unique().item()
    assert set(found) >= {"classes", "untrusted", "notes", "rubric_hash", "threshold", "judged"}


def test_standard_output_gets_the_verdicts_and_standard_error_the_summary(call, items, options):
    with_file = call("judge", items, *options, "-o", "-")

    rows = [json.loads(line) for line in with_file.out.splitlines()]
    assert with_file.code == 0
    assert len(rows) == 60 * 2  # no item names a behavior
    assert "the items have no behavior" in with_file.err
    assert "60 items judged" in with_file.err
    assert "voirdire examine" not in with_file.err


def test_standard_input_is_read(call, items, options, tmp_path):
    done = call(
        *("judge", "-", *options, "-o", tmp_path / "out.csv", "--json"), stdin=items.read_bytes()
    )

    assert done.json["n_items"] == 60


def test_rows_that_are_set_aside_are_named(call, items, options, tmp_path):
    with items.open("a") as file:
        file.write("not json\n" * 7)

    done = call("judge", items, *options, "-o", tmp_path / "out.csv")

    listed = tmp_path / "out.csv.dropped.jsonl"
    assert done.code == 0
    assert f"7 rows set aside; all in {listed}" in done.err
    assert f"{items}:61: " in done.err
    assert "(and 6 more like this: line 62, line 63, line 64, …)" in done.err
    assert len(listed.read_text().splitlines()) == 7


@pytest.mark.ci
def test_propositions_that_the_card_distrusts_are_named(call, items, made, tmp_path):
    rows = make_items(60, seed=4)
    for row in rows:  # a label that no word of the response can tell
        row["truth"] = {"sorry": row["truth"]["sorry"], "asks": hash_bit(row["id"])}
    call(
        *("distill", write_items(tmp_path / "x.jsonl", rows), "-o", tmp_path / "x.npz"),
        *("--labels", write_labels(tmp_path / "x.csv", rows), "--rubric", made / "tiny.yaml"),
    )

    done = call(
        *("judge", items, "--rubric", made / "tiny.yaml", "--judge", tmp_path / "x.npz"),
        *("-o", tmp_path / "out.csv"),
    )

    assert "By its own card x should not be trusted on asks." in done.out


def hash_bit(name):
    return sum(name.encode()) // 3 % 2 == 0


def test_the_card_is_shown_without_items(call, made):
    card = call("judge", "--judge", made / "tiny.npz", "--show-card")
    plain = call("judge", "--judge", made / "tiny.npz", "--show-card", "--json")

    assert card.code == plain.code == 0
    assert "tiny-judge" in card.out.splitlines()[0]
    assert plain.json["questions"] == ["sorry", "asks"]


# Usage and errors -----------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    "arguments",
    [
        ["judge"],
        ["judge", "items.jsonl", "-o", "x.csv", "--layout", "broad"],
        ["judge", "items.jsonl", "-o", "x.csv", "--judged", "all"],
        ["judge", "items.jsonl", "-o", "x.csv", "--column", "prompt"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2(call, arguments):
    done = call(*arguments)

    assert done.code == 2
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.edges
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["none.jsonl", "-o", "out.csv"], ["none.jsonl", "Check the path"]),
        (["{items}", "-o", "out.txt"], ["`--output` must end in .parquet, .jsonl or .csv"]),
        (["{items}", "-o", "none/out.csv"], ["`--output` must be in a folder"]),
        (["{items}", "-o", "{items}"], ["`--output` must be another file than the items"]),
        (["{items}", "-o", "out.csv", "--threshold", "50"], ["`--threshold` must be in", "50"]),
        (["{items}", "-o", "out.csv", "--behavior", "sing"], ["`--behavior` must be", "'refuse'"]),
        (["{items}", "-o", "out.csv", "--judge", "none.npz"], ["none.npz"]),
        (["{items}", "-o", "out.csv", "--rubric", "sefety"], ["sefety"]),
        (
            ["{items}", "-o", "out.csv", "--column", "response=reply"],
            ["`reply`", "Correct `--column`"],
        ),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(
    call, items, options, assert_one_line, tmp_path, monkeypatch, given, words
):
    monkeypatch.chdir(tmp_path)
    given = [str(items) if word == "{items}" else word for word in given]
    usual = options[:2] if "--judge" in given else options

    done = call("judge", *usual, *given)

    assert_one_line(done, *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl"]


@pytest.mark.edges
@pytest.mark.parametrize("content", ["", "\n", '{"prompt": "?"}\n', "\x00\x01"])
def test_a_file_without_items_is_an_error(call, options, assert_one_line, tmp_path, content):
    (tmp_path / "empty.jsonl").write_text(content)

    done = call("judge", tmp_path / "empty.jsonl", *options, "-o", tmp_path / "out.csv")

    assert_one_line(done, "empty.jsonl", "must hold at least one item")


# Interruptions --------------------------------------------------------------------------------


HELD = """
import sys, time, voirdire.cli as c
from pathlib import Path
from voirdire.judging.local.judge import LocalJudge
probabilities = LocalJudge.probabilities
def held(self, items):
    while any(Path(sys.argv[0]).parent.glob(".out.parquet.*/part-*")):
        time.sleep(0.01)
    return probabilities(self, items)
LocalJudge.probabilities = held
c.run()
"""
"""The program, which waits for ever once a part is written."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_ctrl_c_leaves_nothing_behind_and_exits_130(environment, options, tmp_path, name):
    items = write_items(tmp_path / "many.jsonl", make_items(3_000))
    (tmp_path / "held.py").write_text(HELD)
    words = ["judge", items, *options, "-o", tmp_path / "out.parquet", "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, *map(str, [tmp_path / "held.py", *words])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    limit = time.monotonic() + 60
    while not list(tmp_path.glob(".out.parquet.*/part-*")):
        assert time.monotonic() < limit
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)

    process.send_signal(signal.Signals[name])
    out, err = process.communicate(timeout=120)

    assert (process.returncode, out, err) == (130, b"", b"voirdire: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held.py", "many.jsonl"]


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is(program, environment, options, tmp_path):
    items = write_items(tmp_path / "many.jsonl", make_items(10_000))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        list(map(str, [*program, "judge", items, *options, "-o", tmp_path / "out.parquet"])),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment | {"TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    seen = []

    def drain():
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                return
            if not piece:
                return
            seen.append(piece)

    reader = threading.Thread(target=drain)
    reader.start()
    assert process.wait(timeout=120) == 0
    reader.join(timeout=60)
    os.close(ours)

    text = b"".join(seen).decode()
    assert re.search(r"[\d,]+ items · [\d,]+/s", text)
    assert re.search(r"\d+:\d\d:\d\d", text)
    assert "left" in text


# On to examine --------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("end", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("question", ["sorry", "refuse.ideal"])
def test_examine_reads_the_verdicts_as_they_are(call, options, tmp_path, end, question):
    rows = make_items(60)
    for row in rows:
        row["truth"]["refuse.ideal"] = row["truth"]["sorry"] and not row["truth"]["asks"]
    labels = write_labels(
        tmp_path / "labels.csv", rows, annotators=("ann", "bob", "eve"), slips=0.1
    )
    verdicts = tmp_path / f"out.{end}"
    source = write_items(tmp_path / "items.jsonl", rows, behavior="refuse")
    call("judge", source, *options, "-o", verdicts)
    record = tmp_path / "record.json"

    done = call(
        *("examine", "--humans", labels, "--judges", verdicts, "--kind", "boolean"),
        *("--question", question, "--certificate", record, "--json"),
    )

    (found,) = done.json["examinations"]
    assert (done.code, done.json["dropped"]) == (0, [])
    assert (found["judge"], found["question"], found["n_items"]) == ("tiny-judge", question, 60)
    assert found["outcome"] == "passed"
    certificate = json.loads(record.read_text())
    assert certificate["judges"]["tiny-judge"]["fingerprint"].startswith("sha256:")
    cut = load_local_judge(options[-1]).thresholds["sorry"]
    assert certificate["settings"]["threshold"] == cut


# Help -----------------------------------------------------------------------------------------


def test_the_prompt_is_shown_about_an_item_whose_columns_have_other_names(call, tmp_path):
    (tmp_path / "items.csv").write_text("id,question,answer\n1,Which colour?,Teal.\n")
    named = ("--column", "prompt=question", "--column", "response=answer")

    done = call("judge", tmp_path / "items.csv", "--show-prompt", *named)

    assert (done.code, done.err) == (0, "")
    assert "Which colour?" in done.out
    assert "Teal." in done.out
