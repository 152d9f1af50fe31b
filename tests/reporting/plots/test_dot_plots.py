"""Advantages: points where the figures are, in order."""

import math

import pytest

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


@pytest.mark.ci
def test_fifty_judges_get_a_higher_figure_not_smaller_rows(make_study):
    few, many = (plot(make_study([f"j{n}" for n in range(count)])) for count in (5, 50))

    rows = [tick.label1.get_fontsize() for tick in many.axes[0].yaxis.get_major_ticks()]
    assert set(rows) == {14.0}
    assert many.inner_px[1] > 50 * 20 > few.inner_px[1]
    assert many.inner_px[0] == few.inner_px[0]


def test_an_undefined_figure_is_a_dash_without_a_point(make_study, by_gid, written):
    study = make_study(("best", "lost"), epsilons=(0.2,))
    study["examinations"][1]["advantage_probability"] = math.nan

    figure = plot(study)

    assert len(by_gid(figure.axes[0], "value-")) == 1 + 3
    assert "–" in written(figure)
    assert ">–<" in to_svg(figure, name="x")
