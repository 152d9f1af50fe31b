"""ω against ε."""

from itertools import combinations, pairwise

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


def test_the_order_of_rows_does_not_matter(make_study, by_gid):
    study = make_study()
    forwards = lines_of(plot(study, kind="winning_rate").axes[0], by_gid)
    study["examinations"].reverse()

    assert lines_of(plot(study, kind="winning_rate").axes[0], by_gid) == forwards


def label_boxes(axes):
    found = [each for each in axes.texts if each.get_text()]
    return [(each.get_text(), each.xy[1], each.xyann[1]) for each in found]


def draw_rates(make_study, rates):
    study = make_study([f"judge {n}" for n in range(len(rates))], epsilons=(0.1, 0.2))
    for row in study["examinations"]:
        row["winning_rate"] = rates[int(row["judge"].split()[1])]
    return plot(study, kind="winning_rate").axes[0]


@pytest.mark.parametrize(
    "rates", [[1.0] * 8, [0.0] * 8, [0.5, 0.51, 0.5, 0.49], [0.97, 0.98, 1.0, 0.0, 0.01], [0.3]]
)
def test_names_at_the_ends_of_lines_do_not_overlap(make_study, rates):
    axes = draw_rates(make_study, rates)

    height = axes.get_position().height * axes.figure.get_size_inches()[1] * 72
    low, high = axes.get_ylim()
    found = [(y, (y - low) / (high - low) * height + up) for _, y, up in label_boxes(axes)]
    places = sorted(place for _, place in found)
    assert len(places) == len(rates) + 3
    assert min(b - a for a, b in pairwise(places)) >= 14
    assert min(places) >= -10
    assert max(places) <= height + 10
    # a line that ends higher has its name higher
    for (y, place), (other_y, other) in combinations(found, 2):
        assert (y - other_y) * (place - other) >= 0


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
def test_the_axis_says_how_epsilon_enters(make_study, mode, title):
    axes = plot(make_study(mode=mode), kind="winning_rate").axes[0]

    assert axes.get_xlabel() == title
