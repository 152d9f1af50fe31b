"""The largest shift under each probe of a judge."""

import numpy as np
import pytest

from made_probing import probe, question, report
from voirdire.errors import InputError
from voirdire.reporting import plot, to_svg


def labels_of(figure):
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_a_row_is_the_largest_shift_of_a_probe_with_its_interval(by_gid):
    figure = plot(report())

    assert labels_of(figure)[0] == "authority/citation: fully_complies"
    assert len(labels_of(figure)) == 5
    np.testing.assert_allclose(by_gid(figure, "value-0")[0].get_xdata(), [0.11])
    np.testing.assert_allclose(by_gid(figure, "interval-0")[0].get_xdata(), [0.07, 0.15])


def test_biases_that_were_found_are_in_colour(by_gid):
    figure = plot(report(), kind="probes")

    found, flipped, not_found = (by_gid(figure, f"value-{n}")[0].get_color() for n in range(3))
    assert found == flipped != not_found


def test_the_band_is_the_mean_difference_between_two_askings(by_gid):
    [band] = by_gid(plot(report()), "band")

    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((-0.014, 0.014))


def test_without_repeats_there_is_no_band():
    figure = plot(report(stability=()))

    assert not [each for each in figure.axes[0].patches if each.get_gid() == "band"]


def test_a_shift_without_a_value_has_a_row_and_no_point():
    figure = plot(report(probes=(probe("own/x", question("colour", None)),)))

    assert labels_of(figure) == ["own/x: colour"]
    assert not [line for line in figure.axes[0].lines if line.get_gid() == "value-0"]


def test_it_is_drawn_on_given_axes_and_in_chinese():
    from matplotlib.figure import Figure

    axes = Figure().subplots()

    assert plot(report(), ax=axes, language="zh") is axes.figure
    assert axes.get_title() == "什么会影响 openai/gpt-4o-mini"


def test_it_becomes_an_svg_with_a_sentence_for_those_who_do_not_see_it():
    assert "The largest shift under each of 5 probes; 3 found a bias." in to_svg(
        plot(report()), name="probes"
    )


@pytest.mark.parametrize(
    ("result", "kind", "match"),
    [
        (report(), "scatter", "`kind` must be 'probes' for probes of a judge, got 'scatter'"),
        ([], "probes", "must be what `probe_judge` returns"),
        (report(probes=()), "probes", "at least one probe, got none"),
    ],
)
def test_what_cannot_be_drawn_is_refused(result, kind, match):
    with pytest.raises(InputError, match=match):
        plot(result, kind=kind)
