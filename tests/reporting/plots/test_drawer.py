"""The figures of one page."""

import re
import warnings
from importlib.resources import files

import pytest

from voirdire.reporting.page.figures import Drawer
from voirdire.reporting.plots import plot, rows, to_svg


def test_a_figure_of_the_page_is_the_one_that_plot_draws(make_study):
    study = make_study()

    drawn = Drawer(study, "zh")("scatter", name="f", judge="best")

    assert drawn == to_svg(plot(study, kind="scatter", judge="best", language="zh"), name="f")


def test_what_cannot_be_drawn_is_left_out(make_study):
    study = make_study()
    study["questions"] = []

    assert Drawer(study, "en")("agreement", name="f") is None
    assert Drawer(study, "en")("pie", name="f") is None


def test_characters_that_this_machine_lacks_are_no_matter(make_study):
    """Warnings are errors here."""
    assert "评判员😀" in Drawer(make_study(["评判员😀"]), "zh")("advantage", name="f")


def test_other_warnings_are_heard(make_study, monkeypatch):
    from voirdire.reporting.plots import advantage

    draw = advantage.draw_advantage

    def draw_and_warn(*args, **kwargs):
        warnings.warn("something else", UserWarning, stacklevel=2)
        return draw(*args, **kwargs)

    monkeypatch.setattr(advantage, "draw_advantage", draw_and_warn)

    with pytest.warns(UserWarning, match="something else"):
        Drawer(make_study(), "en")("advantage", name="f")


def test_an_examination_is_read_once_however_many_figures_are_drawn(make_study, monkeypatch):
    study = make_study()
    for number in range(1, 5):
        other = make_study(question=f"question {number}")
        for part in ("examinations", "questions"):
            study[part] = study[part] + other[part]
    read = []
    examination = rows._examination
    monkeypatch.setattr(rows, "_examination", lambda row: read.append(row) or examination(row))
    draw = Drawer(study, "en")

    for kind in ("advantage", "winning_rate", "scatter"):
        draw(kind, name=kind, question="question 3", alignment="accuracy")

    assert [row["question"] for row in read] == ["question 3"] * 9  # 3 judges, 3 margins
    for number in (1, 2):
        draw("advantage", name=f"f{number}", question=f"question {number}")
    assert len(read) == 27


def test_on_a_telephone_figures_are_scrolled_and_not_shrunk():
    css = files("voirdire.reporting.page_frame").joinpath("templates/page.css").read_text("utf-8")

    narrow = css[css.index("@media (max-width: 44rem)") : css.index("@media print")]
    assert re.search(r"\.drawing svg \{ min-width: 30rem; \}", narrow)
    (shadowed,) = re.findall(r"([^}]*)\{[^}]*local,", css)
    assert ".drawing" in shadowed
