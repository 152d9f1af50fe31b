"""A rubric in memory: what it knows of itself."""

import pytest

from voirdire.errors import InputError
from voirdire.rubrics import Question, Rubric, load_rubric


def test_questions_and_behaviors_are_found_by_their_names():
    rubric = load_rubric("safety")

    assert rubric.question("apology").id == "apology"
    assert rubric.behavior("comply").id == "comply"


def test_an_unknown_question_or_behavior_is_named():
    rubric = load_rubric("safety")

    with pytest.raises(InputError, match=r"`question` must be in rubric 'safety', got 'a⏎b'"):
        rubric.question("a\nb")
    with pytest.raises(InputError, match=r"\('hard_refuse', 'soft_refuse', 'comply'\), got 'x'"):
        rubric.behavior("x")
    with pytest.raises(InputError, match=r"\(none\), got 'comply'"):
        load_rubric("toxicity").behavior("comply")


def test_features_are_propositions_and_then_classes():
    behavior = load_rubric("hard-refusal-example").behavior("hard_refuse")

    n = len(behavior.propositions)
    assert behavior.features[:n] == behavior.propositions
    assert behavior.features[n:] == tuple(f"hard_refuse.{row.name}" for row in behavior.classes)


def test_propositions_are_the_boolean_questions():
    questions = tuple(
        Question(id=f"q_{kind}", kind=kind, text={"en": "x"}) for kind in ("boolean", "text")
    )

    assert Rubric(name="x", version="1", questions=questions).propositions == ("q_boolean",)


def test_languages_are_those_of_every_question():
    texts = ({"zh": "甲", "en": "a"}, {"zh": "乙"})
    questions = tuple(Question(id=f"q{n}", kind="text", text=text) for n, text in enumerate(texts))

    assert Rubric(name="x", version="1", questions=questions[:1]).languages == ("en", "zh")
    assert Rubric(name="x", version="1", questions=questions).languages == ("zh",)
