"""Items in sight in a real browser: search, filters, the slider; hostile texts stay text."""

import json

import numpy as np
import polars as pl
import pytest

import voirdire
from browser.test_pages import UNFOLD
from voirdire.cli import run
from voirdire.reporting import html_page

pytestmark = pytest.mark.ci

HOSTILE = "</script><script>alert(1)</script><img src=//example.org/x onerror=alert(2)>\u202e"
HELD_BACK = "() => document.querySelectorAll('.item:not([hidden])').length"


def study():
    """60 items; `tiny` is wrong on every fourth, `mini` on every fifth."""
    truth = np.arange(60) % 2
    humans = {name: {f"i{i}": ["no", "yes"][x] for i, x in enumerate(truth)}
              for name in ("ann", "bob", "eve")}  # fmt: skip
    humans["eve"]["i1"] = "no"
    judges = {
        name: {i: label if int(i[1:]) % wrong else {"no": "yes", "yes": "no"}[label]
               for i, label in humans["ann"].items()}
        for name, wrong in (("tiny", 4), ("mini", 5))
    }  # fmt: skip
    items = [f"i{i}" for i in range(60)]
    metadata = pl.DataFrame(
        {
            "item": items,
            "prompt": [f"Prompt of {i} {HOSTILE}" for i in items],
            HOSTILE: [("web", "chat")[i % 3 == 0] for i in range(60)],
        }
    )
    return voirdire.examine(humans=humans, judges=judges, metadata=metadata, epsilon=0.2)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(html_page(study()), encoding="utf-8")
    return path


@pytest.fixture
def items(opened, document):
    page, done = opened(document)
    page.locator("#q1-items > summary").click()
    yield page
    assert [url for url in done["requests"] if not url.startswith("data:")] == [document.as_uri()]
    assert done["messages"] == done["dialogs"] == []


def count(page):
    return page.evaluate(HELD_BACK), page.locator("#q1-items output").inner_text()


def test_filters_by_judge_label_and_column(items):
    # tiny is wrong on the 15 multiples of 4, mini on the 12 of 5; 0, 20 and 40 are of both
    assert count(items) == (24, "24 / 24")

    items.locator("[name='column.judge']").select_option("mini")
    assert count(items) == (12, "12 / 24")

    items.locator("[name='items.answer']").select_option("yes")
    assert count(items) == (6, "6 / 24")  # people say no where the number is even

    items.locator("#q1-items select").last.select_option("chat")
    assert count(items) == (2, "2 / 24")  # 0 and 30

    items.locator("[name='column.judge']").select_option("tiny")
    assert count(items) == (5, "5 / 24")  # 0, 12, 24, 36 and 48


def test_a_search_finds_what_any_part_of_an_item_says(items):
    items.get_by_role("searchbox").fill("PROMPT OF I48")

    assert count(items) == (1, "1 / 24")
    items.locator(".item:not([hidden]) > summary").click()
    shown = items.locator(".item:not([hidden]) .text").inner_text()
    assert shown == f"Prompt of i48 {HOSTILE[:-1]}\\u202e"
    assert items.locator("img").count() == 0


def test_the_page_is_whole_without_a_script(chromium, document):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(document.as_uri())

    page.locator("#q1-items > summary").click()
    page.locator(".item > summary").first.click()

    assert page.locator(".item > summary").count() == 24
    assert page.locator(".item > summary").last.is_visible()
    assert page.locator(".item .said").first.is_visible()
    assert not page.locator(".filter").is_visible()
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_verdicts_fit_and_are_filtered_by_question_and_answer(opened, tmp_path, monkeypatch, width):
    rows = [
        {"item": f"i{n}", "judge": "mine", "question": question, "label": str(n % of == 0).lower(),
         "probability": 0.5, "failure": None, "reason": HOSTILE, "prompt": HOSTILE}
        for n in range(12)
        for question, of in (("polite", 2), ("x" * 300, 3))
    ]  # fmt: skip
    source, path = tmp_path / "verdicts.jsonl", tmp_path / "page.html"
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["voirdire", "view", str(source), "-o", str(path), "--no-open"])
    run()
    page, done = opened(path, width=width)
    page.evaluate(UNFOLD)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("[name='column.question']").select_option("polite")
    page.get_by_label("Its label").select_option("true")
    assert page.evaluate(HELD_BACK) == 6
    page.locator("[name='column.question']").select_option(index=2)
    assert page.evaluate(HELD_BACK) == 4
    assert [url for url in done["requests"] if not url.startswith("data:")] == [path.as_uri()]
    assert done["messages"] == done["dialogs"] == []
