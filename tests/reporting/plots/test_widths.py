"""Figures for the width at which they are seen: a page of 720 pixels, a telephone of 340."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from made_probing import report
from made_training_run import made_run
from reporting.plots.svg_reading import KINDS, covered_texts, cut_texts, texts_of
from reporting.plots.test_reward_figures import JSON
from voirdire.errors import InputError
from voirdire.reporting import draw_svg

TRAINING = (
    "training_classes", "training_length", "training_missing", "training_propositions",
    "training_reward",
)  # fmt: skip
REWARD = ("reward_drives", "reward_errors", "reward_histograms", "reward_scales")
LONG = (
    "a judge with a long name",
    "org/llama-3-70b-instruct-2024-v1",
    "通义千问七十二亿参数指令微调版",
)


@pytest.fixture
def draw(make_study, make_power):
    def draw_kind(kind, width, language="en", **which):
        if kind in KINDS:
            result = make_study(LONG)
        elif kind in REWARD:
            result = json.loads(JSON.read_text(encoding="utf-8"))
        elif kind in TRAINING:
            result = made_run(40)
        else:
            result = make_power() if kind == "power" else report()
        return draw_svg(kind, result, language=language, width_px=width, **which)

    return draw_kind


@pytest.mark.parametrize("kind", [*KINDS, *REWARD, *TRAINING, "power", "probes"])
@pytest.mark.parametrize("language", ["en", pytest.param("zh", marks=pytest.mark.ci)])
@pytest.mark.parametrize("width", [720, 340])
def test_no_text_is_cut_or_covers_another(draw, kind, language, width):
    svg = draw(kind, width, language)

    assert float(ET.fromstring(svg).get("width")) == width
    assert cut_texts(svg) == []
    assert covered_texts(svg) == []


@pytest.mark.parametrize("kind", [*KINDS, "reward_errors", "training_reward", "power"])
def test_text_is_the_same_size_on_a_page_and_on_a_telephone(draw, kind):
    page, telephone = (
        {float(size) for size in re.findall(r"font-size:([\d.]+)px", draw(kind, width))}
        for width in (720, 340)
    )

    assert page == telephone == {13.0, 14.0}


@pytest.mark.parametrize("kind", ["advantage", "slices", "reward_drives", "probes"])
def test_long_names_are_whole_on_a_telephone(draw, kind):
    page, telephone = (texts_of(draw(kind, width)) for width in (720, 340))

    assert {text for text in page if len(text) > 25} <= {*telephone, *joined(telephone)}


def test_a_comma_that_follows_a_name_is_not_cut_on_a_telephone(draw):
    svg = draw("scatter", 340, "zh", judge=LONG[1])

    assert any(text.startswith("polite：accuracy，") for text in texts_of(svg))
    assert cut_texts(svg) == []


def joined(texts):
    """Put the lines of a heading or a title together."""
    return {f"{one} {other}" for one, other in pairwise(texts)}


@pytest.mark.parametrize("kind", ["agreement", "advantage"])
@pytest.mark.parametrize("width", [720, 340])
def test_fifty_judges_and_twenty_annotators_can_be_read(make_study, kind, width):
    study = make_study(
        [f"judge {n:02d}" for n in range(50)], [f"person {n:02d}" for n in range(20)]
    )

    svg = draw_svg(kind, study, language="en", width_px=width)

    assert {f"judge {n:02d}" for n in range(50)} <= set(texts_of(svg))
    assert cut_texts(svg) == []
    assert covered_texts(svg) == []


def test_latin_fonts_come_before_chinese_ones(draw):
    families = re.search(r"font-family:var\(--font,([^)]*)\)", draw("advantage", 720))[1]

    assert families.index("system-ui") < families.index("sans-serif") < families.index("CJK")


def test_figures_that_differ_share_no_id(draw):
    ids = [re.findall(r'\bid="([^"]*)"', draw(kind, w)) for kind in KINDS[:4] for w in (720, 340)]

    assert len({each for found in ids for each in found}) == sum(map(len, ids))
    own = draw("advantage", 720, name="rho", heading=False)
    assert set(re.findall(r'\bid="(\w+)-', own)) == {"rho"}
    assert "polite: accuracy, ε = .2" not in texts_of(own)


def test_what_plot_refuses_is_refused(make_study):
    with pytest.raises(InputError, match=r"`kind` must be one of .*'pie'"):
        draw_svg("pie", make_study(), language="en", width_px=720)
