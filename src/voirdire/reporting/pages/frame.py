"""Build the document of a page: one self-contained file in one style."""

from __future__ import annotations

import json
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from voirdire._version import __version__
from voirdire.reporting.colours import theme_css
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.charts import plane_of, scales_of_tracks
from voirdire.reporting.pages.items import heading_of, item_filters, items_script, script_source
from voirdire.reporting.pages.speech import Name, Speaker, Verbatim, one_line
from voirdire.reporting.pages.view import Part, Table

if TYPE_CHECKING:
    from jinja2 import Environment

    from voirdire._types import Language
    from voirdire.reporting.pages.view import Column, View


_TITLE_WIDTH = 200
_to_json = partial(json.dumps, ensure_ascii=False, default=str)


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


def render_page(view: View, *, language: Language, title: str | None = None) -> str:
    """Write what is said of a result as a document of its own, with its heading."""
    speaker = Speaker(language)
    columns: list[Column] = [
        ("setting", lambda row: Name(row[0], 80)),
        ("value", lambda row: Verbatim(row[1] if isinstance(row[1], str) else _to_json(row[1]))),
    ]
    rows = [*view.settings.items(), ("voirdire", __version__)]
    settings = Table.of(None, rows, columns, label="settings.title", most=300)
    return (
        _environment()
        .get_template("view.html.j2")
        .render(
            t=speaker,
            language=LANGUAGE_TAGS[language],
            space=speaker.phrases["sentence.space"],
            title=None if title is None else one_line(title, width=_TITLE_WIDTH),
            has_items=any(block.form == "cards" for block in view.all_blocks()),
            view=view,
            settings=(Part(name="settings", blocks=(settings,)),),
        )
    )
