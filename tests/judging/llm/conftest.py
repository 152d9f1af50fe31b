"""A rubric of every kind and one about pairs."""

import pytest

from voirdire.rubrics import rubric_from_text

KINDS = """
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
  - {id: topics, kind: multilabel, text: "Which topics?", labels: [food, travel, work]}
  - {id: quality, kind: scale, text: "How good?", minimum: 1, maximum: 5}
  - {id: why, kind: text, text: "Why?"}
"""
PAIRS = """
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: "Which is better?"}
"""


@pytest.fixture(scope="session")
def kinds():
    """Give a rubric with one question of every kind but pairs."""
    return rubric_from_text(KINDS)


@pytest.fixture(scope="session")
def pairs():
    """Give a rubric about pairs."""
    return rubric_from_text(PAIRS)
