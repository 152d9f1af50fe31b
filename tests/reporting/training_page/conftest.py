"""Pages of made-up training runs, their words, and what a browser would see of them."""

import functools
from dataclasses import asdict

import pytest

from page_reading import Page, text_of
from sketched_figures import are_drawn, drawn, sketched_figures  # noqa: F401  # fixtures
from voirdire.reporting import training_report


@functools.cache
def _rendered(key):
    run, options = _RUNS[key]
    return training_report(run, **options)


_RUNS = {}


@pytest.fixture
def rendered():
    """Render a page, the same one only once: figures take time."""

    def render(run, **options):
        key = repr((asdict(run), options, are_drawn()))
        _RUNS[key] = run, options
        return _rendered(key)

    return render


@pytest.fixture
def seen(rendered):
    """Give what a browser would see of a page."""
    return lambda run, **options: Page(rendered(run, **options))


@pytest.fixture
def page_text(rendered):
    """Render a page and give its words."""

    return lambda run, **options: text_of(rendered(run, **options))
