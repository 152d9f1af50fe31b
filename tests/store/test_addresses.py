"""Where a store is, read from a path or a URL; passwords stay out of sight."""

import sys

import pytest

from voirdire.errors import InputError
from voirdire.store import open_store

SECRET = "s3cr3t-p4ss"


@pytest.mark.parametrize("written", ["{}", "{folder}/{}", "sqlite:///{}", "SQLite:///{folder}/{}"])
@pytest.mark.parametrize("name", ["a.db", "%20 x=1#y.db", "回复.db", "a'b\".db", "file:x.db"])
def test_a_file_may_have_any_name(written, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with open_store(written.format(name, folder=tmp_path)) as store:
        assert repr(store) == f"ReplyStore({str(tmp_path.resolve() / name)!r})"

    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "written",
    [
        *("", "a\0b", "sqlite://a.db", "sqlite:///", "sqlite:///a.db?mode=ro"),
        *(f"{scheme}://user:{SECRET}@host/d" for scheme in ("mysql", "http", "postgresql+asyncpg")),
        # passwords that were not encoded, and addresses that are misspelt
        *(f"postgresql://u:p@{SECRET}@host/d", f"postgresql://u:p@x/{SECRET}@host/d"),
        *(f"postgresql://u:p@host:{SECRET}/d", f"postgres:u:{SECRET}@host/d"),
        f"PostgreSQL+psycopg:/u:{SECRET}@host/d",
    ],
)
def test_what_is_no_address_is_refused_with_the_rule_and_without_a_password(written):
    with pytest.raises(InputError, match=r"`url` must be .*sqlite:///PATH.*, got") as caught:
        open_store(written)

    assert SECRET not in f"{caught.value}{caught.value.__cause__!r}"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
@pytest.mark.parametrize(
    ("place", "message"),
    [
        (f"u:{SECRET}@127.0.0.1:1/d", r"//127\.0\.0\.1:1/d: .*Connection refused"),
        (f"u@/d?host=/nowhere&password={SECRET}", "///nowhere/d: .*No such file"),
        (f"u@127.0.0.1:1/d?password={SECRET}&sslmode={SECRET}", r"sslmode value: \"\*\*\*\""),
    ],
)
def test_a_server_that_is_not_there_is_reported_at_once_without_a_password(scheme, place, message):
    with pytest.raises(InputError, match=f"^postgresql:.*{message}.* Look at the server") as caught:
        open_store(f"{scheme}://{place}")

    assert SECRET not in f"{caught.value}{caught.value.__cause__!r}"
    assert caught.value.__suppress_context__  # it would be printed with the traceback


def test_without_the_driver_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(InputError, match=r"pip install \"voirdire\[postgres\]\""):
        open_store(f"postgresql://user:{SECRET}@host/replies")
