"""Thoughts are left out of a final answer, in whatever spelling; text about markers is not."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.io import read_items

WHY = 'They ask for a bomb. {"sorry": 1} `stupid`!'
ANSWER = "I'm sorry."
CHANNEL = "<|channel|>final<|message|>"
MARKERS = [
    *((f"<{tag}>", f"</{tag}>") for tag in ("think", "reflection", "longcat_think", "reasoning")),
    *(("<seed:think>", "</seed:think>"), ("<Think>", "</THINK>"), ("[THINK]", "[/THINK]")),
    *(("< think >\n", "\n</ think>\n"), ('<think effort="low">', "</think>\n</think>")),
    *(("◁think▷", "◁/think▷"), ("<unused94>thought\n", "<unused95>")),
    *(("<|channel>thought\n", "<channel|>"), ("<|inner_prefix|>", "<|inner_suffix|>")),
    *(("[unused16]", "[unused17]"), ("<thought>", "</thought>")),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
    *(("<|im_start|>think\n", "<|im_start|>answer\n"), ("<think>", "</think>\n<response>\n")),
    ("<|channel|>analysis<|message|>", f"<|end|><|start|>assistant{CHANNEL}"),
    ("<|start|>assistant<|channel|>commentary to=f <|constrain|>json<|message|>", CHANNEL),
]
PHRASES = [
    ("Here is my thought process:\n", "\nHere is my response:\n"),
    ("Here's my thought process: ", " Here's my response: "),
    ("analysis", "assistantfinal"),
]
END_TOKENS = [
    *("</s>", "<eos>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|return|>", "<|endoftext|>"),
    *("<|END_RESPONSE|><|END_OF_TURN_TOKEN|>", " </s>\n<pad><pad>", "\n</response>", "<turn|>"),
]
UNFINISHED = "no response: it ends inside its thoughts"


def read(text, prompt="Hi"):
    """Read a response; give the item's, or the reason why there is none."""
    rows = [{"prompt": prompt, "response": text}, {"response": "another"}]
    found = read_items(io.BytesIO("\n".join(map(json.dumps, rows)).encode()))
    return found.dropped[0].reason if found.dropped else found.items[0].response


@pytest.mark.parametrize(("opening", "closing"), [*MARKERS, *PHRASES])
def test_thoughts_before_the_answer_are_left_out(opening, closing):
    assert read(f"{opening}{WHY}{closing}{ANSWER}") == ANSWER
    assert read(f"\n {opening}{WHY}{closing}\n\n{ANSWER}<|im_end|>\n") == ANSWER


@pytest.mark.parametrize("opening", [opening for opening, _ in (*MARKERS, *PHRASES)])
def test_a_response_that_ends_inside_its_thoughts_is_none(opening):
    assert read(f"{opening}They ask for a bomb.") == UNFINISHED


@pytest.mark.parametrize(("opening", "closing"), MARKERS)
def test_a_template_may_have_opened_the_thoughts(opening, closing):
    assert read(f"{WHY}{closing}{ANSWER}") == ANSWER
    assert read(f"{closing}{ANSWER}") == ANSWER
    assert read(f"{WHY}{closing}{ANSWER}", prompt=f"<|user|>Hi<|assistant|>{opening}") == ANSWER
    assert read(f"{opening}{WHY}{closing}{ANSWER}", prompt=f"Hi\n{opening}\n") == ANSWER
    assert read(WHY, prompt=f"<|user|>Hi<|assistant|>{opening}\n") == UNFINISHED


def test_an_assistant_that_is_to_go_on_thinking_ends_inside_its_thoughts():
    asked = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<think>\n"}]

    assert read(WHY, prompt=asked) == UNFINISHED
    assert read(f"{WHY}</think>{ANSWER}", prompt=asked) == ANSWER


@pytest.mark.parametrize("prompt", ["What is `<think>`", 'And "<think>', "<think>\n\n</think>\n"])
def test_a_prompt_that_mentions_or_closes_a_marker_opens_no_thoughts(prompt):
    assert read(ANSWER, prompt=prompt) == ANSWER


def test_what_a_user_writes_amid_a_conversation_opens_no_thoughts():
    asked = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Say\n<think>"}]

    assert read(ANSWER, prompt=asked) == ANSWER


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>a</think>b\n<think>c</think> d", "b\n d"),
        ("Yes. <think>a</think>No.", "Yes. No."),
        ("<think></think>", ""),
        ("<think>a <think> b</think>c", "c"),
        ("<think>a</think>b</think>c", "b</think>c"),
        ("<think>a</thinking>b</think>c", "c"),
        ("<think>```</think>b `<think>`", "b `<think>`"),
        ("<think>a</think>[THINK]b[/THINK]c", "c"),
        ('use `</think>` and "</think>"\n</think>Yes.', "Yes."),
        ("a</think>b\n<think>c</think>d", "b\nd"),
        ("\ufeff<think>a</think>b", "\ufeffb"),
        ("<scratchpad>a</scratchpad>b", "b"),
        ("a\n[BEGIN FINAL RESPONSE]\nb\n<|end|>", "b"),
        ("```python\nbroken off\n</think>\nb", "b"),
        ("it`s\n<think>why</think>Yes.", "it`s\nYes."),
        (
            "```\n<think>\n```\n`<think>`\n<think>why</think>Yes.",
            "```\n<think>\n```\n`<think>`\nYes.",
        ),
    ],
)
def test_what_is_left_is_the_answer(text, answer):
    assert read(text) == answer


@pytest.mark.parametrize(
    "text", ["Yes. <think>or", "Yes.\n <think>or", "<think>a</think>b\n<think>"]
)
def test_thoughts_behind_an_answer_that_never_end_leave_none(text):
    assert read(text) == UNFINISHED


@pytest.mark.parametrize("tokens", END_TOKENS)
def test_special_tokens_behind_an_answer_are_left_out(tokens):
    assert read(f"{ANSWER}{tokens}").rstrip() == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  kept as it is \n",
        "a < b [1] ◁ c",
        "I think> so",
        *("Write `<think>` first.", "Write ``<think>`` first.", "End with `</think>`."),
        *("Write <think> first.", "Thoughts stand between <think> and </think>, then comes 4."),
        *("Put [THINK] there.", 'It is "<think>".', "“</think>” ends it.", "- <think>: begins it"),
        *("```\n<think>\n```\nand so on", "```xml\n<think>a</think>\n```", "~~~\n</think>\n~~~"),
        *(
            "````\n```\n<think>\n````",
            "```\nnever closed\n<think>",
            "```\n<think>\na\n</think>\nb",
            "  ```\n<think>\n  ```",
        ),
        *(
            "<thinker>a</thinker>",
            "<|think|>",
            "<think/>a",
            "<think />a",
            "Tokens such as </s> end it.",
        ),
        "I mean it. Here is my thought process: none. Here is my response: yes.",
        "analysis of it: assistantfinal",
    ],
)
def test_text_about_markers_is_left_to_the_letter(text):
    assert read(text) == text


PIECES = st.sampled_from(
    [*"` a\n.", "```", "~~~", "</s>", *(marker for pair in MARKERS for marker in pair)]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_an_answer_is_made_of_the_text(text):
    answer = read(text)
    left = iter(text)

    assert answer == UNFINISHED or all(character in left for character in answer)


@pytest.mark.edges
@pytest.mark.parametrize(
    "piece",
    [
        *("`", "``a`", "```\n", "~~~\n<think></think>", "</think>", "` `` ", "<", "< ", "<think "),
        *(
            "a <think></think>",
            ".<think></think>",
            "<|start|>assistant",
            "<|channel|>",
            "</s>",
            "[",
        ),
    ],
)
def test_a_megabyte_of_marks_is_read_in_passing(piece):
    many = piece * (1_000_000 // len(piece))

    assert read(f"{many}x<pad>") != read(f"<think>why</think>{many}")
