"""The judge's advantage against each annotator's own."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.path import Path

from reporting.plots.svg_reading import LIGHT
from voirdire.reporting import plot

POINTS = [
    ("ann", 0.9, 0.8, True),
    ("bob", 0.7, 0.8, True),
    ("eve", 0.5, 0.9, False),
    ("kim", 0.62, 0.6, False),
]


def drawn(axes, gid):
    return {
        point
        for line in axes.lines
        if line.get_gid() == gid
        for point in zip(*map(tuple, line.get_data()), strict=True)
    }


@pytest.fixture
def one(make_examination_of):
    return {"examinations": [make_examination_of("best", POINTS)]}


def test_there_is_one_point_per_annotator(one):
    axes = plot(one, kind="scatter").axes[0]

    assert drawn(axes, "rejected") == {(0.9, 0.8), (0.7, 0.8)}
    assert drawn(axes, "not-rejected") == {(0.5, 0.9), (0.62, 0.6)}


def test_annotators_whom_the_judge_wins_are_filled(one):
    axes = plot(one, kind="scatter").axes[0]

    faces = {line.get_gid(): to_hex(line.get_markerfacecolor()) for line in axes.lines[1:]}
    assert faces == {"rejected": LIGHT["series-1"], "not-rejected": LIGHT["paper"]}


@pytest.mark.edges
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2, 0.9])
def test_regions_are_where_the_judge_is_good_enough(make_examination_of, by_gid, mode, epsilon):
    row = make_examination_of("best", POINTS, epsilon=epsilon, mode=mode)
    axes = plot({"examinations": [row]}, kind="scatter").axes[0]
    (good,), (near,) = by_gid(axes, "region-1"), by_gid(axes, "region-2")
    low, high = axes.get_xlim()

    x, y = np.random.default_rng(0).uniform(low, high, size=(2, 4000))
    least = (1 - epsilon) * y if mode == "multiplicative" else y - epsilon
    clear = (abs(x - y) > 1e-3) & (abs(x - least) > 1e-3)  # away from the borders
    points = np.column_stack([x, y])[clear]

    np.testing.assert_array_equal(Path(good.get_xy()).contains_points(points), (x > y)[clear])
    np.testing.assert_array_equal(
        Path(near.get_xy()).contains_points(points), ((least < x) & (x < y))[clear]
    )


def test_the_diagonal_goes_from_corner_to_corner(one, by_gid):
    axes = plot(one, kind="scatter").axes[0]

    (diagonal,) = by_gid(axes, "diagonal")
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == list(axes.get_xlim())
    assert axes.get_xlim() == axes.get_ylim()


def test_with_one_judge_every_annotator_is_named_and_no_name_covers_another(make_examination_of):
    rng = np.random.default_rng(1)
    points = [(f"annotator {n}", *rng.uniform(0.7, 0.8, 2).tolist(), True) for n in range(20)]

    axes = plot({"examinations": [make_examination_of("best", points)]}, kind="scatter").axes[0]

    names = [each for each in axes.texts if each.get_text().startswith("annotator")]
    height = axes.get_position().height * axes.figure.get_size_inches()[1] * 72
    places = sorted((each.xyann[1] * height, each.xy[1]) for each in names)
    assert len(names) == 20
    assert min(b[0] - a[0] for a, b in pairwise(places)) >= 15
    assert places == sorted(places, key=lambda place: place[1])  # in the order of the points
    assert 0 <= places[0][0] <= places[-1][0] <= height


def test_of_more_annotators_than_fit_those_are_named_whom_the_judge_does_not_win(
    make_examination_of,
):
    points = [(f"annotator {n}", 0.9, n / 60, n > 2) for n in range(50)]

    axes = plot({"examinations": [make_examination_of("best", points)]}, kind="scatter").axes[0]

    assert [each.get_text() for each in axes.texts] == [f"annotator {n}" for n in range(3)]


def test_a_few_judges_get_a_panel_each(make_study, written):
    figure = plot(make_study(), kind="scatter")

    assert len(figure.axes) == 3
    assert {"best", "fair", "poor", "ω 1.00"} <= set(written(figure))
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


def test_many_judges_are_a_cloud_with_the_best_in_colour(make_study, written):
    study = make_study([f"judge {n:02d}" for n in range(50)], [f"ann {n}" for n in range(20)])

    figure = plot(study, kind="scatter")

    (axes,) = figure.axes
    lines = [line for line in axes.lines if line.get_gid() in ("rejected", "not-rejected")]
    assert sum(len(line.get_xdata()) for line in lines) == 50 * 20
    colours = {to_hex(line.get_color()) for line in lines}
    assert colours == {LIGHT["muted"], *(LIGHT[f"series-{n}"] for n in range(1, 6))}
    assert {"judge 00", "judge 04", "45 other judges"} <= set(written(figure))
    assert "judge 05" not in written(figure)
