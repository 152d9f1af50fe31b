"""Tests that need a large framework: skipped where it is missing, unless it must be there."""

import importlib
import os

import pytest


def require_framework(*names):
    """Skip the calling module unless every package is installed.

    With VOIRDIRE_REQUIRE_FRAMEWORKS=1 a missing one is a failure: so the job that installs them
    cannot pass by skipping.
    """
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            if os.environ.get("VOIRDIRE_REQUIRE_FRAMEWORKS") == "1":
                raise
            pytest.skip(f"{name} is not installed", allow_module_level=True)
