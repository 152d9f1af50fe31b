"""Whatever a row holds, it becomes items or a reason, and nothing of it acts."""

import io
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.io import read_items

KEYS = [
    *("prompt", "question", "instruction", "input", "response", "completion", "output", "answer"),
    *("messages", "conversations", "chosen", "rejected", "ranked", "other"),
    *("group", "cluster", "behavior", "propositions", "response_type"),
    *("id", "item"),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
WORDS = st.sampled_from(["user", "assistant", "tool", "text", "image_url", "<think>", "```"])
INNER = [
    *("role", "from", "content", "value", "type", "text", "name", "function", "arguments"),
    *("tool_calls", "refusal", "reasoning", "message"),
]
VALUES = st.recursive(
    SCALARS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=3)
    ),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": WORDS, "content": VALUES}, optional={"tool_calls": VALUES}),
    max_size=4,
)
ROWS = st.dictionaries(st.sampled_from(KEYS), VALUES | MESSAGES, max_size=5)
JUDGED = st.sampled_from(["final_answer", "with_reasoning", "whole_turn"])


@given(ROWS, JUDGED)
def test_a_row_is_items_or_a_reason(row, judged):
    lines = [{"id": "good", "response": "x"}, row]
    data = "\n".join(json.dumps(line) for line in lines).encode()

    table = read_items(io.BytesIO(data), judged=judged)

    assert len(table.items) + len(table.dropped) >= 2
    for item in table.items:
        assert len(item.content_hash()) == 32
        assert all(isinstance(text, str) for text in (item.id, item.response))
        assert all(isinstance(said.role + said.content, str) for said in item.prompt)
    for drop in table.dropped:
        assert drop.line == 2
        assert drop.reason.isprintable()
        assert len(drop.reason) < 300


@pytest.mark.parametrize(
    "text", ["\x00", "\x1b[31m", "\u202e", "\n\n", "'; drop table", "x" * 9_999]
)
def test_hostile_text_stays_in_its_place_and_out_of_messages(read_rows, text):
    row = {"id": f"i{text}", "prompt": text, "response": text, f"k{text}": text}

    table = read_rows(row, {"id": text, "prompt": 5, "response": "r", f"{text}": 1})

    (found,) = table.items
    assert (found.id, found.prompt[0].content, found.response) == (f"i{text}", text, text)
    assert found.metadata == {f"k{text}": text}
    with pytest.raises(InputError) as caught:
        read_rows(row, row)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_panic_of_polars_is_an_error_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "items.parquet"
    pl.DataFrame({"response": ["r"]}).write_parquet(path)

    def panic(*args, **kwargs):
        raise pl.exceptions.PanicException("range end index out of range\nbacktrace")

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)

    with pytest.raises(InputError, match=r"must be a whole Parquet file, got 'range end index out"):
        read_items(path)
