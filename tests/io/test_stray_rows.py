"""Rows of a table that are no data: left out and said, or refused with the line and a way out."""

import pytest

from voirdire.errors import InputError

HEADER = "item,ann,bob"
ROWS = ["t1,1,2", "t2,4,4", "t3,2,2", "t4,5,3", "t5,3,4"]
BODY = "\n".join(ROWS)
CLEAN = f"{HEADER}\n{BODY}\n"


@pytest.fixture
def scale_of(read, labels_of):
    """Read a file of a scale; give its labels, and reason and line of what was left out."""

    def read_scale(text, **declared):
        table = read(text, kind="scale", **declared)
        assert bool(table.dropped) == any("left out as no data" in note for note in table.notes)
        return labels_of(table), [(row.reason, row.line) for row in table.dropped]

    return read_scale


TITLE, AGAIN = "title above the header", "the header again"


@pytest.mark.parametrize(
    ("text", "stray"),
    [
        # totals: 1+4+2+5+3 = 15, 2+4+2+3+4 = 15; means 3 and 3
        (CLEAN + "Total,15,15", [("total", 7)]),
        (
            CLEAN + "\n\nSum,15,15\nMean:,3.0,3.00\nn,5,5\nStd,1.58,1\n",
            [("total", n) for n in (9, 10, 11, 12)],
        ),
        (CLEAN + "合计,15,15\n平均值,3.0,3.0\n", [("total", 7), ("total", 8)]),
        (CLEAN + "GRAND TOTAL,15\n", [("total", 7)]),
        (
            CLEAN + "Total (5 items),15,15\nSumme,15,15\nOverall,3.0,\n",
            [("total", n) for n in (7, 8, 9)],
        ),
        (CLEAN + "Median,3,3\nKappa,.61,\n", [("total", 7), ("total", 8)]),
        (CLEAN + "Average,3,3\n".replace("3,3", "3.0,3.0"), [("total", 7)]),
        # comments
        (
            f"# exported 2026\n# by ann, on a train, in May\n{CLEAN}",
            [("comment", 1), ("comment", 2)],
        ),
        (f"{HEADER}\n{ROWS[0]}\n# it's 5\" wide\n" + "\n".join(ROWS[1:]), [("comment", 3)]),
        (
            f"{HEADER}\n{ROWS[0]}\n#,,\n#second round,,\n" + "\n".join(ROWS[1:]),
            [("comment", 3), ("comment", 4)],
        ),
        (CLEAN + "# end\n", [("comment", 7)]),
        # what Excel reads as the separator
        (f"sep=,\n{CLEAN}", [("separator line", 1)]),
        ('"sep=;"\r\n' + CLEAN.replace(",", ";").replace("\n", "\r\n"), [("separator line", 1)]),
        ("SEP=|\n" + CLEAN.replace(",", "|"), [("separator line", 1)]),
        # titles
        (f"Annotation study 2026\n\n{CLEAN}", [(TITLE, 1)]),
        ("Study, July 2026\n" + CLEAN.replace(",", ";"), [(TITLE, 1)]),
        (f"Study:,,\nby ann,,\n{CLEAN}", [(TITLE, 1), (TITLE, 2)]),
        (f",Annotators,\n{CLEAN}", [(TITLE, 1)]),
        (f"Study 2026\n# by ann\n{CLEAN}", [(TITLE, 1), ("comment", 2)]),
        # the header of the next file
        (f"{HEADER}\n{ROWS[0]}\n{HEADER}\n" + "\n".join(ROWS[1:]), [(AGAIN, 3)]),
        (CLEAN.replace("\n", "\r\n") + HEADER, [(AGAIN, 7)]),
        # empty columns and lines
        (CLEAN.replace("\n", ",,\n"), []),
        (HEADER + "\n" + BODY.replace("\n", ",\n"), []),
        (f"{HEADER},\n{BODY}\n\n,,\n", []),
    ],
)
def test_rows_that_are_no_data_are_left_out_and_said(scale_of, text, stray):
    clean, _ = scale_of(CLEAN)

    assert scale_of(text) == (clean, stray)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CLEAN + "Mean,3,4\n", r":7: row must be an item, got 'Mean', which is a word for a total"),
        (CLEAN + "合计,4,4\n", r":7: row must be an item, got '合计'"),
        (CLEAN + "n,2,2\nMax,5,4\n", r":8: row must be an item, got 'Max'.* Delete the row"),
        (f"{HEADER}\n#t9,1,2\n{BODY}", r":2: row must be a comment or an item, got '#t9,1,2'"),
        (
            f"{CLEAN}# end, of, it\n",
            r":7: row must be a comment .* cell in quotes if it is an item",
        ),
        (
            f"Study, May, 2026\n{HEADER},cem\n" + BODY.replace("\n", ",1\n") + ",1",
            r"2: row must have 3 fields like the header, got 4\. If it is the header, delete",
        ),
        (f"#{CLEAN}", r"column `item` must exist, got columns '#item'"),
        (
            CLEAN + "(5 rows)\n",
            r":7: row must have 3 fields like the header, got 1\. .* delete the line if",
        ),
    ],
)
def test_a_row_that_may_be_data_is_refused_with_its_line_and_a_way_out(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text, kind="scale")


@pytest.mark.parametrize(
    "rows",
    [
        "total,yes,no\nfoo,no,no\nmean,yes,yes\n",  # words are items
        "#1,yes,no\n#2,no,no\n#3,yes,yes\n",
        "t1,n,y\nt2,y,y\nt3,n,n\n",
        't1,"# no\n# comment\nitem,ann,bob","# no\n# comment\nitem,ann,bob"\n',
        "t1,,yes\nt2,,\nt3,yes,no\n",
    ],
)
def test_rows_of_labels_stay(read, rows):
    table = read(f"item,ann,bob\n{rows}", raters=["ann", "bob"], kind="text")

    assert table.dropped == table.notes == ()
    assert table.frame["line"].max() == 2 if '"' in rows else rows.count("\n") + 1
