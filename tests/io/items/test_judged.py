"""What is judged is declared: the final answer, the message with its reasoning, the whole turn."""

import pytest

USER = {"role": "user", "content": "Weather in Paris?"}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city":"Paris"}'},
}
TURN = [
    {"role": "assistant", "content": "I will look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "22 °C"},
    {"role": "assistant", "content": "<think>warm</think>It is warm."},
]
WHOLE = """\
assistant:
I will look.
tool call: weather({"city":"Paris"})

tool (weather):
22 °C

assistant:
<think>warm</think>It is warm."""


@pytest.fixture
def response_of(read_rows):
    def read(message, **declared):
        (found,) = read_rows({"messages": [USER, message]}, **declared).items
        return found.response, found.metadata

    return read


@pytest.mark.parametrize(
    ("judged", "response"),
    [
        ("final_answer", "It is warm."),
        ("with_reasoning", "<think>warm</think>It is warm."),
        ("whole_turn", WHOLE),
    ],
)
@pytest.mark.parametrize("shape", ["messages", "completion"])
def test_a_turn_with_tools(read_rows, item, shape, judged, response):
    row = {"messages": [USER, *TURN]} if shape == "messages" else {"prompt": [USER], shape: TURN}

    table = read_rows(row, judged=judged)

    assert table.items == (item(response, prompt="Weather in Paris?"),)


@pytest.mark.parametrize(
    ("judged", "response"),
    [
        ("final_answer", "Yes."),
        ("with_reasoning", "<think>a</think>Yes."),
        ("whole_turn", "<think>a</think>Yes."),
    ],
)
def test_a_response_of_text(read_rows, judged, response):
    table = read_rows({"response": "<think>a</think>Yes."}, judged=judged)

    assert table.items[0].response == response


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_in_a_field_of_its_own(response_of, field):
    message = {"role": "assistant", "content": "Yes.", field: "why"}

    assert response_of(message) == ("Yes.", {})
    for judged in ("with_reasoning", "whole_turn"):
        assert response_of(message, judged=judged)[0] == "<think>\nwhy\n</think>\n\nYes."


def test_reasoning_among_parts(response_of):
    parts = [
        {"type": "thinking", "thinking": "why"},
        {"type": "reasoning", "text": "more"},
        {"type": "text", "text": "Yes."},
    ]
    message = {"role": "assistant", "content": parts}

    assert response_of(message) == ("Yes.", {})
    with_reasoning = response_of(message, judged="with_reasoning")
    assert with_reasoning[0] == "<think>\nwhy\nmore\n</think>\n\nYes."


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "<think>never"},
        {"role": "assistant", "content": None, "reasoning_content": "never"},
        {"role": "assistant", "content": "\n", "reasoning_content": "never"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "never"}]},
    ],
)
def test_a_row_whose_answer_never_came_is_set_aside(read_rows, message):
    (drop,) = read_rows({"response": "x"}, {"messages": [USER, message]}).dropped

    assert drop.reason == "no response: it ends inside its thoughts"


def test_reasoning_alone_may_be_judged(response_of):
    message = {"role": "assistant", "content": None, "reasoning": "why"}

    found = response_of(message, judged="with_reasoning")

    assert found == ("<think>\nwhy\n</think>\n", {})


@pytest.mark.parametrize("judged", ["final_answer", "with_reasoning"])
def test_a_tool_call_alone_is_no_answer(read_rows, judged):
    row = {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}]}

    table = read_rows({"response": "x"}, row, judged=judged)

    (drop,) = table.dropped
    assert drop.reason == (
        "no response: the last message by the assistant has no text, but a tool call; "
        "declare judged='whole_turn'"
    )


@pytest.mark.parametrize(
    "said",
    [
        {"content": ""},
        {"content": "\n\n"},
        {"content": None, "reasoning_content": "I must look."},
        {"content": "<think>I must look.</think>\n"},
    ],
)
def test_a_tool_call_without_a_word_of_answer_is_no_answer_either(read_rows, said):
    row = {"messages": [USER, {"role": "assistant", **said, "tool_calls": [CALL]}]}

    table = read_rows({"response": "x"}, row)

    (drop,) = table.dropped
    assert drop.reason.endswith("has no text, but a tool call; declare judged='whole_turn'")


def test_a_tool_call_alone_is_a_whole_turn(response_of):
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}

    found = response_of(message, judged="whole_turn")

    assert found == ('assistant:\ntool call: weather({"city":"Paris"})', {})


@pytest.mark.parametrize("judged", ["final_answer", "with_reasoning", "whole_turn"])
def test_a_message_that_says_nothing_is_no_response(read_rows, judged):
    row = {"messages": [USER, {"role": "assistant", "content": None}]}

    table = read_rows({"response": "x"}, row, judged=judged)

    assert [drop.reason for drop in table.dropped] == [
        "no response: the last message by the assistant has no text"
    ]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ({"function": {"name": "f", "arguments": {"a": 1}}}, 'f({"a":1})'),  # TRL
        ({"function": {"name": "f"}}, "f()"),
        ({"name": "f", "arguments": "x"}, "f(x)"),
        ({"type": "custom", "custom": {"input": "x"}}, '{"type":"custom","custom":{"input":"x"}}'),
        ("f()", '"f()"'),
    ],
)
def test_tool_calls_of_every_dialect(response_of, call, shown):
    message = {"role": "assistant", "content": "So:", "tool_calls": [call]}

    found = response_of(message, judged="whole_turn")

    assert found[0] == f"assistant:\nSo:\ntool call: {shown}"


def test_the_older_function_call(response_of):
    message = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": "x"},
    }

    assert response_of(message, judged="whole_turn")[0] == "assistant:\ntool call: f(x)"


def test_sharegpt_tools(read_rows):
    said = [("human", "Hi"), ("function_call", "f()"), ("observation", "5"), ("gpt", "Five.")]
    row = {"conversations": [{"from": role, "value": text} for role, text in said]}

    final, whole = (
        read_rows(row, judged=judged).items[0] for judged in ("final_answer", "whole_turn")
    )

    assert final.response == "Five."
    assert whole.response == "assistant:\ntool call: f()\n\ntool:\n5\n\nassistant:\nFive."


def test_tool_calls_of_the_prompt_are_shown_whatever_is_judged(read_rows):
    later = [{"role": "user", "content": "Thanks"}, {"role": "assistant", "content": "Welcome."}]

    table = read_rows({"messages": [{"role": "system", "content": "s"}, USER, *TURN, *later]})

    assert [(said.role, said.content) for said in table.items[0].prompt] == [
        ("system", "s"),
        ("user", "Weather in Paris?"),
        ("assistant", 'I will look.\ntool call: weather({"city":"Paris"})'),
        ("tool", "22 °C"),
        ("assistant", "<think>warm</think>It is warm."),
        ("user", "Thanks"),
    ]
    assert table.items[0].response == "Welcome."


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ({"type": "image_url", "image_url": {"url": "u"}}, "an image"),
        ({"type": "input_image", "image_url": "u"}, "an image"),
        ({"type": "image"}, "an image"),
        ({"type": "input_audio", "input_audio": {"data": "x"}}, "a sound"),
        ({"type": "video_url", "video_url": {"url": "u"}}, "a video"),
        ({"type": "file", "file": {"file_id": "f"}}, "a file"),
    ],
)
def test_what_no_judge_sees_is_set_aside_and_said(read_rows, part, what):
    seen = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}
    answer = {"role": "assistant", "content": [part]}
    rows = [
        {"id": "asked", "prompt": [seen], "response": "A cat."},
        {"id": "answered", "messages": [{"role": "user", "content": "Draw."}, answer]},
        {"id": "plain", "prompt": "Hello", "response": "Hi."},
    ]

    table = read_rows(*rows)

    assert [item.id for item in table.items] == ["plain"]
    assert [row.item for row in table.dropped] == ["asked", "answered"]
    assert all(f"holds {what}, and judges read text only" in row.reason for row in table.dropped)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "tool_use"}], "a\n[tool_use]"),
        (["a", "b"], "a\nb"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        ([], ""),
        ([{"type": "x" * 99}], "[" + "x" * 19 + "…]"),
        (None, ""),
    ],
)
def test_content_in_parts_is_text_and_stand_ins(read_rows, content, shown):
    row = {"prompt": [{"role": "user", "content": content}], "response": "r"}

    table = read_rows(row)

    assert table.items[0].prompt[0].content == shown


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (5, "part of message 1 must be an object with a type, got 5"),
        ({"text": "a"}, "part of message 1 must be an object with a type"),
        ({"type": "text"}, "part of message 1 must have a text `text`"),
        ({"type": "text", "text": 5}, "part of message 1 must have a text `text`"),
    ],
)
def test_parts_of_no_known_form_set_the_row_aside(read_rows, part, reason):
    row = {"prompt": [{"role": "user", "content": [part]}], "response": "r"}

    table = read_rows({"response": "x"}, row)

    assert table.dropped[0].reason.startswith(reason)
    assert table.dropped[0].column == "prompt"


@pytest.mark.parametrize("content", [None, "", "But:"])
def test_a_refusal_beside_the_content_is_the_response(response_of, content):
    message = {"role": "assistant", "content": content, "refusal": "I can't."}

    assert response_of(message)[0] == ("But:\nI can't." if content else "I can't.")


@pytest.mark.parametrize(
    ("role", "ours"),
    [("Human", "user"), ("USER", "user"), ("developer", "developer"), ("Narrator", "Narrator")],
)
def test_roles_go_by_one_name(read_rows, role, ours):
    table = read_rows({"messages": [{"role": role, "content": "x"}, TURN[-1]]})

    assert table.items[0].prompt[0].role == ours
