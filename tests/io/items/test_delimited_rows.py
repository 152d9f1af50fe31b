import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_items

CELLS = st.text(st.sampled_from('a",\t\n\r é'), max_size=6)


def test_quotes_newlines_and_separators_stand_inside_quotes(read):
    text = 'id,prompt,response\r\n1,"say ""hi""","a,\nb"\r\n\r\n2,x,y'

    table = read(text, format="csv")

    assert [(found.id, found.prompt[0].content, found.response) for found in table.items] == [
        ("1", 'say "hi"', "a,\nb"),
        ("2", "x", "y"),
    ]


def test_a_record_is_named_by_its_first_line(read):
    table = read('prompt,response\n"a\nb\nc",r\nq,s\n', format="csv")

    assert [found.id for found in table.items] == ["stream:2", "stream:5"]


def test_tabs_separate_tsv(read):
    table = read("id\tresponse\n1\ta,b\n", format="tsv")

    assert table.items[0].response == "a,b"


def test_an_empty_cell_is_an_empty_response_and_no_id(read):
    table = read("id,prompt,response,group\n,,,\n", format="csv")

    (found,) = table.items
    assert (found.id, found.prompt, found.response, found.group) == ("stream:2", (), "", None)


def test_the_unnamed_column_of_pandas_is_no_metadata(read):
    table = read(",Unnamed: 0,response,kind\n0,0,r,k\n", format="csv")

    assert table.items[0].metadata == {"kind": "k"}


def test_messages_in_a_cell_are_json(read):
    messages = (
        '[{""role"":""user"",""content"":""Hi""},{""role"":""assistant"",""content"":""Yo""}]'
    )

    table = read(f'id,messages\n1,"{messages}"\n', format="csv")

    assert table.items[0].response == "Yo"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", r"<stream>: column `response` must exist, got columns 'a', 'b'. Name it wi"),
        ("prompt\nx\n", r"column `response` must exist, got columns 'prompt'"),
        ("response,response\na,b\n", r"<stream>:1: column `response` must appear once"),
        ("id,response\n1,a\n2\n", r"<stream>:3: row must have 2 fields like the header, got 1"),
        ("id,response\n1,a,b\n", r"<stream>:2: row must have 2 fields like the header, got 3"),
        ('id,response\n1,a"b"\n', r"<stream>:2: quotes must enclose a whole field, got '1,a"),
        ('id,response\n1,"a"b\n', r"<stream>:2: quotes must enclose a whole field"),
        (
            'id,response\n1,"a\n2,b\n',
            r"<stream>:2: a quote must be closed, got the end of",
        ),
        ("id,response\r1,a\r", r"<stream>:1: lines must end in a newline, got carriage returns"),
        (b"id,response\n1,\xff\n", r"<stream>:2: text must be UTF-8, got byte 0xff"),
        (b'id,response\n1,"a\n\xff"\n', r"<stream>:3: text must be UTF-8, got byte 0xff"),
        (",".join(f"c{n}" for n in range(31)) + "\n", r"'c0', .* 'c19' and 11 more. Name it"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text, format="csv")


def test_a_declared_column_must_be_in_the_header(read):
    with pytest.raises(InputError, match=r"column `reply` must exist, .*Correct `columns`"):
        read("response\nr\n", format="csv", columns={"response": "reply"})


@pytest.mark.parametrize(
    "data",
    [
        b'response\n"' + (b"x" * 999 + b"\n") * 17_000 + b'"',  # a quote left open runs on
        b"response\n" + b"x" * ((1 << 24) + 1),
    ],
)
def test_a_record_beyond_the_limit_is_refused(read, data):
    with pytest.raises(InputError, match=r"<stream>:2: row must be at most 16 MiB, got more"):
        read(data, format="csv")


@pytest.mark.ci
@pytest.mark.parametrize("cell", [",", '""', '"",', "\n"])
def test_a_cell_of_megabytes_of_marks_is_read_in_passing(read, cell):
    body = cell * (2_000_000 // len(cell))

    table = read(f'id,response\n1,"{body}"\n', format="csv")

    assert table.items[0].response == body.replace('""', '"')


def test_a_header_alone_holds_no_items(read):
    with pytest.raises(NoDataError, match=r"<stream>: must hold at least one item, got no rows"):
        read("prompt,response\n", format="csv")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_says_what_parts_fields(read, mark):
    table = read(
        mark.join(["prompt", '"a, b; c|d"', "response"]) + f"\nx{mark}y{mark}z\n", format="csv"
    )

    (found,) = table.items
    assert (found.prompt[0].content, found.response) == ("x", "z")
    assert found.metadata == {"a, b; c|d": "y"}


def test_a_bar_parts_fields_only_where_nothing_else_does(read):
    assert read("id,response|reply,response\n1,a,b\n", format="csv").items[0].response == "b"
    assert read("response\na,b;c|d\n", format="csv", delimiter="\t").items[0].response == "a,b;c|d"


def test_a_declared_delimiter_parts_fields(read):
    table = read("id#response\n1#a,b\n", format="csv", delimiter="#")

    assert (table.items[0].id, table.items[0].response) == ("1", "a,b")


@pytest.mark.parametrize("delimiter", ['"', "\n", "ab", "是", "\r"])
def test_what_can_part_no_fields_is_refused(read, delimiter):
    with pytest.raises(InputError, match="`delimiter` must be one ASCII character but the quote"):
        read("response\na\n", format="csv", delimiter=delimiter)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6), st.sampled_from([",", "\t"]))
def test_it_reads_what_the_csv_module_writes(rows, separator):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([("prompt", "response"), *rows])
    data = io.BytesIO(text.getvalue().encode())

    table = read_items(data, format="csv" if separator == "," else "tsv")

    assert [
        ("".join(said.content for said in found.prompt), found.response) for found in table.items
    ] == rows


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("Replies of May,,\n,,\nid,prompt,response\n1,a,b\n", [(1, "title above the header")]),
        ("sep=;\nid;prompt;response\n1;a;b\n", [(1, "separator line")]),
        ("# made by hand\nid,prompt,response\n1,a,b\n# end\n", [(1, "comment"), (4, "comment")]),
        ("id,prompt,response\n1,a,b\nid,prompt,response\n", [(3, "the header again")]),
    ],
)
def test_lines_that_are_no_data_are_set_aside(read, text, reasons):
    table = read(text, format="csv")

    assert [item.id for item in table.items] == ["1"]
    assert [(drop.line, drop.reason) for drop in table.dropped if drop.value] == reasons


def test_a_header_that_comes_again_far_below_is_set_aside(read):
    rows = "".join(f"{k},{'a' * 99},b\n" for k in range(4_000))

    table = read(f"id,prompt,response\n{rows}id,prompt,response\n9999,a,b\n", format="csv")

    assert [drop.line for drop in table.dropped] == [4_002]
    assert table.items[-1].id == "9999"


def test_a_line_in_quotes_that_looks_like_a_comment_stays(read):
    (item,) = read('prompt,response\na,"# Title\n# more\nprompt,response\n"\n', format="csv").items

    assert item.response == "# Title\n# more\nprompt,response\n"


@pytest.mark.parametrize(
    ("last", "n_items"),
    [("Total,,3", 2), ("Mean,,4.5\nSum,,9", 2), ("Total,What is it?,3", 3), ("x,,3", 3)],
)
def test_rows_at_the_end_with_a_total_and_figures_are_no_items(read, last, n_items):
    table = read(f"id,prompt,response\na,How?,Like this.\nb,Why?,So.\n{last}\n", format="csv")

    assert len(table.items) == n_items
    reasons = {drop.reason for drop in table.dropped}
    assert reasons == ({"total"} if n_items == 2 else set())


def test_words_for_totals_among_figures_are_items(read):
    table = read("prompt,response\n1 + 1,2\n2 + 2,4\nsum,6\n", format="csv")

    assert len(table.items) == 3
