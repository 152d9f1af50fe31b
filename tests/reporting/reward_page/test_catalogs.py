"""The catalogs: the same phrases in both languages, all used, none over the page's own."""

import ast
import re
import string
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from voirdire.reporting.page import phrases as page_phrases
from voirdire.reporting.page_frame import phrases as frame_phrases
from voirdire.reporting.reward_page.phrases import CHINESE, ENGLISH

FOLDER = Path(str(files("voirdire.reporting.reward_page")))
EXAMINER = Path(str(files("voirdire.studies.reward")))
CATALOGS = {"en": ENGLISH, "zh": CHINESE}
NOTES = {key for key in CHINESE if key.startswith("reward.note.")}
"""In English notes come as sentences."""


def placeholders(phrase):
    return sorted(name for _, name, _, _ in string.Formatter().parse(phrase) if name is not None)


def test_both_languages_have_the_same_phrases():
    assert set(ENGLISH) == set(CHINESE) - NOTES


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_both_languages_name_the_same_figures(key):
    assert placeholders(ENGLISH[key]) == placeholders(CHINESE[key])


@pytest.mark.parametrize("theirs", [page_phrases, frame_phrases])
def test_no_phrase_of_the_other_page_or_of_the_frame_is_overwritten(theirs):
    assert set(ENGLISH) & set(theirs.ENGLISH) == set()
    assert set(CHINESE) & set(theirs.CHINESE) == set()


def test_chinese_is_chinese():
    same = {key for key in ENGLISH if ENGLISH[key] == CHINESE[key]}

    assert same == {"reward.reference.mu"}


def test_chinese_sentences_have_chinese_punctuation():
    tags = re.compile(r"<[^>]*>|\{[^}]*\}")
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


def sources():
    paths = [path for path in FOLDER.rglob("*.py") if "phrases" not in path.parts]
    paths += list((FOLDER / "templates").glob("*.j2"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def is_used(key, text):
    """Whether a key is written out, or its last word after a beginning that is put together."""
    base = re.sub(r"\.(one|many)$", "", key)
    if f'"{key}"' in text or f'"{base.removeprefix("count.")}"' in text:
        return True
    for at in range(1, key.count(".") + 1):
        words = key.split(".")
        before, after = ".".join(words[:at]) + ".", words[at:]
        composed = f'"{before}" ~' in text or f'f"{before}{{' in text
        if composed and all(f'"{word}"' in text or f"{word}:" in text for word in after):
            return True
    return False


GIVEN = {
    "reward.against.all",
    "reward.against.best",
    "reward.refusal.false_refusal",
    "reward.refusal.missed_refusal",
}
"""Words of the JSON that templates put after a beginning."""


def test_every_phrase_is_used():
    text = sources()

    unused = {
        key for key in ENGLISH if key not in GIVEN and not is_used(key.removesuffix(".word"), text)
    }

    assert unused == set()


@pytest.mark.parametrize("key", ["reward.column.nonesuch", "reward.policy.tomorrow", "count.cats"])
def test_a_phrase_that_nobody_speaks_would_be_found(key):
    assert not is_used(key, sources())


def test_every_phrase_that_is_named_exists():
    spoken = re.compile(r"""(?:\bt|t\.attribute|say|title)\(\s*["'](reward\.[\w.]+\w)["']\s*[,)]""")

    named = set(spoken.findall(sources()))

    assert len(named) > 100
    assert named - set(ENGLISH) == set()


def examiner_codes():
    """Find the codes of the notes that the examination writes, with the figures in them."""
    found = {}
    for path in EXAMINER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name == "note" and node.args:
                code = node.args[0]
                if isinstance(code, ast.Constant):
                    found[code.value] = {each.arg for each in node.keywords}
    return found


def test_every_note_of_an_examination_has_chinese_words():
    codes = examiner_codes()

    assert len(codes) > 10
    assert {f"reward.note.{code}" for code in codes} - NOTES == set()


def test_chinese_notes_name_only_figures_that_are_there():
    for code, figures in examiner_codes().items():
        assert set(placeholders(CHINESE[f"reward.note.{code}"])) <= figures, code
