"""The description of the interface (OpenAPI): every route, every answer, every refusal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.web.answers import RewardsAnswer
from voirdire.web.paths import OPEN
from voirdire.web.reading import RewardsRequest
from voirdire.web.refusals import STATUS, RefusalBody, RefusalCode
from voirdire.web.state_routes import Alive, RewardDescription

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.web.paths import Path

__all__ = ["COMPONENTS", "DESCRIBED", "DescribedRoute", "OpenRLHFAnswer", "OpenRLHFRequest"]


class OpenRLHFRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What OpenRLHF posts: lists of one length.

    A query is a prompt with its response. A label is the id of a behavior, empty where the server's
    own counts, or an object (or its JSON) with `behavior`, `base_reward` and `prompt`.
    """

    query: list[str]
    prompts: list[str]
    labels: list[Any] | None = None


class OpenRLHFAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What OpenRLHF reads: finite numbers only, the same names every time.

    `scores` are the rewards squeezed into 0 to 1, in the same order; in `extra_logs`, `missing` is
    1 where the declared number stands for a reward that is missing.
    """

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


_WORDS: dict[RefusalCode, str] = {
    "malformed": "The body is no JSON, or has the same key twice",
    "no_token": "The token is missing, or is another one",
    "too_slow": "The body did not arrive in time",
    "no_number": "Nobody declared what stands for a missing reward, and the reward knows no mean",
    "too_large": "The body, or the number of items, is larger than the server takes",
    "wrong_host": "Without a token the server answers to names of its own machine only",
    "wrong_type": "The body is not said to be JSON",
    "wrong_form": "The JSON is of another form",
    "internal": "The server failed",
    "queue_full": "The server has as many items as it may hold: wait for `Retry-After` seconds",
    "ending": "The server is about to end",
    "not_ready": "The server is starting or ending, or its judge is out of order",
}
_POSTED: tuple[RefusalCode, ...] = (
    "malformed",
    "too_slow",
    "too_large",
    "wrong_type",
    "wrong_form",
    "internal",
    "queue_full",
    "ending",
)
_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "schema": {"type": "integer", "minimum": 1},
    }
}
_REF = "#/components/schemas/{name}"
_, _SCHEMAS = msgspec.json.schema_components(
    (
        RewardsRequest,
        RewardsAnswer,
        RewardDescription,
        OpenRLHFRequest,
        OpenRLHFAnswer,
        Alive,
        RefusalBody,
    ),
    ref_template=_REF,
)
COMPONENTS = {
    "schemas": _SCHEMAS,
    "securitySchemes": {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "Where the server was started with a token.",
        }
    },
}


@dataclass(frozen=True, kw_only=True)
class DescribedRoute:
    """What the description says of a route.

    Attributes
    ----------
    path, summary : str
        Which one, and what it does.
    answer : type or str
        The form of the answer; its media type where it is no JSON.
    request : type or None
        The form of the body, where there is one.
    refusals : tuple of str
        Codes that not every such route has.
    """

    path: Path
    summary: str
    answer: type[msgspec.Struct] | str
    request: type[msgspec.Struct] | None = None
    refusals: tuple[RefusalCode, ...] = ()

    @property
    def method(self) -> str:
        """How it is asked."""
        return "GET" if self.request is None else "POST"

    @property
    def operation_id(self) -> str:
        """What programs call it that are made from the description."""
        return f"{self.method.lower()}_{re.sub('[^a-z0-9]+', '_', self.path.lower()).strip('_')}"

    def openapi(self) -> dict[str, Any]:
        """Describe answers, body and token."""
        is_open = self.path in OPEN
        codes: set[RefusalCode] = {"wrong_host", *self.refusals}
        found: dict[str, Any] = {}
        if not is_open:
            codes.add("no_token")
            found["security"] = [{"token": []}, {}]
        if self.request is not None:
            codes.update(_POSTED)
            found["requestBody"] = {"required": True, "content": _json(self.request)}
        ordered = sorted(codes, key=lambda code: (STATUS[code], code))
        return found | {"responses": _responses(self.answer, ordered)}


_ROUTES = (
    DescribedRoute(
        path="/v1/rewards",
        summary="Give items their rewards.",
        request=RewardsRequest,
        answer=RewardsAnswer,
        refusals=("not_ready",),
    ),
    DescribedRoute(path="/v1/reward", summary="Describe the reward.", answer=RewardDescription),
    DescribedRoute(
        path="/openrlhf",
        summary="Give OpenRLHF its rewards, always as numbers.",
        request=OpenRLHFRequest,
        answer=OpenRLHFAnswer,
        refusals=("no_number", "not_ready"),
    ),
    DescribedRoute(path="/healthz", summary="Tell that the server is alive.", answer=Alive),
    DescribedRoute(
        path="/readyz",
        summary="Tell whether requests are taken, and judged.",
        answer=Alive,
        refusals=("not_ready",),
    ),
    DescribedRoute(
        path="/metrics", summary="Give figures as Prometheus reads them.", answer="text/plain"
    ),
    DescribedRoute(
        path="/openapi.json", summary="Describe the interface.", answer="application/json"
    ),
    DescribedRoute(path="/docs", summary="Describe the interface for people.", answer="text/html"),
)
DESCRIBED: Mapping[Path, DescribedRoute] = {route.path: route for route in _ROUTES}


def _responses(answer: type[msgspec.Struct] | str, codes: Sequence[RefusalCode]) -> dict[str, Any]:
    content = {answer: {}} if isinstance(answer, str) else _json(answer)
    found: dict[str, Any] = {"200": {"description": "Done.", "content": content}}
    for status in dict.fromkeys(STATUS[code] for code in codes):
        meant = [code for code in codes if STATUS[code] == status]
        words = "; ".join(f"{_WORDS[code]} (`{code}`)" for code in meant)
        found[str(status)] = {"description": f"{words}.", "content": _json(RefusalBody)}
        if status == STATUS["queue_full"]:
            found[str(status)]["headers"] = _RETRY_AFTER
    return found


def _json(form: type[msgspec.Struct]) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=form.__name__)}
    return {"application/json": {"schema": schema}}
