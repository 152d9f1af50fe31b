"""Read text as if it were a file."""

import io
import json

import pytest

from voirdire.io import read_labels


@pytest.fixture
def read():
    """Read text or bytes; by default an annotators' CSV of a choice question."""

    def read_text(text, **declared):
        data = text if isinstance(text, bytes) else text.encode()
        declared = {"format": "csv", "role": "annotator", "kind": "choice", **declared}
        return read_labels(io.BytesIO(data), **declared)

    return read_text


@pytest.fixture
def read_json(read):
    """Read a Python value as if it were a JSON file."""

    def read_value(value, **declared):
        return read(json.dumps(value), **{"format": "json", **declared})

    return read_value


@pytest.fixture
def labels_of():
    """Give the labels of a table as ``{(item, rater): label}``."""

    def by_item_and_rater(table):
        rows = table.frame.select("item", "rater", "label").iter_rows()
        return {(item, rater): label for item, rater, label in rows}

    return by_item_and_rater
