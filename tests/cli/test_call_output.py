"""Lines about calls: what they may not show."""

import pytest

from voirdire.cli.printing import keep_when_stopped

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
def test_a_store_is_named_without_its_password_after_an_interruption(store, shown, capsys):
    with pytest.raises(KeyboardInterrupt), keep_when_stopped("items.jsonl", store=store):
        raise KeyboardInterrupt

    assert f"every reply is kept in {shown}; the same command goes on" in capsys.readouterr().err
