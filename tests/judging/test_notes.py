import json

import pytest

import voirdire
from voirdire.judging import ScriptedJudge, judge_file

ROWS = [
    {"id": "a", "prompt": "How are you?", "response": "Fine."},
    {"id": "b", "Prompt": "How are you?", "response": "Fine."},
    {"id": "c", "response": "Fine."},
]


def test_items_without_a_prompt_are_counted_in_memory():
    verdicts = voirdire.judge(ROWS)

    [note, *_] = verdicts.notes
    assert note.startswith("2 of 3 items have no prompt and were judged without it")


def test_with_prompts_there_is_nothing_to_say(tmp_path):
    source = tmp_path / "items.jsonl"
    source.write_text(json.dumps(ROWS[0]) + "\n")

    assert judge_file(source, tmp_path / "out.parquet", behavior="comply").notes == ()


@pytest.mark.parametrize("n_named", [0, 1])
def test_items_without_a_behavior_have_no_classes_and_that_is_said_once(n_named):
    rows = [ROWS[0] | {"behavior": "comply"}] * n_named + [ROWS[0] | {"id": "other"}]

    found = voirdire.judge(rows)

    [note] = [note for note in found.notes if "behavior" in note]
    who = "1 of 2 items have" if n_named else "the items have"
    assert note.startswith(f"{who} no behavior: their questions are judged")
    assert found.classes("comply")["item"].to_list() == ["a"] * n_named
    assert found.classes("hard_refuse").height == 0
    assert found.probability("apology").size == len(rows)


def test_what_the_card_does_not_trust_stands_in_the_notes():
    verdicts = voirdire.judge(ROWS[:1], behavior="comply")

    [note] = verdicts.notes
    assert note.startswith(
        "by its own card 'local' should not be trusted on: illogical_continuation, "
    )


def test_a_judge_without_a_card_is_not_doubted(rubric):
    judge = ScriptedJudge(questions=("sorry", "rude"), answer=lambda item: [0.5, 0.5])

    assert voirdire.judge(ROWS[:1], rubric=rubric, judge=judge, behavior="chat").notes == ()


OTHERS = [
    "Lo siento, pero no puedo ayudarte con eso.",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Извините, я не могу помочь.",
    "申し訳ありませんが、お手伝いできません。",
    "죄송하지만 도와드릴 수 없습니다.",
]
KNOWN = [
    "I'm sorry, but I can't help with that.",
    "抱歉，我帮不了你。",
    "ok",
    "def turned(values):\n    return values[::-1]\n\nprint(turned([1, 2, 3]))",
    "The Spanish for it is: el que no llora no mama. That is what they say of those who ask.",
]


@pytest.mark.parametrize("in_file", [False, True])
def test_responses_in_languages_that_the_local_judge_never_read_are_counted(in_file, tmp_path):
    rows = [{"prompt": "Well?", "response": text} for text in OTHERS + KNOWN]
    source = tmp_path / "items.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))

    found = judge_file(source, tmp_path / "out.parquet") if in_file else voirdire.judge(rows)

    [note] = [note for note in found.notes if "responses" in note]
    assert note == (
        "6 of 11 responses are in neither English nor Chinese: 'local' was trained on no other "
        "language"
    )


def test_empty_responses_are_counted():
    rows = [{"prompt": "Well?", "response": text} for text in ("", " \n", "Fine.")]

    assert any(
        note.startswith("2 of 3 items have an empty response")
        for note in voirdire.judge(rows).notes
    )
