"""Defines what clients send and what they are answered, and reads bodies strictly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from voirdire.models.reward_server import Probabilities, RefusalCode, RewardName
from voirdire.rewards.live.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.rewards.live.turns import LiveScores
    from voirdire.rewards.model import RewardModel

_Form = TypeVar("_Form")
_Messages = list[dict[str, Any]] | dict[str, Any]


def answer_json(content: object, *, status: int = 200, headers: Any = None) -> Response:
    """Answer in JSON, in which what is no number is null."""
    body = msgspec.json.encode(content)
    return Response(body, status, headers, media_type="application/json")


# Refusals -----------------------------------------------------------------------------------------

_STATUS: Mapping[RefusalCode, int] = {
    "malformed": 400, "no_token": 401, "not_found": 404, "wrong_method": 405, "too_slow": 408,
    "no_number": 409, "too_large": 413, "wrong_type": 415, "wrong_host": 421, "wrong_form": 422,
    "internal": 500, "queue_full": 503, "not_ready": 503, "stopped": 503,
}  # fmt: skip


class RefusedError(Exception):
    """A request that is refused; the message is ours alone and holds nothing of the request."""

    def __init__(self, code: RefusalCode, message: str, **headers: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> Response:
        """Answer with a status, a word that stays the same, and a sentence for people."""
        told = {"error": {"code": self.code, "message": self.message}}
        return answer_json(told, status=_STATUS[self.code], headers=self._headers)


# Requests -----------------------------------------------------------------------------------------


class AskedItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One response that a reward is asked for.

    `response` is text, or the messages that answer the prompt; `prompt` is the user's text, or the
    messages before. `behavior` is what the prompt deserves, `base_reward` what another reward
    model gave, `group` what the responses to one prompt share, `id` whatever the client calls it.
    `criteria` are those of the prompt, and `reference` an answer that is known to be right, for a
    reward that pays criteria.
    """

    response: str | _Messages
    prompt: str | _Messages | None = None
    behavior: str | None = None
    base_reward: float | None = None
    group: str | int | None = None
    id: str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    criteria: str | list[str | dict[str, Any]] | None = None
    reference: str | None = None

    def turn(self) -> Turn:
        """Convert it to a `Turn`."""
        fields = msgspec.structs.asdict(self)
        names = {name: str(x) for name in ("group", "id") if (x := fields[name]) is not None}
        return Turn(**fields | names)


class RewardsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Responses that rewards are asked for.

    `deadline_s` is the time after which what is there is answered, at most the server's own;
    `verdicts` asks for the probabilities behind the rewards, `explain` for what each feature adds;
    `step` is the trainer's, and `run` the name of its training, for the record.
    """

    items: list[AskedItem]
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    verdicts: bool = False
    explain: bool = False
    step: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    run: str | None = None


_MOST_BRACKETS = 1_000_000
"""Objects and arrays in a body, those that stand in texts counted too: each takes far more memory
than its two bytes."""

_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
"""With a group for half a surrogate pair, which Python writes where a text is cut."""

_PLACE = re.compile(r" - at `(\$\.items\[\d+\])`$")


def read_body(body: bytes, form: type[_Form]) -> _Form:
    """Read a body; a `RefusedError` if it is no JSON, or of another form."""
    if body.count(b"{") + body.count(b"[") > _MOST_BRACKETS:
        msg = f"The body must have at most {_MOST_BRACKETS} braces and brackets."
        raise RefusedError("too_large", msg)
    try:
        return msgspec.json.decode(body, type=form)
    except msgspec.ValidationError as error:
        raise RefusedError("wrong_form", _describe_fault(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        mended = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], body)
    if mended == body:
        raise RefusedError("malformed", "The body must be JSON in UTF-8, and not nested deeply.")
    return read_body(mended, form)


def _describe_fault(fault: str) -> str:
    """Keep of a message what cannot hold a text of the client's."""
    if fault.startswith(("Expected `", "Object missing required field `")):
        return f"{fault}."
    if fault.startswith("Object contains unknown field"):
        place = _PLACE.search(fault)
        at = f" at `{place[1]}`" if place else ""
        return f"The object{at} has a key that is not known."
    return "The body is not of the form that is asked for."


# Answers ------------------------------------------------------------------------------------------


class RewardsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Rewards in the order of the items, null where `missing` says why; never infinite.

    `gated` tells what the gate stopped, which is paid the floor of its behavior. `partial` tells
    that `n_late` verdicts did not come within the deadline: ask again later, and those that came
    meanwhile cost nothing. `n_remembered` and `n_stored` count items whose verdicts were there
    already. `answered_by` tells which judge of a cascade each item came to; it is there together
    with `probabilities`, and only where the judge is a cascade. `contributions` has a row per item
    with what each of its behavior's `features` adds to the reward.
    """

    rewards: list[float | None]
    rule_rewards: list[float | None]
    base_rewards: list[float | None]
    behaviors: list[str | None]
    missing: list[str | None]
    gated: list[bool]
    partial: bool
    n_late: int
    n_remembered: int
    n_stored: int
    seconds: float
    reward: RewardName
    ids: list[str | int | None] | UnsetType = UNSET
    probabilities: Probabilities | UnsetType = UNSET
    contributions: dict[str, Any] | UnsetType = UNSET
    answered_by: list[str | None] | UnsetType = UNSET


def make_rewards_answer(
    asked: RewardsRequest, found: LiveScores, *, reward: RewardModel, seconds: float
) -> RewardsAnswer:
    """Put the answer to a request together."""
    scores, judged = found.scores, found.judged
    more: dict[str, Any] = {}
    if any(item.id is not None for item in asked.items):
        more["ids"] = [item.id for item in asked.items]
    if asked.verdicts:
        values = judged.probabilities.tolist()
        more["probabilities"] = Probabilities(propositions=judged.questions, values=values)
        if found.answered_by is not None:
            more["answered_by"] = list(found.answered_by)
    if asked.explain:  # null for an item without weights
        features: dict[str, list[str]] = {}
        added: dict[str, list[float | None]] = {}
        rows = reward.explain(scores).group_by("item", "behavior", maintain_order=True)
        columns = ("item", "behavior", "feature", "contribution")
        for item, behavior, names, numbers in rows.all().select(columns).iter_rows():
            features[behavior], added[item] = names, numbers
        per_item = [added.get(item) for item in scores.items]
        more["contributions"] = {"features": features, "values": per_item}
    return RewardsAnswer(
        rewards=scores.rewards.tolist(),
        rule_rewards=scores.rule_rewards.tolist(),
        base_rewards=scores.base_rewards.tolist(),
        behaviors=list(scores.behaviors),
        missing=[scores.missing.get(item) for item in scores.items],
        gated=scores.gated.tolist(),
        partial=found.n_late > 0,
        n_late=found.n_late,
        n_remembered=found.n_remembered,
        n_stored=found.n_stored,
        seconds=seconds,
        reward=RewardName(
            name=reward.name, content_hash=reward.content_hash, fingerprint=judged.fingerprint
        ),
        **more,
    )
