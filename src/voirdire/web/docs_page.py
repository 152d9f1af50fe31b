"""A page about the interface, for people: one file, which loads nothing from anywhere."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["HEADERS", "docs_page"]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}

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
