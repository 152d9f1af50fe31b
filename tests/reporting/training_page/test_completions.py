"""The completions with the highest and the lowest rewards, on the page where they are asked for."""

import html
import json
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
from voirdire.rewards import read_training_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_training_run(bad_run(tmp_path_factory.mktemp("bad") / "run"))


@pytest.fixture(scope="module")
def page(run):
    return training_report(run, texts=True)


def items_in(page):
    """Give the words of each item by the end that it is at."""
    found = {}
    for tags, body in re.findall(
        r'<details class="item" data-tags="([^"]*)">(.*?)</details>', page, flags=re.DOTALL
    ):
        words = html.unescape(re.sub(r"<[^>]*>", " ", body))
        end = json.loads(html.unescape(tags))["training.ends.end"]
        found.setdefault(end, []).append(" ".join(words.split()))
    return found


def test_the_twenty_highest_and_lowest_are_shown(run, page):
    rewards = {row["item"]: row["reward"] for row in rows_in(run.folder)}
    known = sorted(reward for reward in rewards.values() if reward is not None)

    found = items_in(page)

    shown = {
        end: [rewards[re.search(r" Item (\S+)", item)[1]] for item in items]
        for end, items in found.items()
    }
    assert shown == {"highest": known[::-1][:20], "lowest": known[:20]}
    assert any("the same words come over and over" in item for item in found["highest"])


def test_a_response_that_is_repeated_to_a_prompt_is_shown_once(run, tmp_path):
    folder = tmp_path / "run"
    (folder / "completions").mkdir(parents=True)
    (folder / "run.json").write_bytes((run.folder / "run.json").read_bytes())
    for part in parts_of(run.folder):
        rows = pl.read_parquet(part).with_columns(response=pl.lit("sorry"))
        rows.write_parquet(folder / "completions" / part.name)

    found = items_in(training_report(read_training_run(folder), texts=True))

    prompts = [re.search("Prompt (.*) Response", item)[1] for item in found["highest"]]
    assert len(prompts) == len(set(prompts)) == 5


def test_no_text_is_on_the_page_unless_it_is_asked_for(run, page):
    plain = training_report(run, source="runs/bad")

    assert "how is it done" in page
    assert "how is it done" not in plain
    assert "<script" not in plain
    assert "--texts</code> shows the 20 completions with the highest rewards" in plain


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


def test_completions_that_are_gone_are_an_error_of_the_run(run, tmp_path):
    with pytest.raises(InputError, match=r"run\.json"):
        training_report(replace(run, folder=tmp_path / "gone"), texts=True)
