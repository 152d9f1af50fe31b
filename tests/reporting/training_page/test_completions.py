"""The completions behind the alarms of a recorded run, on the page where they are asked for."""

import html
import json
import math
import re
import warnings
from dataclasses import replace

import polars as pl
import pytest

from reporting.training_page.conftest import Page
from reporting.training_page.recorded_alarms import bad_run
from rewards.training.recorded_runs import parts_of, rows_in
from voirdire.errors import InputError
from voirdire.reporting import training_report
from voirdire.rewards import Alarm, read_training_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_training_run(bad_run(tmp_path_factory.mktemp("bad") / "run"))


@pytest.fixture(scope="module")
def page(run):
    return training_report(run, texts=True)


def items_in(page):
    """Give the words of each item by the alarm that it shows."""
    found = {}
    for tags, body in re.findall(
        r'<details class="item" data-tags="([^"]*)">(.*?)</details>', page, flags=re.DOTALL
    ):
        alarm = json.loads(html.unescape(tags))["training.behind.alarm"]
        words = html.unescape(re.sub(r"<[^>]*>", " ", body))
        found.setdefault(alarm, []).append(" ".join(words.split()))
    return found


def rows_before(run, kind, subject):
    """Give the completions of the ten steps that end where an alarm began."""
    [alarm] = [row for row in run.alarms if (row.kind, row.subject) == (kind, subject)]
    rows = [row for row in rows_in(run.folder) if alarm.step - 10 < row["step"] <= alarm.step]
    return alarm, rows


def test_every_alarm_has_ten_completions_of_its_own(run, page):
    found = items_in(page)

    assert list(found) == [f"step {x.step}: {x.kind}, {x.subject}" for x in run.alarms]
    assert {len(items) for items in found.values()} == {10}
    assert "Completions behind the alarms (40 completions)" in page


def test_paid_nonsense_is_shown_with_the_highest_rewards_and_why_it_is_nonsense(run, page):
    alarm, rows = rows_before(run, "nonsense", "nonsense and reward")
    best = sorted((row["reward"] for row in rows if row["nonsense"]), reverse=True)[:10]

    shown = items_in(page)[f"step {alarm.step}: nonsense, nonsense and reward"]

    assert [float(re.search(r"reward (\d*\.\d+)", item)[1]) for item in shown] == [
        pytest.approx(reward, abs=0.005) for reward in best
    ]
    assert all("the same words come over and over" in item for item in shown)


def test_of_length_the_longest_are_shown_and_of_missing_rewards_those_without_one(run, page):
    alarm, rows = rows_before(run, "length", "length and reward")
    longest = sorted((row["n_tokens"] for row in rows), reverse=True)[:10]

    found = items_in(page)

    shown = found[f"step {alarm.step}: length, length and reward"]
    assert [int(re.search(r"Tokens (\d+)", item)[1]) for item in shown] == longest
    alarm, rows = rows_before(run, "missing", "reward")
    shown = found[f"step {alarm.step}: missing, reward"]
    assert all("reward –" in item and "Why it has no reward" in item for item in shown)
    assert all(any(row["response"] in item for row in rows if row["missing"]) for item in shown)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("kind", "subject", "value", "was", "column", "most_first"),
    [
        ("drift", "sorry", 0.9, 0.4, "sorry", True),
        ("drift", "sorry", 0.4, 0.9, "sorry", False),
        ("drift", "chat/poor", 0.7, 0.2, "class:poor", True),
        ("saturation", "sorry", 0.99, 0.4, "reward", True),
        ("saturation", "groups", 0.95, math.nan, "reward", True),
        ("spread", "reward", 0.1, 1.2, "reward", True),
        ("length", "length", 40.0, 14.0, "n_tokens", True),
        ("nonsense", "nonsense", 0.4, 0.0, "reward", True),
    ],
)
def test_each_alarm_has_those_first_that_show_it_best(
    run, kind, subject, value, was, column, most_first
):
    alarm = Alarm(kind=kind, step=40, subject=subject, value=value, reference=was, text="")

    page = training_report(replace(run, alarms=(alarm,)), texts=True)

    rows = [row for row in rows_in(run.folder) if 30 < row["step"] <= 40]
    rows = [row for row in rows if (subject != "chat/poor" or row["behavior"] == "chat")
            and (kind != "nonsense" or row["nonsense"])]  # fmt: skip
    best = sorted((row[column] for row in rows), reverse=most_first)[:10]
    by_item = {row["item"]: row[column] for row in rows}
    [shown] = items_in(page).values()
    assert [by_item[re.search(r" Item (\S+)", item)[1]] for item in shown] == best


def test_a_response_that_is_repeated_to_a_prompt_is_shown_once(run, tmp_path):
    folder = tmp_path / "run"
    (folder / "completions").mkdir(parents=True)
    (folder / "run.json").write_bytes((run.folder / "run.json").read_bytes())
    for part in parts_of(run.folder):
        same = pl.when(pl.col("nonsense").is_not_null()).then(pl.lit("sorry " * 20))
        rows = pl.read_parquet(part).with_columns(response=same.otherwise("response"))
        rows.write_parquet(folder / "completions" / part.name)

    found = items_in(training_report(read_training_run(folder), texts=True))

    shown = found["step 26: nonsense, nonsense and reward"]
    assert len(shown) == len({re.search("Prompt (.*) Response", item)[1] for item in shown}) == 5


def test_no_text_is_on_the_page_unless_it_is_asked_for(run, page):
    plain = training_report(run, source="runs/bad")

    assert "how is it done" in page
    assert "how is it done" not in plain
    assert "<script" not in plain
    assert "--texts</code> shows up to ten completions behind each alarm" in plain


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_completions_stay_text(run, language):
    page = training_report(run, texts=True, language=language)

    seen = Page(page)
    assert seen.open == []
    assert seen.elements.count("script") == 1  # the filter's, which the page's policy names
    assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert not re.search(r"\b(training|items)\.[a-z]+\.", re.sub(r'="[^"]*"', "", page))


def test_a_run_without_alarms_has_no_completions_on_its_page(run):
    page = training_report(replace(run, alarms=()), texts=True)

    assert "how is it done" not in page
    assert "<script" not in page


def test_completions_that_are_gone_are_an_error_of_the_run(run, tmp_path):
    with pytest.raises(InputError, match=r"run\.json"):
        training_report(replace(run, folder=tmp_path / "gone"), texts=True)
