"""Names as labels of a figure: short, harmless, and told apart."""

import pytest

from voirdire.reporting import plot


@pytest.fixture
def labels(make_study):
    """Give the labels of judges on a figure."""

    def labels_of(*names):
        axes = plot(make_study(names, epsilons=(0.2,))).axes[0]
        return [tick.get_text() for tick in axes.get_yticklabels()][: len(names)]

    return labels_of


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short", "short"),
        ("x" * 30, "x" * 23 + "…"),
        ("评" * 12, "评" * 12),
        ("评" * 13, "评" * 11 + "…"),
        ("a\nb", "a⏎b"),
        ("a\u202eb", "a\\u202eb"),
        ("\ufffe\u200f", "\ufffd\ufffd"),
    ],
)
def test_a_label_is_short_and_inert(labels, name, shown):
    assert labels(name) == [shown]


def test_names_that_begin_alike_keep_their_ends(labels):
    names = ["org/llama-3-70b-instruct-2024-v1", "org/llama-3-70b-instruct-2024-v2", "other"]

    assert labels(*names) == ["org/llama-3…uct-2024-v1", "org/llama-3…uct-2024-v2", "other"]


def test_names_that_differ_in_the_middle_are_numbered(labels):
    first, second = labels("a" * 50 + "1" + "a" * 50, "a" * 50 + "2" + "a" * 50)

    assert first.endswith("#1")
    assert second.endswith("#2")
