"""Files as text: opened, decoded, and split into lines and records."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import join_tables, read_items, read_labels

LONG = "item,annotator,label\n1,ann,yes\n"


@pytest.mark.parametrize("name", ["x.csv", "x.TSV", "x.jsonl", "x.ndjson", "x.JSON", "a.b.parquet"])
def test_the_ending_of_a_name_tells_the_format(tmp_path, name):
    path = tmp_path / name
    row = {"item": "1", "annotator": "ann", "label": "yes"}
    ending = path.suffix.lower()
    if ending == ".parquet":
        pl.DataFrame([row]).write_parquet(path)
    elif ending in (".csv", ".tsv"):
        path.write_text(LONG.replace(",", "\t" if ending == ".tsv" else ","))
    else:
        path.write_text(json.dumps([row] if ending == ".json" else row))

    table = read_labels(path, role="annotator", kind="choice")

    assert table.frame.select("item", "rater", "label").rows() == [("1", "ann", "yes")]


def test_a_stream_is_jsonl_unless_it_is_declared():
    row = {"item": "1", "annotator": "ann", "label": "yes"}

    table = read_labels(io.BytesIO(json.dumps(row).encode()), role="annotator", kind="choice")

    assert table.frame["source"].to_list() == ["<stream>"]


def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").touch()

    with pytest.raises(InputError, match=r"must end in one of \.csv.*got 'x\.txt'\. Declare its"):
        read_labels("x.txt", role="annotator", kind="choice")


@pytest.mark.parametrize(("name", "rule"), [("none", "that exists"), (".", "got the folder")])
def test_a_missing_file_and_a_folder_are_told_before_an_unknown_ending(name, rule):
    with pytest.raises(InputError, match=f"must be a file,? {rule}"):
        read_labels(name, role="annotator", kind="choice")


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match=r"`format` must be one of 'csv'.* got 'xls'"):
        read_labels("x.csv", role="annotator", kind="choice", format="xls")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_a_file_that_does_not_exist_is_refused(tmp_path, ending):
    with pytest.raises(InputError, match=r"`source` must be a file that exists, got .*nowhere"):
        read_labels(tmp_path / f"nowhere.{ending}", role="annotator", kind="choice")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_a_folder_is_refused(tmp_path, ending):
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()

    with pytest.raises(InputError, match=r"`source` must be a file, got the folder .*folder"):
        read_labels(folder, role="annotator", kind="choice")


def test_a_path_that_no_system_accepts_is_refused():
    with pytest.raises(InputError, match=r"must be a file that can be read, got 'a\\x00\.csv'"):
        read_labels("a\0.csv", role="annotator", kind="choice")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("content", [b"", b" \n \n"])
def test_an_empty_file_is_no_data(tmp_path, ending, content):
    path = tmp_path / f"empty.{ending}"
    path.write_bytes(content)
    if ending == "parquet" and content:
        pytest.skip("white space is a broken Parquet file, not an empty one")

    with pytest.raises(NoDataError, match=r"empty\.\w+: must hold at least one label"):
        read_labels(path, role="annotator", kind="choice")


def test_standard_input_is_read(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(LONG.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)

    table = read_labels("-", format="csv", role="annotator", kind="choice")

    assert table.frame["source"].to_list() == ["<stdin>"]
    assert table.frame["label"].to_list() == ["yes"]


def test_an_open_file_is_called_by_its_name(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(LONG)

    with path.open("rb") as stream:
        table = read_labels(stream, format="csv", role="annotator", kind="choice")

    assert table.frame["source"].to_list() == [str(path)]


def test_a_text_stream_is_refused():
    with pytest.raises(InputError, match=r"stream must give bytes, got str\. Open it with 'rb'"):
        read_labels(io.StringIO(LONG), format="csv", role="annotator", kind="choice")


@pytest.mark.parametrize(
    ("form", "start"),
    [("csv", "item,annotator,label\n1,是,"), ("jsonl", '{"item": 1}\n"'), ("json", '[\n"')],
)
def test_bytes_that_are_not_utf_8_are_refused_with_line_and_byte(read, form, start):
    data = start.encode() + b"\xe9t\xe9\n"

    message = rf":2: text must be UTF-8, got byte 0xe9 at offset {len(start.encode())}"
    with pytest.raises(InputError, match=message):
        # a table none of whose letters is UTF-8 would be taken for Windows-1252
        read(data, format=form)


@pytest.mark.edges
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_tables_of_other_programs_are_read(read, labels_of, mark, encoding):
    text = "item,annotator,label\r\n1,Zoë,“oui”\r\n".replace(",", mark)

    assert labels_of(read(text.encode(encoding))) == {("1", "Zoë"): "“oui”"}


@pytest.mark.parametrize(
    ("encoding", "declared", "is_noted"),
    [
        ("cp1252", None, True),
        ("cp1252", "cp1252", False),
        ("mac-roman", "mac-roman", False),
        ("utf-16-le", "utf-16-le", False),
        ("utf-16", None, False),
        ("utf-8-sig", None, False),
    ],
)
def test_only_an_encoding_that_was_guessed_is_noted(read, encoding, declared, is_noted):
    table = read("item;annotator;label\n1;Zoë;été\n".encode(encoding), encoding=declared)

    assert table.frame.select("rater", "label").rows() == [("Zoë", "été")]
    assert [note.partition(",")[0] for note in table.notes] == [
        "<stream> was read as Windows-1252"
    ] * is_noted


def test_notes_of_tables_join(read):
    texts = [f"item,annotator,label\n1,{name},été\n" for name in ("ann", "Zoë", "bob")]
    encodings = ["cp1252", "utf-8", "cp1252"]

    tables = [read(text.encode(code)) for text, code in zip(texts, encodings, strict=True)]

    assert len(join_tables(tables).notes) == 2


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('"item";"annotator";"my, very, own, label"\n1;ann;x\n', "x"),
        ("item\tannotator\tmy, label\n1\tann\tx;y\n", "x;y"),
        ("item|annotator|label\n1|ann|x,y\n", "x,y"),
    ],
)
def test_what_parts_a_header_most_often_parts_the_fields(read, labels_of, text, labels):
    name = next((name for name in ("my, label", "my, very, own, label") if name in text), "label")

    assert labels_of(read(text, columns={"label": name})) == {("1", "ann"): labels}


def test_a_delimiter_may_be_declared(read, labels_of):
    assert labels_of(read("item~ann~bob\n1~x~y\n", delimiter="~")) == {
        ("1", "ann"): "x",
        ("1", "bob"): "y",
    }
    with pytest.raises(InputError, match=r"got columns 'item;ann;bob'\. Declare the `delimiter`"):
        read("item;ann;bob\n1;x;y\n", delimiter=",")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"delimiter": ";;"}, "`delimiter` must be one ASCII character but the quote, got ';;'"),
        ({"delimiter": '"'}, "`delimiter` must be one ASCII character but the quote"),
        ({"encoding": "latin-9000"}, "`encoding` must be one that Python knows, got 'latin-9000'"),
    ],
)
def test_what_cannot_part_or_encode_is_refused(read, declared, message):
    with pytest.raises(InputError, match=message):
        read(LONG, **declared)


def test_bytes_that_are_text_in_no_encoding_are_refused(read):
    # 0x81 is no letter of Windows-1252
    with pytest.raises(InputError, match=r":2: text must be UTF-8, got byte 0x81 at offset 27"):
        read(b"item,annotator,label\n1,ann,\x81\n")


@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_a_packed_file_is_unpacked(tmp_path, monkeypatch, form, packer):
    row = {"item": "1", "annotator": "ann", "label": "yes"}
    text = LONG if form == "csv" else json.dumps(row if form == "jsonl" else [row])
    ending = {gzip: "gz", bz2: "bz2", lzma: "xz"}[packer]
    path = tmp_path / f"labels.{form}.{ending}"
    path.write_bytes(packer.compress(text.encode()))

    table = read_labels(path, role="annotator", kind="choice")
    standard_input = io.TextIOWrapper(io.BufferedReader(io.BytesIO(path.read_bytes())))
    monkeypatch.setattr("sys.stdin", standard_input)
    streamed = read_labels("-", format=form, role="annotator", kind="choice")

    assert table.frame.select("item", "rater", "label").rows() == [("1", "ann", "yes")]
    assert streamed.frame.select("item", "rater", "label").rows() == [("1", "ann", "yes")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item,ann\n1,y\n2,n\n".encode("utf-16-le"),
            r":1: a header must hold no NUL, .* encoding='utf-16-le'",
        ),
        ("item,ann\n1," + "x" * (1 << 23), r":2: row must be at most 8 MiB, got more"),
        ("item," + ",".join(map(str, range(1_000_000))), r"at most 16,384 columns, got 1,000,001"),
    ],
    ids=["utf-16", "cell", "columns"],
)
def test_what_no_table_holds_is_refused_in_one_line(read, monkeypatch, text, message):
    monkeypatch.setattr("voirdire.io.rows._MAX_LINE_BYTES", 1 << 23)

    with pytest.raises(InputError, match=message):
        read(text)


@pytest.mark.ci
def test_rows_of_a_million_keys_are_refused(read):
    row = json.dumps({"item": 1} | {str(n): "y" for n in range(1_000_000)})

    with pytest.raises(InputError, match="a table must have at most 16,384 columns, got more"):
        read(f"{row}\n{row}\n", format="jsonl")


@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
def test_a_packed_file_of_any_size_is_not_held(tmp_path, monkeypatch, packer):
    monkeypatch.setattr("voirdire.io.files._MAX_UNPACKED", 1 << 20)
    path = tmp_path / f"labels.csv.{'gz' if packer is gzip else 'bz2' if packer is bz2 else 'xz'}"
    path.write_bytes(packer.compress(b"item,ann\n" + b"1,yes\n" * (1 << 19)))

    with pytest.raises(InputError, match=r"must unpack to at most .*Unpack it first"):
        read_labels(path, role="annotator")


@pytest.mark.ci
@pytest.mark.parametrize("cut", [0, 1])
def test_long_text_of_long_characters_is_read_whole(read, cut):
    # The text is checked by pieces of some megabytes, which may end inside a character.
    label = "a" * cut + "是" * 6_000_000

    table = read(f"item,annotator,label\n1,ann,{label}\n", kind="text")

    assert table.frame["label"].to_list() == [label]


def test_a_character_that_the_end_cuts_is_refused(read):
    data = '{"item": 1}\n"是'.encode()[:-1]

    with pytest.raises(InputError, match=r":2: text must be UTF-8, got byte 0xe6 at offset 13"):
        read(data, format="jsonl")


def test_items_of_a_data_frame_are_read_by_another_function():
    with pytest.raises(
        InputError, match=r"got DataFrame\. Read a data frame by `items_from_frame`"
    ):
        read_items(pl.DataFrame({"item": ["a"]}), format="csv")


@pytest.mark.parametrize("source", [[{"item": "a"}], None, b"item"])
@pytest.mark.parametrize("written", [None, "csv", "parquet"])
def test_what_is_no_file_is_refused(source, written):
    with pytest.raises(InputError, match=r"`source` must be a file, a data frame or"):
        read_labels(source, format=written, role="annotator", kind="choice")
    with pytest.raises(InputError, match=rf"got {type(source).__name__}. Read a data frame by"):
        read_items(source, format=written)


# Records and the lines on which they start --------------------------------------------------------


FIELDS = st.text(alphabet='ab,"\n\r\t|是 ', max_size=6)


def rows_of(table):
    return table.frame.select("item", "rater", "label", "line").rows()


def test_lines_are_physical_lines(read):
    table = read('item,ann\n1,"x\n\ny"\n\n2,z\n"3\n",w\n')

    assert [(item.strip(), line) for item, _, _, line in rows_of(table)] == [
        ("1", 2),
        ("2", 6),
        ("3", 7),
    ]


def test_windows_line_ends_and_a_last_line_without_one(read):
    table = read("item,ann\r\n1,2\r\n\r\n3,4")

    assert rows_of(table) == [("1", "ann", "2", 2), ("3", "ann", "4", 4)]


def test_a_byte_order_mark_is_no_part_of_the_header(read):
    assert rows_of(read('\ufeff"item",ann\n1,2\n')) == [("1", "ann", "2", 2)]


def test_blank_lines_before_the_header_count_as_lines(read):
    assert rows_of(read("\n\nitem,ann\n1,2\n")) == [("1", "ann", "2", 4)]


@pytest.mark.parametrize(("row", "n"), [("1", 1), ("1,2,3", 3), ('"1,2"', 1)])
def test_a_ragged_row_is_refused_with_its_line(read, row, n):
    message = rf"<stream>:3: row must have 2 fields like the header, got {n}\. Quote a field"

    with pytest.raises(InputError, match=message):
        read(f"item,ann\n1,2\n{row}\n3,4\n")


@pytest.mark.parametrize("row", ['1,5" pipe', '1,"x"y', '1,a"b"c', '1, "x"'])
def test_a_quote_inside_a_field_is_refused_with_its_line(read, row):
    with pytest.raises(InputError, match=r"<stream>:3: quotes must enclose a whole field"):
        read(f"item,ann\n1,2\n{row}\n")


def test_a_quote_that_nothing_closes_is_refused_with_its_line(read):
    with pytest.raises(InputError, match=r"<stream>:2: a quote must be closed, got the end"):
        read('item,ann\n1,"x\n2,y\n')


def test_a_column_name_twice_is_refused(read):
    with pytest.raises(InputError, match=r":1: column `ann` must appear once, got it twice"):
        read("ann,item,ann\n1,2,3\n")


def test_blank_lines_alone_are_no_data(read):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label"):
        read("\n\r\n\n")


def written(rows):
    """Write rows by the csv module; give the text and the line on which every row starts."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["item", "note", "ann"])
    starts = []
    for row in rows:
        starts.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)
    return text.getvalue(), starts


@given(fields=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=6))
def test_rows_start_where_the_csv_module_says(fields):
    rows = [(str(n), note, f"x{label}x") for n, (note, label) in enumerate(fields)]
    text, starts = written(rows)

    table = read_labels(
        io.BytesIO(text.encode()), format="csv", role="annotator", kind="text", raters=["ann"]
    )

    parsed = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert rows_of(table) == [
        (item, "ann", label, start) for (item, _, label), start in zip(parsed, starts, strict=True)
    ]


@pytest.mark.slow
def test_rows_of_a_file_of_many_megabytes_start_where_the_csv_module_says():
    # Longer than what is scanned at once, with quotes and line ends all along.
    rows = [(str(n), 'a "quoted"\n' * 40, f"x\n{n}") for n in range(100_000)]
    text, _ = written(rows[:1])
    lines_per_row = text.count("\n") - 1
    whole = io.StringIO(newline="")
    csv.writer(whole).writerows([["item", "note", "ann"], *rows])

    table = read_labels(
        io.BytesIO(whole.getvalue().encode()),
        format="csv",
        role="annotator",
        kind="text",
        raters=["ann"],
    )

    assert table.frame["line"].to_list() == [2 + lines_per_row * n for n in range(100_000)]
    assert table.frame["label"].to_list() == [label for _, _, label in rows]


# Delimited files ----------------------------------------------------------------------------------


def test_labels_keep_their_lines(read):
    table = read('item,annotator,label\n1,ann,"two\nlines"\n\n2,ann,x\n')

    assert table.frame["line"].to_list() == [2, 5]
    assert table.frame["label"].to_list() == ["two\nlines", "x"]


def test_tab_separated_files_keep_commas(read):
    table = read("item\tannotator\tlabel\n1\tann\ta, b\n", format="tsv")

    assert table.frame["label"].to_list() == ["a, b"]


@pytest.mark.parametrize("text", ["item,annotator,label\n", "item,ann,bob", "item,ann\n\n\n"])
def test_a_header_alone_is_no_data(read, text):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one label, got no rows"):
        read(text)


def test_columns_may_have_any_name_but_none(read):
    header = ['ann,"1"', "", "item", "<b>", "é 是"]
    text = io.StringIO()
    csv.writer(text).writerows([header, ["a", "b", "1", "c", "d"]])

    table = read(text.getvalue())

    assert dict(table.frame.select("rater", "label").rows()) == {
        'ann,"1"': "a",
        "<b>": "c",
        "é 是": "d",
    }


@pytest.mark.edges
@pytest.mark.parametrize(
    "label",
    [
        "<script>alert(1)</script>",
        "مرحبا \u200fworld",
        "不确定",
        "a\0b",
        "=1+1",
        "🙂",
        "x" * 1_000_000,
    ],
    ids=["html", "right-to-left", "chinese", "nul", "formula", "emoji", "million"],
)
def test_hostile_labels_pass_through_unharmed(read, label):
    text = io.StringIO()
    csv.writer(text).writerows([["item", "annotator", "label"], ["1", "ann", label]])

    table = read(text.getvalue(), kind="text")

    assert table.frame["label"].to_list() == [label]


def test_ten_thousand_labels_are_ten_thousand_labels(read):
    rows = "".join(f"{n},ann,label {n}\n" for n in range(10_000))

    table = read("item,annotator,label\n" + rows)

    assert table.frame["label"].n_unique() == 10_000


@given(
    rows=st.lists(
        st.tuples(
            st.text(alphabet='ab,"\n 是', min_size=1, max_size=4).filter(str.strip),
            st.text(alphabet='xy,"\r\n\u200f', max_size=5),
        ),
        max_size=8,
        unique_by=lambda row: row[0],
    )
)
def test_labels_are_those_of_the_csv_module(rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["item", "annotator", "label"], *((i, "a", x) for i, x in rows)])
    data = text.getvalue().encode()
    if not rows:
        return

    table = read_labels(io.BytesIO(data), format="csv", role="annotator", kind="text")

    expected = [(item, label) for item, label in rows if label.strip()]
    assert table.frame.select("item", "label").rows() == expected
    assert len(table.dropped) == len(rows) - len(expected)


@given(data=st.binary(max_size=60) | st.text(alphabet='item,abl\n"\r\0', max_size=60))
def test_no_bytes_make_a_foreign_exception(data):
    data = data if isinstance(data, bytes) else data.encode()
    for prefix in (b"", b"item,label\n", b'item,annotator,label\n1,"'):
        try:
            read_labels(io.BytesIO(prefix + data), format="csv", role="annotator", kind="scale")
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_the_field_limit_of_the_csv_module_does_not_bind(read):
    name = "n" * 200_000

    table = read(f"item,{name}\n1,yes\n")

    assert table.frame["rater"].to_list() == [name]


def test_what_polars_refuses_is_refused_in_one_line(read, monkeypatch):
    def refuse(*args, **kwargs):
        raise pl.exceptions.ComputeError("broken\nmore")

    monkeypatch.setattr(pl, "read_csv", refuse)

    with pytest.raises(InputError, match=r"must be a well-formed delimited file, got broken\. W"):
        read("item,ann\n1,x\n")


def test_rows_that_polars_loses_are_noticed(read, monkeypatch):
    parsed = pl.DataFrame({"0": ["item", "1"], "1": ["ann", "x"]})
    monkeypatch.setattr(pl, "read_csv", lambda *args, **kwargs: parsed)

    with pytest.raises(InputError, match=r"well-formed delimited file, got 1 rows where 2 start"):
        read("item,ann\n1,x\n2,y\n")
