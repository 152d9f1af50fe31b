"""The phrases of every page: the same in both languages, all spoken, and none said twice."""

import re
import string
from importlib.resources import files
from pathlib import Path

import pytest

from voirdire.reporting.page import phrases as page_phrases
from voirdire.reporting.page.speaker import ExaminationSpeaker
from voirdire.reporting.page_frame.catalog import Catalog, phrases_of
from voirdire.reporting.page_frame.phrases import CHINESE, ENGLISH
from voirdire.reporting.page_frame.speaker import Speaker
from voirdire.reporting.reward_page import phrases as reward_phrases
from voirdire.reporting.reward_page.speaker import RewardSpeaker
from voirdire.reporting.training_page import phrases as training_phrases
from voirdire.reporting.training_page.speaker import TrainingSpeaker

PAGES = {
    "page": (page_phrases, ExaminationSpeaker),
    "reward_page": (reward_phrases, RewardSpeaker),
    "training_page": (training_phrases, TrainingSpeaker),
}


def placeholders(phrase):
    return {name for _, name, _, _ in string.Formatter().parse(phrase) if name is not None}


def test_both_languages_have_the_same_phrases_with_the_same_figures():
    assert set(ENGLISH) == set(CHINESE)
    assert {key for key in ENGLISH if placeholders(ENGLISH[key]) != placeholders(CHINESE[key])} == (
        set()
    )


def test_every_phrase_is_spoken_by_the_frame_or_by_two_pages():
    """What one page alone says belongs into its own catalog."""
    spoken = {
        name: "\n".join(
            path.read_text("utf-8")
            for path in Path(str(files(f"voirdire.reporting.{name}"))).rglob("*")
            if path.suffix in (".py", ".j2") and "phrases" not in path.parts
        )
        for name in ("page_frame", *PAGES)
    }

    few = set()
    for key in ENGLISH:
        word = re.sub(r"^count\.|\.(one|many|negative)$", "", key)
        at = [
            name
            for name, text in spoken.items()
            if re.search(rf"""["'](?:{re.escape(key)}|{re.escape(word)})["']""", text)
        ]
        if "page_frame" not in at and len(at) < 2:
            few.add(key)

    assert few == set()


@pytest.mark.parametrize("name", PAGES)
def test_no_page_says_otherwise_what_the_frame_says(name):
    theirs, _ = PAGES[name]

    assert set(ENGLISH) & set(theirs.ENGLISH) == set()
    assert set(CHINESE) & set(theirs.CHINESE) == set()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_speaks_the_phrases_of_the_frame_and_its_own(name, language):
    theirs, speaker = PAGES[name]
    own = {"en": theirs.ENGLISH, "zh": theirs.CHINESE}[language]

    spoken = speaker(language).phrases

    assert set(spoken) == set(Speaker(language).phrases) | set(own)
    assert {key for key in own if spoken[key].replace("\xa0", " ") != own[key]} == set()


@pytest.mark.parametrize(
    ("text", "glued"),
    [
        ("ω = {omega}", "ω\xa0=\xa0{omega}"),
        ("ρ ≥ .5 here", "ρ\xa0≥\xa0.5 here"),
        ("{mean} ± {sd}", "{mean}\xa0±\xa0{sd}"),
        ("{start} → {end}", "{start}\xa0→\xa0{end}"),
        ("a = b", "a = b"),
        ("more columns →", "more columns →"),
    ],
)
def test_lines_do_not_break_at_signs(text, glued):
    assert phrases_of(Catalog({"key": text}, {"key": text}), language="zh") == {"key": glued}
