"""Places for stores: a file of SQLite, and a schema of its own on a real PostgreSQL server."""

import itertools
import os
import time

import psycopg
import pytest

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


on_postgresql = pytest.param("postgresql", marks=pytest.mark.slow)


@pytest.fixture(params=["sqlite", "memory", on_postgresql])
def place(request, tmp_path):
    """Give a path or a URL where there is no store yet."""
    if request.param == "sqlite":
        return str(tmp_path / "replies.db")
    return ":memory:" if request.param == "memory" else request.getfixturevalue("postgres_place")


@pytest.fixture(params=["sqlite", on_postgresql])
def shared_place(request, tmp_path):
    """Give a place that several processes can open."""
    if request.param == "sqlite":
        return str(tmp_path / "replies.db")
    return request.getfixturevalue("postgres_place")


@pytest.fixture
def store(place):
    with open_store(place) as opened:
        yield opened


@pytest.fixture
def impatient(monkeypatch):
    """Let every pause of this process count as a minute and take no time."""
    real, ahead_s = time.monotonic, 0.0

    def sleep(_):
        nonlocal ahead_s
        ahead_s += 60.0

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("time.monotonic", lambda: real() + ahead_s)
