"""Build the document of a page: one self-contained file in one style."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from voirdire._messages import shorten
from voirdire._version import __version__
from voirdire.errors import InputError
from voirdire.reporting.number_formats import is_defined, percent, share
from voirdire.reporting.pages.charts import plane_of, scales_of_tracks
from voirdire.reporting.pages.items import heading_of, item_filters, items_script, script_source
from voirdire.reporting.pages.speech import (
    Count,
    Interval,
    Label,
    Name,
    Percent,
    Share,
    Speaker,
    Verbatim,
    one_line,
)
from voirdire.reporting.pages.view import Part, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment

    from voirdire._types import Language
    from voirdire.reporting.pages.view import View

__all__ = [
    "check_text",
    "page_environment",
    "page_head",
    "page_words",
    "render_page",
    "settings_rows",
    "style_sheet",
]

_TITLE_WIDTH = 200
_DATE_WIDTH = 60
_SPOKEN = (Count, Interval, Label, Name, Percent, Share, Verbatim)


@cache
def page_environment(**own: Any) -> Environment:
    """Prepare the templates; `own` are functions for one page, besides those for all pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {kind.__name__: kind for kind in _SPOKEN}
    environment.globals |= {"percent": percent, "share": share, "one_line": one_line} | own
    environment.globals |= {"plane_of": plane_of, "scales_of_tracks": scales_of_tracks}
    environment.globals |= {"is_defined": is_defined}
    environment.globals |= {"item_filters": item_filters, "heading_of": heading_of}
    environment.globals |= {"items_script": items_script(), "has_items": False}
    environment.globals |= {"script_source": Markup(script_source())}  # noqa: S704  # ours
    return environment


def render_page(
    view: View, *, language: Language, title: str | None = None, created: str | None = None
) -> str:
    """Write what is said of a result as a document of its own."""
    environment = page_environment()
    speaker = Speaker(language, view.catalog)
    settings = Settings("settings.title", settings_rows(dict(view.settings)), is_versioned=True)
    return environment.get_template("view.html.j2").render(
        **page_words(speaker),
        **page_head(title=title, created=created),
        css=style_sheet(),
        view=view,
        h=2,
        is_chapter=False,
        has_items=any(block.form == "cards" for block in view.all_blocks()),
        chapters=[
            Markup(  # noqa: S704  # escaped by the template
                environment.get_template("view_body.html.j2").render(
                    **page_words(Speaker(language, chapter.catalog)),
                    view=chapter,
                    h=3,
                    is_chapter=True,
                )
            )
            for chapter in view.chapters
        ],
        settings=(Part(name="settings", blocks=(settings,)),),
    )


def page_words(speaker: Speaker) -> dict[str, Any]:
    """Give what templates say in a language.

    Parameters
    ----------
    speaker : Speaker
        Of the page.

    Returns
    -------
    dict
        `t`, `language`, `space` (between two sentences) and `version`.
    """
    return {
        "t": speaker,
        "language": {"en": "en", "zh": "zh-Hans"}[speaker.language],
        "space": speaker.phrases["sentence.space"],
        "version": __version__,
    }


def page_head(*, title: str | None, created: str | None) -> dict[str, Any]:
    """Give heading and date as they are shown.

    Parameters
    ----------
    title, created : str or None
        As the caller has them.

    Returns
    -------
    dict
        `title` and `created`, each on one line; None where there is none.

    Raises
    ------
    InputError
        If one of them is no text, or empty.
    """
    check_text("title", title)
    check_text("created", created)
    return {
        "title": None if title is None else one_line(title, width=_TITLE_WIDTH),
        "created": None if created is None else one_line(created, width=_DATE_WIDTH),
    }


def check_text(name: str, value: object) -> None:
    """Refuse a value that is not text, or is empty."""
    if value is not None and (not isinstance(value, str) or not value.strip()):
        msg = f"`{name}` must be text, got {shorten(repr(value))}."
        raise InputError(msg)


@cache
def style_sheet() -> Markup:
    """Return the colours of the figures and the style of every page."""
    from voirdire.reporting.colours import theme_css

    style = files(__package__).joinpath("templates", "page.css").read_text("utf-8")
    return Markup(theme_css() + style)  # noqa: S704  # ours, and no other


_VALUE_WIDTH = 200
_MOST_SETTINGS = 300
_MOST_LISTED = 20
_DEEPEST = 3
_MOST_SHOWN = 10**40


def settings_rows(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """List settings as text, the first 300; nested ones under their names with dots."""
    return list(islice(_settings(settings, prefix="", depth=1), _MOST_SETTINGS))


def _settings(value: Any, *, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, each in value.items() if isinstance(value, dict) else enumerate(value, start=1):
        here = f"{prefix}{one_line(str(name), width=40)}"
        inner = isinstance(each, dict) or (
            isinstance(each, list) and any(isinstance(x, dict) for x in each[:_MOST_LISTED])
        )
        if inner and each and depth < _DEEPEST:
            yield from _settings(each, prefix=f"{here}.", depth=depth + 1)
        else:
            yield here, _as_text(each)


def _as_text(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        shown = ", ".join(_as_text(each) for each in value[:_MOST_LISTED])
        more = len(value) - _MOST_LISTED
        return one_line(f"{shown}, … ({more:,})" if more > 0 else shown, width=_VALUE_WIDTH)
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value):,}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > _MOST_SHOWN:
        return "…"
    return "–" if value is None else one_line(str(value), width=_VALUE_WIDTH)
