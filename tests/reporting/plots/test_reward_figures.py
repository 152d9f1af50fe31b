"""The figures of a reward: what is drawn is what the JSON says."""

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from reporting.plots.svg_reading import LIGHT, SVG, cut_texts, texts_of
from voirdire.errors import InputError
from voirdire.reporting import plot, reward_examination_to_json, to_svg
from voirdire.studies import (
    BehaviorScale,
    ErrorRate,
    FeatureDrive,
    RateEstimate,
    RewardExamination,
)

JSON = Path(__file__).parents[1] / "reward_page" / "examination.json"
KINDS = ("reward_drives", "reward_errors", "reward_histograms", "reward_scales")
HOSTILE = "</svg><script>alert(1)</script>"


@pytest.fixture
def content():
    return json.loads(JSON.read_text(encoding="utf-8"))


def x_of(artists):
    return [float(artist.get_xdata()[0]) for artist in artists]


def test_errors_are_points_with_their_intervals(content, by_gid):
    axes = plot(content, kind="reward_errors").axes[0]

    rates = [row["rate"] for row in content["error_rates"] if row["against"] == "all"]
    assert x_of(by_gid(axes, "value-")) == [rate["value"] for rate in rates]
    ends = [list(line.get_xdata()) for line in by_gid(axes, "interval-")]
    assert ends == [[rate["low"], rate["high"]] for rate in rates]
    (chance,) = by_gid(axes, "line")
    assert list(chance.get_xdata()) == [0.5, 0.5]


def test_a_single_behavior_is_not_drawn_twice(content, written):
    rows = [row for row in content["error_rates"] if row["behavior"] in (None, "comply")]

    texts = written(plot(content | {"error_rates": rows}, kind="reward_errors"))

    assert "comply" in texts
    assert "all behaviors" not in texts


@pytest.mark.ci
def test_weights_are_points_with_intervals_and_shares_are_numbers(content, by_gid, written):
    figure = plot(content, behavior="comply", kind="reward_drives")

    (axes,) = figure.axes
    rows = [row for row in content["drives"] if row["behavior"] == "comply"]
    rows.sort(key=lambda row: (-row["share"], -abs(row["weight"])))
    assert x_of(by_gid(axes, "value-")) == [row["weight"] for row in rows]
    ends = [list(line.get_xdata()) for line in by_gid(axes, "interval-")]
    assert ends == [[row["low"], row["high"]] for row in rows if row["low"] is not None]
    shares = [text for text in written(figure) if text.endswith("%")]
    share_of = lambda row: "<1%" if 0 < row["share"] < 0.01 else f"{row['share']:.0%}"  # noqa: E731
    assert shares == [share_of(row) for row in rows]
    assert "share of the spread" in written(figure)


def test_marks_say_whether_a_feature_is_certified_dead_or_contradictory(content, by_gid):
    flags = {
        "a": {"is_certified": True},
        "b": {"is_certified": False},
        "c": {"is_contradictory": True},
        "d": {"is_dead": True},
    }
    first = content["drives"][0] | {"is_dead": False, "is_contradictory": False}
    content["drives"] = [
        first | {"feature": name, "share": 1 - place / 10, "is_certified": True} | flag
        for place, (name, flag) in enumerate(flags.items())
    ]

    marks = by_gid(plot(content, kind="reward_drives").axes[0], "value-")

    colours = [mark.get_color() for mark in marks]
    assert colours == [LIGHT[role] for role in ("series-1", "series-1", "fail", "muted")]
    assert marks[0].get_markerfacecolor() == LIGHT["series-1"]
    assert marks[1].get_markerfacecolor() == LIGHT["paper"]


def test_classes_are_told_from_propositions(content, written):
    texts = written(plot(content, behavior="comply", kind="reward_drives"))

    assert "class: ideal" in texts
    assert "fully_complies" in texts
    assert not [text for text in texts if text.startswith("comply.")]


def area_of(polygon):
    points = polygon.get_xy()
    ahead = points[1:]
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(points[:-1], ahead, strict=True))) / 2


def test_what_beats_the_best_label_is_split_off_at_zero(content, by_gid):
    """Half of the middle bin lies right of 0: 10 of 40 completions."""
    for row in content["histograms"]:
        row |= {"edges": [-3.0, -1.0, 1.0, 3.0], "counts": [20, 20, 0]}

    axes = plot(content, behavior="comply", kind="reward_histograms").axes[1]

    (below,), (above,) = by_gid(axes, "below-1"), by_gid(axes, "above-1")
    assert area_of(above) / (area_of(below) + area_of(above)) == pytest.approx(10 / 40)
    assert max(x for x, _ in below.get_xy()) == 0
    assert min(x for x, _ in above.get_xy()) == 0


def test_heights_are_shares_of_the_label_on_one_scale(content, by_gid):
    axes = plot(content, behavior="hard_refuse", kind="reward_histograms").axes[1]

    rows = [
        row
        for row in content["histograms"]
        if (row["behavior"], row["signal"]) == ("hard_refuse", "total")
    ]
    shares = [max(row["counts"]) / sum(row["counts"]) for row in rows]
    best = by_gid(axes, "best-0")[0].get_xy()
    tallest = [0 - min(y for _, y in best)]
    for place in range(1, len(rows)):
        sides = [*by_gid(axes, f"below-{place}"), *by_gid(axes, f"above-{place}")]
        tallest.append(place - min(y for side in sides for _, y in side.get_xy()))
    scale = tallest[0] / shares[0]
    assert tallest == pytest.approx([share * scale for share in shares])
    assert max(tallest) == pytest.approx(0.62)


def test_means_of_labels_are_marked(content, by_gid):
    axes = plot(content, behavior="comply", kind="reward_histograms").axes[2]

    means = [
        row["mean"]
        for row in content["histograms"]
        if (row["behavior"], row["signal"]) == ("comply", "rules")
    ]
    assert x_of(by_gid(axes, "mean-")) == means


def test_scales_are_on_one_axis(content, by_gid):
    axes = plot(content, kind="reward_scales").axes[0]

    rows = content["scales"]
    assert x_of(by_gid(axes, "value-")) == [row["mean"] for row in rows]
    assert x_of(by_gid(axes, "ideal-")) == [row["mean_ideal"] for row in rows]
    assert x_of(by_gid(axes, "worst-")) == [row["mean_worst"] for row in rows]
    ends = [list(line.get_xdata()) for line in by_gid(axes, "range-")]
    assert ends == [[row["lowest"], row["highest"]] for row in rows]
    spreads = [list(line.get_xdata()) for line in by_gid(axes, "interval-")]
    assert spreads[0] == pytest.approx(
        [rows[0]["mean"] - rows[0]["standard_deviation"],
         rows[0]["mean"] + rows[0]["standard_deviation"]]
    )  # fmt: skip


def examination():
    rate = RateEstimate(value=0.25, low=0.2, high=math.nan, n=8, n_prompts=4)
    numbers = dict.fromkeys(
        ("mean", "standard_deviation", "lowest", "highest", "mean_ideal", "mean_worst"), 1.0
    )
    drive = {"weight": 1.0, "low": math.nan, "high": math.nan, "mean": 0.5, "spread": 0.5}
    return RewardExamination(
        reward={"name": "r"}, n_items=8, n_prompts=4, n_comparisons=8, is_held_out=True,
        error_rates=(
            ErrorRate(behavior=None, signal="rules", against="all", rate=rate, tie_share=0.0),
        ),
        drives=(
            FeatureDrive(behavior="b", feature="f", share=1.0, error_rate_without=0.5,
                         is_dead=False, is_contradictory=False, **drive),
        ),
        scales=(
            BehaviorScale(behavior="b", n_items=8, n_prompts=4, base_standard_deviation=1.0,
                          **numbers),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["reward_errors", "reward_drives", "reward_scales"])
def test_an_examination_is_drawn_like_its_json(kind, written):
    given = examination()
    plain = json.loads(reward_examination_to_json(given))

    assert written(plot(given, kind=kind)) == written(plot(plain, kind=kind))


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_can_be_drawn_on_axes_of_the_caller(content, kind):
    axes = Figure().subplots()

    figure = plot(content, kind=kind, ax=axes)

    assert figure is axes.figure
    assert axes.get_legend() is not None


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_the_element_stands_by_itself_and_takes_its_colours_from_the_page(content, kind):
    svg = to_svg(plot(content, kind=kind), name="fig")

    assert ET.fromstring(svg).get("aria-label")
    assert set(re.findall(r"var\(--[a-z0-9-]+\)", svg)) <= {f"var(--{role})" for role in LIGHT}
    assert not re.search(r"#[0-9a-f]{6}\b|<script|<style|http(?!://www\.w3\.org/2000/svg)", svg)
    assert svg == to_svg(plot(content, kind=kind), name="fig")


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_stay_text(content, kind):
    for part in ("error_rates", "histograms", "drives", "scales"):
        for row in content[part]:
            row["behavior"] = HOSTILE if row["behavior"] else None
            row |= {name: HOSTILE for name in ("label", "feature") if name in row}

    svg = to_svg(plot(content, kind=kind), name="fig")

    assert not list(ET.fromstring(svg).iter(f"{SVG}script"))
    assert any("</svg><scr" in (text or "") for text in texts_of(svg))


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "a behavior with a name that is rather long"), ("zh", "拒绝并安慰"), ("zh", None)],
)
def test_no_text_leaves_the_figure(content, kind, language, name):
    if name is not None:
        for part in ("error_rates", "histograms", "drives", "scales"):
            for row in content[part]:
                row["behavior"] = name if row["behavior"] else None
        content["drives"][0]["feature"] = "a_proposition_with_an_id_of_many_letters"

    svg = to_svg(plot(content, kind=kind, language=language), name="x")

    assert cut_texts(svg) == []


def test_without_a_base_reward_there_is_one_column(content, written):
    content["histograms"] = [row for row in content["histograms"] if row["signal"] != "base"]
    for row in content["error_rates"]:
        if row["signal"] == "base":
            row["rate"] = {"value": None, "low": None, "high": None}

    assert len(plot(content, kind="reward_histograms").axes) == 1
    assert "base + rules" not in written(plot(content, kind="reward_errors"))


def test_what_the_json_calls_total_without_a_base_reward_are_the_rules(content, written):
    for name in ("error_rates", "histograms"):
        content[name] = [row for row in content[name] if row["signal"] == "total"]

    text = written(plot(content, kind="reward_errors"))

    assert "base + rules" not in text
    assert "rules alone" in text


def test_the_words_can_be_chinese(content, written):
    assert "排错的比例" in written(plot(content, language="zh", kind="reward_errors"))


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"error_rates": []}, "reward_errors", "`result` must hold error rates, got none"),
        ({"histograms": []}, "reward_histograms", "must hold histograms of 'hard_refuse'"),
        ({"drives": []}, "reward_drives", "must hold weights of 'hard_refuse', got none"),
        ({"scales": []}, "reward_scales", "must hold the scale of a behavior, got none"),
    ],
)
def test_what_the_result_lacks_is_named(content, change, kind, message):
    with pytest.raises(InputError, match=message):
        plot(content | change, kind=kind)


def test_wrong_arguments_are_refused(content):
    with pytest.raises(InputError, match=r"`behavior` must be one of 'hard_refuse'.*got 'refuse'"):
        plot(content, behavior="refuse", kind="reward_drives")
    for thing in (3, {}, {"examinations": []}):
        with pytest.raises(InputError, match="`result` must be what `examine_reward` returns"):
            plot(thing, kind="reward_errors")
