"""How often what a judge states comes true."""

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint

from voirdire.errors import InputError
from voirdire.reporting import plot
from voirdire.studies import examine, examine_gold


def verdicts(stated, judge="mine", question="apology"):
    return [
        {"item": item, "question": question, "judge": judge, "probability": p, "threshold": 0.5}
        for item, p in enumerate(stated)
    ]


def gold_of(truths, question="apology"):
    return [{"item": item, "question": question, "label": t} for item, t in enumerate(truths)]


def examined(questions=("apology",), judges=("mine",)):
    rng = np.random.default_rng(0)
    rows, gold = [], []
    for question in questions:
        truths = rng.random(200) < 0.4
        gold += gold_of(truths.tolist(), question)
        for place, judge in enumerate(judges):
            stated = np.clip(rng.normal(0.3 + 0.1 * place + 0.4 * truths, 0.15), 0, 1)
            rows += verdicts(stated.tolist(), judge, question)
    return examine_gold(judges=pl.DataFrame(rows), gold=pl.DataFrame(gold))


def test_a_point_is_the_share_of_truths_at_what_was_stated(by_gid):
    stated = np.repeat([0.1, 0.8], [40, 40])
    truths = np.concatenate([np.arange(40) < 10, np.arange(40) < 30])
    found = examine_gold(
        judges=pl.DataFrame(verdicts(stated.tolist())), gold=pl.DataFrame(gold_of(truths.tolist()))
    )
    axes = plot(found, kind="reliability").axes[0]
    (points,) = by_gid(axes, "shares")
    (intervals,) = by_gid(axes, "intervals")

    assert points.get_xdata() == pytest.approx([0.1, 0.8])
    assert points.get_ydata() == pytest.approx([0.25, 0.75])
    expected = [proportion_confint(k, 40, method="beta") for k in (10, 30)]
    drawn = [segment[:, 1] for segment in intervals.get_segments()]
    np.testing.assert_allclose(drawn, expected)


def shown_errors(figure):
    """List the errors beside the titles of the panels, in their order."""
    words = [text.get_text() for text in figure.texts]
    return [float(word.removeprefix("ECE ")) for word in words if word.startswith("ECE ")]


def test_the_judge_that_is_farther_off_comes_first():
    truths = [number < 8 for number in range(40)] + [number < 24 for number in range(40)]
    rows = [*verdicts([0.3] * 40 + [0.7] * 40, "near"), *verdicts([0.1] * 40 + [0.9] * 40, "far")]

    found = examine_gold(judges=pl.DataFrame(rows), gold=pl.DataFrame(gold_of(truths)))
    figure = plot(found, kind="reliability")

    # .2 and .6 are true: gaps of .1 and .1, and of .1 and .3
    assert shown_errors(figure) == [0.2, 0.1]
    names = [text.get_text() for text in figure.texts if text.get_text() in ("near", "far")]
    assert names == ["far", "near"]


@pytest.mark.ci
def test_the_farthest_off_come_first_and_twelve_panels_are_drawn():
    found = examined([f"question {n}" for n in range(14)])

    figure = plot(found, kind="reliability")

    errors = sorted((row.calibration.calibration_error for row in found.results), reverse=True)
    assert len(figure.axes) == 12
    assert shown_errors(figure) == pytest.approx(errors[:12], abs=0.0051)
    assert any("12 of 14, the farthest off" in text.get_text() for text in figure.texts)


def test_one_judge_of_several_is_drawn_on_axes_of_the_caller():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    figure = plot(examined(judges=("mine", "yours")), kind="reliability", judge="yours", ax=axes)
    assert figure.axes == [axes]
    assert axes.get_xlabel() == "stated probability"


def test_an_examination_is_drawn_against_the_majority():
    rng = np.random.default_rng(1)
    truths = rng.random(60) < 0.5
    humans = {name: dict(enumerate((truths ^ (rng.random(60) < 0.1)).tolist())) for name in "abc"}
    stated = np.clip(rng.normal(0.3 + 0.4 * truths, 0.15), 0, 1)
    examination = examine(
        judges=pl.DataFrame(verdicts(stated.tolist(), question="label")), humans=humans
    )
    assert len(plot(examination, kind="reliability", language="zh").axes) == 1


def test_judges_without_probabilities_have_none():
    examination = examine(
        judges={"mine": {1: True, 2: False}},
        humans={name: {1: True, 2: False} for name in "abc"},
        min_items=2,
    )
    with pytest.raises(InputError, match="needs probabilities"):
        plot(examination, kind="reliability")
