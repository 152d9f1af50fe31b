"""The sentences of pages, English and Chinese side by side: the same keys and the same figures."""

import ast
import re
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


CODED = ("caution.", "reason.", "todo.")
"""Keys that end in the code of a caution or of a reason."""


def words_in(path):
    """List the texts in a source as patterns: what is filled in may be any word."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.keyword) and node.arg:
            yield rf"column\.{node.arg}"
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            parts = (
                re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+"
                for part in node.values
            )
            yield "".join(parts)


def test_every_sentence_of_an_examination_is_said():
    pages, source = FOLDER.parent, FOLDER.parents[2]
    used = {word for path in [*pages.glob("examination*.py"), pages / "results_sections.py"]
            for word in words_in(path)}  # fmt: skip
    codes = {word for folder in ("stats", "studies") for path in (source / folder).rglob("*.py")
             for word in words_in(path)}  # fmt: skip
    keys = yaml.safe_load((FOLDER / "examination.yaml").read_text("utf-8"))

    for key in keys:
        if key.startswith(CODED):
            word = re.escape(key.partition(".")[2])
            assert {word, re.escape(key)} & (used | codes), key
        elif not key.startswith(("count.", "glossary.", "examination.")):
            assert any(re.fullmatch(pattern, key) for pattern in used), key
