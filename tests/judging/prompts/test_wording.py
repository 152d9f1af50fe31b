"""The words themselves: pinned, in both languages, and without what could be mistaken."""

import dataclasses
import hashlib
import itertools
import re

import pytest

from judging.prompts.prompt_asks import BETTER, LANGUAGES, MIXED, NONCE, ROUTED, SOURCES, ask_of
from voirdire.judging.prompts import PROMPT_VERSION, RouterPrompt, show_prompt
from voirdire.judging.prompts.wording import wording_of
from voirdire.records import Item, Message

# Version of the words, and a hash over every prompt that uses them.
PINNED = {"1": "37d5955e48dce35c08ce5136a753cdd6a00539ebedcbfc9991c2fa345edd0630"}


def all_prompts():
    """Every prompt of questions that no built-in rubric can change."""
    for language, source in itertools.product(LANGUAGES, SOURCES):
        settings = {"language": language, "probability": source}
        for asked in (MIXED, MIXED[:1], (BETTER,)):
            yield show_prompt(ask_of(*asked, **settings))
        for row in (*MIXED, BETTER):
            yield show_prompt(ask_of(row, mode="single", **settings))
    item = Item(id="a", prompt=(Message(role="user", content="x"),), response="")
    for language in LANGUAGES:
        request = RouterPrompt(ROUTED, language).request(item, nonce=NONCE, form="json_schema")
        yield from (message.content for message in request.messages)


def words(value):
    """Every text of a wording."""
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        if dataclasses.is_dataclass(part):
            yield from ((f"{field.name}.{name}", text) for name, text in words(part))
        else:
            yield field.name, "\n".join(part) if isinstance(part, tuple) else part


def test_the_version_changes_with_any_word():
    found = hashlib.sha256("\0".join(all_prompts()).encode()).hexdigest()

    # Words were changed? Raise PROMPT_VERSION, and write the new version and hash here.
    assert {PROMPT_VERSION: found} == PINNED


@pytest.mark.parametrize("language", LANGUAGES)
def test_our_words_hold_nothing_that_a_chat_template_takes_for_its_own(language):
    for name, text in words(wording_of(language)):
        assert not re.search(r"[<>]|\[[A-Z|/]|-----", text), name


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_placeholder_is_left_in_a_prompt(language):
    shown = show_prompt(ask_of(language=language))

    assert not re.search(r"\{(?:labels|minimum|maximum)\}", shown)


def test_both_languages_say_all_of_it():
    english, chinese = (dict(words(wording_of(language))) for language in LANGUAGES)

    assert english.keys() == chinese.keys()
    for name, text in english.items():
        assert text
        assert chinese[name]
        assert re.findall(r"\{\w+\}", text) == re.findall(r"\{\w+\}", chinese[name])


def test_chinese_is_written_as_chinese():
    for name, text in words(wording_of("zh")):
        # Half-width stops, and spaces between Chinese characters, are not Chinese.
        assert not re.search(r"[\u4e00-\u9fff][,.;:?!]", text), name
        assert not re.search(r"[\u4e00-\u9fff] +[\u4e00-\u9fff]", text), name
