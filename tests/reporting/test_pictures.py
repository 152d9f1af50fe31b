"""Pictures: what matplotlib draws are the figures of the result."""

import io
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import voirdire
from made_results import made_gold, made_power
from voirdire.errors import InputError
from voirdire.reporting import html_page, plot


def lines_of(axes):
    """Give the points of each line by its name, with spaces that may break."""
    return {line.get_label().replace("\N{NO-BREAK SPACE}", " "): line.get_xydata()
            for line in axes.lines}  # fmt: skip


def test_curves_of_power_are_those_of_the_result():
    result = made_power(0.5)

    [axes] = plot(result).axes

    drawn = lines_of(axes)
    for row in result.rows:
        epsilon = f"{row.epsilon:g}".removeprefix("0")
        points = drawn[f"{row.n_annotators} annotators, ε = {epsilon}"]
        assert [row.n_items, row.power] in points.tolist()
    assert "wanted: 80%" in [text.get_text() for text in axes.texts]


def test_reliability_is_drawn_with_its_intervals():
    examination = made_gold()
    worst = max(examination.results, key=lambda row: row.brier.calibration_error.estimate)

    [axes] = plot(examination).axes

    bins = worst.calibration
    assert axes.lines[1].get_xydata() == pytest.approx(
        np.array([(each.probability, each.share) for each in bins])
    )
    ends = sorted(tuple(path.vertices[:, 1]) for lines in axes.collections
                  for path in lines.get_paths())  # fmt: skip
    known = sorted((each.low, each.high) for each in bins)
    assert np.array(ends) == pytest.approx(np.array(known))


def test_a_judge_is_drawn_against_every_annotator():
    truth = {item: item % 2 for item in range(60)}
    humans = {
        name: {item: 1 - x if item % 12 == slip else x for item, x in truth.items()}
        for slip, name in enumerate(["ann", "$b_o$b", "eve"])
    }
    judge = {item: 1 - x if item < 20 else x for item, x in truth.items()}
    result = voirdire.alt_test(judge, humans)

    [tracks], [axes] = plot(result).axes, plot(result, "q1-scatter-1").axes

    dots = [x for line in tracks.lines if line.get_marker() == "o" for x in line.get_xdata()]
    assert [x for x in dots if x == x] == [
        row.advantage_judge - row.advantage_human for row in result.annotators
    ]

    points = {text.get_text(): text.xy for text in axes.texts}
    assert points == {
        row.annotator.replace("$", r"\$"): (row.advantage_judge, row.advantage_human)
        for row in result.annotators
    }


def test_axes_of_the_caller_are_drawn_on():
    both = Figure()
    left, right = both.subplots(1, 2)

    assert plot(made_power(), ax=left) is both
    plot(made_gold(), ax=right, language="zh")

    assert right.get_xlabel() == "给出的概率"


def test_charts_that_are_not_there_are_named():
    with pytest.raises(InputError, match="`name` must be one of 'power', got 'pie'"):
        plot(made_power(), "pie")
    with pytest.raises(InputError, match="`result` must be one of"):
        plot(object())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_puts_points_and_ticks_on_one_scale(language):
    result = made_power(0.5)

    page = html_page(result, language=language)

    chart = page[page.index('<svg class="chart"') : page.index("</figure>")]
    marks = r'<circle class="passed" cx="([\d.]+)%" cy="([\d.]+)%"'
    placed = sorted((float(x), float(y)) for x, y in re.findall(marks, chart))
    points = [(row.n_items, row.power) for row in result.rows]
    for axis, sign, kind in ((0, 1, "x"), (1, -1, "y")):
        attribute = f'<text class="{kind}"[^>]* {kind}="([\\d.]+)%"[^>]*>([\\d.,]+)<'
        ticks = [(float(place), float(text)) for place, text in re.findall(attribute, chart)]
        (first, low), (last, high) = ticks[0], ticks[-1]
        slope = (last - first) / (high - low)
        assert slope * sign > 0
        wanted = sorted(first + slope * (point[axis] - low) for point in points)
        assert sorted(point[axis] for point in placed) == pytest.approx(wanted, abs=0.02)


def test_pictures_need_no_pyplot():
    assert plot(made_gold())._repr_png_()[:4] == b"\x89PNG"
    buffer = io.BytesIO()
    plot(made_power()).savefig(buffer, format="pdf")
    assert buffer.getvalue()[:4] == b"%PDF"
