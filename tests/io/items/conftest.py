"""Read Python values as if they were files of items."""

import io
import json

import pytest

from voirdire.io import read_items
from voirdire.records import Item, Message


class Trickle(io.RawIOBase):
    """A stream that gives a few bytes at a time, however many are asked for."""

    def __init__(self, data, size=1):
        super().__init__()
        self.data = data
        self.size = size
        self.at = 0

    def read(self, n=-1):
        piece = self.data[self.at : self.at + self.size]
        self.at += len(piece)
        return piece


@pytest.fixture
def trickle():
    return Trickle


@pytest.fixture
def read():
    """Read text or bytes, by default as JSONL."""

    def read_text(text, **declared):
        data = text if isinstance(text, bytes) else text.encode()
        return read_items(io.BytesIO(data), **declared)

    return read_text


@pytest.fixture
def read_rows(read):
    """Read Python objects as JSONL."""

    def read_values(*rows, **declared):
        return read("\n".join(json.dumps(row) for row in rows), **declared)

    return read_values


@pytest.fixture
def item():
    """Make an item of the first line; the prompt is the user's text or (role, text) pairs."""

    def make(response, prompt="Hi", **rest):
        said = [("user", prompt)] if isinstance(prompt, str) else prompt
        messages = tuple(Message(role=role, content=content) for role, content in said)
        return Item(**{"id": "stream:1", "prompt": messages, "response": response, **rest})

    return make
