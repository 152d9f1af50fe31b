"""The catalogs: the same phrases in both languages, all of them used, and nothing left unsaid."""

import ast
import re
import string
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from voirdire._types import EpsilonMode, Outcome
from voirdire.reporting.page.phrases import CHINESE, ENGLISH
from voirdire.reporting.page.sensitivity import PAGE_CODES
from voirdire.reporting.page_frame import phrases as frame_phrases
from voirdire.stats.results import CAUTION_CODES, REASON_CODES

FOLDER = Path(str(files("voirdire.reporting.page")))
FRAME = Path(str(files("voirdire.reporting.page_frame")))
CATALOGS = {"en": ENGLISH, "zh": CHINESE}


CODES = {*CAUTION_CODES, *REASON_CODES, *PAGE_CODES, *get_args(EpsilonMode), *get_args(Outcome)}


def placeholders(phrase):
    return sorted(name for _, name, _, _ in string.Formatter().parse(phrase) if name is not None)


def test_both_languages_have_the_same_phrases():
    assert set(ENGLISH) == set(CHINESE)


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_both_languages_name_the_same_figures(key):
    assert placeholders(ENGLISH[key]) == placeholders(CHINESE[key])


@pytest.mark.parametrize("language", CATALOGS)
def test_every_code_of_the_package_has_words_and_advice(language):
    phrases = CATALOGS[language]

    for code in (*CAUTION_CODES, *REASON_CODES, *PAGE_CODES):
        assert phrases[f"note.{code}"]
        assert phrases[f"topic.{code}"]
        assert len(phrases[f"todo.{code}"]) > 8


def test_chinese_is_chinese():
    same = {key for key in ENGLISH if ENGLISH[key] == CHINESE[key]}
    allowed = re.compile(
        r"reference\.|column\.(rho|p$|rho_f|rho_h)|figure\.|quotes|interval$|dropped\."
    )

    assert {key for key in same if not allowed.match(key)} == set()


def test_chinese_sentences_have_chinese_punctuation():
    tags = re.compile(r"<[^>]*>|\{[^}]*\}|‘[^’]*’")
    latin = re.compile(r"[\u4e00-\u9fff]\s*[,;:?!.](?!\d)")

    wrong = {
        key: phrase
        for key, phrase in CHINESE.items()
        if not key.startswith("reference.") and latin.search(tags.sub("x", phrase))
    }

    assert wrong == {}


class _Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("language", CATALOGS)
def test_the_markup_of_phrases_is_balanced(language):
    for phrase in CATALOGS[language].values():
        balance = _Balance()
        balance.feed(phrase)
        assert balance.open == []


def templates():
    return [*(FOLDER / "templates").glob("*.j2"), *(FRAME / "templates").glob("*.j2")]


def literal_keys():
    """Find the keys that the sources and the templates write out."""
    found = set()
    for path in (*FOLDER.rglob("*.py"), *FRAME.glob("*.py")):
        if "phrases" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    for path in templates():
        found |= set(re.findall(r"""["']([\w.]+)["']""", path.read_text(encoding="utf-8")))
    return found


def composed_keys():
    """Make patterns of the keys that are put together: f-strings, and ``"..." ~ word``."""
    found = []
    for path in (*FOLDER.glob("*.py"), *FRAME.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [re.escape(part.value) if isinstance(part, ast.Constant) else PART
                         for part in node.values]  # fmt: skip
                found.append("".join(parts))
    for path in templates():
        text = path.read_text("utf-8")
        for before, after in re.findall(
            r"""["']([\w.]+\.)["'] ~ [\w.]+(?: ~ ["'](\.[\w.]+)["'])?""", text
        ):
            found.append(re.escape(before) + PART + re.escape(after))
        for before in re.findall(r'frame\.glossary\("\w+", "([\w.]+\.)"', text):
            found += [re.escape(before) + PART + after for after in ("", r"\.word")]
    return [re.compile(pattern) for pattern in found if re.match(r"[a-z]{3,}\\?\.", pattern)]


PART = "([a-z_.]+)"
ENDINGS = re.compile(r"\.(reference|one|many|at|two|none|clusters)$")
"""Variants that `against`, counts and margins choose."""


def is_used(key, literal, composed):
    """Whether a key is written out, or put together from words that are written out."""
    if key in literal:
        return True
    for pattern in composed:
        match = pattern.fullmatch(key)
        if match and all({part, *part.split(".")} & literal for part in match.groups()):
            return True
    base = ENDINGS.sub("", key)
    return (
        base != key
        and "." in base
        and (is_used(base, literal, composed) or f"{base}.many" in literal)
    )


def test_every_phrase_is_used():
    literal, composed = literal_keys() | CODES, composed_keys()

    assert {key for key in ENGLISH if not is_used(key, literal, composed)} == set()


@pytest.mark.parametrize(
    "key", ["won.none", "verdict.todo", "note.nonesuch", "control.constant.maybe", "kind.number"]
)
def test_a_phrase_that_nobody_speaks_would_be_found(key):
    assert not is_used(key, literal_keys() | CODES, composed_keys())


def test_every_phrase_that_is_named_exists():
    spoken = re.compile(r"""(?:\bt|t\.attribute|say)\(\s*["']([\w.]+\w)["']\s*[,)]""")
    texts = [path.read_text(encoding="utf-8") for path in (FOLDER / "templates").glob("*.j2")]
    texts += [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]

    named = {key for text in texts for key in spoken.findall(text)}

    assert len(named) > 100
    assert named - set(ENGLISH) - set(frame_phrases.ENGLISH) == set()
