"""Which headers hold the token."""

import base64

import pytest

from web.in_process import asked_app

TOKEN = "0123456789abcdef"


def basic(user, password):
    return b"Basic " + base64.b64encode(f"{user}:{password}".encode())


@pytest.fixture(scope="module")
def guarded_app():
    with asked_app(token=TOKEN) as found:
        yield found


@pytest.mark.edges
@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}".encode(), 200),
        (f"bearer  {TOKEN} ".encode(), 200),
        (basic("anybody", TOKEN), 200),
        (basic("", TOKEN), 200),
        (None, 401),
        (b"", 401),
        (b"Bearer", 401),
        (b"Bearer ", 401),
        (TOKEN.encode(), 401),
        (f"Bearer {TOKEN[:-1]}".encode(), 401),
        (f"Bearer {TOKEN}x".encode(), 401),
        (f"Digest {TOKEN}".encode(), 401),
        (basic(TOKEN, ""), 401),
        (b"Basic " + TOKEN.encode(), 401),
        (b"Basic not base64!", 401),
        ("Bearer 0123456789abcdéf".encode(), 401),
    ],
)
def test_only_the_token_itself_is_right(guarded_app, header, status):
    app, run = guarded_app

    answer = run(app.ask("GET", "/v1/reward", headers={"authorization": header}))

    assert answer.status == status
