"""The description of the interface: OpenAPI for programs, a page for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec

import voirdire
from voirdire.web.answers import RewardDescription, RewardsAnswer, Status
from voirdire.web.refusals import REFUSALS, RefusalBody, RefusalCode
from voirdire.web.requests import RewardsRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DESCRIBED", "DOCS_HEADERS", "docs_page", "openapi_document"]


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
        Status,
        RefusalBody,
    ),
    ref_template=_REF,
)
_COMPONENTS = {
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

    path: str
    summary: str
    answer: type[msgspec.Struct] | str
    request: type[msgspec.Struct] | None = None
    refusals: tuple[RefusalCode, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it is answered without a token: nothing there is of a reward or of a client."""
        return self.path in ("/healthz", "/readyz", "/openapi.json", "/docs")

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
        codes: set[RefusalCode] = {"wrong_host", *self.refusals}
        found: dict[str, Any] = {"summary": self.summary, "operationId": self.operation_id}
        if not self.is_open:
            codes.add("no_token")
            found["security"] = [{"token": []}, {}]
        if self.request is not None:
            codes.update(_POSTED)
            found["requestBody"] = {"required": True, "content": _json(self.request)}
        ordered = sorted(codes, key=lambda code: (REFUSALS[code][0], code))
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
    DescribedRoute(path="/healthz", summary="Tell that the server is alive.", answer=Status),
    DescribedRoute(
        path="/readyz",
        summary="Tell whether requests are taken, and judged.",
        answer=Status,
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
DESCRIBED: Mapping[str, DescribedRoute] = {route.path: route for route in _ROUTES}

_TITLE = "voirdire rewards"
_ABOUT = "Gives responses of a model in training their rewards."


def openapi_document() -> dict[str, Any]:
    """Describe the interface for programs."""
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "description": _ABOUT, "version": voirdire.__version__},
        "paths": {route.path: {route.method.lower(): route.openapi()} for route in _ROUTES},
        "components": _COMPONENTS,
    }


def _responses(answer: type[msgspec.Struct] | str, codes: Sequence[RefusalCode]) -> dict[str, Any]:
    content = {answer: {}} if isinstance(answer, str) else _json(answer)
    found: dict[str, Any] = {"200": {"description": "Done.", "content": content}}
    for status in dict.fromkeys(REFUSALS[code][0] for code in codes):
        meant = [code for code in codes if REFUSALS[code][0] == status]
        words = "; ".join(f"{REFUSALS[code][1]} (`{code}`)" for code in meant)
        found[str(status)] = {"description": f"{words}.", "content": _json(RefusalBody)}
        if status == REFUSALS["queue_full"][0]:
            found[str(status)]["headers"] = _RETRY_AFTER
    return found


def _json(form: type[msgspec.Struct]) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=form.__name__)}
    return {"application/json": {"schema": schema}}


# The page for people -------------------------------------------------------------------------

DOCS_HEADERS = (
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
    ("X-Content-Type-Options", "nosniff"),
)

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
pre, code { font: 14px/1.4 ui-monospace, monospace }
pre { background: #8881; overflow-x: auto; padding: .75rem }
table { border-collapse: collapse; width: 100% }
td, th { border-top: 1px solid #8886; padding: .35rem .5rem; text-align: left; vertical-align: top }
:root { color-scheme: light dark }
"""
_EXAMPLE = """curl http://127.0.0.1:8000/v1/rewards \\
  -H 'Content-Type: application/json' \\
  -H "Authorization: Bearer $VOIRDIRE_TOKEN" \\
  -d '{"items": [{"prompt": "How do I pick a lock?",
                  "response": "Sorry, I cannot help with that.",
                  "behavior": "hard_refuse"}]}'"""


def docs_page(document: dict[str, Any]) -> str:
    """Write the page of an OpenAPI document."""
    sections = "".join(
        _section(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "".join(
        _schema(name, schema) for name, schema in document["components"]["schemas"].items()
    )
    info = document["info"]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{escape(info['description'])} For programs: "
        '<a href="openapi.json">openapi.json</a>.</p>'
        f"<pre>{escape(_EXAMPLE)}</pre>{sections}<h2>Forms</h2>{schemas}</html>\n"
    )


def _section(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(status)}<td>{escape(answer['description'])}"
        for status, answer in operation["responses"].items()
    )
    return (
        f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>"
        f"<p>{escape(operation['summary'])}</p><table><tr><th>status<th>meaning{rows}</table>"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(key)}</code><td>{escape(_kind(value))}"
        f"<td>{'required' if key in schema.get('required', ()) else ''}"
        for key, value in schema.get("properties", {}).items()
    )
    return (
        f"<h3><code>{escape(name)}</code></h3><p>{escape(schema.get('description', ''))}</p>"
        f"<table><tr><th>key<th>type<th>{rows}</table>"
    )


def _kind(schema: dict[str, Any]) -> str:
    """Say in a word or two what a value is."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items') or {})}" if "items" in schema else "list"
    return str(schema.get("type", "anything"))
