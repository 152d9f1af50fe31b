"""The routes of a reward server; in logs and figures every other path has one name."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["OPEN", "OTHER", "PATHS", "QUIET", "Path"]

Path: TypeAlias = Literal[
    "/v1/rewards",
    "/v1/reward",
    "/openrlhf",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/docs",
]

PATHS: frozenset[str] = frozenset(get_args(Path))

OPEN: frozenset[str] = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs"})
"""Answered without a token: nothing there is of a reward or of a client."""

QUIET: frozenset[str] = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: not written into the log."""

OTHER = "(other)"
