"""What a database says went wrong: every kind has its place."""

import sqlite3

import pytest
from sqlalchemy import Engine, event, exc

from voirdire.errors import InputError
from voirdire.store import open_store

TRANSLATED = {"DBAPIError", "DatabaseError", "InterfaceError", "InternalError", "OperationalError"}
BUGS = {"DataError", "IntegrityError", "NotSupportedError", "ProgrammingError"}
ADDRESS = "postgresql://user:s3cr3t@host/replies"


def kinds(base: type[exc.DBAPIError]) -> dict[str, type[exc.DBAPIError]]:
    below = {name: kind for each in base.__subclasses__() for name, kind in kinds(each).items()}
    return {base.__name__: base, **below}


def open_failing(error, url=ADDRESS):
    """Open a store whose database library raises an error where it would connect."""

    def fail(*_):
        raise error

    event.listen(Engine, "do_connect", fail)
    try:
        open_store(url)
    finally:
        event.remove(Engine, "do_connect", fail)


def test_every_kind_of_the_database_library_is_translated_or_a_bug():
    assert set(kinds(exc.DBAPIError)) == TRANSLATED | BUGS


@pytest.mark.parametrize("name", sorted(TRANSLATED))
def test_what_the_database_refuses_is_an_input_error(name):
    error = kinds(exc.DBAPIError)[name]("SELECT 1", None, Exception("it is away"))

    with pytest.raises(
        InputError, match=r"^postgresql://host/replies: the store cannot be used \(it is away\)\. "
    ) as caught:
        open_failing(error)

    assert caught.value.__cause__ is error


@pytest.mark.parametrize("name", sorted(BUGS))
def test_a_bug_stays_a_bug(name):
    error = kinds(exc.DBAPIError)[name]("SELECT 1", None, Exception("wrong statement"))

    with pytest.raises(type(error)) as caught:
        open_failing(error)

    assert caught.value is error


def test_a_table_that_may_not_be_used_is_no_bug():
    refused = Exception("permission denied for table voirdire_calls")
    refused.sqlstate = "42501"

    with pytest.raises(InputError, match=r"permission denied.*your rights there"):
        open_failing(exc.ProgrammingError("SELECT 1", None, refused))


def test_an_option_that_the_driver_does_not_know_is_no_bug():
    with pytest.raises(InputError, match="invalid connection option"):
        open_failing(exc.ProgrammingError(None, None, Exception("invalid connection option")))


def test_anything_else_goes_through():
    with pytest.raises(ZeroDivisionError):
        open_failing(ZeroDivisionError())


def test_a_password_in_the_words_of_the_database_is_hidden():
    error = exc.OperationalError(None, None, Exception("cannot use s3cr3t for user"))

    with pytest.raises(InputError, match=r"cannot use \*\*\* for user") as caught:
        open_failing(error)

    # The cause would be printed with the traceback.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_what_a_server_says_is_shown_on_one_line_and_cut():
    error = exc.OperationalError(None, None, Exception("first\nsecond\x1b[31m" + "x" * 9_999))

    with pytest.raises(InputError, match="first⏎second") as caught:
        open_failing(error)

    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.usefixtures("impatient")
def test_every_primary_code_of_sqlite_gets_a_way_out(tmp_path):
    codes = [name for name in dir(sqlite3) if name.startswith("SQLITE_") and name.isupper()]

    for code in codes:
        original = sqlite3.OperationalError("it failed")
        original.sqlite_errorname = code
        with pytest.raises(InputError, match=r"\(it failed\)\. [A-Z].*\.$"):
            open_failing(exc.OperationalError("SELECT 1", None, original), tmp_path / "replies.db")
