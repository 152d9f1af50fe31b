"""What the tests of the numbers share."""

import tracemalloc

import pytest


@pytest.fixture
def peak_memory():
    """Give a function that runs another and returns the bytes that it held at its peak."""

    def measure(function):
        tracemalloc.start()
        try:
            function()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return measure
