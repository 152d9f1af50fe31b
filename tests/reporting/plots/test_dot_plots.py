"""Advantage, controls, ceiling and slices: points where the figures are, in order."""

import math

import pytest
from matplotlib.colors import to_hex

from reporting.plots.svg_reading import LIGHT
from voirdire.errors import InputError
from voirdire.reporting import plot, to_svg


def labels_of(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


def xs(artists):
    return [float(artist.get_xdata()[0]) for artist in artists]


def test_judges_are_drawn_at_their_advantage_the_best_first(make_study, by_gid):
    study = make_study(("poor", "best"), epsilons=(0.2,))
    study["examinations"].reverse()

    axes = plot(study).axes[0]

    rows = {row["judge"]: row for row in study["examinations"]}
    best_first = sorted(rows, key=lambda name: -rows[name]["advantage_probability"])
    assert labels_of(axes) == [*best_first, "always “no”", "at random", "majority vote"]
    expected = [rows[name]["advantage_probability"] for name in best_first]
    assert xs(by_gid(axes, "value-")) == pytest.approx([*expected, 0.61, 0.45, 1.0])
    humans = [rows[name]["human_advantage"] for name in best_first]
    assert xs(by_gid(axes, "reference-")) == pytest.approx(humans)
    assert axes.yaxis_inverted()


def test_whiskers_are_the_interval(make_study, by_gid):
    study = make_study(("best",))

    axes = plot(study).axes[0]

    (whisker,) = by_gid(axes, "interval-")
    uncertainty = study["examinations"][0]["uncertainty"]
    ends = [uncertainty["advantage_low"], uncertainty["advantage_high"]]
    assert list(whisker.get_xdata()) == pytest.approx(ends)


def test_without_intervals_there_are_no_whiskers_and_no_word_of_them(make_study, by_gid, written):
    study = make_study()
    for row in study["examinations"]:
        row["uncertainty"] = None

    figure = plot(study)

    assert by_gid(figure.axes[0], "interval-") == []
    assert "95% interval" not in written(figure)


def test_marks_are_outcomes_and_the_key_names_those_that_occur(make_study, by_gid, written):
    study = make_study(("a", "b", "c"), epsilons=(0.2,))
    for row, outcome in zip(
        study["examinations"], ("no_evidence", "passed", "passed"), strict=True
    ):
        row["outcome"] = outcome

    figure = plot(study)

    markers = [mark.get_marker() for mark in by_gid(figure.axes[0], "value-")]
    assert markers == ["X", "o", "o", "D", "D", "D"]
    assert {"passed", "no evidence"} <= set(written(figure))
    assert "failed" not in written(figure)


def test_fifty_judges_get_a_higher_figure_not_smaller_rows(make_study):
    few, many = (plot(make_study([f"j{n}" for n in range(count)])) for count in (5, 50))

    rows = [tick.label1.get_fontsize() for tick in many.axes[0].yaxis.get_major_ticks()]
    assert set(rows) == {14.0}
    assert many.inner_px[1] > 50 * 20 > few.inner_px[1]
    assert many.inner_px[0] == few.inner_px[0]


def test_controls_stand_beside_judges_with_the_line_at_one_half(make_study, by_gid):
    study = make_study(epsilons=(0.2,))

    axes = plot(study, kind="controls").axes[0]

    rates = [row["winning_rate"] for row in study["examinations"]]
    assert xs(by_gid(axes, "value-")) == pytest.approx([*rates, 0.0, 0.0, 1.0])
    (line,) = by_gid(axes, "line")
    assert list(line.get_xdata()) == [0.5, 0.5]


def test_judges_are_compared_with_the_band_of_the_annotators(make_study, by_gid):
    axes = plot(make_study(), kind="ceiling").axes[0]

    assert labels_of(axes) == ["annotators", "poor", "fair", "best"]  # .52, .51, .50
    assert xs(by_gid(axes, "value-")) == pytest.approx([0.6, 0.52, 0.51, 0.5])
    (band,) = by_gid(axes, "band")
    assert (band.get_x(), band.get_width()) == pytest.approx((0.5, 0.2))
    assert xs(by_gid(axes, "line")) == [0.6]


def test_the_coefficient_of_the_ceiling_can_be_chosen(make_study, written):
    study = make_study()
    ceiling = study["questions"][0]["agreement"]["ceiling"]

    assert "polite: Gwet’s AC" in written(plot(study, kind="ceiling", coefficient="gwet_ac"))
    ceiling[1].update(estimate=None, low=None, high=None)  # Cohen's κ is undefined
    assert "polite: raw agreement" in written(plot(study, kind="ceiling"))


def test_the_worst_slices_come_first_and_are_marked(make_study, by_gid):
    axes = plot(make_study(("best",)), kind="slices").axes[0]

    assert labels_of(axes) == ["language = zh", "language = en"]
    worst, other = by_gid(axes, "value-")
    assert (xs([worst]), xs([other])) == ([-0.3], [0.1])
    assert to_hex(worst.get_color()) == LIGHT["fail"]
    assert to_hex(other.get_markerfacecolor()) == LIGHT["paper"]


def test_slices_of_several_judges_stand_below_their_names(make_study):
    axes = plot(make_study(("best", "poor")), kind="slices").axes[0]

    two = ["language = zh", "language = en"]
    assert labels_of(axes) == ["best", *two, "poor", *two]


def test_of_very_many_slices_only_the_worst_are_drawn(make_study, written):
    study = make_study([f"j{n}" for n in range(50)])

    figure = plot(study, kind="slices")

    assert "polite: slices, worst 60 of 100 slices" in written(figure)
    labels = labels_of(figure.axes[0])
    assert labels.count("language = zh") == 50
    assert labels.count("language = en") == 10


def test_slices_without_a_difference_are_no_figure(make_study):
    study = make_study(("best",))
    for part in study["questions"][0]["diagnosis"]["judges"][0]["slices"]:
        part["difference"] = None

    with pytest.raises(InputError, match="'slices' needs slices with a difference"):
        plot(study, kind="slices")


def test_an_undefined_figure_is_a_dash_without_a_point(make_study, by_gid, written):
    study = make_study(("best", "lost"), epsilons=(0.2,))
    study["examinations"][1]["advantage_probability"] = math.nan

    figure = plot(study)

    assert len(by_gid(figure.axes[0], "value-")) == 1 + 3
    assert "–" in written(figure)
    assert ">–<" in to_svg(figure, name="x")
