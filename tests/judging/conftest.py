"""A small rubric, judges whose answers are known, items, and time that passes by itself."""

import json

import pytest

from judging.calls.conftest import noted_threads, run  # noqa: F401  # fixtures
from voirdire.judging import ScriptedJudge
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text

TINY = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  refuse:
    demands:
      sorry: required
      rude: unacceptable
    classes:
      bad: any(unacceptable)
      good: all(required)
      poor: otherwise
  chat:
    demands:
      rude: undesired
    classes:
      good: not rude
      poor: otherwise
"""


@pytest.fixture
def ends_after(monkeypatch):
    """Let a run end after fewer calls in a row without an answer."""

    def end_after(n_calls):
        monkeypatch.setattr("voirdire.judging.caller._MOST_IN_A_ROW", n_calls)

    return end_after


@pytest.fixture(scope="session")
def rubric():
    """Give a rubric of two propositions and two behaviors."""
    return rubric_from_text(TINY)


def read_off(item):
    """Answer with the numbers that the response holds."""
    return [float(word) for word in item.response.split()]


@pytest.fixture
def judge():
    """Give a judge whose probabilities stand in the responses."""
    return ScriptedJudge(questions=("sorry", "rude"), answer=read_off)


@pytest.fixture(scope="session")
def items():
    """Give three items: one of each behavior, and one of none."""
    return [
        Item(id="a", response="0.9 0.2", behavior="refuse"),
        Item(id="b", response="0.4 0.0", behavior="chat"),
        Item(id="c", response="0.5 0.5"),
    ]


@pytest.fixture
def write_items(tmp_path):
    """Write items whose responses hold their probabilities, and give the file."""

    def write(n_items):
        path = tmp_path / "items.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number in range(n_items):
                pair = (number % 10 / 10, number % 7 / 7)
                row = {"id": f"i{number}", "response": f"{pair[0]!r} {pair[1]!r}"}
                row["behavior"] = (None, "refuse", "chat")[number % 3]
                file.write(json.dumps(row) + "\n")
        return path

    return write
