"""Names as labels, and how wide they are."""

import pytest

from voirdire.reporting.plots.names import distinct_labels, label, text_px, widest_px


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short", "short"),
        ("x" * 30, "x" * 23 + "…"),
        ("评" * 12, "评" * 12),
        ("评" * 13, "评" * 11 + "…"),
        (None, "None"),
        ("a\nb", "a⏎b"),
        ("a\u202eb", "a\\u202eb"),
        ("\ufffe\u200f", "\ufffd\ufffd"),
    ],
)
def test_a_label_is_short_and_inert(name, shown):
    assert label(name) == shown


def test_names_that_begin_alike_keep_their_ends():
    names = ["org/llama-3-70b-instruct-2024-v1", "org/llama-3-70b-instruct-2024-v2", "other"]

    labels = distinct_labels(names)

    assert labels[2] == "other"
    assert labels[0] == "org/llama-3…uct-2024-v1"
    assert labels[1] == "org/llama-3…uct-2024-v2"
    assert max(map(len, labels)) <= 24


def test_names_that_differ_in_the_middle_are_numbered():
    labels = distinct_labels(["a" * 50 + "1" + "a" * 50, "a" * 50 + "2" + "a" * 50])

    assert labels[0] != labels[1]
    assert labels[0].endswith("#1")
    assert labels[1].endswith("#2")


def test_one_name_given_twice_is_left_alone():
    assert distinct_labels(["ann", "ann", "x" * 40, "x" * 40])[:2] == ["ann", "ann"]


def test_a_chinese_character_is_as_wide_as_the_letters_are_high():
    assert text_px("评判员", 10) == 30
    assert text_px("评", 10) > text_px("m", 10) > text_px("a", 10) > text_px("i", 10)
    assert widest_px([], 10) == 0
    assert widest_px(["a", "评"], 10) == 10


def test_the_estimate_is_rarely_below_the_widest_common_font():
    """DejaVu Sans is about the widest font that browsers fall back to."""
    from matplotlib.textpath import TextPath

    for text in ("judge-07-instruct", "GPT-4o mini (2024-07-18)", "annotators’ own advantage"):
        drawn = TextPath((0, 0), text, size=15).get_extents().width

        assert 0.95 * drawn < text_px(text, 15) < 1.25 * drawn
