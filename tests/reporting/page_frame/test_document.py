"""The document around every page: the same around all of them."""

import re

import pytest

from made_training_run import made_run
from voirdire.reporting import reward_report, training_report

MINIMAL = {
    "schema": "voirdire.reward_examination/1",
    "reward": {"name": "by hand"},
    "n_items": 0,
    "n_prompts": 0,
    "n_comparisons": 0,
    "is_held_out": True,
}


@pytest.mark.ci
def test_pages_have_the_same_head_but_for_their_style_and_title():
    pages = (reward_report(MINIMAL, title="one"), training_report(made_run(2), title="one"))

    heads = {re.sub(r"<style>.*?</style>", "", page.split("<body>")[0], flags=re.S)
             for page in pages}  # fmt: skip

    assert len(heads) == 1
    assert "Content-Security-Policy" in heads.pop()


def test_a_title_is_one_short_line():
    page = reward_report(MINIMAL, title="x\n" * 500)

    [title] = re.findall(r"<title>(.*?)</title>", page, flags=re.DOTALL)
    assert "\n" not in title
    assert "x" in title
    assert len(title) <= 250
