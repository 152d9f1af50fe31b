"""A rubric of every kind and one about pairs."""

import itertools
import os

import psycopg
import pytest

from servers.faulty import faulty_server  # noqa: F401  # a fixture
from servers.postgres import postgres_url  # noqa: F401  # a fixture
from voirdire.rubrics import rubric_from_text

_number = itertools.count()

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


@pytest.fixture
def postgres_place(postgres_url):  # noqa: F811
    """Give the URL of an empty schema on a real PostgreSQL server."""
    name = f"judging_{os.getpid()}_{next(_number)}"
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres_url}&options=-csearch_path%3D{name}"
