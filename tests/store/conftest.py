"""Places for stores: a file of SQLite, and a schema of its own on a real PostgreSQL server."""

import itertools
import os

import psycopg
import pytest
from sqlalchemy import Engine, event

from servers.postgres import postgres_url  # noqa: F401  # a fixture
from voirdire.store import open_store

_number = itertools.count()


@pytest.fixture
def postgres_place(postgres_url):  # noqa: F811
    """Give the URL of an empty schema: a database of its own would be 7 MB each time."""
    name = f"store_{os.getpid()}_{next(_number)}"
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres_url}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.ci)])
def place(request, tmp_path):
    """Give a path or a URL where there is no store yet."""
    is_file = request.param == "sqlite"
    return str(tmp_path / "a.db") if is_file else request.getfixturevalue("postgres_place")


@pytest.fixture
def store(place):
    with open_store(place) as opened:
        yield opened


@pytest.fixture
def listen():
    """Have a function called at an event of every database."""
    added = []
    yield lambda *pair: (added.append(pair), event.listen(Engine, *pair))
    for pair in added:
        event.remove(Engine, *pair)
