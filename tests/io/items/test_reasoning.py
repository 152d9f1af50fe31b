import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.io import read_items

PIECES = st.sampled_from(
    ["<think>", "</think>", "<thinking>", "</thinking>", "`", "``", "```", "~~~", "\n", " ", "a"]
)


def answer_of(text):
    """Read a response; give what of it is judged, and whether its reasoning never ended."""
    row = json.dumps({"id": "a", "prompt": "Hi", "response": text}).encode()
    [item] = read_items(io.BytesIO(row)).items
    return item.response, item.metadata.get("unfinished_reasoning", False)


def without_reasoning(text):
    return answer_of(text)[0]


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning"])
def test_a_block_before_the_answer_is_taken_out(tag):
    assert answer_of(f"<{tag}>\nwhy\n</{tag}>\n\nYes.\n") == ("Yes.", False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>a</think>b<think>c</think> d", "b d"),
        ("Well, <think>hm</think>no.", "Well, no."),
        ("<think></think>", ""),
        ("<think>a <think> b</think>c", "c"),
        ("<think>a</think>b</think>c", "b</think>c"),
        ("<think>a</thinking>b</think>c", "c"),
        ("<think>```</think>b", "b"),
        # the template opened the tag in the prompt
        ("why\n</think>\n\nYes.", "Yes."),
        ("use `x`\n</think>Yes.", "Yes."),
        ("a</reasoning>b", "b"),
        ("a</think>b<think>c</think>d", "bd"),
    ],
)
def test_what_is_left_is_the_answer(text, answer):
    assert answer_of(text) == (answer, False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [("<think>never", ""), ("Yes. <think>or", "Yes."), ("<think>a</think>b<think>", "b")],
)
def test_a_block_without_an_end_goes_to_the_end(text, answer):
    assert answer_of(text) == (answer, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  kept as it is \n",
        "I think> so",
        "Write `<think>` first.",
        "Write ``<think>`` first.",
        "End with `</think>`.",
        "```\n<think>\n```\nand so on",
        "```xml\n<think>a</think>\n```",
        "~~~\n</think>\n~~~",
        "````\n```\n<think>\n````",
        "```\nnever closed\n<think>",
        "  ```\n<think>\n  ```",
        "<Think>another tag</Think>",
        "<thinker>a</thinker>",
        "< think>",
    ],
)
def test_text_about_tags_is_left_to_the_letter(text):
    assert answer_of(text) == (text, False)


def test_a_tag_after_code_counts_again():
    text = "```\n<think>\n```\n`<think>` <think>why</think>Yes."

    assert without_reasoning(text) == "```\n<think>\n```\n`<think>` Yes."


def test_a_lone_backtick_hides_nothing_behind_its_line():
    assert without_reasoning("it`s\n<think>why</think>Yes.") == "it`s\nYes."


@given(st.lists(PIECES, max_size=12).map("".join))
def test_without_code_it_is_what_a_pattern_says(text):
    text = re.sub("[`~]", "", text)
    opened = re.sub(r"<(think|thinking)>.*?(</\1>|\Z)", "", text, flags=re.DOTALL)
    first = re.search(r"</?(?:think|thinking)>", text)
    if first and first.group().startswith("</"):
        rest = text[first.end() :]
        opened = re.sub(r"<(think|thinking)>.*?(</\1>|\Z)", "", rest, flags=re.DOTALL)

    answer = without_reasoning(text)

    assert answer == (opened.strip() if first else text)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_an_answer_is_made_of_the_text(text):
    answer = without_reasoning(text)
    left = iter(text)

    assert all(character in left for character in answer)


@pytest.mark.edges
@pytest.mark.parametrize(
    "piece", ["`", "``a`", "```\n", "~~~\n<think></think>", "<think></think>", "</think>", "` `` "]
)
def test_a_megabyte_of_marks_is_read_in_passing(piece):
    def n_left(n_pieces):
        return len(without_reasoning(piece * n_pieces + "<think>why</think>"))

    many = 1_000_000 // len(piece) // 10 * 10

    left = n_left(many)

    # what is left of every ten is what is left of the second ten
    assert left == n_left(10) + (many // 10 - 1) * (n_left(20) - n_left(10))
