import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.io import read_items, stream_items


def lines_of(ids):
    return "\n".join(json.dumps({"id": name, "response": "r"}) for name in ids).encode()


def test_an_id_that_comes_again_is_refused_with_both_places():
    with pytest.raises(
        InputError,
        match=r"<stream>:5: item ids must be unique, got \'x\' again \(first at line 3\). "
        r'Name another column: columns=\{"id": ...\}.',
    ):
        read_items(io.BytesIO(lines_of(["a", "b", "x", "c", "x", "b"])))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_batches_know_of_each_other(batch_size):
    ids = [*range(20), 7]

    with pytest.raises(InputError, match=r":21: .*got '7' again \(first at line 8\)"):
        list(stream_items(io.BytesIO(lines_of(ids)), batch_size=batch_size))


def test_numbers_and_text_are_the_same_ids():
    with pytest.raises(InputError, match="got '3' again"):
        read_items(io.BytesIO(lines_of([3, "3"])))


def test_an_id_may_not_be_the_name_of_a_line():
    with pytest.raises(InputError, match=r":2: .*got 'stream:2' again \(first at line 1\)"):
        read_items(io.BytesIO(lines_of(["stream:2", None])))


def test_several_items_of_a_row_must_differ_too():
    rows = b'{"id": "q:1", "response": "a"}\n{"id": "q", "ranked": ["a", "b"]}'

    with pytest.raises(InputError, match=r"got 'q:1' again \(first at line 1\)"):
        read_items(io.BytesIO(rows))


def test_rows_that_are_set_aside_take_no_id():
    data = b'{"id": "a", "prompt": "p"}\n{"id": "a", "response": "r"}'

    table = read_items(io.BytesIO(data))

    assert [found.id for found in table.items] == ["a"]


@given(st.lists(st.integers(0, 60).map(str), min_size=1, max_size=40), st.integers(1, 9))
def test_it_finds_what_a_dictionary_finds(ids, batch_size):
    first: dict[str, int] = {}
    repeat = None
    for line, name in enumerate(ids, start=1):
        if name in first and repeat is None:
            repeat = (name, line, first[name])
        first.setdefault(name, line)

    def read():
        batches = stream_items(io.BytesIO(lines_of(ids)), batch_size=batch_size)
        return [item.id for batch in batches for item in batch.items]

    if repeat is None:
        assert read() == ids
        return
    name, line, before = repeat
    with pytest.raises(InputError, match=rf":{line}: .*'{name}' .*at line {before}\)"):
        read()


def test_an_id_far_back_is_remembered():
    ids = [f"{n}" for n in range(12_000)]

    with pytest.raises(InputError, match=r":12001: .*got '3456' again \(first at line 3457\)"):
        list(stream_items(io.BytesIO(lines_of([*ids, "3456"])), batch_size=100))
