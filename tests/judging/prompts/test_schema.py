"""The form of a reply."""

import json

import pytest

from judging.prompts.prompt_asks import BETTER, MIXED, SAFETY, SOURCES, requests_about, shown
from voirdire.errors import InputError
from voirdire.records import Item
from voirdire.rubrics import Question

ITEM = Item(id="a", response="x")


def scale(minimum, maximum, *levels):
    ends = {"minimum": minimum, "maximum": maximum}
    meanings = {level: {"en": "x"} for level in levels}
    return Question(id="s", kind="scale", text={"en": "?"}, levels=meanings, **ends)


def value_schema(question, probability="logprob"):
    return shown(question, probability=probability)[2]["properties"][question.id]


def max_tokens(*questions, **settings):
    return requests_about([ITEM], *questions, **settings)[0].max_tokens


def test_the_schema_of_every_kind():
    assert shown(*MIXED)[2] == {
        "type": "object",
        "properties": {
            "apology": {"type": "boolean"},
            "tone": {"type": "string", "enum": ["warm", "冷淡"]},
            "topics": {
                "type": "array",
                "items": {"type": "string", "enum": ["<b>law</b>", "sport"]},
            },
            "grade": {"type": "integer", "minimum": 1, "maximum": 5},
            "share": {"type": "number", "minimum": 0.0, "maximum": 0.5},
            "why": {"type": "string"},
        },
        "required": ["apology", "tone", "topics", "grade", "share", "why"],
        "additionalProperties": False,
    }


def test_a_boolean_is_a_number_where_it_is_stated_and_a_pair_has_a_tie():
    assert value_schema(MIXED[0], "stated") == {"type": "number", "minimum": 0, "maximum": 1}
    assert value_schema(MIXED[0], "vote") == {"type": "boolean"}
    assert value_schema(BETTER) == {"type": "string", "enum": ["A", "B", "tie"]}


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (scale(0.0, 20.0), "integer"),
        (scale(0.0, 21.0), "number"),  # many points, and no levels
        (scale(0.0, 100.0, 0.0, 100.0), "integer"),
        (scale(0.0, 100.0, 0.0, 0.5), "number"),  # a level between whole numbers
        (scale(0.5, 5.0), "number"),
        (scale(-1e300, 1e300), "number"),
    ],
)
def test_a_scale_is_whole_where_its_points_are(question, kind):
    assert value_schema(question)["type"] == kind


def test_a_scale_without_ends_is_refused():
    with pytest.raises(InputError, match="question 's' must have `minimum` and `maximum`"):
        shown(scale(0.0, None))


@pytest.mark.parametrize("source", SOURCES)
def test_the_bound_of_a_reply_is_above_any_reply_and_far_below_a_runaway(source):
    value = "0.123456789" if source == "stated" else "false"
    longest = json.dumps(dict.fromkeys(SAFETY.propositions, value), indent=4)

    bound = max_tokens(*SAFETY.questions, probability=source)

    # Tokenizers of today take English JSON at three bytes a token or more.
    assert len(longest) / 3 < bound < 64 * len(SAFETY.propositions)


def test_a_text_takes_a_thousand_tokens_more():
    assert max_tokens(*MIXED) - max_tokens(*MIXED[:-1]) > 1_000
