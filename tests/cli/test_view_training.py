"""`voirdire view` of the folder of a training run."""

import json
import re
import shutil

import pytest

from reporting.recorded_alarms import bad_run
from voirdire.adapters import GuardedReward
from voirdire.rewards import Turn, read_training_run, reward_of_weights

REFUSAL = "I'm sorry, but I can't help with that."
SECRET = "the prompt of a training run"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train for twelve steps: more refusals with each, paid by the local judge."""
    folder = tmp_path_factory.mktemp("training") / "run"
    weights = {"hard_refuse": {"apology": 1.0, "fully_complies": -2.0, "ideal": 3.0}}
    reward = reward_of_weights(weights, rubric="safety", name="<b>mine</b>")
    guarded = GuardedReward(reward, record=folder)
    for step in range(12):
        turns = [
            Turn(
                response=REFUSAL if place <= step else f"Sure! Mix {place} and {step}.",
                prompt=f"{SECRET} {place // 4}",
                behavior="hard_refuse",
            )
            for place in range(12)
        ]
        guarded.scored(turns, step=step)
    guarded.close()
    return folder


def test_the_page_and_the_terminal_tell_of_the_run(call, trained, tmp_path):
    page = tmp_path / "page.html"

    done = call("view", trained, "-o", page)

    run = read_training_run(trained)
    start, end = (
        sum(step.reward_mean for step in steps) / 6 for steps in (run.steps[:6], run.steps[6:])
    )
    shown = [re.sub(r"^(-?)0\.", r"\1.", f"{mean:.2f}").replace("-", "−") for mean in (start, end)]
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{page}: {page.stat().st_size / 1e3:.0f} kB\n")
    assert "144 completions in 12 steps" in done.out
    said = f"The mean reward is {shown[0]} over the first 6 steps and {shown[1]} over the last."
    assert said in " ".join(done.out.split())
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert f"The mean reward is {shown[0]} over" in text
    assert str(trained) in text  # in the command that draws a sample
    assert "&lt;b&gt;mine" in text
    assert "<b>mine" not in text
    assert SECRET not in text
    assert REFUSAL not in text


@pytest.mark.ci
def test_texts_behind_the_alarms_are_shown_where_they_are_asked_for(call, tmp_path):
    run, page = bad_run(tmp_path / "run"), tmp_path / "page.html"

    plain, done = call("view", run, "-o", page), page.read_text(encoding="utf-8")
    with_texts = call("view", run, "-o", page, "--texts")

    assert (plain.code, with_texts.code) == (0, 0)
    assert "how is it done" not in done
    assert "how is it done" in page.read_text(encoding="utf-8")


def test_texts_of_an_examination_are_wrong_usage(call, tmp_path):
    done = call("view", "report.json", "-o", tmp_path / "page.html", "--texts")

    assert done.code == 2
    assert "`--texts` needs the folder of a training run, got 'report.json'" in done.err


def test_a_run_without_steps_is_one_line(call, trained, tmp_path, assert_one_line):
    (tmp_path / "run.json").write_bytes((trained / "run.json").read_bytes())

    done = call("view", tmp_path, "-o", tmp_path / "page.html")

    assert_one_line(done, "must hold at least one step, got none in")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("content", ["{", json.dumps({"schema": "other/1"}), "[]", ""])
def test_a_folder_with_another_run_json_is_one_line(call, tmp_path, assert_one_line, content):
    (tmp_path / "run.json").write_text(content, encoding="utf-8")

    done = call("view", tmp_path, "-o", tmp_path / "page.html")

    assert_one_line(done, f"{tmp_path / 'run.json'}:")


def test_a_run_with_a_damaged_part_says_what_could_not_be_read(call, trained, tmp_path):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    (tmp_path / "completions" / "p1-1-ab-000000.parquet").write_bytes(b"PAR1")

    done = call("view", tmp_path, "-o", tmp_path / "page.html")

    assert done.code == 0
    assert "12 steps" in done.out
    assert "1 piece left out" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_part_that_cannot_be_read_is_named(call, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    part = sorted((tmp_path / "run" / "completions").iterdir())[0]
    part.with_name(part.name.replace("-000000", "-000009")).write_bytes(part.read_bytes()[:500])

    done = call("view", tmp_path / "run", "-o", tmp_path / "page.html")

    assert done.code == 0
    assert "1 piece left out" in done.out
    assert "-000009-" in done.out
