"""One call for every figure: what may be drawn, what is chosen, and what is left alone."""

import json
import subprocess
import sys
import warnings
from dataclasses import asdict

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from alt_tests import alt_tests
from reporting.plots.svg_reading import KINDS
from voirdire.errors import InputError
from voirdire.reporting import plot, to_svg

HOSTILE = (
    "</svg><script>alert(1)</script>",
    r"$\alpha$ costs $5",
    r"$\frac{",
    "a\u202egnp.exe\x00\x1b[31m\nnew",
    'q" onload="alert(1)',
    "\ufffe\uffff zero\u200bwidth",
)


@pytest.fixture(scope="module")
def labels():
    humans = {
        name: {item: (item + (item % step == 0)) % 2 for item in range(60)}
        for name, step in (("ann", 9), ("bob", 10), ("eve", 11))
    }
    judges = {"good": {item: item % 2 for item in range(60)}, "poor": dict.fromkeys(range(60), 1)}
    return humans, judges


@pytest.fixture(scope="module")
def results(labels):
    humans, judges = labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return alt_tests(judges=judges, humans=humans, epsilon=[0.1, 0.2])


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_judges", [1, 12])
def test_every_kind_draws_any_number_of_judges(make_study, kind, n_judges):
    study = make_study([f"judge {number}" for number in range(n_judges)])

    figure = plot(study, kind=kind)

    assert isinstance(figure, Figure)
    assert figure.axes


@pytest.mark.ci
def test_the_results_of_alt_test_are_drawn_in_every_shape(results):
    one = results["good"][0]
    shapes = [one, [one], tuple(results["good"]), {"good": one}, results, asdict(one)]

    figures = [plot(shape) for shape in shapes]

    assert [figure.axes[0].get_yticklabels()[0].get_text() for figure in figures] == ["good"] * 6


def test_an_examination_is_drawn_like_its_json(make_examination):
    examination = make_examination(epsilon=(0.1, 0.2))
    rows = {"examinations": [asdict(row) for row in examination.results]}

    drawn, from_json = (to_svg(plot(given), name="x") for given in (examination, rows))

    assert drawn == from_json


@pytest.mark.ci
def test_json_with_null_for_undefined_figures_is_drawn(make_study):
    study = make_study()
    row = study["examinations"][1]
    row.update(winning_rate=None, advantage_probability=None, human_advantage=None)
    row["annotators"][0]["advantage_judge"] = None
    study = json.loads(json.dumps(study))

    figures = {kind: plot(study, kind=kind) for kind in KINDS}

    labels = [tick.get_text() for tick in figures["advantage"].axes[0].get_yticklabels()]
    assert labels[:3] == ["fair", "poor", "best"]  # the undefined one comes last


def test_a_wrong_kind_lists_the_kinds(make_study):
    with pytest.raises(InputError, match=r"`kind` must be one of 'advantage', 'power'.*'pie'"):
        plot(make_study(), kind="pie")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"epsilon": 0.5}, r"`epsilon` must be one of 0.1, 0.2, 0.3, got 0.5"),
        ({"question": "rude"}, r"`question` must be one of 'polite', got 'rude'"),
        ({"alignment": "jaccard"}, r"`alignment` must be one of 'accuracy', got 'jaccard'"),
        ({"judge": "nobody"}, r"`judge` must be one of 'best', 'fair', 'poor', got 'nobody'"),
        ({"language": "fr"}, r"`language` must be one of 'en', 'zh', got 'fr'"),
    ],
)
def test_a_choice_that_is_not_there_is_an_input_error(make_study, choice, message):
    with pytest.raises(InputError, match=message):
        plot(make_study(), **choice)


@pytest.mark.parametrize("nothing", [3, "text", [], {}, [1], {"a": 1}, {"examinations": []}])
def test_what_is_no_result_is_an_input_error(nothing):
    with pytest.raises(InputError, match=r"must hold|must be|needs"):
        plot(nothing)


def test_an_epsilon_of_point_two_is_drawn_unless_another_is_chosen(make_study, written):
    study = make_study(epsilons=(0.0, 0.2, 0.3))

    assert "polite: accuracy, ε = .2" in written(plot(study))
    assert "polite: accuracy, ε = .3" in written(plot(study, epsilon=0.1 + 0.2))
    assert "polite: accuracy, ε = 0" in written(plot(make_study(epsilons=(0.0, 0.1))))


def test_one_of_several_questions_is_drawn(make_study, written):
    study = make_study()
    other = make_study(question="helpful", judges=("only",))
    for part in ("examinations", "questions"):
        study[part] = study[part] + other[part]

    assert "polite: accuracy, ε = .2" in written(plot(study))
    texts = written(plot(study, question="helpful"))
    assert "helpful: accuracy, ε = .2" in texts
    assert "only" in texts


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_judges_can_be_picked(make_study, written, kind):
    texts = " ".join(written(plot(make_study(), kind=kind, judge=["fair"])))

    assert "best" not in texts
    assert "fair" in texts


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_the_words_can_be_chinese(make_study, written, kind):
    texts = "".join(written(plot(make_study(), kind=kind, language="zh")))

    assert set(texts) & set("：的胜标切通")


@pytest.mark.edges
@pytest.mark.parametrize("kind", [*KINDS, "power"])
def test_figures_are_drawn_on_given_axes(make_study, make_power, kind):
    figure = Figure(layout="constrained")
    axes = figure.subplots()

    drawn = plot(make_power() if kind == "power" else make_study(), kind=kind, ax=axes)

    assert drawn is figure
    assert figure.axes == [axes]
    figure.canvas.draw()


@pytest.mark.edges
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_are_written_literally(make_study, written, kind):
    study = make_study(HOSTILE, HOSTILE[::-1], question=HOSTILE[1])

    figure = plot(study, kind=kind)
    figure.canvas.draw()

    texts = written(figure)
    assert any(text.startswith(r"$\frac{") for text in texts)
    for text in texts:
        assert not set(text) & set("\x00\x1b\n\u202e\u200b\ufffe\uffff")


def test_a_name_of_a_million_characters_is_cut_first(make_study, written):
    study = make_study(["x" * 1_000_000 + "1", "x" * 1_000_000 + "2"])

    texts = written(plot(study))

    assert max(map(len, texts)) < 100
    assert sum(text.startswith("xxx") and text.endswith(("1", "2")) for text in texts) == 2


@pytest.mark.ci
def test_drawing_leaves_settings_and_warnings_alone(make_study, make_power):
    settings, filters = dict(mpl.rcParams), list(warnings.filters)

    for kind in KINDS:
        figure = plot(make_study(), kind=kind)
        figure.canvas.draw()
        to_svg(figure, name="x")
    plot(make_power())

    assert dict(mpl.rcParams) == settings
    assert list(warnings.filters) == filters


def test_a_users_style_changes_nothing(make_study):
    usual = to_svg(plot(make_study()), name="x")

    with mpl.rc_context(
        {"axes.grid": True, "font.size": 30, "text.usetex": True, "axes.facecolor": "black"}
    ):
        styled = to_svg(plot(make_study()), name="x")

    assert styled == usual


@pytest.mark.ci
def test_neither_importing_nor_drawing_loads_pyplot(tmp_path, make_study):
    file = tmp_path / "study.json"
    file.write_text(json.dumps(make_study()), encoding="utf-8")
    code = f"""
import json, sys
import voirdire, voirdire.reporting
assert "matplotlib" not in sys.modules
from voirdire.reporting import plot, to_svg
study = json.load(open({str(file)!r}, encoding="utf-8"))
for kind in {KINDS!r}:
    to_svg(plot(study, kind=kind), name="x")
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_a_notebook_is_given_a_picture_of_two_dots_a_pixel(make_study):
    figure = plot(make_study())

    picture, size = figure._repr_png_()

    assert picture.startswith(b"\x89PNG")
    width = int.from_bytes(picture[16:20], "big")
    assert width == 2 * size["width"] == 2 * 624
