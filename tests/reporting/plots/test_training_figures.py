"""The figures of a training run: what is drawn is what the run says."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from made_training_run import CLASSES, PROPOSITIONS, made_run
from reporting.plots.svg_reading import LIGHT, SVG, cut_texts
from voirdire.errors import InputError
from voirdire.reporting import plot, to_svg

KINDS = (
    "training_classes", "training_length", "training_missing", "training_propositions",
    "training_reward",
)  # fmt: skip
HOSTILE = "</svg><script>alert(1)</script>"
LONG = "a_proposition_with_an_id_of_very_many_letters_"


def line(axes, gid):
    """Find the line with an id."""
    (found,) = [each for each in axes.lines if each.get_gid() == gid]
    return found


def gids(axes):
    return {each.get_gid() for each in axes.get_children()}


def test_a_run_is_drawn_as_its_reward_by_default(written):
    run = made_run()

    assert written(plot(run)) == written(plot(run, kind="training_reward"))


def test_the_reward_and_its_parts_are_lines_over_the_steps():
    run = made_run(12)

    axes = plot(run, kind="training_reward").axes[0]

    for name in ("reward_mean", "rule_mean", "base_mean"):
        drawn = line(axes, name)
        assert list(drawn.get_xdata()) == [step.step for step in run.steps]
        assert list(drawn.get_ydata()) == [getattr(step, name) for step in run.steps]


def test_the_band_is_one_standard_deviation_to_either_side():
    run = made_run(12)

    (band,) = plot(run, kind="training_reward").axes[0].collections

    drawn = {(round(x, 9), round(y, 9)) for x, y in band.get_paths()[0].vertices}
    ends = {
        (float(step.step), round(step.reward_mean + sign * step.reward_sd, 9))
        for step in run.steps
        for sign in (-1, 1)
    }
    assert ends <= drawn


def test_without_a_base_reward_there_is_one_line(written):
    axes = plot(made_run(base=False), kind="training_reward").axes[0]

    assert {"reward_mean"} == gids(axes) & {"reward_mean", "rule_mean", "base_mean"}
    assert "rule part" not in written(axes.figure)


def test_alarms_are_marked_once_a_step():
    run = made_run(8)  # four alarms at four steps
    twice = replace(run, alarms=(*run.alarms, *run.alarms))

    axes = plot(twice, kind="training_reward").axes[0]

    marks = [each for each in axes.lines if str(each.get_gid()).startswith("alarm-")]
    assert sorted(float(mark.get_xdata()[0]) for mark in marks) == [0, 2, 4, 6]


@pytest.mark.ci
def test_other_figures_mark_only_their_own_alarms():
    run = made_run(80)
    at = {alarm.kind: alarm.step for alarm in run.alarms}

    def marks(axes):
        found = [each for each in axes.lines if str(each.get_gid()).startswith("alarm-")]
        return {float(mark.get_xdata()[0]) for mark in found}

    assert marks(plot(run, kind="training_missing").axes[0]) == {at["missing"]}
    assert marks(plot(run, kind="training_length").axes[1]) == {at["length"]}


def test_a_thousand_steps_are_means_of_five_and_it_is_said(written):
    run = made_run(1_000, gone={0, 1, 2})

    figure = plot(run, kind="training_reward")

    drawn = line(figure.axes[0], "reward_mean")
    rewards = np.array([step.reward_mean for step in run.steps])
    assert len(drawn.get_xdata()) == 200
    assert drawn.get_ydata()[0] == pytest.approx(rewards[3:5].mean())
    assert drawn.get_ydata()[1:] == pytest.approx(rewards.reshape(200, 5)[1:].mean(axis=1))
    assert drawn.get_xdata() == pytest.approx(np.arange(1_000).reshape(200, 5).mean(axis=1))
    assert "each point: the mean of 5 steps" in written(figure)


def test_a_curve_breaks_where_no_step_has_a_reward_and_lone_points_are_dots():
    run = made_run(60, gone={*range(20, 30), 31}, alarms=False)

    axes = plot(run, kind="training_reward").axes[0]

    drawn = np.array(line(axes, "reward_mean").get_ydata())
    assert np.flatnonzero(np.isnan(drawn)).tolist() == [*range(20, 30), 31]
    dots = [each for each in axes.lines if each.get_marker() == "o"]
    assert [each.get_markevery() for each in dots] == [[30]] * 3  # reward, rules, base


def test_the_propositions_that_moved_most_come_first(written):
    names = tuple(f"p{place:02d}" for place in range(20))
    run = made_run(40, propositions=names)

    figure = plot(run, kind="training_propositions")

    change = {
        name: abs(
            np.mean([step.proposition_rates[name] for step in run.steps[-10:]])
            - np.mean([step.proposition_rates[name] for step in run.steps[:10]])
        )
        for name in names
    }
    expected = sorted(names, key=lambda name: -change[name])[:8]
    titles = [text for text in written(figure) if re.fullmatch(r"p\d\d", text)]
    assert titles == expected
    assert any("8 of 20" in text for text in written(figure))


def test_each_panel_of_a_proposition_shows_its_rates(written):
    run = made_run(30, alarms=False)

    figure = plot(run, kind="training_propositions")

    titles = [text for text in written(figure) if text in PROPOSITIONS]
    assert sorted(titles) == sorted(PROPOSITIONS)
    for axes, name in zip(figure.axes, titles, strict=True):
        rates = [step.proposition_rates[name] for step in run.steps]
        assert list(line(axes, "rate").get_ydata()) == rates
        assert axes.get_ylim()[0] < 0 <= min(rates)
        assert axes.get_ylim()[1] > 1 >= max(rates)


def test_the_share_of_each_class_is_a_line():
    run = made_run(5, alarms=False)

    axes = plot(run, behavior="comply", kind="training_classes").axes[0]

    for place, name in enumerate(CLASSES):
        shares = [step.class_shares["comply"][name] for step in run.steps]
        assert list(line(axes, f"class-{place}").get_ydata()) == shares


def test_several_behaviors_are_panels_on_one_axis_of_steps(written):
    names = tuple("abcdef")
    run = made_run(8, behaviors=names, alarms=False)

    figure = plot(run, kind="training_classes")

    assert len(figure.axes) == 4
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert any("4 of 6" in text for text in written(figure))


def test_length_and_reward_are_two_panels_with_the_steps_at_the_same_places():
    run = made_run(20)

    above, below = plot(run, kind="training_length").axes

    assert above.get_xlim() == below.get_xlim()
    assert above.get_position().x0 == below.get_position().x0
    assert above.get_position().x1 == below.get_position().x1
    assert list(line(above, "reward_mean").get_ydata()) == [row.reward_mean for row in run.steps]
    assert list(line(below, "length_mean").get_ydata()) == [row.length_mean for row in run.steps]


@pytest.mark.parametrize(("unit", "text"), [("tokens", "mean length, tokens"),
                                            ("characters", "mean length, characters")])  # fmt: skip
def test_the_unit_of_lengths_is_named(written, unit, text):
    assert text in written(plot(made_run(length_unit=unit), kind="training_length"))


def test_missing_shares_are_drawn_from_zero():
    run = made_run(20, gone={19})

    axes = plot(run, kind="training_missing").axes[0]

    shares = [step.missing_share for step in run.steps]
    assert list(line(axes, "missing").get_ydata()) == shares
    assert axes.get_ylim()[0] <= 0
    assert axes.get_ylim()[1] >= 1


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_steps", [1, 2])
def test_a_few_steps_are_drawn(kind, n_steps):
    assert "<svg" in to_svg(plot(made_run(n_steps), kind=kind), name="x")


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_without_a_single_reward_is_drawn_and_says_so(kind, written):
    figure = plot(made_run(6, gone=range(6)), kind=kind)

    words = {
        "training_reward": "nothing to show: undefined at every step",
        "training_length": "nothing to show: undefined at every step",
        "training_classes": "no response of this behavior was judged",
        "training_propositions": "– → –",
        "training_missing": "100%",
    }
    assert words[kind] in written(figure)


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_can_be_drawn_on_axes_of_the_caller(kind):
    axes = Figure().subplots()

    figure = plot(made_run(), kind=kind, ax=axes)

    assert figure is axes.figure
    assert axes.lines or axes.patches


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_the_element_stands_by_itself_and_takes_its_colours_from_the_page(kind):
    svg = to_svg(plot(made_run(), kind=kind), name="fig")

    assert ET.fromstring(svg).get("aria-label")
    assert set(re.findall(r"var\(--[a-z0-9-]+\)", svg)) <= {f"var(--{role})" for role in LIGHT}
    assert not re.search(r"#[0-9a-f]{6}\b|<script|<style|http(?!://www\.w3\.org/2000/svg)", svg)
    assert svg == to_svg(plot(made_run(), kind=kind), name="fig")


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_stay_text(kind):
    bad = {"propositions": (HOSTILE, "$x_{$"), "behaviors": (HOSTILE,), "classes": (HOSTILE, "b")}
    run = made_run(6, name=HOSTILE, **bad)

    root = ET.fromstring(to_svg(plot(run, kind=kind), name="fig"))

    assert not list(root.iter(f"{SVG}script"))
    assert any("</svg><scr" in (each.text or "") for each in root.iter(f"{SVG}text"))


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("language", "prefix"), [("en", LONG), ("zh", "请求得到专业的帮助")])
def test_no_text_leaves_the_figure(kind, language, prefix):
    names = {
        "propositions": tuple(f"{prefix}{place}" for place in range(20)),
        "behaviors": tuple(f"{prefix}{place}" for place in range(5)),
        "classes": tuple(f"{prefix}{place}" for place in range(6)),
    }
    run = made_run(210, name=f"{prefix}mine", **names)

    svg = to_svg(plot(run, kind=kind, language=language), name="x")

    assert cut_texts(svg) == []


def test_the_words_can_be_chinese(written):
    assert "平均奖励" in written(plot(made_run(), language="zh", kind="training_reward"))


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match=r"`behavior` must be one of 'hard_refuse'.*got 'refuse'"):
        plot(made_run(), kind="training_classes", behavior="refuse")
    with pytest.raises(InputError, match="must hold at least one step of the training, got none"):
        plot(made_run(steps=()), kind="training_reward")
    for thing in (3, {}, {"examinations": []}):
        with pytest.raises(InputError, match="`result` must be a training run"):
            plot(thing, kind="training_reward")


@pytest.mark.parametrize(("kind", "change", "message"), [
    ("training_propositions", "proposition_rates", "must hold rates of propositions, got none"),
    ("training_classes", "class_shares", "must hold shares of completion classes, got none"),
])  # fmt: skip
def test_what_the_run_lacks_is_named(kind, change, message):
    run = made_run(3)
    steps = tuple(replace(step, **{change: {}}) for step in run.steps)

    with pytest.raises(InputError, match=message):
        plot(replace(run, steps=steps), kind=kind)
