"""Which headers hold the token."""

import base64

import pytest

from voirdire.web.tokens import TokenCheck

TOKEN = "0123456789abcdef"


def basic(user, password):
    return b"Basic " + base64.b64encode(f"{user}:{password}".encode())


@pytest.mark.parametrize(
    ("header", "is_right"),
    [
        (f"Bearer {TOKEN}".encode(), True),
        (f"bearer  {TOKEN} ".encode(), True),
        (basic("anybody", TOKEN), True),
        (basic("", TOKEN), True),
        (None, False),
        (b"", False),
        (b"Bearer", False),
        (b"Bearer ", False),
        (TOKEN.encode(), False),
        (f"Bearer {TOKEN[:-1]}".encode(), False),
        (f"Bearer {TOKEN}x".encode(), False),
        (f"Digest {TOKEN}".encode(), False),
        (basic(TOKEN, ""), False),
        (b"Basic " + TOKEN.encode(), False),
        (b"Basic not base64!", False),
        ("Bearer 0123456789abcdéf".encode(), False),
    ],
)
def test_only_the_token_itself_is_right(header, is_right):
    assert TokenCheck(TOKEN).is_right(header) is is_right


def test_the_token_itself_is_not_kept():
    check = TokenCheck(TOKEN)

    assert TOKEN not in repr(vars(check))
