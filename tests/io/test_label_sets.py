import polars as pl
import pytest

from voirdire.io import table_from_frame


def column(cells):
    quoted = (cell.replace('"', '""') for cell in cells)
    return "item,annotator,label\n" + "".join(
        f'{n},ann,"{cell}"\n' for n, cell in enumerate(quoted)
    )


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ('["b", "a", "b"]', ["a", "b"]),
        ("[]", []),
        (' ["x|y"] ', ["x|y"]),
        ("[1, 2.0, true]", ["1", "2", "true"]),
        ('{"choices": ["a", "b"]}', ["a", "b"]),
        ('["<script>", "是"]', ["<script>", "是"]),
    ],
)
def test_a_json_array_is_a_set(read, cell, labels):
    table = read(column([cell]), kind="multilabel")

    assert table.frame["label"].to_list() == [labels]
    assert table.frame.schema["label"] == pl.List(pl.String)


@pytest.mark.parametrize("cell", ["a", "a|b", "[a]", '{"a": 1}', "[null]", '[["a"]]', '"a"', "3"])
def test_other_text_is_unknown_and_told_the_way_out(read, cell):
    table = read(column([cell]), kind="multilabel")

    assert table.frame.is_empty()
    assert table.dropped[0].reason == (
        f"unknown label: must be a JSON array of labels, got {cell!r}; "
        'write ["a", "b"], or declare separator="|"'
    )


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("a", ["a"]),
        ("b| a |b", ["a", "b"]),
        ("a||", ["a"]),
        ("|", []),
        ("[]", []),
        ('["a|b"]', ["a|b"]),
        ("[a]|b", ["[a]", "b"]),
    ],
)
def test_a_separator_parts_labels(read, cell, labels):
    table = read(column([cell]), kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [labels]


def test_an_empty_cell_is_missing_and_an_empty_array_an_answer(read):
    table = read(column(["", "[]"]), kind="multilabel")

    assert table.frame.select("item", "label").rows() == [("1", [])]
    assert [drop.reason for drop in table.dropped] == ["missing label"]


def test_a_label_outside_the_declared_ones_makes_the_set_unknown(read):
    table = read(column(['["a"]', '["a", "c"]', "[]"]), kind="multilabel", labels=["a", "b"])

    assert table.frame["label"].to_list() == [["a"], []]
    assert table.dropped[0].reason == (
        "unknown label: must be some of 'a', 'b', got '[\"a\", \"c\"]'"
    )


def test_lists_of_a_typed_format_are_sets():
    frame = pl.DataFrame(
        {"item": [1, 2, 3], "annotator": "ann", "label": [["b", "a", "b"], [], None]}
    )

    table = table_from_frame(frame, role="annotator", kind="multilabel", source_name="frame")

    assert table.frame.select("item", "label").rows() == [("1", ["a", "b"]), ("2", [])]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [("missing label", 3)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([[1, 2], [3]], [["1", "2"], ["3"]]),
        ([[1.0, 2.5]], [["1", "2.5"]]),
        ([[True, False]], [["false", "true"]]),
    ],
)
def test_lists_of_numbers_and_truth_values_are_sets_of_text(labels, expected):
    frame = pl.DataFrame({"item": range(len(labels)), "ann": labels})

    table = table_from_frame(frame, role="annotator", kind="multilabel", source_name="frame")

    assert table.frame["label"].to_list() == expected


def test_lists_are_checked_against_the_declared_labels():
    frame = pl.DataFrame({"item": [1, 2, 3, 4], "ann": [["a"], ["c"], [None], ["Can’t tell "]]})

    table = table_from_frame(
        frame, role="annotator", kind="multilabel", labels=["a", "b"], source_name="frame"
    )

    assert table.frame["label"].to_list() == [["a"]]
    assert [(drop.reason, drop.value) for drop in table.dropped] == [
        ("unknown label: must be some of 'a', 'b', got '[\"c\"]'", '["c"]'),
        (
            """unknown label: must be a JSON array of labels, got '[null]'; \
write ["a", "b"], or declare separator="|\"""",
            "[null]",
        ),
        ("can't tell", None),
    ]


def test_json_lists_and_text_may_stand_together(read):
    lines = [
        '{"item": 1, "annotator": "ann", "label": ["b", "a"]}',
        '{"item": 2, "annotator": "ann", "label": "a"}',
        '{"item": 3, "annotator": "ann", "label": []}',
    ]

    table = read("\n".join(lines), format="jsonl", kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [["a", "b"], ["a"], []]


def test_a_set_of_nothing_but_not_being_able_to_tell_is_no_answer(read):
    cells = ['["Can’t tell"]', "cannot tell", '["cannot tell", "a"]']

    table = read(column(cells), kind="multilabel", separator="|")

    assert table.frame["label"].to_list() == [["a", "cannot tell"]]
    assert [drop.reason for drop in table.dropped] == ["can't tell"] * 2


def test_between_separators_an_empty_cell_of_a_long_table_is_the_empty_set(read, labels_of):
    long = read("item,annotator,label\n1,ann,\n1,bob,a\n", kind="multilabel", separator="|")
    wide = read("item,ann,bob\n1,,a\n", kind="multilabel", separator="|")

    assert labels_of(long) == {("1", "ann"): [], ("1", "bob"): ["a"]}
    assert labels_of(wide) == {("1", "bob"): ["a"]}
