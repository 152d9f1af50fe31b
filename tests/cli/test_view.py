"""`voirdire view`: any result as a page."""

import json
import re
import stat
import sys
import webbrowser
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import voirdire
from examined_reward import examined_reward
from made_probing import probe, question, report
from made_results import made_gold, made_power, made_rates
from made_views import (
    made_fit,
    made_judging,
    made_replies,
    made_sample,
    made_score,
    made_several,
    made_synthesis,
)
from voirdire.judging import judge_file
from voirdire.reporting import html_page, to_json
from voirdire.rewards import load_reward

FILES = Path(__file__).parents[1] / "golden" / "files"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def examination(call, files, tmp_path):
    done = call("examine", *files, "--epsilon", "0.2", "--json")
    path = tmp_path / "examination.json"
    path.write_text(done.out, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def items(tmp_path_factory):
    path = tmp_path_factory.mktemp("items") / "items.jsonl"
    rows = [
        {"id": f"r{n}", "prompt": f"Prompt {n} {HOSTILE}", "response": "I'm sorry, I can't.",
         "topic": topic, "behavior": "hard_refuse"}
        for n, topic in enumerate(("bikes", "locks", "keys"))
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def view(call, tmp_path):
    """View a file, and give what was said and the page."""
    page = tmp_path / "page.html"

    def view_file(*arguments):
        done = call("view", *arguments, "--output", page, "--no-open")
        assert (done.code, done.err) == (0, ""), done
        assert done.out.startswith(f"{page}: ")
        return page.read_text(encoding="utf-8")

    return view_file


class Elements(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def named(page):
    return [tag for tag, _ in Elements(page).found]


def tags_of(page):
    """Read by what each item of a page can be filtered."""
    return [json.loads(attrs["data-tags"]) for _, attrs in Elements(page).found
            if "data-tags" in attrs]  # fmt: skip


# Verdicts -----------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_verdicts_of_a_judge_with_the_texts_of_the_items(view, items, tmp_path, layout, ending):
    verdicts = tmp_path / f"verdicts.{ending}"
    judge_file(items, verdicts, rubric="safety", judge="local", layout=layout)

    page = view(verdicts, "--items", items)

    assert "What the judge said" in page
    assert all(shown in page for shown in ("Prompt 0", "inability_to_comply", "hard_refuse.ideal"))
    first, *_ = tags_of(page)
    answers = dict(zip(first["column.question"], first["items.answer"], strict=True))
    assert len(answers) == 21
    assert answers["inability_to_comply"] == "true"
    assert answers["threatening_language"] == "false"
    assert (first["column.behavior"], first["=topic"]) == ("hard_refuse", "bikes")
    assert named(page).count("script") == 1
    assert "img" not in named(page)


def test_rates_failures_and_reasons_of_a_plain_table(view, tmp_path):
    path = tmp_path / "mine.json"
    rows = [
        {"item": "a", "question": "polite", "label": True, "probability": 0.9, "reason": "thanks"},
        {"item": "b", "question": "polite", "label": True, "probability": 0.7, "reason": None},
        {"item": "c", "question": "polite", "label": False, "probability": 0.1, "reason": "rude"},
        {"item": "d", "question": "polite", "label": None, "failure": "timeout: 30 s"},
        {"item": "a", "question": "stars", "label": "4"},
        {"item": "b", "question": "stars", "label": "5"},
        {"item": "c", "question": "stars", "label": "4"},
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")

    page = view(path)

    cells = [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[dh][^>]*>.*?</t[dh]>", page)]
    # 2 of 3 true, (.9 + .7 + .1) / 3 = .57
    start = cells.index("polite")
    assert cells[start : start + 7] == ["polite", "", "67%", ".567", "3", "1", "–"]
    start = cells.index("stars")
    assert cells[start : start + 7] == ["stars", "", "–", "–", "3", "0", "“4” × 2 and “5” × 1"]
    assert "thanks" in page
    assert [tags.get("verdicts.failure") for tags in tags_of(page)] == [None, None, None, "timeout"]


def test_no_more_than_a_thousand_items_are_in_sight(view, tmp_path):
    path = tmp_path / "many.csv"
    rows = [f"i{n},{'true' if n % 4 else 'false'}" for n in range(1_200)]
    path.write_text("item,label\n" + "\n".join(rows) + "\n", encoding="utf-8")

    page = view(path)

    assert len(tags_of(page)) == 1_000
    assert "The first 1,000 of 1,200 items are shown" in page
    assert "75%" in page  # of all of them


def test_ids_of_verdicts_and_items_may_stand_in_a_column_of_another_name(view, tmp_path):
    verdicts, items = tmp_path / "verdicts.csv", tmp_path / "items.csv"
    verdicts.write_text("key,judge,question,label\na,one,q,true\nb,one,q,false\n")
    items.write_text("key,prompt\na,Prompt of a\nb,Prompt of b\n")

    page = view(verdicts, "--items", items, "--column", "item=key")

    assert len(tags_of(page)) == 2
    assert "Prompt of b" in page


@pytest.mark.parametrize(
    ("typed", "message"),
    [("item=nowhere", "column `nowhere` must"), ("what=key", "`--column` must")],
)
def test_a_column_that_is_not_there_is_refused(call, tmp_path, typed, message):
    path = tmp_path / "verdicts.csv"
    path.write_text("key,judge,question,label\na,one,q,true\n")

    done = call("view", path, "--column", typed, "--no-open", "--output", tmp_path / "page.html")

    assert done.code in (1, 2)
    assert message in done.err


# Other results ------------------------------------------------------------------------------------


MADE = {
    "gold": made_gold,
    "fit": made_fit,
    "judging": made_judging,
    "power": made_power,
    "probes": lambda: report(probes=(probe("length", question("label", 0.1)),)),
    "rates": made_rates,
    "replies": made_replies,
    "sample": made_sample,
    "examination of a reward": examined_reward,
    "score": made_score,
    "several judges": lambda: made_several("one", "two"),
    "synthesis": made_synthesis,
    "test": lambda: voirdire.alt_test(PEOPLE["ann"], PEOPLE),
}
PEOPLE = {name: {n: n % 2 for n in range(60)} for name in ("ann", "bob")}


@pytest.mark.parametrize("kind", MADE)
def test_the_json_of_every_result_has_the_page_of_the_result(view, tmp_path, kind):
    result = MADE[kind]()
    path = tmp_path / "result.json"
    path.write_text(to_json(result), encoding="utf-8")

    assert view(path) == html_page(result)


@pytest.mark.filterwarnings("ignore::voirdire.UncertifiedWarning")
@pytest.mark.parametrize("name", ["reward", "first"])
def test_a_reward_shows_its_weights_and_how_they_were_fitted(view, name):
    reward = load_reward(FILES / f"{name}.json")

    page = view(FILES / f"{name}.json")

    assert page == html_page(reward)
    for row in reward.behaviors.values():
        assert f"Weights of {row.behavior}" in re.sub("<[^>]+>", "", page)
        assert ("held-out comparisons" in page) is bool(row.figures)


def test_a_fit_that_lacks_a_figure_is_one_line(call, tmp_path, assert_one_line):
    path = tmp_path / "fit.json"
    path.write_text('{"schema": "voirdire.reward_fit/1", "behaviors": [{}]}')

    done = call("view", path, "--no-open")

    assert_one_line(done, "must be a fit as `voirdire fit --json` prints it")


def test_a_certificate_with_its_figures_and_hashes(view):
    page = view(FILES / "certificate.json")

    content = json.loads((FILES / "certificate.json").read_text(encoding="utf-8"))
    assert "What was certified, and does it hold?" in page
    assert content["content_hash"] in page
    assert content["examinations"][0]["judge"] in page


# Where the page goes, and what is no result -------------------------------------------------------


def test_without_output_it_is_in_a_folder_of_its_own(call, examination, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    done = call("view", examination, "--no-open")

    page = Path(done.out.rpartition(": ")[0])
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert page.parent.parent == tmp_path
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("option", "n_opened"), [("--open", 1), ("--no-open", 0)])
def test_the_browser_is_opened_where_there_is_a_screen(
    call, examination, tmp_path, monkeypatch, option, n_opened
):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("CI", raising=False)

    call("view", examination, "-o", tmp_path / "page.html", option)

    assert opened == [(tmp_path / "page.html").as_uri()] * n_opened


@pytest.mark.edges
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.json", b" \n", "must hold a result, got an empty file"),
        ("labels.csv", b"item,annotator,label\n1,ann,yes\n", "must be a result of voirdire"),
        ("items.jsonl", b'{"id": "1", "prompt": "x", "response": "y"}\n', "`item`, `question`"),
        ("other.json", b'{"a": 1}', "must"),
        ("broken.json", b'{"examinations": [', "must"),
        ("noise.parquet", b"PAR1 and nothing else", "must"),
        ("noise.bin", bytes(range(256)), "must"),
        ("page.html", b"<!DOCTYPE html><p>x", "got a page. Open it in a browser directly."),
        ("rows.csv", b"item,question,label\n", "must hold at least one verdict"),
    ],
)
def test_another_file_is_one_line_with_its_name(
    call, tmp_path, assert_one_line, name, content, words
):
    path = tmp_path / name
    path.write_bytes(content)

    done = call("view", path, "--no-open", "-o", tmp_path / "view.html")

    assert_one_line(done, name, words)
    assert not (tmp_path / "view.html").exists()


@pytest.mark.parametrize("name", ["nowhere.json", "a\0b"])
def test_a_file_that_is_not_there_is_one_line(call, tmp_path, assert_one_line, name):
    assert_one_line(call("view", f"{tmp_path}/{name}", "--no-open"), "must be a file that exists")


def test_items_are_refused_where_a_page_shows_none(call, items, assert_one_line):
    done = call("view", FILES / "certificate.json", "--items", items, "--no-open")

    assert_one_line(done, "`--items` must be left out, got")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_texts_of_a_file_are_only_ever_text(view, tmp_path, ending):
    path = tmp_path / f"hostile.{ending}"
    columns = ("item", "judge", "question", "label", "failure", "behavior", "reason", "prompt")
    rows = pl.DataFrame([dict.fromkeys(columns, f"{HOSTILE}{n}\u202e") for n in range(2)])
    getattr(rows, {"csv": "write_csv", "jsonl": "write_ndjson"}[ending])(path)

    page = view(path, "--title", HOSTILE)

    assert named(page).count("script") == 1
    assert "img" not in named(page)
    assert not [name for _, attrs in Elements(page).found for name in attrs if name[:2] == "on"]
    assert "\u202e" not in page


# Pages that are written ---------------------------------------------------------------------------


def test_a_chinese_title(call, examination, tmp_path):
    page = tmp_path / "page.html"

    call(
        *("view", examination, "-o", page, "--report-language", "zh"),
        *("--title", "<春天>"),
    )

    text = page.read_text(encoding="utf-8")
    assert '<html lang="zh-Hans">' in text
    assert "<title>&lt;春天&gt;</title>" in text
    assert "评判模型" in text


def test_from_standard_input_to_standard_output(execute, examination):
    done = execute("view", "-", "-o", "-", stdin=examination.read_bytes())

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("<!doctype html>")
    assert done.out.rstrip().endswith("</html>")


def test_a_wrong_value_is_one_line_with_its_place(call, examination, tmp_path, assert_one_line):
    content = json.loads(examination.read_text(encoding="utf-8"))
    content["examinations"][0]["epsilon"] = "a\nb"
    examination.write_text(json.dumps(content), encoding="utf-8")

    done = call("view", examination, "-o", tmp_path / "page.html")

    assert_one_line(done, "$.examinations[0].epsilon must be as voirdire writes it: Expected")
