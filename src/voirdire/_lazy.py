"""Loads the names of a package when they are first used (PEP 562), so that its import is fast."""

from __future__ import annotations

import ast
import pkgutil
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__all__`, `__getattr__` and `__dir__` of a package from its stub.

    Parameters
    ----------
    package : str
        Its `__name__`. In the `__init__.pyi` beside it, which type checkers read, every public
        name is imported from the module that holds it.
    """
    stub = ast.parse(pkgutil.get_data(package, "__init__.pyi") or b"")
    rows = [row for row in stub.body if isinstance(row, ast.ImportFrom)]
    homes = {alias.name: str(row.module) for row in rows for alias in row.names}
    public = sorted(name for name in homes if not name.startswith("_"))

    def load(name: str) -> Any:
        if name not in homes:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return public, load, names
