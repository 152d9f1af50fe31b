"""Serves rewards over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.web.app import RewardApp, create_app
    from voirdire.web.server import serve
    from voirdire.web.settings import ServerSettings

__all__ = ["RewardApp", "ServerSettings", "create_app", "serve"]

_HOMES = {"RewardApp": "app", "ServerSettings": "settings", "create_app": "app", "serve": "server"}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
