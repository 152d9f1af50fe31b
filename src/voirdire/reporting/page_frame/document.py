"""The document around a page: one file without scripts and without requests, in one style."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.page_frame.figures import figures_css
from voirdire.reporting.page_frame.numerals import percent, share
from voirdire.reporting.page_frame.shown import one_line
from voirdire.reporting.page_frame.speech import (
    Count,
    Interval,
    Label,
    Name,
    Percent,
    Share,
    Verbatim,
)

if TYPE_CHECKING:
    from jinja2 import Environment

    from voirdire.reporting.page_frame.speaker import Speaker

__all__ = ["check_text", "page_environment", "page_head", "page_words", "style_sheet"]

_FRAME = "voirdire.reporting.page_frame"
_FOLDER = "templates"
_TITLE_WIDTH = 200
_DATE_WIDTH = 60
_SPOKEN = (Count, Interval, Label, Name, Percent, Share, Verbatim)


@cache
def page_environment(package: str, **own: Any) -> Environment:
    """Make the templates of a page ready, which extend ``frame.html.j2``.

    Parameters
    ----------
    package : str
        The page's, with a folder of templates; none has the name of one of the frame's.
    **own
        What its templates call beside what all of them do.

    Returns
    -------
    Environment
        It escapes all text, and refuses a name that nobody gave.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=ChoiceLoader([PackageLoader(each, _FOLDER) for each in (package, _FRAME)]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {kind.__name__: kind for kind in _SPOKEN}
    environment.globals |= {"percent": percent, "share": share} | own
    return environment


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
    from voirdire import __version__

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
    """Refuse what is given as text and is none."""
    if value is not None and (not isinstance(value, str) or not value.strip()):
        msg = f"`{name}` must be text, got {shorten(repr(value))}."
        raise InputError(msg)


def style_sheet(*sheets: tuple[str, str], is_page: bool = True) -> Markup:
    """Return the colours of the figures, the style of every page, and what a page adds to it.

    Parameters
    ----------
    *sheets : tuple of (str, str)
        Package and file name of each sheet of its own, in their order.
    is_page : bool, optional
        Whether colours and common style are part of it.

    Returns
    -------
    Markup
        CSS.
    """
    common = ((_FRAME, "page.css"),) if is_page else ()
    texts = [
        files(package).joinpath(_FOLDER, name).read_text("utf-8")
        for package, name in (*common, *sheets)
    ]
    style = Markup("").join(map(Markup, texts))  # ours, and no other
    return figures_css() + style if is_page else style
