"""ω against ε."""

import pytest

from voirdire.reporting import plot


def lines_of(axes, by_gid):
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in by_gid(axes, "judge-")]


def test_a_line_goes_through_every_epsilon_of_its_judge(make_study, by_gid):
    study = make_study()

    axes = plot(study, kind="winning_rate").axes[0]

    expected = []
    for judge in ("best", "fair", "poor"):
        rows = [row for row in study["examinations"] if row["judge"] == judge]
        expected.append(([0.1, 0.2, 0.3], [row["winning_rate"] for row in rows]))
    assert lines_of(axes, by_gid) == expected
    (line,) = by_gid(axes, "threshold")
    assert list(line.get_ydata()) == [0.5, 0.5]


@pytest.mark.ci
def test_the_order_of_rows_does_not_matter(make_study, by_gid):
    study = make_study()
    forwards = lines_of(plot(study, kind="winning_rate").axes[0], by_gid)
    study["examinations"].reverse()

    assert lines_of(plot(study, kind="winning_rate").axes[0], by_gid) == forwards


def test_judges_are_named_in_the_key_in_the_colours_of_their_lines(make_study, by_gid, written):
    figure = plot(make_study(), kind="winning_rate")

    lines = by_gid(figure.axes[0], "judge-")
    key = [each for each in figure.artists if each.get_linewidth() == lines[0].get_linewidth()]
    assert [each.get_color() for each in key] == [line.get_color() for line in lines]
    assert {"best", "fair", "poor"} <= set(written(figure))


def test_of_many_judges_the_best_five_are_named(make_study, by_gid, written):
    study = make_study([f"judge {n:02d}" for n in range(20)])

    figure = plot(study, kind="winning_rate")

    texts = written(figure)
    assert [f"judge {n:02d}" in texts for n in range(20)] == [True] * 5 + [False] * 15
    assert "15 other judges" in texts
    assert len(by_gid(figure.axes[0], "judge-")) == 20


def test_one_epsilon_is_drawn_as_points(make_study):
    axes = plot(make_study(epsilons=(0.2,)), kind="winning_rate").axes[0]

    assert axes.get_xlim()[0] < 0.2 < axes.get_xlim()[1]
    points = [
        line for line in axes.lines if line.get_marker() == "o" and list(line.get_xdata()) == [0.2]
    ]
    assert len(points) == 3


def test_controls_are_dashed(make_study, written):
    figure = plot(make_study(), kind="winning_rate")

    dashed = [line for line in figure.axes[0].lines if line.is_dashed()]
    assert [list(line.get_ydata()) for line in dashed] == [[0.0] * 3, [0.0] * 3, [1.0] * 3]
    assert {"always “no”", "at random", "majority vote"} <= set(written(figure))


@pytest.mark.parametrize(
    ("mode", "title"),
    [("additive", "margin ε"), ("multiplicative", "margin ε (share of the annotator’s advantage)")],
)
def test_the_axis_says_how_epsilon_enters(make_study, written, mode, title):
    assert title in written(plot(make_study(mode=mode), kind="winning_rate"))
