"""What a run says about its items and its judge."""

import json

import pytest

import voirdire
from voirdire.judging import ScriptedJudge, judge_file

ROWS = [
    {"id": "a", "prompt": "How are you?", "response": "Fine."},
    {"id": "b", "Prompt": "How are you?", "response": "Fine."},
    {"id": "c", "response": "Fine."},
]
LANGUAGES = [
    "Lo siento, pero no puedo ayudarte con eso.",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Извините, я не могу помочь.",
    "申し訳ありませんが、お手伝いできません。",
    "죄송하지만 도와드릴 수 없습니다.",
    # these are in English, in Chinese, or in too few words to tell
    "I'm sorry, but I can't help with that.",
    "抱歉，我帮不了你。",
    "ok",
    "def turned(values):\n    return values[::-1]\n\nprint(turned([1, 2, 3]))",
    "The Spanish for it is: el que no llora no mama. That is what they say of those who ask.",
]


def responses(*texts):
    return [{"prompt": "Well?", "response": text} for text in texts]


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (ROWS, "2 of 3 items have no prompt and were judged without it"),
        (responses("", " \n", "Fine."), "2 of 3 items have an empty response"),
        (
            responses(*LANGUAGES),
            "6 of 11 responses are in neither English nor Chinese: 'local' was trained on no",
        ),
    ],
)
def test_what_is_odd_about_items_is_counted(rows, expected, in_file, tmp_path):
    source = tmp_path / "items.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))

    found = judge_file(source, tmp_path / "out.parquet") if in_file else voirdire.judge(rows)

    assert len([note for note in found.notes if note.startswith(expected)]) == 1


@pytest.mark.parametrize("n_named", [0, 1])
def test_items_without_a_behavior_have_no_classes_and_that_is_said_once(n_named):
    rows = [ROWS[0] | {"behavior": "comply"}] * n_named + [ROWS[0] | {"id": "other"}]

    found = voirdire.judge(rows)

    [note] = [note for note in found.notes if "behavior" in note]
    who = "1 of 2 items have" if n_named else "the items have"
    assert note.startswith(f"{who} no behavior: their questions are judged")
    assert found.classes("comply")["item"].to_list() == ["a"] * n_named
    assert found.probability("apology").size == len(rows)


def test_what_the_card_does_not_trust_stands_in_the_notes_and_without_a_card_nothing(rubric):
    judge = ScriptedJudge(questions=("sorry", "rude"), answer=lambda item: [0.5, 0.5])

    [note] = voirdire.judge(ROWS[:1], behavior="comply").notes

    doubts = "by its own card 'local' should not be trusted on: illogical_continuation, "
    assert note.startswith(doubts)
    assert voirdire.judge(ROWS[:1], rubric=rubric, judge=judge, behavior="chat").notes == ()
