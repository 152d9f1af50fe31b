"""A maker of cascades for every test."""

import pytest

from judging.cascade.cascade_cases import Cascades


@pytest.fixture
def cascades():
    """Give the maker of cascades."""
    return Cascades()
