import json

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


def test_and_in_a_file_whether_parts_are_used_again_or_not(tmp_path):
    source = tmp_path / "items.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    summary = judge_file(source, tmp_path / "out.parquet")

    [note, *_] = summary.notes
    assert note.startswith("2 of 3 items have no prompt and were judged without it")


def test_with_prompts_there_is_nothing_to_say(tmp_path):
    source = tmp_path / "items.jsonl"
    source.write_text(json.dumps(ROWS[0]) + "\n")

    assert judge_file(source, tmp_path / "out.parquet").notes == ()


def test_what_the_card_does_not_trust_stands_in_the_notes():
    verdicts = voirdire.judge(ROWS[:1])

    [note] = verdicts.notes
    assert note.startswith("by its own card 'local' should not be trusted on: judgement, ")


def test_a_judge_without_a_card_is_not_doubted(rubric):
    judge = ScriptedJudge(questions=("sorry", "rude"), answer=lambda item: [0.5, 0.5])

    assert voirdire.judge(ROWS[:1], rubric=rubric, judge=judge).notes == ()
