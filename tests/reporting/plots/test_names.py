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


@pytest.mark.edges
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short", "short"),
        ("x" * 40, "x" * 35 + "…"),
        ("评" * 18, "评" * 18),
        ("评" * 19, "评" * 17 + "…"),
        ("a\nb", "a⏎b"),
        ("a\u202eb", "a\\u202eb"),
        ("\ufffe\u200f", "\ufffd\ufffd"),
    ],
)
def test_a_label_is_short_and_inert(labels, name, shown):
    assert labels(name) == [shown]


def test_names_that_begin_alike_keep_their_ends(labels):
    names = [f"organization/llama-3-70b-instruct-2024-v{n}" for n in (1, 2)]

    short = [f"organization/llam…-instruct-2024-v{n}" for n in (1, 2)]
    assert labels(*names, "other") == [*short, "other"]


def test_names_that_differ_in_the_middle_are_numbered(labels):
    first, second = labels("a" * 50 + "1" + "a" * 50, "a" * 50 + "2" + "a" * 50)

    assert first.endswith("#1")
    assert second.endswith("#2")
