"""The way into a store."""

import inspect
import subprocess
import sys

import pytest

from voirdire.store import ReplyStore, open_store


def test_a_store_says_where_it_is(place):
    with open_store(place) as store:
        assert isinstance(store, ReplyStore)
        assert repr(store).startswith("ReplyStore('")


def test_the_documentation_says_what_may_be_lost_and_where_locks_fail():
    notes = inspect.getdoc(open_store)

    for word in ("synchronous = NORMAL", "network file systems", "owner only"):
        assert word in notes


@pytest.mark.ci
def test_the_database_library_comes_with_the_first_store():
    code = (
        "import sys, voirdire.store\n"
        "print(sorted({'sqlalchemy', 'psycopg', 'asyncio'} & set(sys.modules)))\n"
        "from voirdire.store import open_store\n"
        "open_store(':memory:')\n"
        "print(sorted({'sqlalchemy', 'psycopg'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines() == ["[]", "['sqlalchemy']"]
