"""The sentences of pages, English and Chinese side by side: the same keys and the same figures."""

import string
from pathlib import Path

import pytest
import yaml

import voirdire.reporting

FOLDER = Path(voirdire.reporting.__file__).parent / "pages" / "sentences"
PAGES = sorted(FOLDER.glob("*.yaml"))
IN_THE_RECORD = ("reward.note.", "results.advice.")
"""Sentences whose English is part of the result."""


def figures_in(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.edges
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_both_languages_say_the_same_with_the_same_figures(path):
    for key, texts in yaml.safe_load(path.read_text("utf-8")).items():
        if isinstance(texts["zh"], dict):  # Chinese has one form, English two
            assert set(texts["zh"]) == {"other"}, key
            assert set(texts["en"]) == {"one", "other"}, key
            forms = [*texts["zh"].values(), *texts["en"].values()]
            assert {frozenset(figures_in(form)) for form in forms} == {frozenset({"n"})}, key
        elif (
            not key.startswith(("reward.note.", "results.advice.")) or "en" in texts
        ):  # the record has the English
            assert set(texts) == {"en", "zh"}, key
            assert figures_in(texts["en"]) == figures_in(texts["zh"]), key


@pytest.mark.ci
def test_no_page_has_a_sentence_that_every_page_has():
    common = yaml.safe_load((FOLDER / "common.yaml").read_text("utf-8"))
    own = [key for path in PAGES if path.stem != "common"
           for key in yaml.safe_load(path.read_text("utf-8"))]  # fmt: skip
    assert not set(own) & set(common)
