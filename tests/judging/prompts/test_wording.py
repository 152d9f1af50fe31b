"""The words themselves: pinned, in both languages, and without what could be mistaken."""

import hashlib
import itertools
import re

import pytest

from judging.given_replies import OneForm, rubric_of
from judging.prompts.prompt_asks import BETTER, LANGUAGES, MIXED, SOURCES
from voirdire.judging import LlmJudge, judge_file, show_prompt
from voirdire.rubrics import Question

# Version of the words, and a hash over every prompt that uses them.
PINNED = {"1": "f48a06035e6e8198e6b0d6b13e8f664f3c9fd3c672d2627485bd115fce65375a"}


# Questions in plain words, so that whatever else stands in a prompt is ours.
PLAIN = (
    Question(id="apology", kind="boolean", text={"en": "Sorry?", "zh": "是否致歉？"}),
    *(
        Question(
            id=kind, kind=kind, text={"en": "Which?", "zh": "哪些？"}, labels={"a": {}, "b": {}}
        )
        for kind in ("choice", "multilabel")
    ),
    Question(id="grade", kind="scale", text={"en": "?", "zh": "？"}, minimum=1.0, maximum=5.0),
    Question(id="share", kind="scale", text={"en": "?", "zh": "？"}, minimum=0.0, maximum=0.5),
    Question(id="why", kind="text", text={"en": "Why?", "zh": "为什么？"}),
)


def all_prompts():
    """Every prompt of questions that no built-in rubric can change."""
    for language, source in itertools.product(LANGUAGES, SOURCES):
        settings = {"language": language, "probability": source, "n_examples": 9}
        for asked in (MIXED, MIXED[:1], (BETTER,)):
            yield show_prompt(rubric_of(*asked), **settings)
        for row in (*MIXED, BETTER):
            yield show_prompt(rubric_of(row), mode="single", **settings)


def our_words(language):
    """What we say in a language, whatever is asked: prompts without the lines of the fence."""
    prompts = []
    for mode, source in itertools.product(("joint", "single"), SOURCES):
        settings = {"mode": mode, "probability": source, "language": language, "form": "text"}
        rows = [PLAIN, (BETTER,)] if mode == "joint" else [(row,) for row in (*PLAIN, BETTER)]
        prompts += [show_prompt(rubric_of(*asked), **settings) for asked in rows]
    return [re.sub(r"(?m)^-----(BEGIN|END) ITEM \w+-----$", "", text) for text in prompts]


def test_the_version_changes_with_any_word(tmp_path):
    source, output = tmp_path / "items.jsonl", tmp_path / "verdicts.jsonl"
    source.write_text('{"id": "a", "prompt": "x", "response": "y"}\n')
    judge = LlmJudge(model=OneForm(lambda request: {"apology": 0.5}))

    asked = judge_file(source, output, rubric=rubric_of(MIXED[0]), judge=judge).asked
    found = hashlib.sha256("\0".join(all_prompts()).encode()).hexdigest()

    # Words were changed? Raise PROMPT_VERSION, and write the new version and hash here.
    assert {asked["prompt"]: found} == PINNED


@pytest.mark.parametrize("language", LANGUAGES)
def test_our_words_hold_no_placeholder_and_nothing_of_a_chat_template(language):
    for text in our_words(language):
        assert not re.search(r"[<>]|\[[A-Z|/]|-----|\{(?:labels|minimum|maximum|place)\}", text)


def test_every_prompt_is_in_the_language_that_is_asked_for():
    for text in our_words("zh"):
        prose = "\n".join(line for line in text.split("\n") if not line.startswith(("{", '"')))
        # Half-width stops, and spaces between Chinese characters, are not Chinese.
        assert not re.search(r"[\u4e00-\u9fff][,.;:?!]", prose)
        assert not re.search(r"[\u4e00-\u9fff] +[\u4e00-\u9fff]", prose)
        # English is left in names of roles, keys and ids only: no sentence of it.
        assert not re.search(r"[a-z]+ [a-z]+ [a-z]+", text)
    assert not any(re.search("[\u4e00-\u9fff]", text) for text in our_words("en"))
