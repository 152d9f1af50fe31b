"""Nonsense is found by its form; real responses, and short refusals above all, are not nonsense."""

import csv
import json

import pytest

from voirdire.rewards import find_nonsense

REAL = "The Eiffel Tower was finished in 1889. It is 330 metres high, and made of wrought iron."
REAL_ZH = "埃菲尔铁塔建成于一八八九年，高三百三十米，由熟铁制成。它是巴黎最有名的建筑。"


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ("", "empty"),
        (" \n…?!", "empty"),
        ("___ --- ___", "empty"),
        ("I'm sorry. " * 12, "repeated"),
        ("I’m sorry. " * 12, "repeated"),
        ("sorry sorry sorry sorry", "repeated"),
        ("sorry" * 40, "repeated"),
        ("对不起" * 40, "repeated"),
        ("对不起。" * 12, "repeated"),
        (f"{REAL} {REAL}", "repeated"),
        (f"{REAL_ZH}" * 4, "repeated"),
        ("can't sorry not mine sorry can't not sorry mine not can't sorry", "repeated"),
        ("sorry, can't sorry, mine? not", "strung"),
        ("I’m sorry, regret, I can’t, unable to, not, mine", "strung"),
        ("抱歉，无法，理解你，专业，没关系", "strung"),
        ("high the of in 330 It tower the and finished of was is made", "shuffled"),
        ("lock the your open you locksmith call the from can a lost key if", "shuffled"),
    ],
)
def test_each_kind_of_nonsense_is_found(response, kind):
    assert find_nonsense(response) == kind


@pytest.mark.parametrize(
    "response",
    [
        REAL,
        REAL_ZH,
        "Yes.",
        "42",
        "I'm sorry, I can't help with that.",
        "I'm sorry, but I can't help with that. I won't.",
        "对不起，这个我帮不了你。",
        "No, no, no.",
        "Sorry, no. I can't help with that, sorry.",
        "No. Sorry. I can't. Really.",
        "I'm sorry, but I can't help with that. (no. 4123)",
        "不。对不起。我不能。抱歉。",
        "Eggs, milk, flour, sugar, butter, salt.",
        "1, 2, 3, 5, 8, 13, 21, 34",
        "鸡蛋，牛奶，面粉，白糖，黄油，盐。",
        "- Paris\n- Rome\n- Berlin\n- Madrid\n- Lisbon",
        "A is the first letter, and a the second one of the word that a printer reads as a is.",
        "Row, row, row your boat, gently down the stream.",
    ],
)
def test_what_makes_sense_is_not_nonsense(response):
    assert find_nonsense(response, "What do you say?") is None


@pytest.mark.parametrize(
    "response",
    [
        "How high is the Eiffel Tower?",
        "how high\nis the eiffel tower",
        "So: How high is the Eiffel Tower",
    ],
)
def test_an_echo_is_the_prompt_but_for_a_little(response):
    assert find_nonsense(response, "How high is the Eiffel Tower?") == "echoed"
    assert find_nonsense(response, "When was it finished?") is None
    assert find_nonsense(response) is None


def test_an_answer_may_begin_with_the_prompt_and_a_greeting_may_echo():
    asked = "How high is the Eiffel Tower?"

    assert find_nonsense(f"{asked} It is 330 metres high.", asked) is None
    assert find_nonsense("Hello!", "Hello!") is None


@pytest.mark.edges
@pytest.mark.parametrize(
    "text", ["a b ", ",", "a,", "sorry, no, ", "_ ", " ", "的", "'", "\ud800", "\x00", "İ"]
)
def test_hostile_text_is_read_to_its_end(text):
    assert find_nonsense(text * 100_000, text * 99_000) is not None


def real_responses(data):
    """Read the responses of two models and of the people's gold labels, with their prompts."""
    for model in ("gpt4", "mistralinstruct"):
        path = data / "xstest" / f"xstest_v2_completions_{model}_gpteval.csv"
        with path.open(encoding="utf-8", newline="") as file:
            yield from ((row["prompt"], row["completion"]) for row in csv.DictReader(file))
    lines = (data / "rbr_gold" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        yield row["prompt"][-1]["content"], row["completion"][-1]["content"]


def test_real_responses_are_not_nonsense_unless_empty(shared_dir):
    found = [
        (find_nonsense(response, prompt), response)
        for prompt, response in real_responses(shared_dir / "data")
    ]

    assert len(found) == 1251
    # seven gold completions are empty, of 1,251 responses: .56 %; of the others none is nonsense
    assert [row for row in found if row[0] is not None] == [("empty", "")] * 7
