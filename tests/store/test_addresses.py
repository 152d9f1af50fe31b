"""Where a store is, read from a path or a URL; passwords stay out of sight."""

from pathlib import Path

import pytest

from voirdire.errors import InputError
from voirdire.store import open_store

SECRET = "s3cr3t-p4ss"


@pytest.mark.parametrize("written", ["a.db", "./a.db", "sqlite:///a.db", Path("a.db")])
def test_a_relative_path_begins_in_this_folder(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with open_store(written) as store:
        shown = repr(store)

    assert shown == f"ReplyStore('{tmp_path.resolve() / 'a.db'}')"
    assert (tmp_path / "a.db").exists()


@pytest.mark.parametrize("scheme", ["", "sqlite:///", "SQLite:///"])
def test_an_absolute_path_is_taken_as_it_is(scheme, tmp_path):
    open_store(f"{scheme}{tmp_path}/a.db").close()

    assert (tmp_path / "a.db").exists()


@pytest.mark.parametrize("name", ["%20 ?x=1#y.db", "回复.db", "a'b\".db", "file:x.db", "-a.db"])
def test_a_file_may_have_any_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    open_store(name).close()

    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("written", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_a_store_in_memory_makes_no_file(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with open_store(written) as store:
        assert repr(store) == "ReplyStore(':memory:')"

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "written",
    [
        "postgresql://u@127.0.0.1:1/d",
        "postgres://u@127.0.0.1:1/d",
        "postgresql+psycopg://u@127.0.0.1:1/d",
    ],
)
def test_a_server_is_asked_whatever_its_url_is_called(written):
    with pytest.raises(InputError, match=r"^postgresql://127\.0\.0\.1:1/d: .*Connection refused"):
        open_store(written)


@pytest.mark.parametrize(
    "written", ["", "a\0b", "sqlite://a.db", "sqlite:///", "sqlite:///a.db?mode=ro", "sqlite://h/a"]
)
def test_what_is_no_address_is_refused_with_the_rule(written):
    with pytest.raises(InputError, match=r"`url` must be .*sqlite:///PATH.*, got"):
        open_store(written)


@pytest.mark.parametrize("scheme", ["mysql", "http", "postgresql+asyncpg", "oracle"])
def test_another_database_is_refused_by_its_name_alone(scheme):
    with pytest.raises(InputError, match="got one that begins with") as caught:
        open_store(f"{scheme}://user:{SECRET}@host/database")

    assert scheme in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "written",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:1/d",
        f"postgresql://u:{SECRET}@/d?host=/nowhere",
        f"postgresql://u@127.0.0.1:1/d?password={SECRET}",
        f"postgresql://u@127.0.0.1:1/d?sslpassword={SECRET}",
    ],
)
def test_no_message_about_a_server_holds_a_password(written):
    with pytest.raises(InputError, match=r"^postgresql://.*: the store cannot be used") as caught:
        open_store(written)

    assert SECRET not in f"{caught.value} {caught.value.__cause__} {caught.value.__cause__!r}"


@pytest.mark.parametrize(
    "written",
    [
        f"postgresql://u:p@{SECRET}@host/d",
        f"postgresql://u:p@{SECRET}:1@host/d",
        f"postgresql://u:p@x/{SECRET}@host/d",
        f"postgresql://u:p@host:{SECRET}/d",
        f"postgresql:/u:{SECRET}@host/d",
        f"postgres:u:{SECRET}@host/d",
        f"PostgreSQL+psycopg:/u:{SECRET}@host/d",
    ],
)
def test_a_password_that_was_not_encoded_is_never_repeated(written):
    with pytest.raises(InputError, match="`url` must") as caught:
        open_store(written)

    shown = str(caught.value) + repr(caught.value.__cause__)
    assert SECRET not in shown
    assert caught.value.__cause__ is None
