"""Lines about calls: what they may not show."""

import pytest

from voirdire.cli.judging_output import shown_store

SECRET = "swordfish"


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("replies.db", "replies.db"),
        (f"postgresql://u:{SECRET}@host/d", "postgresql://host/d"),
        (f"postgresql://u@host/d?password={SECRET}", "postgresql://host/d"),
        (f"postgresql://u@host/d?password=x@{SECRET}", "postgresql://host/d"),
    ],
)
def test_a_store_is_shown_without_its_password(store, shown):
    assert shown_store(store) == shown
