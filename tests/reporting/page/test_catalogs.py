"""The catalogs: the same phrases in both languages, all of them used, and nothing left unsaid."""

import ast
import re
import string
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from voirdire.reporting.page.phrases import CHINESE, ENGLISH
from voirdire.reporting.page.sensitivity import PAGE_CODES
from voirdire.stats.results import CAUTION_CODES, REASON_CODES

FOLDER = Path(str(files("voirdire.reporting.page")))
CATALOGS = {"en": ENGLISH, "zh": CHINESE}


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
        r"reference\.|column\.(rho|p$|rho_f|rho_h)|verdict\.todo|figure\.|quotes|interval$|dropped\."
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


def literal_keys():
    """Find the keys that the sources and the templates write out."""
    found = set()
    for path in FOLDER.rglob("*.py"):
        if "phrases" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    for path in (FOLDER / "templates").glob("*.j2"):
        found |= set(re.findall(r"""["']([\w.]+)["']""", path.read_text(encoding="utf-8")))
    return found


def test_every_phrase_is_used():
    composed = re.compile(
        r"(note|topic|todo|count|short|outcome|kind|alignment|others|agreement|bar|control|"
        r"panel|coefficient|glossary|reference|close|won|weights|verdict|paper|differences|outlier)\."
    )
    literal = literal_keys()

    unused = {key for key in ENGLISH if key not in literal and not composed.match(key)}

    assert unused == set()


def test_every_phrase_that_is_named_exists():
    spoken = re.compile(r"""(?:\bt|t\.attribute|say)\(\s*["']([\w.]+\w)["']\s*[,)]""")
    texts = [path.read_text(encoding="utf-8") for path in (FOLDER / "templates").glob("*.j2")]
    texts += [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]

    named = {key for text in texts for key in spoken.findall(text)}

    assert len(named) > 100
    assert named - set(ENGLISH) == set()
