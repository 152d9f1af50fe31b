"""Characters that the fonts of this machine lack."""

import io

import pytest

from voirdire.reporting import plot, to_svg


def png(figure, **kwargs):
    picture = io.BytesIO()
    figure.savefig(picture, format="png", **kwargs)
    return picture.getvalue()


@pytest.fixture
def hieroglyph(make_study):
    """A judge whose name no usual font can write, whatever is installed. Warnings are errors."""
    return plot(make_study(["\U00013000 评判员"]))


def test_a_missing_character_is_told_once_in_plain_words(hieroglyph, caplog):
    png(hieroglyph)
    png(hieroglyph, bbox_inches="tight")

    (record,) = caplog.records
    assert record.name == "voirdire"
    assert "No font on this machine has the characters" in record.getMessage()
    assert "\U00013000" in record.getMessage()


def test_a_page_leaves_letters_to_the_browser(hieroglyph, caplog):
    svg = to_svg(hieroglyph, name="x")

    assert "\U00013000 评判员" in svg
    assert caplog.records == []


def test_drawing_a_picture_changes_neither_the_fonts_nor_the_page(hieroglyph):
    label = hieroglyph.axes[0].get_yticklabels()[0]
    before, page = label.get_fontfamily(), to_svg(hieroglyph, name="x")

    hieroglyph._repr_png_()

    assert label.get_fontfamily() == before
    assert to_svg(hieroglyph, name="x") == page
