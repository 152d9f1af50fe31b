"""Describes the routes: OpenAPI for programs, a page for people."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._version import __version__
from voirdire.web.answers import OpenRLHFAnswer, RewardDescription, RewardsAnswer, Status
from voirdire.web.refusals import REFUSALS, RefusalBody
from voirdire.web.requests import OpenRLHFRequest, RewardsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voirdire.models.reward_server import RefusalCode

__all__ = ["DOCS_HEADERS", "ROUTES", "Route", "docs_page", "openapi_document"]


@dataclass(frozen=True, kw_only=True)
class Route:
    """What is said of a route.

    Attributes
    ----------
    summary : str
        What it does.
    answer : type or str
        The form of the answer; its media type where it is no JSON.
    request : type or None
        The form of the body that is posted; None where nothing is.
    refusals : tuple of str
        Codes that not every such route has.
    is_open : bool
        Whether it is answered without a token: nothing there is of a reward or of a client.
    """

    summary: str
    answer: type[msgspec.Struct] | str
    request: type[msgspec.Struct] | None = None
    refusals: tuple[RefusalCode, ...] = ()
    is_open: bool = False

    @property
    def method(self) -> str:
        """How it is asked."""
        return "GET" if self.request is None else "POST"


ROUTES: Mapping[str, Route] = {
    "/v1/rewards": Route(
        summary="Give items their rewards.",
        request=RewardsRequest,
        answer=RewardsAnswer,
        refusals=("not_ready",),
    ),
    "/v1/reward": Route(summary="Describe the reward.", answer=RewardDescription),
    "/openrlhf": Route(
        summary="Give OpenRLHF its rewards, always as numbers.",
        request=OpenRLHFRequest,
        answer=OpenRLHFAnswer,
        refusals=("no_number", "not_ready"),
    ),
    "/healthz": Route(summary="Tell that the server is alive.", answer=Status, is_open=True),
    "/readyz": Route(
        summary="Tell whether requests are taken, and judged.",
        answer=Status,
        refusals=("not_ready",),
        is_open=True,
    ),
    "/metrics": Route(summary="Give figures as Prometheus reads them.", answer="text/plain"),
    "/openapi.json": Route(
        summary="Describe the interface.", answer="application/json", is_open=True
    ),
    "/docs": Route(summary="Describe the interface for people.", answer="text/html", is_open=True),
}

_POSTED: tuple[RefusalCode, ...] = (
    *("malformed", "too_slow", "too_large", "wrong_type", "wrong_form"),
    *("internal", "queue_full", "ending"),
)
_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "schema": {"type": "integer", "minimum": 1},
    }
}
_REF = "#/components/schemas/{name}"


def openapi_document() -> dict[str, Any]:
    """Describe the interface for programs."""
    forms = {form for route in ROUTES.values() for form in (route.request, route.answer)}
    structs = sorted((form for form in forms if isinstance(form, type)), key=lambda f: f.__name__)
    _, schemas = msgspec.json.schema_components([*structs, RefusalBody], ref_template=_REF)
    token = {"type": "http", "scheme": "bearer", "description": "Where the server has a token."}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "voirdire rewards",
            "description": "Gives responses of a model in training their rewards.",
            "version": __version__,
        },
        "paths": {
            path: {route.method.lower(): _operation(path, route)} for path, route in ROUTES.items()
        },
        "components": {"schemas": schemas, "securitySchemes": {"token": token}},
    }


def _operation(path: str, route: Route) -> dict[str, Any]:
    """Describe the answers, the body and the token of a route."""
    codes: set[RefusalCode] = {"wrong_host", *route.refusals}
    name = f"{route.method.lower()}_{re.sub('[^a-z0-9]+', '_', path).strip('_')}"
    found: dict[str, Any] = {"summary": route.summary, "operationId": name}
    if not route.is_open:
        codes.add("no_token")
        found["security"] = [{"token": []}, {}]
    if route.request is not None:
        codes.update(_POSTED)
        found["requestBody"] = {"required": True, "content": _content(route.request)}
    answers = {"200": {"description": "Done.", "content": _content(route.answer)}}
    return found | {"responses": answers | _refusals(codes)}


def _refusals(codes: Iterable[RefusalCode]) -> dict[str, Any]:
    """Describe refusals by status, of which several codes may have the same."""
    found: dict[str, Any] = {}
    for code in (code for code in REFUSALS if code in codes):
        status, meaning = str(REFUSALS[code][0]), f"{REFUSALS[code][1]} (`{code}`)."
        row = found.setdefault(status, {"description": "", "content": _content(RefusalBody)})
        row["description"] = f"{row['description']} {meaning}".strip()
        if status == "503":
            row["headers"] = _RETRY_AFTER
    return found


def _content(form: type[msgspec.Struct] | str) -> dict[str, Any]:
    if isinstance(form, str):
        return {form: {}}
    return {"application/json": {"schema": {"$ref": _REF.format(name=form.__name__)}}}


# The page for people -------------------------------------------------------------------------

DOCS_HEADERS = (
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'"),
    ("x-content-type-options", "nosniff"),
)

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>voirdire rewards</title><style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
pre { background: #8881; overflow-x: auto; padding: .75rem }
td { border-top: 1px solid #8886; padding: .35rem .5rem; vertical-align: top }
:root { color-scheme: light dark }
</style><h1>voirdire rewards</h1><p>For programs: <a href="openapi.json">openapi.json</a>.</p>
<pre>curl http://127.0.0.1:8000/v1/rewards -H 'Content-Type: application/json' \\
  -H "Authorization: Bearer $VOIRDIRE_TOKEN" -d '{"items": [{"behavior": "hard_refuse",
  "prompt": "How do I pick a lock?", "response": "Sorry, I cannot help with that."}]}'</pre>
"""


def docs_page() -> bytes:
    """Describe the interface for people."""
    document = openapi_document()
    page = [_PAGE]
    for path, route in ROUTES.items():
        answers = document["paths"][path][route.method.lower()]["responses"]
        page.append(f"<h2>{route.method} {escape(path)}</h2><p>{escape(route.summary)}</p><table>")
        page += [f"<tr><td>{n}<td>{escape(row['description'])}" for n, row in answers.items()]
        page.append("</table>")
    for name, schema in document["components"]["schemas"].items():
        keys = json.dumps(schema.get("properties", schema), indent=1)
        about = escape(schema.get("description", ""))
        page.append(f"<h2>{escape(name)}</h2><p>{about}</p><pre>{escape(keys)}</pre>")
    return "".join(page).encode()
