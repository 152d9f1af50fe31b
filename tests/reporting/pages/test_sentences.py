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
def test_no_sentence_stands_twice():
    texts = [path.read_text("utf-8") for path in PAGES]
    keys = [key for text in texts for key in yaml.safe_load(text)]

    assert len(keys) == len(set(keys)) == sum(len(re.findall(r"(?m)^\S.*:$", x)) for x in texts)


CODED = ("caution.", "reason.", "todo.", "reward.note.", "results.advice.")
"""Keys that end in the code of a caution, of a reason, of a note."""


def words_in(path):
    """List the texts in a source as patterns: what is filled in may be any word."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.keyword) and node.arg:  # a noun is the name of its figure
            yield node.arg
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            parts = (
                re.escape(part.value) if isinstance(part, ast.Constant) else r"[\w.]+"
                for part in node.values
            )
            yield "".join(parts)


def test_every_sentence_is_said():
    pages, source = FOLDER.parent, FOLDER.parents[2]
    labelled = source / "annotation"
    places = (pages.parent, labelled)
    used = {word for place in places for path in place.rglob("*.py") for word in words_in(path)}
    files = [*pages.glob("templates/*.j2"), *labelled.glob("templates/*.j2")]
    templates = " ".join(path.read_text("utf-8") for path in files)
    used |= {
        re.escape(word.rstrip("."))
        for word in re.findall(r't(?:\.attribute)?\("([\w.]+)"', templates)
    }
    script = (labelled / "static" / "annotate.js").read_text("utf-8")
    words = re.findall(r'(?:say\.|"|`)([\w.]+)', script)
    anything = r"[\w.]+"  # of a pattern; all other words stand for themselves
    said = [f"annotate.say.{word.removeprefix('annotate.say.')}" for word in words]
    used |= {re.escape(word) + anything * word.endswith(".") for word in said}
    codes = {word for folder in ("stats", "studies", "rewards", "probes")
             for path in (source / folder).rglob("*.py") for word in words_in(path)}  # fmt: skip

    patterns = [re.compile(word) for word in used if anything in word]
    ends = {word.rpartition(r"\.")[2] for word in used}
    for path in PAGES:
        for key in yaml.safe_load(path.read_text("utf-8")):
            stem, _, last = key.rpartition(".")
            if key.startswith(CODED):
                code = next(key.removeprefix(x) for x in CODED if key.startswith(x))
                assert {re.escape(code), re.escape(key)} & (used | codes), key
            elif stem in ("column", "glossary", "count"):
                assert re.escape(last) in ends, key
            elif last != "title" or f"{stem}." in key[:-5]:
                is_said = any(pattern.fullmatch(key) for pattern in patterns)
                assert is_said or {re.escape(key), re.escape(stem)} & used, key
