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
from voirdire.reporting.colours import theme_css
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.charts import plane_of, scales_of_tracks
from voirdire.reporting.pages.items import heading_of, item_filters, items_script, script_source
from voirdire.reporting.pages.speech import Name, Speaker, one_line
from voirdire.reporting.pages.view import Part, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment

    from voirdire._types import Language
    from voirdire.reporting.pages.view import Column, View


_TITLE_WIDTH, _DATE_WIDTH = 200, 60


LANGUAGE_TAGS = {"en": "en", "zh": "zh-Hans"}


def make_environment(package: str) -> Environment:
    """Prepare the templates of a package; what is filled in is text, whatever it holds."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        autoescape=True,
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _environment() -> Environment:
    """Prepare the templates with what they call."""
    environment = make_environment(str(__package__))
    style = files(__package__).joinpath("templates", "page.css").read_text("utf-8")
    environment.globals |= {
        "Name": Name,
        "one_line": one_line,
        "plane_of": plane_of,
        "scales_of_tracks": scales_of_tracks,
        "is_defined": is_defined,
        "item_filters": item_filters,
        "heading_of": heading_of,
        "items_script": items_script(),
        "script_source": Markup(script_source()),  # noqa: S704  # ours
        "css": Markup(theme_css() + style),  # noqa: S704  # ours, and no other
        "version": __version__,
    }
    return environment


def render_page(
    view: View, *, language: Language, title: str | None = None, created: str | None = None
) -> str:
    """Write what is said of a result as a document of its own, with its heading and date."""
    check_text("title", title)
    check_text("created", created)
    speaker = Speaker(language)
    rows = [*settings_rows(dict(view.settings)), ("voirdire", __version__)]
    columns: list[Column] = [
        ("setting", lambda row: Name(row[0], _VALUE_WIDTH)),
        ("value", lambda row: Name(row[1], _VALUE_WIDTH)),
    ]
    settings = Table.of(None, rows, columns, label="settings.title", most=len(rows))
    return (
        _environment()
        .get_template("view.html.j2")
        .render(
            t=speaker,
            language=LANGUAGE_TAGS[language],
            space=speaker.phrases["sentence.space"],
            title=None if title is None else one_line(title, width=_TITLE_WIDTH),
            created=None if created is None else one_line(created, width=_DATE_WIDTH),
            has_items=any(block.form == "cards" for block in view.all_blocks()),
            view=view,
            settings=(Part(name="settings", blocks=(settings,)),),
        )
    )


def check_text(name: str, value: object) -> None:
    """Refuse a value that is not text, or is empty."""
    if value is not None and (not isinstance(value, str) or not value.strip()):
        msg = f"`{name}` must be text, got {shorten(repr(value))}."
        raise InputError(msg)


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
