"""Characters that the usual font lacks."""

import io
import warnings

import pytest

from voirdire.reporting.plots import figure as figures
from voirdire.reporting.plots import plot


def test_a_missing_character_is_said_once_in_plain_words(make_study, monkeypatch):
    monkeypatch.setattr(figures, "_installed", lambda families: [])
    figure = plot(make_study(["评判员"]))

    with pytest.warns(UserWarning, match="No font on this machine has the characters"):
        figure.savefig(io.BytesIO(), format="png")
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")  # warnings are errors here


def test_an_installed_font_is_found_for_chinese(make_study):
    installed = figures._installed(figures._FALLBACKS)
    if not any(ord("评") in figures._characters(family) for family in installed):
        pytest.skip("no font with Chinese characters is installed")
    figure = plot(make_study(["评判员"]), language="zh")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), format="png")
        figure.savefig(io.BytesIO(), format="pdf", bbox_inches="tight")


def test_fonts_are_looked_for_only_while_drawing(make_study):
    figure = plot(make_study(["评判员"]))
    label = figure.axes[0].get_yticklabels()[0]
    before = label.get_fontfamily()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.canvas.draw()

    assert label.get_fontfamily() == before
