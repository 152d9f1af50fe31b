"""What `voirdire rubric new` begins with."""

from typing import get_args

import pytest

from voirdire._types import RubricKind
from voirdire.errors import InputError
from voirdire.rubrics import rubric_from_text
from voirdire.rubrics.writing import starter_rubric


@pytest.mark.parametrize("kind", get_args(RubricKind))
def test_every_starter_is_a_rubric_with_comments(kind):
    text = starter_rubric(kind, name="mine")

    rubric = rubric_from_text(text)

    assert rubric.name == "mine"
    assert {row.kind for row in rubric.questions} == {kind}
    assert bool(rubric.behaviors) == (kind == "boolean")
    assert text.count("# ") >= 4
    assert max(map(len, text.splitlines())) <= 100


def test_what_the_comments_offer_can_be_used():
    text = starter_rubric("boolean", name="mine")
    condition = text.replace("# unacceptable_when", "unacceptable_when")
    classes = text.replace("# classes", "classes").replace("#   bad", "  bad")
    classes = classes.replace("#   good", "  good")

    widened, own = rubric_from_text(condition), rubric_from_text(classes)

    assert "careful_answer and insults_user" in widened.behavior("answer").classes[2].when
    assert [row.name for row in own.behavior("answer").classes] == ["bad", "good"]
    languages = 'text: {en: "Does the response ...?", zh: 回复是否……？}'
    [*_, example] = [row for row in text.splitlines() if row.startswith("#   text:")]
    assert example.removeprefix("#   ") == languages


def test_an_unknown_kind_is_an_error():
    with pytest.raises(InputError, match=r"`kind` must be one of 'boolean', .* got 'bool'"):
        starter_rubric("bool", name="mine")
