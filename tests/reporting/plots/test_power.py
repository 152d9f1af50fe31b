"""Power against the number of items."""

import json

import pytest

from voirdire.errors import InputError
from voirdire.reporting import plot, power_to_json
from voirdire.stats import power


def test_curves_go_through_the_rows(make_power, by_gid):
    axes = plot(make_power()).axes[0]

    curves = [list(map(list, curve.get_data())) for curve in by_gid(axes, "curve-")]
    assert curves[0] == [[20, 50, 80], pytest.approx([0.3, 0.6, 0.9])]
    assert curves[1] == [[20, 50, 80], pytest.approx([0.4, 0.7, 1.0])]


def test_errors_are_those_of_the_simulation(make_power, by_gid):
    axes = plot(make_power()).axes[0]

    first = by_gid(axes, "error-")[0].get_segments()[0]
    assert first[:, 1] == pytest.approx([0.3 - 1.96 * 0.02, 0.3 + 1.96 * 0.02])


def test_the_wanted_power_is_a_line(make_power, by_gid, written):
    figure = plot(make_power(0.9))

    (line,) = by_gid(figure.axes[0], "wanted")
    assert list(line.get_ydata()) == [0.9, 0.9]
    assert "wanted: 90%" in written(figure)
    assert "3 annotators, ε = .1" in written(figure)


@pytest.mark.ci
def test_a_result_and_its_json_are_drawn_alike(written):
    result = power(human_noise=0.1, judge_noise=0.1, n_items=[30, 60], n_simulations=50)
    given = json.loads(power_to_json(result))

    drawn = [written(figure) for figure in (plot(result), plot(given), plot(given, kind="power"))]

    assert drawn[0] == drawn[1] == drawn[2]


def test_the_words_can_be_chinese(make_power, written):
    assert "3 名标注者，ε = 0.1" in written(plot(make_power(), language="zh"))


def test_a_power_analysis_is_nothing_else(make_power):
    with pytest.raises(InputError, match="`kind` must be 'power'"):
        plot(make_power(), kind="scatter")


def test_what_is_no_power_analysis_is_refused(make_study):
    for thing in (make_study(), 3, {"rows": []}):
        with pytest.raises(InputError, match="`result` must be what the power analysis returns"):
            plot(thing, kind="power")


def test_too_many_curves_are_refused(make_power):
    given = make_power()
    given["rows"] = [row | {"epsilon": n / 100} for n, row in enumerate(given["rows"] * 3)]

    with pytest.raises(InputError, match="from 1 to 12 pairs"):
        plot(given)
