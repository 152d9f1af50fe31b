"""Agreement and confusion: every cell in its place, every number in its cell."""

import math

import pytest
from matplotlib.colors import to_hex

from reporting.plots.svg_reading import LIGHT
from voirdire.errors import InputError
from voirdire.reporting import plot, to_svg


def cells_of(axes):
    return {
        patch.get_gid(): patch for patch in axes.patches if str(patch.get_gid()).startswith("cell-")
    }


def numbers_of(axes):
    """Map the middle of a cell to the number written there."""
    return {
        each.get_position(): each.get_text()
        for each in axes.texts
        if each.get_text()[-1].isdigit() and each.get_text()[0] in ".−1234567890"
    }


def test_annotators_come_first_and_raters_are_sorted_by_agreement(make_study):
    axes = plot(make_study(("j1", "j2"), ("a1", "a2", "a3")), kind="agreement").axes[0]

    # κ of raters i and j is (i + j) / 100: later ones agree more with annotators
    names = [each.get_text() for each in axes.texts if each.get_ha() == "right"]
    assert names == ["a3", "a2", "a1", "j2", "j1"]


def test_every_cell_has_the_value_of_its_pair(make_study):
    axes = plot(make_study(("j1", "j2"), ("a1", "a2", "a3")), kind="agreement").axes[0]

    order, places = [2, 1, 0, 4, 3], [0, 1, 2, 3.4, 4.4]
    expected = {
        (places[column] + 0.5, places[row] + 0.5): f".{order[row] + order[column]:02d}"
        for row in range(5)
        for column in range(5)
        if row != column
    }
    assert numbers_of(axes) == expected
    assert len(cells_of(axes)) == 20


def test_judges_are_parted_from_annotators_by_a_gap(make_study):
    cells = cells_of(plot(make_study(("j",), ("a", "b")), kind="agreement").axes[0])

    assert cells["cell-0-1"].get_x() == 1
    assert cells["cell-0-2"].get_x() == pytest.approx(2.4)


def test_undefined_pairs_are_hatched(make_study, by_gid, written):
    study = make_study(("j",), ("a", "b"))
    values = study["questions"][0]["agreement"]["matrix"]["values"]
    values[0][2] = values[2][0] = None

    figure = plot(study, kind="agreement")

    (hatched,) = by_gid(figure.axes[0], "undefined")
    assert hatched.get_hatch()
    corners = {tuple(point) for path in hatched.get_path().to_polygons() for point in path}
    assert len(corners) == 8
    assert len(cells_of(figure.axes[0])) == 4
    assert "undefined" in written(figure)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("n_raters", "has_numbers", "has_pictures"),
    [
        (9, True, False),
        (15, True, False),
        (30, False, False),
        (31, False, True),
    ],
)
def test_numbers_then_colours_then_a_picture(make_study, n_raters, has_numbers, has_pictures):
    study = make_study([f"j{n}" for n in range(n_raters - 4)])

    figure = plot(study, kind="agreement")

    assert bool(numbers_of(figure.axes[0])) is has_numbers
    assert bool(figure.axes[0].images) is has_pictures
    assert ("<image" in to_svg(figure, name="x")) is has_pictures


def test_the_picture_of_many_raters_shows_the_same_values(make_study):
    judges = [f"j{n:02d}" for n in range(50)]
    annotators = [f"a{n:02d}" for n in range(20)]

    figure = plot(make_study(judges, annotators), kind="agreement")

    blocks = figure.axes[0].images
    shapes = [block.get_array().shape[:2] for block in blocks]
    assert shapes == [(20, 20), (20, 50), (50, 20), (50, 50)]
    # sorted: the last annotator (19) and the last judge (69) come first
    assert blocks[1].get_array()[0, 0, 3] == pytest.approx(0.9 * (19 + 69) / 100)
    assert math.isclose(blocks[0].get_array()[0, 0, 3], 0)  # oneself
    labels = [each for each in figure.axes[0].texts if each.get_ha() == "right"]
    assert len(labels) == 70
    svg = to_svg(figure, name="x")
    width = float(svg.split('viewBox="')[1].split()[2])
    assert f"min-width:{width:.0f}px" in svg
    assert width / 70 > labels[0].get_fontsize()  # rows do not run into each other
    assert len(svg) < 200_000


def test_weights_are_named(make_study, written):
    study = make_study()
    agreement = study["questions"][0]["agreement"]
    agreement["matrix"]["weights"] = agreement["ceiling"][1]["weights"] = "quadratic"

    for kind in ("agreement", "ceiling"):
        assert "polite: Cohen’s κ, quadratic weights" in written(plot(study, kind=kind))


@pytest.mark.parametrize(
    ("least", "lowest"),
    [
        (0.1, "0"),
        (-0.004, "0"),  # written .00
        (-0.03, "−.2"),
        (-0.2, "−.2"),
        (-0.21, "−.4"),
        (-1.0, "−1"),
        (None, "0"),
    ],
)
def test_the_key_starts_no_lower_than_the_values(make_study, written, least, lowest):
    study = make_study(("j",), ("a", "b"))
    values = study["questions"][0]["agreement"]["matrix"]["values"]
    for row in values:
        row[:] = [0.5] * 3
    values[0][1] = values[1][0] = least

    texts = written(plot(study, kind="agreement"))

    steps = ["−1", "−.8", "−.6", "−.4", "−.2", "0"]
    assert next(step for step in steps if step in texts) == lowest
    assert "1" in texts


def test_below_chance_has_another_colour(make_study):
    study = make_study(("j",), ("a", "b"))
    values = study["questions"][0]["agreement"]["matrix"]["values"]
    values[0][1] = values[1][0] = 0.5
    values[0][2] = values[2][0] = -0.5

    cells = cells_of(plot(study, kind="agreement").axes[0]).values()

    faces = {(to_hex(cell.get_facecolor()[:3]), round(cell.get_facecolor()[3], 9))
             for cell in cells}  # fmt: skip
    assert {(LIGHT["heat-1"], 0.45), (LIGHT["heat-2"], 0.45)} <= faces


def test_a_question_without_a_matrix_says_so(make_study):
    study = make_study()
    study["questions"][0]["agreement"]["matrix"] = None

    with pytest.raises(InputError, match="'agreement' needs a matrix"):
        plot(study, kind="agreement")


def test_counts_stand_in_the_cells_and_colours_are_shares_of_the_row(make_study):
    study = make_study(("best",))
    table = study["questions"][0]["diagnosis"]["judges"][0]["confusion"]
    table["counts"] = [[30, 10], [0, 1234]]

    axes = plot(study, kind="confusion").axes[0]

    assert numbers_of(axes) == {
        (0.5, 0.5): "30",
        (1.5, 0.5): "10",
        (0.5, 1.5): "0",
        (1.5, 1.5): "1,234",
    }
    opacities = {gid: cell.get_facecolor()[3] for gid, cell in cells_of(axes).items()}
    assert opacities == pytest.approx(
        {"cell-0-0": 0.675, "cell-0-1": 0.225, "cell-1-0": 0.0, "cell-1-1": 0.9}
    )
    assert to_hex(cells_of(axes)["cell-0-0"].get_facecolor()[:3]) == LIGHT["heat-1"]


def test_a_row_without_labels_is_hatched(make_study, by_gid):
    study = make_study(("best",))
    study["questions"][0]["diagnosis"]["judges"][0]["confusion"]["counts"] = [[3, 1], [0, 0]]

    axes = plot(study, kind="confusion").axes[0]

    assert len(by_gid(axes, "undefined")) == 1
    assert len(cells_of(axes)) == 2


def test_other_labels_get_a_row_of_their_own(make_study, written):
    study = make_study(("best",))
    table = study["questions"][0]["diagnosis"]["judges"][0]["confusion"]
    table.update(counts=[[5, 1, 1], [1, 5, 1], [0, 1, 2]], n_other=7)

    figure = plot(study, kind="confusion")

    assert written(figure).count("7 others") == 2
    assert len(cells_of(figure.axes[0])) == 9


def test_label_sets_are_drawn_label_by_label(make_study, written):
    study = make_study(("best",))
    rows = [{"label": "rude", "both": 8, "judge_only": 1, "human_only": 1, "neither": 90}]
    study["questions"][0]["diagnosis"]["judges"][0]["confusion"] = {
        "labels": [],
        "counts": [],
        "n_other": 0,
        "per_label": rows,
    }

    figure = plot(study, kind="confusion")

    assert {"“rude”", "both", "only the judge", "only the annotator"} <= set(written(figure))
    assert list(numbers_of(figure.axes[0]).values()) == ["8", "1", "1"]


def test_of_many_judges_the_best_six_get_a_panel(make_study, written):
    figure = plot(make_study([f"j{n}" for n in range(9)]), kind="confusion")

    assert len(figure.axes) == 6
    assert "polite: labels given, 6 of 9 judges, by ρ" in written(figure)
    assert "j5" in written(figure)
    assert "j6" not in written(figure)
