import io
from decimal import Decimal

import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_items, stream_items

USER = {"role": "user", "content": "Hi"}
CALLS = [{"function": {"name": "f", "arguments": "{}"}}]


@pytest.fixture
def parquet(tmp_path):
    def write(rows, name="items.parquet", **options):
        path = tmp_path / name
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path, **options)
        return path

    return write


def test_lists_of_messages_are_read_as_they_are(parquet, item):
    rows = [
        {"id": 1, "messages": [{**USER, "tool_calls": None},
                               {"role": "assistant", "content": "Yo", "tool_calls": CALLS}]},
        {"id": 2, "messages": [{**USER, "tool_calls": None},
                               {"role": "assistant", "content": "Yes", "tool_calls": None}]},
    ]  # fmt: skip

    table = read_items(parquet(rows))

    assert table.items == (item("Yo", id="1"), item("Yes", id="2"))


def test_null_is_nothing_there(parquet):
    rows = [
        {"id": 1, "response": "r", "messages": None, "score": float("nan"), "note": None},
        {"id": None, "response": None, "messages": [{"role": "gpt", "content": "m"}], "score": 2.0},
        {"id": 3, "response": None, "messages": None, "score": 1.0, "note": "x"},
    ]

    table = read_items(parquet(rows))

    assert [(found.id, found.response, found.metadata) for found in table.items] == [
        ("1", "r", {}),
        ("items:2", "m", {"score": 2.0}),
    ]
    assert [(drop.line, drop.reason) for drop in table.dropped] == [
        (3, "no response: no column holds one")
    ]


def test_ids_that_became_fractions_are_whole_again(parquet):
    table = read_items(parquet({"id": [1.0, None, 2.5], "response": ["a", "b", "c"]}))

    assert [found.id for found in table.items] == ["1", "items:2", "2.5"]


@pytest.mark.edges
@pytest.mark.parametrize("row_group_size", [100, 3_000, 20_000])
def test_batches_are_the_whole_whatever_the_row_groups(parquet, row_group_size):
    texts = [f"r{n}" * (n % 50) for n in range(10_000)]
    path = parquet({"id": range(10_000), "response": texts}, row_group_size=row_group_size)

    batches = list(stream_items(path, batch_size=999))

    assert [item.response for batch in batches for item in batch.items] == texts
    assert [batch.n_rows for batch in batches] == [*[999] * 10, 10]


@pytest.mark.ci
def test_rows_that_grow_to_a_megabyte_come_in_batches_of_few(parquet):
    texts = ["x"] * 64 + ["x" * (1 << 20)] * 70

    batches = list(stream_items(parquet({"response": texts})))

    sizes = [len(item.response) for batch in batches for item in batch.items]
    assert sizes == [len(text) for text in texts]
    assert max(sum(len(item.response) for item in batch.items) for batch in batches) <= 33 << 20


def test_columns_with_the_names_of_patterns_are_columns(parquet):
    table = read_items(parquet({"*": [1], "^.*$": ["x"], "response": ["r"]}))

    assert table.items[0].metadata == {"*": 1, "^.*$": "x"}


def test_a_name_that_is_a_pattern_is_a_name(parquet):
    parquet({"response": ["other"]}, name="b.parquet")
    path = parquet({"response": ["r"]}, name="[ab]*.parquet")

    table = read_items(path)

    assert [found.response for found in table.items] == ["r"]


def test_a_stream_is_read_too(parquet):
    data = parquet({"response": ["r"]}).read_bytes()

    table = read_items(io.BytesIO(data), format="parquet")

    assert [found.id for found in table.items] == ["stream:1"]


def test_a_table_without_a_response_is_refused(parquet):
    with pytest.raises(InputError, match=r"items.parquet: column `response` must exist"):
        read_items(parquet({"prompt": ["p"]}))


def test_a_table_without_rows_holds_no_items(parquet):
    path = parquet({"response": pl.Series([], dtype=pl.String)})

    with pytest.raises(NoDataError, match=r"must hold at least one item, got no rows"):
        read_items(path)


@pytest.mark.parametrize(
    "spoil",
    [lambda data: b"plain text", lambda data: data[:-20], lambda data: data[:8] + b"\xff" * 300],
)
def test_what_is_not_parquet_is_refused(parquet, spoil):
    path = parquet({"response": [f"{n}" for n in range(1_000)]})
    path.write_bytes(spoil(path.read_bytes()))

    with pytest.raises(InputError, match=r"items.parquet: must be a whole Parquet file, got"):
        read_items(path)


def test_whole_numbers_of_a_database_are_ids(parquet):
    path = parquet({"id": [Decimal("12.00"), Decimal("1.50")], "response": ["a", "b"]})

    table = read_items(path)

    assert [found.id for found in table.items] == ["12", "1.50"]


def test_an_empty_file_holds_no_items(tmp_path):
    (tmp_path / "items.parquet").write_bytes(b"")

    with pytest.raises(NoDataError, match=r"must hold at least one item, got an empty file"):
        read_items(tmp_path / "items.parquet")


def test_a_missing_file_and_an_address_are_refused():
    places = {
        "nowhere.parquet": "must be a file that exists",
        "https://example.org/items.parquet": r"must be on a disk.*Download it",
        "s3://bucket/items.parquet": r"must be on a disk.*mount the bucket",
    }
    for source, rule in places.items():
        with pytest.raises(InputError, match=f"`source` {rule}"):
            read_items(source)
