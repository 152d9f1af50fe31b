"""The document around every page: written once, and the same around all three."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from made_training_run import made_run
from voirdire.reporting.page_frame.document import check_text, page_head, style_sheet
from voirdire.reporting.reward_page import reward_report
from voirdire.reporting.training_page import training_report

MINIMAL = {
    "schema": "voirdire.reward_examination/1",
    "reward": {"name": "by hand"},
    "n_items": 0,
    "n_prompts": 0,
    "n_comparisons": 0,
    "is_held_out": True,
}


@pytest.mark.parametrize(
    "once", ["<!doctype", "Content-Security-Policy", "PackageLoader(", "</h1>"]
)
def test_the_document_is_written_in_one_file(once):
    folder = Path(str(files("voirdire.reporting")))
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix in (".py", ".j2")
        and any(once in line for line in path.read_text("utf-8").splitlines() if ">>>" not in line)
        and not re.search(rf"'{re.escape(once)} html>'", path.read_text("utf-8"))
    ]

    assert [path.parent.parent.name for path in found if path.suffix == ".j2"] + [
        path.parent.name for path in found if path.suffix == ".py"
    ] == ["page_frame"]


def test_pages_have_the_same_head_but_for_their_style_and_title():
    pages = (reward_report(MINIMAL, title="one"), training_report(made_run(2), title="one"))
    heads = {re.sub(r"<style>.*?</style>", "", page.split("<body>")[0], flags=re.S)
             for page in pages}  # fmt: skip

    assert len(heads) == 1
    common = str(style_sheet())
    assert len(common) > 5_000
    assert all(common in page for page in pages)


def test_a_chapter_brings_only_its_own_style():
    own = ("voirdire.reporting.reward_page", "reward.css")

    assert style_sheet() + style_sheet(own, is_page=False) == style_sheet(own)


def test_a_title_is_one_line_and_may_be_missing():
    long = "x\n" * 500

    assert page_head(title=None, created=None) == {"title": None, "created": None}
    head = page_head(title=long, created=long)
    assert [len(head[name]) for name in ("title", "created")] == [200, 60]
    assert "\n" not in head["title"]
    assert check_text("title", "a") is None
