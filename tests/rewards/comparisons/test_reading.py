"""Files of comparisons: every shape and format, and what is set aside."""

import gzip
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.rewards import LabelOrder, pairs_of, read_comparisons


def read(*rows, **settings):
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    return read_comparisons(io.BytesIO(text.encode()), **settings)


def declared(data):
    ids = [item.id for item in data.items]
    return [
        (ids[better], ids[worse])
        for better, worse in zip(data.better.tolist(), data.worse.tolist(), strict=True)
    ]


def reasons(data):
    return [(drop.line, drop.item, drop.reason.partition(":")[0]) for drop in data.dropped]


A = {"id": "a", "prompt": "Hi", "response": "Hello.", "label": "good", "base_reward": 0.5}
B = {"id": "b", "prompt": "Hi", "response": "No.", "label": "bad", "base_reward": -1}


def test_completions_of_one_prompt_belong_together():
    data = read(A, {**A, "id": "c", "prompt": "Lo"}, B, {**B, "id": "d", "prompt": "Lo"})

    assert [item.id for item in data.items] == ["a", "c", "b", "d"]
    assert data.prompts.tolist() == [0, 1, 0, 1]
    assert data.labels == ("good", "good", "bad", "bad")
    assert data.base_rewards.tolist() == [0.5, 0.5, -1.0, -1.0]
    assert data.splits == (None,) * 4
    assert {item.group for item in data.items} == {"a", "c"}


def test_a_group_comes_before_the_prompt():
    data = read(
        {"id": "a", "response": "x", "group": 7},
        {"id": "b", "response": "y", "group": "7"},
        {"id": "c", "response": "z", "group": "8"},
    )

    assert {item.group for item in data.items} == {"7"}
    assert reasons(data) == [(3, "c", "nothing to compare with")]


def test_columns_may_have_names_of_their_own():
    rows = [
        {"q": row["prompt"], "reply": row["response"], "grade": row["label"], "score": "x", "rm": 1}
        for row in (A, B)
    ]

    data = read(
        *rows,
        columns={"prompt": "q", "response": "reply", "label": "grade", "base_reward": "rm"},
    )

    assert data.labels == ("good", "bad")
    assert data.base_rewards.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"labell": "x"}, "`columns` must map our names to the file's, got {'labell': 'x'}"),
        ({"label": 3}, "`columns` must map our names to the file's, got {'label': 3}"),
        ({"label": "grade"}, "column `grade` must exist, got columns 'id', 'prompt'"),
        ({"response": "reply"}, "column `reply` must exist"),
        ([], "`columns` must map our names"),
    ],
)
def test_columns_that_are_not_there_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        read(A, B, columns=columns)


def test_a_pair_is_declared():
    data = read(
        {"id": 1, "prompt": "Hi", "chosen": "Hello.", "rejected": "No.", "margin": 0.5,
         "chosen_base_reward": 2, "rejected_base_reward": 1},
        {"id": 2, "prompt": "Hi", "chosen": "Hello.", "rejected": "What?"},
    )  # fmt: skip

    assert [item.id for item in data.items] == ["1:chosen", "1:rejected", "2:rejected"]
    assert declared(data) == [("1:chosen", "1:rejected"), ("1:chosen", "2:rejected")]
    assert data.margins.tolist()[0] == 0.5
    assert np.isnan(data.margins[1])
    assert data.base_rewards.tolist()[:2] == [2.0, 1.0]
    assert np.isnan(data.base_rewards[2])
    assert data.dropped == ()  # the second "Hello." is the first one


def test_a_ranked_list_is_every_pair_of_it_but_ties():
    data = read({"id": "r", "prompt": "Hi", "ranked": ["A", ["B", "C"], "D"], "margin": 2})

    assert declared(data) == [
        ("r:0", "r:1"), ("r:0", "r:2"), ("r:0", "r:3"), ("r:1", "r:3"), ("r:2", "r:3"),
    ]  # fmt: skip
    assert data.margins.tolist() == [2.0] * 5
    assert [item.response for item in data.items] == ["A", "B", "C", "D"]


def test_what_is_ranked_may_be_messages_or_rows():
    said = [{"role": "assistant", "content": "<think>hm</think>B"}]

    third = {"role": "assistant", "content": "C"}

    data = read({"prompt": "Hi", "ranked": [{"response": "A", "base_reward": 3}, said, third]})

    assert [item.response for item in data.items] == ["A", "B", "C"]
    assert data.base_rewards.tolist()[0] == 3.0
    assert data.better.size == 3


def test_a_ranked_list_without_a_prompt_is_a_prompt_of_its_own():
    data = read({"ranked": ["A", "B"]}, {"ranked": ["A", "B"]})

    assert data.prompts.tolist() == [0, 0, 1, 1]
    assert declared(data) == [("stream:1:0", "stream:1:1"), ("stream:2:0", "stream:2:1")]


def rows_in(tmp_path, written_as, rows):
    path = tmp_path / f"rows.{written_as}"
    frame = pl.DataFrame(rows)
    if written_as == "parquet":
        frame.write_parquet(path)
    elif written_as == "jsonl":
        frame.write_ndjson(path)
    elif written_as == "json":
        path.write_text(json.dumps(rows))
    elif written_as == "tsv":
        frame.write_csv(path, separator="\t")
    elif written_as == "csv":
        frame.write_csv(path)
    else:
        path = tmp_path / "rows.jsonl.gz"
        path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in rows).encode()))
    return path


@pytest.mark.parametrize("written_as", ["jsonl", "parquet", "csv", "tsv", "json", "gz"])
def test_every_format_says_the_same_of_completions(tmp_path, written_as):
    rows = [A | {"base_reward": 0.5, "split": "Train"}, B | {"base_reward": -1.0, "split": "train"}]

    data = read_comparisons(rows_in(tmp_path, written_as, rows))

    assert data.labels == ("good", "bad")
    assert data.base_rewards.tolist() == [0.5, -1.0]
    assert data.splits == ("train", "train")
    assert data.data_hash == read(*rows).data_hash


@pytest.mark.parametrize("written_as", ["jsonl", "parquet", "csv", "json"])
def test_every_format_says_the_same_of_pairs(tmp_path, written_as):
    rows = [{"prompt": "Hi", "chosen": "Hello.", "rejected": "No.", "margin": 2.5}]

    data = read_comparisons(rows_in(tmp_path, written_as, rows))

    assert (data.better.tolist(), data.worse.tolist(), data.margins.tolist()) == ([0], [1], [2.5])


@pytest.mark.parametrize("written_as", ["jsonl", "parquet", "json"])
def test_ranked_lists_may_stand_in_tables(tmp_path, written_as):
    rows = [{"prompt": "Hi", "ranked": ["A", "B", "C"]}]

    assert read_comparisons(rows_in(tmp_path, written_as, rows)).better.size == 3


def test_the_default_behavior_is_for_prompts_that_name_none():
    data = read(
        A,
        B | {"behavior": "hard_refuse"},
        A | {"id": "c", "prompt": "Lo"},
        B | {"id": "d", "prompt": "Lo"},
        behavior="comply",
    )

    # what one completion says of its prompt holds for the others
    assert data.behaviors == ("hard_refuse", "hard_refuse", "comply", "comply")
    assert [item.behavior for item in data.items] == list(data.behaviors)


def test_each_row_that_cannot_be_used_is_listed():
    row = {"prompt": "Hi", "behavior": "comply"}
    data = read(
        {**row, "id": "a", "response": "1", "label": "good"},
        {**row, "id": "b", "response": "2", "label": "bad"},
        {**row, "id": "word", "response": "3", "base_reward": "much"},
        {**row, "id": "inf", "response": "4", "base_reward": float("inf")},
        {**row, "id": "text", "response": "5", "base_reward": "0.5"},
        {**row, "id": "same", "response": "1", "label": "good"},
        {**row, "id": "behavior", "response": "6", "behavior": "hard_refuse"},
        {**row, "id": "unknown", "response": "7", "behavior": "obey"},
        {**row, "id": "split", "response": "8", "split": "validation"},
        {**row, "id": "label", "response": "9", "label": ["good"]},
        {**row, "id": "empty"},
        "not json",
        "[1, 2]",
        {"id": "alone", "prompt": "Lo", "response": "x", "behavior": "comply"},
        {"id": "bare", "response": "x", "behavior": "comply"},
        {"id": "twice", "prompt": "Hi", "chosen": "9", "rejected": "9"},
        {"id": "margin", "prompt": "Hi", "chosen": "9", "rejected": "8", "margin": 0},
    )

    assert [item.id for item in data.items] == ["a", "b", "twice:chosen"]
    assert reasons(data) == [
        (3, "word", "base reward must be a finite number, got 'much'"),
        (4, "inf", "base reward must be a finite number, got inf"),
        (5, "text", "base reward must be a finite number, got '0.5'"),
        (6, "same", "duplicated completion"),
        (7, "behavior", "two behaviors of one prompt"),
        (8, "unknown", "two behaviors of one prompt"),
        (9, "split", "split must be train or test, got 'validation'"),
        (10, "label", "must be text or a number, got ['good']"),
        (11, "empty", "no response"),
        (12, None, "line must be JSON, got 'not json' at character 1 (Expecting value)"),
        (13, None, "row must be an object, got [1, 2]"),
        (14, "alone", "nothing to compare with"),
        (15, "bare", "no prompt"),
        (16, "twice:chosen", "a pair must be of two completions, got the same text twice"),
        (17, "margin", "margin must be a number above 0, got 0"),
    ]
    assert data.dropped[5].value == "obey"
    assert data.dropped[0].column == "base_reward"


def test_a_completion_under_two_labels_is_neither():
    data = read(A, B, {**B, "id": "c", "response": "So."}, {**B, "id": "d", "label": "good"})

    assert [item.id for item in data.items] == ["a", "c"]
    assert [(drop.item, drop.value, drop.reason) for drop in data.dropped] == [
        ("b", "bad", "duplicated completion: 'd' is the same with label 'good'"),
        ("d", "good", "duplicated completion: 'b' is the same with label 'bad'"),
    ]


def test_a_pair_lends_its_completion_the_label_that_another_row_gives():
    data = read({"prompt": "Hi", "chosen": "Hello.", "rejected": "No."}, A, B)

    assert data.labels == ("good", "bad")
    assert data.base_rewards.tolist() == [0.5, -1.0]
    assert [drop.item for drop in data.dropped] == ["a", "b"]


def test_a_group_with_two_conversations_keeps_the_first():
    data = read(
        {"id": "a", "group": "g", "prompt": "Hi", "response": "x"},
        {"id": "b", "group": "g", "prompt": "Hi", "response": "y"},
        {"id": "c", "group": "g", "prompt": "Lo", "response": "z"},
    )

    assert [item.id for item in data.items] == ["a", "b"]
    assert data.dropped[0].reason == "two prompts in one group: that of 'g' came first"


def test_a_prompt_in_two_splits_keeps_the_first():
    rows = [A | {"split": "test"}, B | {"split": "train"}, B | {"id": "c", "response": "So."}]

    data = read(*rows)

    assert data.splits == ("test", "test")
    assert data.dropped[0].reason == "two splits of one prompt: 'test' came first"


def test_prompts_with_one_completion_are_counted_and_the_first_is_named():
    lone = [{"id": f"l{k}", "prompt": f"p{k}", "response": "x"} for k in range(3)]

    data = read(lone[0], A, B, *lone[1:])

    (drop,) = data.dropped
    assert drop.item == "l0"
    assert drop.line == 1
    assert drop.reason == ("nothing to compare with: 3 prompts with one completion, this the first")


def test_ids_are_unique():
    with pytest.raises(InputError, match=r"<stream>:2: item ids must be unique, got 'a' again"):
        read(A, {**B, "id": "a"})


def test_half_a_ranked_list_is_not_taken():
    data = read(A, B, {"id": "r", "prompt": "Hi", "ranked": ["x", {"response": "y", "label": []}]})

    assert [item.id for item in data.items] == ["a", "b"]
    assert data.better.size == 0
    assert data.dropped[0].line == 3


@pytest.mark.parametrize("ranked", ["A", ["A"], [], 3])
def test_a_ranked_list_has_at_least_two(ranked):
    data = read(A, B, {"prompt": "Hi", "ranked": ranked})

    assert data.dropped[0].reason.startswith("a ranked list must hold at least two completions")


@pytest.mark.parametrize("base", ["high", True])
def test_a_base_reward_in_a_ranked_list_that_is_no_number_is_listed_and_none(base):
    ranked = [{"completion": "x", "rm_score": 2}, {"completion": "y", "rm_score": base}, "z"]

    data = read({"id": "r", "prompt": "Hi", "ranked": ranked})

    np.testing.assert_array_equal(data.base_rewards, [2, np.nan, np.nan])
    assert sorted(zip(data.better.tolist(), data.worse.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]
    assert [(drop.item, drop.line) for drop in data.dropped] == [("r:1", 1)]
    assert data.dropped[0].reason.startswith("base reward must be a finite number, got")


def test_a_base_reward_of_a_whole_ranked_list_must_be_a_number():
    data = read(A, B, {"id": "r", "prompt": "Hi", "ranked": ["x", "y"], "base_reward": [1, 2]})

    assert len(data.items) == 2
    assert [(drop.item, drop.line) for drop in data.dropped] == [("r", 3)]


def test_a_nan_that_is_no_number_of_ours_is_nothing():
    data = read(A | {"behavior": float("nan"), "note": float("nan")}, B)

    assert data.behaviors == (None, None)
    assert "note" not in data.items[0].metadata


def test_half_a_pair_is_no_pair():
    data = read(A, B, {"prompt": "Hi", "chosen": "So.", "rejected": None})

    assert [item.response for item in data.items] == ["Hello.", "No.", "So."]
    assert data.better.size == 0


def test_text_that_no_file_can_hold_is_set_aside(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([A, B, A | {"id": "c", "response": "\ud800"}]))

    data = read_comparisons(path)

    assert data.dropped[0].reason == "text must be Unicode, got half a surrogate pair"


def test_a_json_document_may_be_one_row_or_rows_by_id(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"prompt": "Hi", "ranked": ["A", "B"]}))
    alone = read_comparisons(path)
    path.write_text(json.dumps({"p": A | {"id": None}, "q": B | {"id": None}}))

    assert alone.better.size == 1
    assert [item.id for item in read_comparisons(path).items] == ["p", "q"]


def test_an_empty_file_is_refused():
    with pytest.raises(NoDataError, match="must hold at least one item, got no rows"):
        read("")


def test_a_file_of_something_else_is_refused():
    with pytest.raises(NoDataError, match="got 2 rows and a reason against each"):
        read({"item": "a", "verdict": 1}, {"item": "b", "verdict": 1})


def test_a_table_without_responses_is_refused():
    table = io.BytesIO(b"item,label\na,good\n")

    with pytest.raises(InputError, match="This looks like labels"):
        read_comparisons(table, format="csv")


def test_a_file_without_two_completions_of_a_prompt_is_refused():
    message = (
        "must hold at least one prompt with two completions, got none .*nothing to compare with"
    )
    with pytest.raises(NoDataError, match=message):
        read(A, {**B, "prompt": "Lo"})


def test_a_file_in_which_nothing_has_a_prompt_is_refused():
    with pytest.raises(InputError, match="two completions, got none"):
        read({"response": "x", "label": "good"}, {"response": "y", "label": "bad"})


def test_bytes_that_are_not_text_are_refused():
    with pytest.raises(InputError, match="text must be UTF-8"):
        read_comparisons(io.BytesIO(b'{"prompt": "\xff"}\n'))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="must be a file that exists"):
        read_comparisons(tmp_path / "none.jsonl")


def test_blank_cells_are_nothing():
    table = io.BytesIO(
        b"prompt,response,label,base_reward,behavior\nHi,x,,,comply\nHi,y,good,1,\nHi,z,bad,nan,\n"
    )

    data = read_comparisons(table, format="csv")

    assert data.labels == (None, "good")
    assert np.isnan(data.base_rewards[0])
    assert data.behaviors == ("comply", "comply")
    assert data.dropped[0].reason == "base reward must be a finite number, got 'nan'"


def test_reasoning_is_left_out_unless_it_is_judged():
    rows = [A | {"response": "<think>hm</think>Hello."}, B]

    assert read(*rows).items[0].response == "Hello."
    assert "hm" in read(*rows, judged="with_reasoning").items[0].response


def test_the_hash_does_not_depend_on_the_order_of_rows():
    rows = [
        {"prompt": "Hi", "response": "x", "label": "good"},
        {"prompt": "Hi", "response": "y", "label": "bad"},
        {"prompt": "Hi", "chosen": "x", "rejected": "z"},
        {"prompt": "Lo", "response": "x", "label": "bad"},
        {"prompt": "Lo", "response": "y", "label": "good", "base_reward": 1},
    ]

    hashes = {read(*rows[k:], *rows[:k]).data_hash for k in range(len(rows))}

    assert len(hashes) == 1


@pytest.mark.parametrize(
    "change",
    [{"label": "fair"}, {"base_reward": 2}, {"response": "z"}, {"prompt": "Ho"}, {"split": "test"},
     {"behavior": "comply"}],
)  # fmt: skip
def test_the_hash_depends_on_everything_that_counts(change):
    of_prompt = {k: v for k, v in change.items() if k in ("prompt", "split", "behavior")}
    rows = [A, B, A | {"id": "c", "response": "w"}]
    other = [rows[0] | change, *(row | of_prompt for row in rows[1:])]

    assert read(*rows).data_hash != read(*other).data_hash


def test_the_hash_depends_on_declared_pairs():
    first = read({"prompt": "Hi", "chosen": "x", "rejected": "y"})
    second = read({"prompt": "Hi", "chosen": "y", "rejected": "x"})
    third = read({"prompt": "Hi", "chosen": "x", "rejected": "y", "margin": 1})

    assert len({first.data_hash, second.data_hash, third.data_hash}) == 3


def test_what_was_read_can_be_compared():
    data = read(A, B, behavior="comply")

    pairs = pairs_of(data, behavior="comply", order=LabelOrder.of("good > bad"))

    assert (pairs.better.tolist(), pairs.worse.tolist()) == ([0], [1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["id", "prompt", "response", "completion", "label", "base_reward", "behavior", "split", "group",
     "margin", "ranked", "chosen", "rejected", "messages", "chosen_base_reward"]
)  # fmt: skip
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": JSON})
VALUES = JSON | st.lists(MESSAGE, max_size=2)
ROWS = st.dictionaries(KEYS, VALUES, max_size=6)


@pytest.mark.ci
@given(st.lists(ROWS | VALUES | st.tuples(st.text(), st.lists(ROWS, max_size=3)), max_size=5))
def test_no_row_however_odd_is_more_than_set_aside(rows):
    rows = [A, B, *rows]
    text = "\n".join(json.dumps(row) for row in rows).encode()

    try:
        data = read_comparisons(io.BytesIO(text))
    except InputError as error:
        if "item ids must be unique" not in str(error):
            raise
        return

    assert {"a", "b"} <= {item.id for item in data.items} | {drop.item for drop in data.dropped}
    assert np.isfinite(data.base_rewards[~np.isnan(data.base_rewards)]).all()
    assert (data.prompts[data.better] == data.prompts[data.worse]).all()
    assert (np.bincount(data.prompts) >= 2).all()


@pytest.mark.parametrize(
    ("votes", "better"),
    [
        (["A", "B", "tie"], ["x", "w"]),
        (["response_a", "response_b", "both"], ["x", "w"]),
        (["a", "b", ""], ["x", "w"]),
        (["left", "right", None], ["x", "w"]),
    ],
)
def test_a_column_says_which_of_two_responses_is_better(votes, better):
    pairs = [("x", "y"), ("z", "w"), ("u", "v")]
    rows = [
        {"prompt": str(n), "response_a": a, "response_b": b, "winner": vote}
        for n, ((a, b), vote) in enumerate(zip(pairs, votes, strict=True))
    ]

    data = read(*rows, columns={"preferred": "winner"})

    assert [data.items[place].response for place in data.better] == better


def test_responses_in_columns_of_other_names_are_compared():
    rows = [{"q": "Hi", "one": "x", "two": "y", "vote": "B"}]
    columns = {"prompt": "q", "response": "one", "other": "two", "preferred": "vote"}

    data = read(*rows, columns=columns)

    assert [data.items[place].response for place in data.better] == ["y"]


def test_two_responses_without_a_vote_name_the_column_that_is_needed():
    row = {"prompt": "Hi", "response_a": "x", "response_b": "y", "winner": "A"}

    with pytest.raises(NoDataError, match=r"columns={'preferred': \.\.\.}"):
        read(row)
    assert (
        "got 'model x'"
        in read(row, {**row, "winner": "model x"}, columns={"preferred": "winner"})
        .dropped[0]
        .reason
    )


def test_a_completion_that_is_a_word_for_nothing_is_not_compared():
    data = read(A, B, {**A, "id": "c", "response": "NA", "label": "bad"}, {**B, "response": None})

    assert [item.id for item in data.items] == ["a", "b"]
    assert [(drop.line, drop.reason.partition(":")[0]) for drop in data.dropped] == [
        (3, "no response"),
        (4, "no response"),
    ]


def test_comparisons_may_be_in_another_encoding():
    text = "prompt,response,label\nHi,café,good\nHi,no,bad\n".encode("cp1252")

    data = read_comparisons(io.BytesIO(text), format="csv", encoding="cp1252")

    assert data.items[0].response == "café"
