"""Figures as inline SVG: safe, themed, repeatable."""

import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.figure import Figure

from reporting.plots.svg_reading import DARK, KINDS, LIGHT, SVG, cut_texts, texts_of
from voirdire.errors import InputError
from voirdire.reporting import plot, theme_css, to_svg

HOSTILE = (
    "</svg><script>alert(1)</script>",
    'q" onload="alert(1)',
    "<b>&amp;</b> $x$ ]]>",
    "a\u202eb\x00\ufffe",
)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast ratio of WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_the_element_stands_by_itself(make_study, kind):
    svg = to_svg(plot(make_study(), kind=kind), name="fig")

    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert svg.startswith("<svg ")
    assert root.get("role") == "img"
    assert root.get("aria-label")
    assert "width:100%" in root.get("style")
    assert "max-width:" in root.get("style")
    assert not re.search(
        r"<script|<style|<!|<\?|http(?!://www\.w3\.org/2000/svg)|xlink|metadata", svg
    )


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_stay_text(make_study, kind):
    svg = to_svg(plot(make_study(HOSTILE, HOSTILE[::-1]), kind=kind), name="fig")

    root = ET.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    assert any(text.startswith("</svg><scr") for text in texts_of(svg))


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_colours_and_fonts_come_from_the_page(make_study, kind):
    svg = to_svg(plot(make_study(), kind=kind), name="fig")

    known = {f"var(--{role})" for role in LIGHT}
    assert set(re.findall(r"var\(--[a-z0-9-]+\)", svg)) <= known
    assert "var(--ink)" in svg
    assert "var(--muted)" in svg
    assert not re.search(r"#[0-9a-f]{6}\b", svg)
    assert svg.count("font-family") == 1


@pytest.mark.ci
def test_the_same_result_gives_the_same_bytes(make_study):
    for kind in KINDS:
        first, second = (to_svg(plot(make_study(), kind=kind), name="x") for _ in range(2))

        assert first == second


def test_ids_carry_the_name_and_are_told_apart(make_study):
    svgs = [
        to_svg(plot(make_study(), kind=kind), name=f"f-{kind}")
        for kind in ("scatter", "advantage", "winning_rate")
    ]

    ids = re.findall(r'\bid="([^"]*)"', "".join(svgs))
    assert len(ids) == len(set(ids))
    assert all(name.startswith(("f-scatter-", "f-advantage-", "f-winning_rate-")) for name in ids)
    referred = re.findall(r'(?:href="#|url\(#)([^")]*)', "".join(svgs))
    assert referred
    assert set(referred) <= set(ids)


@pytest.mark.edges
@pytest.mark.parametrize("name", ["", "1a", 'a"b', "a b", "x" * 65, None])
def test_a_name_that_is_no_id_is_refused(make_study, name):
    with pytest.raises(InputError, match="`name` must be letters"):
        to_svg(plot(make_study()), name=name if name is not None else "é")


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_leaves_the_figure(make_study, kind):
    names = ["a judge with a long name", "ein Richter", "通义千问七十二亿参数指令微调版"]

    svg = to_svg(plot(make_study(names), kind=kind), name="x")

    assert cut_texts(svg) == []


def test_numbers_are_not_written_out_to_the_atom(make_study):
    svg = to_svg(plot(make_study()), name="x")

    assert not re.search(r'(?:\bd|\bx|\by|transform)="[^"]*\d\.\d{4,}', svg)


def test_any_figure_can_be_written():
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4], color="#123456", label="评")

    svg = to_svg(figure, name="own")

    assert "#123456" in svg
    assert ET.fromstring(svg).get("viewBox").startswith("0 0 ")


def test_the_theme_sets_every_variable_for_light_dark_and_paper():
    css = theme_css()

    assert set(LIGHT) == set(DARK)
    for role in LIGHT:
        assert css.count(f"--{role}:") == 3
    assert css.index(":root") < css.index("prefers-color-scheme: dark") < css.index("@media print")


def test_every_role_has_a_colour_of_its_own():
    assert len(set(LIGHT.values())) == len(LIGHT)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out(theme):
    assert contrast(theme["ink"], theme["paper"]) >= 7
    assert contrast(theme["muted"], theme["paper"]) >= 4.5
    for role in theme:
        if role.startswith("series") or role in ("pass", "fail", "unsure"):
            assert contrast(theme[role], theme["paper"]) >= 3, role
    for role in ("region-1", "region-2"):
        assert contrast(theme["ink"], theme[role]) >= 7, role
        assert contrast(theme["series-1"], theme[role]) >= 3, role
