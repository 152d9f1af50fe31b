import pytest

from voirdire.errors import InputError

ROWS = [{"item": 1, "annotator": "ann", "label": "x"}, {"item": 2, "annotator": "ann"}]


def test_a_list_of_other_objects_is_rows(read_json):
    table = read_json(ROWS)

    assert table.frame.select("item", "label", "line").rows() == [("1", "x", 1)]
    assert [(drop.reason, drop.line) for drop in table.dropped] == [("missing label", 2)]


@pytest.mark.parametrize(
    ("document", "declared", "message"),
    [
        ("x", {}, r"<stream>: JSON must be an object or a list, got 'x'"),
        (ROWS, {"format": "alttest"}, r"JSON must be an object of objects, got a list"),
        ({"a": {}}, {"format": "argilla"}, r"JSON must be a list of records, got a dict"),
        ({"a": {}}, {"format": "label-studio"}, r"JSON must be a list of tasks, got a dict"),
        (ROWS, {"format": "label-studio"}, r"must be a list of tasks with `data` and"),
        (ROWS, {"format": "argilla"}, r"must be a list of records with `responses`"),
        ([1], {}, r"<stream>:1: row must be a JSON object, got 1"),
    ],
)
def test_another_shape_is_refused(read_json, document, declared, message):
    with pytest.raises(InputError, match=message):
        read_json(document, **declared)


def test_broken_json_is_refused_with_line_and_column(read):
    with pytest.raises(
        InputError, match=r"<stream>:2:3: text must be JSON, got '\}\}' \(Expecting"
    ):
        read('{"ann": {"1": "x",\n  }}', format="json")
