"""Workbooks of labels, items and metadata."""

import io
import sys

import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_items, read_labels, read_metadata
from workbooks import workbook

LABELS = [["item", "ann", "bob"], ["007", 3, 2.5], [None, None, None], [8, None, 4]]


def read(data, **declared):
    declared = {"role": "annotator", "kind": "choice", **declared}
    return read_labels(io.BytesIO(data), format="xlsx", **declared)


def test_whole_numbers_stay_whole_and_lines_are_rows(labels_of):
    table = read(workbook(first=LABELS))

    assert labels_of(table) == {("007", "ann"): "3", ("007", "bob"): "2.5", ("8", "bob"): "4"}
    assert table.frame["line"].to_list() == [2, 2, 4]


def test_labels_stand_on_any_sheet_in_any_shape(labels_of):
    data = workbook(
        about=[["title"], ["Labels"]],
        long=[
            ["item", "annotator", "label"],
            [1, "ann", True],
            [2, "ann", False],
            [3, "ann", None],
        ],
        sets=[["item", "ann", "bob"], [1, "a|b", None]],
        hot=[["item", "annotator", "rude", "spam"], [1, "ann", 1, 0], [2, "ann", 0, 0]],
    )

    truths = read(data, sheet="long", kind=None)
    sets = read(data, sheet="sets", kind="multilabel", separator="|")
    hot = read(data, sheet="hot", kind="multilabel")

    assert (truths.kind, labels_of(truths)) == (
        "boolean",
        {("1", "ann"): "true", ("2", "ann"): "false"},
    )
    assert [(drop.reason, drop.line) for drop in truths.dropped] == [("missing label", 4)]
    assert labels_of(sets) == {("1", "ann"): ["a", "b"], ("1", "bob"): []}
    assert labels_of(hot) == {("1", "ann"): ["rude"], ("2", "ann"): []}
    with pytest.raises(InputError, match=r"`sheet` must exist, got 'none'\. The workbook has"):
        read(data, sheet="none")


def test_the_ending_of_a_name_tells_a_workbook(tmp_path):
    path = tmp_path / "labels.xlsx"
    path.write_bytes(workbook(first=LABELS))

    assert read_labels(path, role="annotator", kind="choice").frame.height == 3
    assert read_metadata(path).rows() == [("007", 3.0, 2.5), ("8", None, 4.0)]


def test_rows_of_a_workbook_are_items(item):
    rows = [[None], ["id", "prompt", "response", None], [1, "Hi", "a\nb"], [2, "Hi", True]]

    table = read_items(io.BytesIO(workbook(first=rows)), format="xlsx")

    assert table.items == (item("a\nb", id="1"), item("true", id="2"))


def test_another_sheet_is_read_by_its_name(item):
    data = workbook(first=LABELS, second=[["id", "response"], [1, "r"]])

    assert read_items(io.BytesIO(data), format="xlsx", sheet="second").items[0].response == "r"
    with pytest.raises(
        InputError, match=r"`sheet` must exist, got 'third'.*: declare sheet='second'"
    ):
        read_items(io.BytesIO(data), format="xlsx", sheet="third")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"PK\x03\x04", InputError, r"<stream>: must be a workbook, got '.*Save it again as \.xl"),
        (b"", NoDataError, r"<stream>: must hold at least one label, got an empty file"),
        (
            workbook(first=[]),
            NoDataError,
            r"<stream>: must hold at least one label, got an empty s",
        ),
        (
            workbook(first=[["item", "ann"]]),
            NoDataError,
            r"must hold at least one label, got no row",
        ),
        (workbook(first=[["a", "a"], [1, 2]]), InputError, r":1: column `a` must appear once"),
        (workbook(first=[["a"], [1]]), InputError, r"<stream>: "),
    ],
)
def test_what_holds_no_labels_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        read(data)


def test_without_fastexcel_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)

    with pytest.raises(
        InputError, match=r"needs fastexcel\. Install it with `pip install 'voirdire\[xlsx\]'`"
    ):
        read(workbook(first=LABELS))


SCORES = [*LABELS, ["t3", 4, 4], ["t4", None, 2]]


@pytest.mark.parametrize(
    ("rows", "stray"),
    [
        ([["Annotation study"], [None], *SCORES], [("title above the header", 1)]),
        ([[None, "People"], *SCORES], [("title above the header", 1)]),
        (
            [SCORES[0], ["# round 1"], *SCORES[1:], SCORES[0]],
            [("comment", 2), ("the header again", 8)],
        ),
        ([*SCORES, ["Total", 7, 12.5], ["n", 2, 4]], [("total", 7), ("total", 8)]),
        ([[*row, None, " "] for row in SCORES], []),
    ],
)
def test_rows_of_a_sheet_that_are_no_data_are_left_out_and_said(rows, stray, labels_of):
    table = read(workbook(first=rows), kind="scale")

    assert labels_of(table) == labels_of(read(workbook(first=SCORES), kind="scale"))
    assert [(row.reason, row.line) for row in table.dropped] == stray
    assert len(table.notes) == bool(stray)


@pytest.mark.parametrize(
    ("cover", "message"),
    [
        ([["Annotation study"], [], ["by ann"]], r"must hold a table, got 'Annotation study'"),
        ([["Study", "pilot"], ["Date", "May"]], r"column `item` must exist, got columns 'Study'"),
        ([[None]], r"the first sheet, 'cover', must hold a table, got ''"),
    ],
)
def test_a_cover_sheet_is_refused_with_the_names_of_the_sheets(cover, message, labels_of):
    data = workbook(cover=cover, labels=LABELS, notes=[["x"]])

    with pytest.raises(InputError, match=message) as refused:
        read(data)
    assert str(refused.value).endswith(
        "The workbook has the sheets 'cover', 'labels', 'notes': declare sheet='labels'."
    )
    assert len(labels_of(read(data, sheet="labels"))) == 3


def test_the_first_of_several_sheets_is_read_and_said():
    table = read(workbook(first=LABELS, second=[["item", "ann"], [9, 5]]))

    assert len(table.frame) == 3
    assert table.notes == (
        (
            "<stream>: its first sheet was read. The workbook has the sheets 'first', 'second': "
            "declare sheet='second'."
        ),
    )
