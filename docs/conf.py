"""How the documentation is built: offline, and every warning is an error."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING, NoReturn

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import voirdire

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

project = "voirdire"
author = "The voirdire developers"
copyright = "2026, The voirdire developers"
release = version = metadata.version("voirdire")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
nitpicky = True
# Types in our docstrings are words for people ("array_like of int"); only names of ours must exist.
nitpick_ignore_regex = [
    ("py:(class|obj|data)", r"(?!voirdire\.).*"),
    ("py:.*", r"(numpy|scipy|polars|pandas|pyarrow|narwhals|sklearn|collections)\..*"),
]
# Words of such types may also be names of several attributes; they are no links.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more: shape, range, unit
napoleon_google_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 88
extlinks = {
    "arxiv": ("https://arxiv.org/abs/%s", "arXiv:%s"),
    "doi": ("https://doi.org/%s", "doi:%s"),
}

html_theme = "furo"
html_title = f"voirdire {release}"
html_math_renderer = "mathml"

logger = logging.getLogger(__name__)


def write_mathml(visitor: HTML5Translator, node: nodes.Element) -> NoReturn:
    """Write a formula as MathML, which browsers draw by themselves, without a script from afar."""
    as_block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        formula = ""
    visitor.body.append(f"<div>{formula}</div>\n" if as_block else formula)
    raise nodes.SkipNode


def number_references(
    _app: Sphinx, _what: str, name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Make ``[1]_`` of each docstring a footnote of its own: several share a page."""
    label = re.sub(r"\W", "-", name)
    text = re.sub(r"\[(\d+)\]_", rf"[#{label}-\1]_", "\n".join(lines))
    text = re.sub(r"^(\s*\.\. )\[(\d+)\]", rf"\1[#{label}-\2]", text, flags=re.MULTILINE)
    lines[:] = text.split("\n")


def resolve_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.Element
) -> nodes.Element | None:
    """Link a bare name, or a name of the top package, to the package that documents it."""
    module, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or not name or module not in ("", "voirdire"):
        return None
    domain = env.domains.python_domain
    places = [place for place in domain.objects if place.rpartition(".")[2] == name]
    if not places:
        return None
    # Two packages may have the name; the top package says which of them it means.
    home = getattr(getattr(voirdire, name, None), "__module__", "")
    place = min(places, key=lambda known: (known.rpartition(".")[0] not in home, known))
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", place, node, contnode)


def list_exports(_app: Sphinx, page: str, source: list[str]) -> None:
    """Fill in the table of what the top package exports."""
    if page == "reference/voirdire":
        source[0] = source[0].replace("EXPORTS", "\n   ".join(voirdire.__all__))


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas, the search for names and the table of exports."""
    app.add_html_math_renderer("mathml", (write_mathml, None), (write_mathml, None))
    app.connect("autodoc-process-docstring", number_references)
    app.connect("missing-reference", resolve_name)
    app.connect("source-read", list_exports)
