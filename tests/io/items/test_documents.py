import json

import pytest

from voirdire.errors import InputError, NoDataError

MESSAGE = {"role": "assistant", "content": "Yo"}


def ids_of(table):
    return [(found.id, found.response) for found in table.items]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([{"id": "a", "response": "x"}, {"response": "y"}], [("a", "x"), ("stream:2", "y")]),
        ({"a": {"response": "x"}, "b": {"messages": [MESSAGE]}}, [("a", "x"), ("b", "Yo")]),
        ({"prompt": "p", "response": "x"}, [("stream:1", "x")]),
    ],
)
def test_a_document_is_a_list_an_object_by_id_or_one_row(read, document, expected):
    table = read(json.dumps(document, indent=1), format="json")

    assert ids_of(table) == expected
    assert table.dropped == ()


def test_the_keys_go_where_the_ids_were_declared(read):
    table = read('{"a": {"response": "x", "id": 1}}', format="json", columns={"id": "uid"})

    assert ids_of(table) == [("a", "x")]
    assert table.items[0].metadata == {"id": 1}


def test_an_id_that_repeats_as_a_key_is_refused(read):
    with pytest.raises(InputError, match=r"<stream>: keys of an object must differ, got 'a' twice"):
        read('{"a": {"response": "x"}, "a": {"response": "y"}}', format="json")


def test_rows_that_are_no_objects_are_set_aside_by_their_number(read):
    table = read('[{"response": "x"}, 3, {"response": "\\ud83d"}, []]', format="json")

    assert ids_of(table) == [("stream:1", "x")]
    assert [(drop.line, drop.reason) for drop in table.dropped] == [
        (2, "row must be a JSON object, got 3"),
        (3, "text must be Unicode, got half a surrogate pair"),
        (4, "row must be a JSON object, got []"),
    ]


def test_a_whole_surrogate_pair_is_a_character(read):
    table = read('[{"response": "\\ud83d\\ude00"}]', format="json")

    assert table.items[0].response == "😀"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "3",
            InputError,
            r"JSON must be a list of objects, or an object of objects by id, got '?3",
        ),
        ("[", InputError, r"<stream>:1:2: text must be JSON"),
        (b"[\n\xff]", InputError, r"<stream>:2: text must be UTF-8, got byte 0xff"),
        ("[]", NoDataError, r"<stream>: must hold at least one item, got no rows"),
        ("{}", NoDataError, r"<stream>: must hold at least one item, got no rows"),
        (
            '{"prompt": "p"}',
            NoDataError,
            r"got one row and a reason against each \(first <stream>:1",
        ),
        ('[{"prompt": "p"}]', NoDataError, r"first <stream>:1: no response: no column holds one"),
    ],
)
def test_what_holds_no_items_is_refused(read, text, error, message):
    with pytest.raises(error, match=message):
        read(text, format="json")
