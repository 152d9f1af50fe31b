"""The catalogs: the same phrases in both languages, all used, none over the other pages' own."""

import re
import string
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from voirdire.reporting.page import phrases as page_phrases
from voirdire.reporting.page_frame import phrases as frame_phrases
from voirdire.reporting.reward_page import phrases as reward_phrases
from voirdire.reporting.training_page.phrases import CHINESE, ENGLISH
from voirdire.rewards.certification import CertificateState
from voirdire.rewards.training.run import ALARM_KINDS

FOLDER = Path(str(files("voirdire.reporting.training_page")))
CATALOGS = {"en": ENGLISH, "zh": CHINESE}


def placeholders(phrase):
    return {name for _, name, _, _ in string.Formatter().parse(phrase) if name is not None}


def test_both_languages_have_the_same_phrases():
    assert set(ENGLISH) == set(CHINESE)


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_both_languages_name_the_same_figures(key):
    assert placeholders(ENGLISH[key]) == placeholders(CHINESE[key])


@pytest.mark.parametrize("theirs", [frame_phrases, page_phrases, reward_phrases])
def test_no_phrase_of_another_page_is_overwritten(theirs):
    assert set(ENGLISH) & set(theirs.ENGLISH) == set()
    assert set(CHINESE) & set(theirs.CHINESE) == set()


def test_chinese_is_chinese():
    same = {key for key in ENGLISH if ENGLISH[key] == CHINESE[key]}

    assert same == set()


def test_chinese_sentences_have_chinese_punctuation():
    tags = re.compile(r"<code>.*?</code>|<[^>]*>|\{[^}]*\}")
    latin = re.compile(r"[\u4e00-\u9fff]\s*[,;:?!.](?!\d)")

    wrong = [key for key, text in CHINESE.items() if latin.search(tags.sub("x", text))]

    assert wrong == []


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


@pytest.mark.parametrize("language", CATALOGS)
def test_every_kind_of_alarm_has_a_name_and_advice_with_something_to_run_or_read(language):
    for kind in ALARM_KINDS:
        assert CATALOGS[language][f"training.alarm.{kind}"]
        assert "<code>" in CATALOGS[language][f"training.alarm.{kind}.do"]


def sources():
    paths = [path for path in FOLDER.rglob("*.py") if "phrases" not in path.parts]
    paths += list((FOLDER / "templates").glob("*.j2"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def is_used(key, text):
    """Whether a key is written out, or its last words after a beginning that is put together."""
    base = re.sub(r"\.(one|many)$", "", key)
    if f'"{key}"' in text or f'"{base.removeprefix("count.")}"' in text:
        return True
    for at in range(1, key.count(".") + 1):
        words = key.split(".")
        before, after = ".".join(words[:at]) + ".", ".".join(words[at:])
        composed = f'"{before}" ~' in text or f'f"{before}{{' in text
        if composed and f'"{after.removesuffix(".title")}"' in text:
            return True
    return False


GIVEN = {key for key in ENGLISH if key.startswith(("training.alarm.", "training.glossary."))}
GIVEN |= {key for key in ENGLISH if key.startswith(("training.judged.", "training.story.length."))}
GIVEN |= {f"training.certificate.{state}" for state in get_args(CertificateState)}
"""Words after the kind of an alarm, a word of the glossary, or a word of the run."""


@pytest.mark.parametrize("language", CATALOGS)
def test_every_state_of_a_certificate_has_words(language):
    for state in get_args(CertificateState):
        assert CATALOGS[language][f"training.certificate.{state}"]


def test_every_phrase_is_used():
    text = sources()

    assert {key for key in ENGLISH if key not in GIVEN and not is_used(key, text)} == set()


@pytest.mark.parametrize("key", ["training.column.nonesuch", "training.tomorrow", "count.cats.one"])
def test_a_phrase_that_nobody_speaks_would_be_found(key):
    assert not is_used(key, sources())


def test_every_phrase_that_is_named_exists():
    spoken = re.compile(r"""(?:\bt|t\.attribute|say|title)\(\s*["'](training\.[\w.]+\w)["']""")

    named = {key for key in spoken.findall(sources()) if not key.endswith("column")}

    assert len(named) > 80
    assert named - set(ENGLISH) == set()
