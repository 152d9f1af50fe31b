"""Figures for the width of a page, 720 pixels."""

import re
import xml.etree.ElementTree as ET

import pytest

from made_training_run import made_run
from reporting.plots.svg_reading import KINDS, covered_texts, cut_texts, texts_of
from voirdire.errors import InputError
from voirdire.reporting import draw_svg

TRAINING = (
    "training_classes", "training_length", "training_missing", "training_propositions",
    "training_reward",
)  # fmt: skip
LONG = (
    "a judge with a long name",
    "org/llama-3-70b-instruct-2024-v1",
    "通义千问七十二亿参数指令微调版",
)


@pytest.fixture
def draw(make_study, make_power):
    def draw_kind(kind, language="en", **which):
        if kind in KINDS:
            result = make_study(LONG)
        elif kind in TRAINING:
            result = made_run(40)
        else:
            result = make_power()
        return draw_svg(kind, result, language=language, width_px=720, **which)

    return draw_kind


@pytest.mark.edges
@pytest.mark.parametrize("kind", [*KINDS, *TRAINING, "power"])
@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.ci)])
def test_no_text_is_cut_or_covers_another(draw, kind, language):
    svg = draw(kind, language)

    assert float(ET.fromstring(svg).get("width")) == 720
    assert cut_texts(svg) == []
    assert covered_texts(svg) == []
    assert {float(size) for size in re.findall(r"font-size:([\d.]+)px", svg)} == {13.0, 14.0}


@pytest.mark.ci
def test_fifty_judges_can_be_read(make_study):
    study = make_study(
        [f"judge {n:02d}" for n in range(50)], [f"person {n:02d}" for n in range(20)]
    )

    svg = draw_svg("advantage", study, language="en", width_px=720)

    assert {f"judge {n:02d}" for n in range(50)} <= set(texts_of(svg))
    assert cut_texts(svg) == []
    assert covered_texts(svg) == []


def test_latin_fonts_come_before_chinese_ones(draw):
    families = re.search(r"font-family:var\(--font,([^)]*)\)", draw("advantage"))[1]

    assert families.index("system-ui") < families.index("sans-serif") < families.index("CJK")


@pytest.mark.ci
def test_figures_that_differ_share_no_id(draw):
    ids = [re.findall(r'\bid="([^"]*)"', draw(kind)) for kind in KINDS]

    assert len({each for found in ids for each in found}) == sum(map(len, ids))
    own = draw("advantage", name="rho")
    assert set(re.findall(r'\bid="(\w+)-', own)) == {"rho"}


def test_what_plot_refuses_is_refused(make_study):
    with pytest.raises(InputError, match=r"`kind` must be one of .*'pie'"):
        draw_svg("pie", make_study(), language="en", width_px=720)
