"""Read what clients send, strictly: what is not of the form is refused, and nothing is guessed."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from voirdire.rewards.live.turns import Turn
from voirdire.web.refusals import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AskedItem",
    "RewardsRequest",
    "check_brackets",
    "check_count",
    "check_depth",
    "check_json",
    "decoded",
    "once",
    "read_checked_items",
    "read_rewards_request",
]

_MOST_BRACKETS = 1_000_000
"""Objects and arrays in a body, those that stand in texts counted too: each takes far more memory
than its two bytes."""

_MOST_LEVELS = 64
_TOO_DEEP = "The body is nested too deeply."

_SAFE = re.compile(
    r"JSON is malformed: [a-z0-9 -]+ \(byte \d+\)"
    r"|Input data was truncated"
    r"|Expected [^\"']+"
    r"|Object missing required field `\w+` - at `[\w$.\[\]]+`"
    r"|Object missing required field `\w+`"
    r"|Number out of range - at `[\w$.\[\]]+`"
)
_UNKNOWN = re.compile(r"Object contains unknown field .* - at `(?P<place>[\w$.\[\]]+)`", re.DOTALL)

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

Messages = list[dict[str, Any]] | dict[str, Any]


class AskedItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One response that a reward is asked for.

    `response` is text, or the messages that answer the prompt; `prompt` is the user's text, or the
    messages before. `behavior` is what the prompt deserves, `base_reward` what another reward
    model gave, `group` what the responses to one prompt share, `id` whatever the client calls it.
    """

    response: str | Messages
    prompt: str | Messages | None = None
    behavior: str | None = None
    base_reward: float | msgspec.UnsetType | None = msgspec.UNSET
    group: str | int | None = None
    id: str | int | None = None

    def turn(self) -> Turn:
        """Give it as the rewards take it."""
        return Turn(
            response=self.response,
            prompt=self.prompt,
            behavior=self.behavior,
            base_reward=_said(self.base_reward),
            group=None if self.group is None else str(self.group),
            id=None if self.id is None else str(self.id),
        )


def _said(given: float | msgspec.UnsetType | None) -> float | None:
    """None where nothing is said of a base reward; nan where it is said to be lacking."""
    if given is msgspec.UNSET:
        return None
    return math.nan if given is None else given


class RewardsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Responses that rewards are asked for.

    `deadline_s` is the time after which what is there is answered, at most the server's own;
    `verdicts` asks for the probabilities behind the rewards, `explain` for what each feature adds;
    `step` is the trainer's, for the record.
    """

    items: list[AskedItem]
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    verdicts: bool = False
    explain: bool = False
    step: Annotated[int, msgspec.Meta(ge=0)] | None = None


def read_rewards_request(body: bytes, *, most_items: int) -> RewardsRequest:
    """Read a request for rewards.

    Parameters
    ----------
    body : bytes
        JSON.
    most_items : int
        Items that a request may have.

    Raises
    ------
    RefusedError
        If it is no JSON, of another form, or too long.
    """
    asked: RewardsRequest = decoded(body, RewardsRequest)
    check_count(len(asked.items), most=most_items)
    _check_depths(asked.items)
    check_json(body)
    return asked


def read_checked_items(body: bytes) -> list[AskedItem]:
    """Read the items of a body of which `once` has seen every object already."""
    asked: RewardsRequest = decoded(body, RewardsRequest)
    _check_depths(asked.items)
    return asked.items


def decoded(body: bytes, form: Any = Any) -> Any:
    """Decode JSON of a form."""
    check_brackets(body.count(b"{") + body.count(b"["))
    try:
        return _decoded(body, form)
    except msgspec.ValidationError as error:
        raise RefusedError("wrong_form", _form_message(str(error))) from None
    except msgspec.DecodeError as error:
        said = str(error)
        why = f"{said}." if _SAFE.fullmatch(said) else "It is none."
        raise RefusedError("malformed", f"The body must be JSON. {why}") from None
    except UnicodeDecodeError:
        raise RefusedError("malformed", "The body must be UTF-8.") from None
    except RecursionError:
        raise RefusedError("malformed", _TOO_DEEP) from None


def _decoded(body: bytes, form: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=form)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if _HALF.search(body) is None:
            raise
        return _with_halves(body, form)


def _with_halves(body: bytes, form: Any) -> Any:
    """Decode JSON with halves of surrogate pairs, which Python writes where a text is cut.

    A response that ends in one is still a response; a name with one cannot be answered.
    """
    try:
        found = json.loads(body.decode(), parse_constant=_refuse)
        asked = msgspec.convert(found, form)
    except UnicodeDecodeError:
        raise
    except UnicodeEncodeError:
        msg = "A key, or what should be no text, holds half a surrogate pair."
        raise RefusedError("malformed", msg) from None
    except json.JSONDecodeError:
        raise RefusedError("malformed", "The body must be JSON.") from None
    except msgspec.ValidationError:
        raise
    except ValueError:  # Python reads no whole number of thousands of digits
        raise RefusedError("malformed", "A number of the body is too long.") from None
    if isinstance(asked, RewardsRequest):
        try:
            msgspec.json.encode([(item.id, item.behavior, item.group) for item in asked.items])
        except UnicodeEncodeError:
            msg = "A behavior, a group or an id holds half a surrogate pair."
            raise RefusedError("malformed", msg) from None
    return asked


def _refuse(word: str) -> None:
    del word
    raise RefusedError("malformed", "The body must be JSON, which has no NaN and no Infinity.")


def check_brackets(n_brackets: int) -> None:
    """Refuse more objects and arrays than there is memory for."""
    if n_brackets > _MOST_BRACKETS:
        msg = f"The body must have at most {_MOST_BRACKETS} braces and brackets."
        raise RefusedError("too_large", msg)


def check_count(n_items: int, *, most: int) -> None:
    """Refuse more items than all requests together may hold."""
    if n_items > most:
        msg = f"A request must have at most {most} items, got {n_items}. Send several requests."
        raise RefusedError("too_large", msg)


def _check_depths(items: Sequence[AskedItem]) -> None:
    for item in items:
        if not (isinstance(item.response, str) and isinstance(item.prompt, str | None)):
            check_depth([item.response, item.prompt])


def check_depth(value: Any) -> None:
    """Refuse what is nested so deeply that no messages are."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        inner = [row.values() if isinstance(row, dict) else row for row in level]
        level = [one for row in inner for one in row if isinstance(one, dict | list)]
        if not level:
            return
    raise RefusedError("malformed", _TOO_DEEP)


def check_json(body: bytes) -> None:
    """Refuse objects with the same key twice, of which a decoder silently takes the last."""
    try:
        json.loads(body.decode(), object_pairs_hook=once)
    except RecursionError:
        raise RefusedError("malformed", _TOO_DEEP) from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs, as a hook of Python's decoder; refuse a key that comes twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RefusedError("malformed", "An object of the body has the same key twice.")
    return found


def _form_message(said: str) -> str:
    """Keep of a message what cannot hold a text of the client's."""
    unknown = _UNKNOWN.fullmatch(said)
    if unknown is not None:
        return f"The object at `{unknown['place']}` has a key that is not known. See /docs."
    if _SAFE.fullmatch(said):
        return f"{said}."
    return "The body is not of the form that is asked for. See /docs."
