import gzip
import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_items, stream_items

ROWS = [
    {"id": "a", "prompt": "Hi", "response": "Hello.\nYou 你好"},
    {"prompt": "p"},
    {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
    {"id": 9, "response": "", "chosen": None},
]
LINES = [json.dumps(row, ensure_ascii=False).encode() for row in ROWS]
JSONL = b"\xef\xbb\xbf" + LINES[0] + b"\r\n\n  \n" + b"\n".join(LINES[1:]) + b"\nnot json"
CSV = b'\xef\xbb\xbfid,prompt,response\r\n\r\n1,Hi,"a ""b"",\r\n\xe4\xbd\xa0"\n2,,""\n\n3,"",y'


def parquet_bytes():
    data = io.BytesIO()
    pl.DataFrame({"response": ["r"]}).write_parquet(data)
    return data.getvalue()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize(("data", "written"), [(JSONL, "jsonl"), (CSV, "csv")])
def test_chunks_may_end_anywhere(trickle, data, written, size):
    whole = read_items(io.BytesIO(data), format=written)

    pieces = read_items(trickle(data, size), format=written)

    assert pieces == whole


def test_lines_are_numbered_as_an_editor_does():
    table = read_items(io.BytesIO(JSONL))

    assert [found.id for found in table.items] == ["a", "stream:5", "9"]
    assert [(drop.line, drop.reason[:24]) for drop in table.dropped] == [
        (4, "no response: no column h"),
        (7, "line must be JSON, got '"),
    ]


@given(
    st.lists(st.sampled_from([*LINES, b"", b"[1]", b"{"]), min_size=1, max_size=30),
    st.integers(1, 7),
)
def test_streaming_gives_what_reading_gives(lines, batch_size):
    data = b"\n".join([b'{"id": "first", "response": "r"}', *dict.fromkeys(lines)])

    batches = list(stream_items(io.BytesIO(data), batch_size=batch_size))

    table = read_items(io.BytesIO(data))
    assert tuple(item for batch in batches for item in batch.items) == table.items
    assert tuple(drop for batch in batches for drop in batch.dropped) == table.dropped
    n_rows = [batch.n_rows for batch in batches]
    assert set(n_rows[:-1]) <= {batch_size}
    assert sum(n_rows) == 1 + len(dict.fromkeys(lines)) - (b"" in lines)


def test_a_batch_of_rows_without_items_is_a_batch():
    data = b'{"prompt": "p"}\n{"prompt": "p"}\n{"response": "r"}'

    batches = list(stream_items(io.BytesIO(data), batch_size=2))

    assert [(len(batch.items), len(batch.dropped), batch.n_rows) for batch in batches] == [
        (0, 2, 2),
        (1, 0, 1),
    ]


def test_a_batch_of_long_rows_ends_early():
    row = json.dumps({"response": "x" * 9_000_000}).encode()

    batches = list(stream_items(io.BytesIO(b"\n".join([row] * 5))))

    assert [batch.n_rows for batch in batches] == [4, 1]


def test_nothing_is_read_before_it_is_asked_for():
    data = b'{"response": "r"}\n' * 3 + b"\xff\n"
    batches = stream_items(io.BytesIO(data), batch_size=3)

    first = next(batches)

    assert len(first.items) == 3
    with pytest.raises(InputError, match=r"<stream>:4: text must be UTF-8, got byte 0xff"):
        next(batches)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "line must be JSON, got the end at character 2"),
        (b'{"response": "a\x00b"}', "line must be JSON, got"),
        (b"[1, 2]", "row must be a JSON object, got [1, 2]"),
        (b'"text"', "row must be a JSON object, got 'text'"),
        (b"3", "row must be a JSON object, got 3"),
        (b"null", "row must be a JSON object, got None"),
        (b'{"response": "\\ud800"}', "text must be Unicode, got half a surrogate pair"),
        (b"[" * 100_000, "line must be JSON of sensible depth and numbers"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "line must be JSON of sensible depth and numbers"),
        (b'{"response": "r"} {"response": "s"}', 'line must be JSON, got \'{"response": '),
    ],
)
def test_a_line_that_cannot_be_read_is_set_aside(line, reason):
    table = read_items(io.BytesIO(b'{"response": "r"}\n' + line + b'\n{"response": "s"}'))

    assert [found.response for found in table.items] == ["r", "s"]
    (drop,) = table.dropped
    assert drop.line == 2
    assert drop.reason.startswith(reason)
    assert drop.reason.isprintable()
    assert len(drop.reason) < 250


def test_nan_is_nothing_and_control_characters_stay():
    table = read_items(io.BytesIO(b'{"id": NaN, "response": "a\\u0000\\u202eb", "score": NaN}'))

    assert table.items[0].id == "stream:1"
    assert table.items[0].response == "a\x00\u202eb"
    assert table.items[0].metadata == {}


@pytest.mark.ci
def test_a_line_beyond_the_limit_is_set_aside_and_the_next_is_read():
    fits = json.dumps({"response": "x" * ((1 << 24) - 16)}).encode()
    assert len(fits) == 1 << 24
    data = b"\n".join([fits, fits + b" ", b'{"response": "r"}', b"x" * (1 << 25)])

    table = read_items(io.BytesIO(data))

    assert [len(found.response) for found in table.items] == [(1 << 24) - 16, 1]
    assert [(drop.line, drop.reason) for drop in table.dropped] == [
        (2, "line must be at most 16 MiB, got more"),
        (4, "line must be at most 16 MiB, got more"),
    ]


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \n\t\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("written", ["jsonl", "csv", "json"])
def test_an_empty_file_holds_no_items(data, written):
    if written == "csv" and data.strip(b"\n\xef\xbb\xbf"):
        pytest.skip("a line of white space is a header")

    with pytest.raises(NoDataError, match=r"<stream>: must hold"):
        read_items(io.BytesIO(data), format=written)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("train.jsonl", None),
        ("train.NDJSON", None),
        ("train.v2.txt", "jsonl"),
        ("train.jsonl.gz", None),
    ],
)
def test_items_are_called_after_their_file(tmp_path, name, written):
    path = tmp_path / name
    opened = gzip.open if name.endswith(".gz") else open
    with opened(path, "wb") as file:
        file.write(b'\n{"response": "r"}')

    by_path = read_items(path, format=written)
    by_name = read_items(str(path), format=written)

    stem = "train.v2" if "v2" in name else "train"
    assert [found.id for found in by_path.items] == [f"{stem}:2"]
    assert by_name == by_path


def test_an_open_file_is_read_and_left_open(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_bytes(b'{"response": "r"}')

    with path.open("rb") as file:
        table = read_items(file)

        assert not file.closed
    assert table.items[0].id == "train:1"


def test_standard_input_is_jsonl_unless_said_otherwise(monkeypatch):
    class Standard:
        def __init__(self, data):
            self.buffer = io.BytesIO(data)

    monkeypatch.setattr(sys, "stdin", Standard(b'{"response": "r"}\n{}'))
    lines = read_items("-")
    monkeypatch.setattr(sys, "stdin", Standard(b"response\nr"))
    cells = read_items("-", format="csv")

    assert [found.id for found in lines.items] == ["stdin:1"]
    assert lines.dropped[0].place() == "<stdin>:2"
    assert [found.id for found in cells.items] == ["stdin:2"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "`source` must be a file that exists, got"),
        (lambda path: path.mkdir(), "`source` must be files of items, or a folder with some"),
        (lambda path: path.write_bytes(b"plain"), "must be a file that can be read, got .Not a gz"),
        (
            lambda path: path.write_bytes(gzip.compress(b"x" * 9_999)[:-9]),
            "must be a file that can be read, got 'Compressed file ended",
        ),
        (
            lambda path: path.write_bytes(b"\x1f\x8b\x08" + b"\x00" * 7 + b"\xff" * 20),
            "must be a file that can be read, got 'Error -3 while decompressing",
        ),
    ],
)
def test_a_file_that_cannot_be_opened_is_refused(tmp_path, make, message):
    path = tmp_path / "items.jsonl.gz"
    make(path)

    with pytest.raises(InputError, match=message):
        read_items(path)


def test_a_name_that_no_system_takes_is_refused():
    with pytest.raises(InputError, match="must be a file that can be read"):
        read_items("a\x00b.jsonl")


def test_a_name_that_says_nothing_is_refused():
    with pytest.raises(InputError, match=r"must end in one of .*_streaming.py'. Declare its `form"):
        stream_items(Path(__file__))


@pytest.mark.parametrize("written", ["jsonl", "csv", "json"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b'{"response": "r"}', mtime=0), "got what gzip wrote. Unpack it"),
        (b"PK\x03\x04\x14", "got a workbook or a zip archive. Save its table as CSV"),
        (parquet_bytes(), "got Parquet. Declare format='parquet'"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(data, message, written):
    with pytest.raises(InputError, match=f"<stream>: must be text, {message}"):
        read_items(io.BytesIO(data), format=written)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "gb18030", "utf-8-sig"])
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_text_of_every_encoding_is_read(trickle, encoding, size):
    text = "é\u00a0\n" if encoding == "cp1252" else "é你好\n"
    data = f'id,response\r\n1,"{text}"\r\n2,z'.encode(encoding)
    declared = None if encoding in ("utf-16", "utf-8-sig") else encoding

    table = read_items(trickle(data, size), format="csv", encoding=declared)

    assert [found.response for found in table.items] == [text, "z"]


def test_a_mark_is_no_part_of_text_in_a_declared_encoding():
    data = "\ufeffid,response\n1,是".encode("utf-16-be")

    table = read_items(io.BytesIO(data), format="csv", encoding="utf-16-be")

    assert [(found.id, found.response) for found in table.items] == [("1", "是")]


def test_lines_of_utf_16_are_objects():
    data = '{"response": "是"}\n{"response": "r"}'.encode("utf-16")

    assert [found.id for found in read_items(io.BytesIO(data)).items] == ["stream:1", "stream:2"]


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (
            b"response\ncaf\xe9\n",
            None,
            r":2: text must be UTF-8, got byte 0xe9 at offset 12\. Save",
        ),
        (b"response\ncaf\xe9\n", None, r"Save it as UTF-8, or declare encoding='cp1252' for 'é'"),
        (b"response\n\xff\xff", "gb18030", r":2: text must be GB18030, got byte 0xff at offset 9"),
        ("response\nr".encode("utf-16-le"), "utf-16", r":1: text must be UTF-16, got byte 0x72"),
        (b"response\nr", "utf-9", r"`encoding` must be one that Python knows, got 'utf-9'"),
        (b"response\nr", "hex", r"`encoding` must be one that Python knows, got 'hex'"),
        (b"response\nr", "\0", r"`encoding` must be one that Python knows"),
    ],
)
def test_what_is_no_text_in_its_encoding_is_refused_with_its_place(data, encoding, message):
    with pytest.raises(InputError, match=message):
        read_items(io.BytesIO(data), format="csv", encoding=encoding)


@pytest.mark.parametrize("written", ["jsonl", "csv"])
def test_a_stream_of_text_is_refused(written):
    with pytest.raises(InputError, match=r"stream must give bytes, got str. Open it with 'rb'"):
        read_items(io.StringIO("{}"), format=written)


@pytest.mark.parametrize("stream", [io.StringIO("[]"), io.StringIO("PAR1")])
@pytest.mark.parametrize("written", ["json", "parquet"])
def test_a_document_of_text_is_refused(stream, written):
    with pytest.raises(InputError, match=r"stream must give bytes, got str. Open it with 'rb'"):
        read_items(stream, format=written)
