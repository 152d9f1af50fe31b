"""Which words are no answer."""

import pytest

from voirdire._types import CANNOT_TELL


def answers(read_json, texts, **declared):
    """Read texts as an annotator's labels; give those that are answers, by item."""
    rows = [{"item": f"{n}", "annotator": "ann", "label": text} for n, text in enumerate(texts)]
    table = read_json([*rows, {"item": "last", "annotator": "ann", "label": "yes"}], **declared)
    return dict(table.frame.select("item", "label").iter_rows())


def test_null_and_white_space_are_blank(read_json):
    found = answers(read_json, [None, "", " \t\n", "0", "\u3000"])

    assert found == {"3": "0", "last": "yes"}


def test_words_for_missing_are_to_the_letter(read_json):
    found = answers(read_json, ["NA", " NA ", "na"], missing=["NA"])

    assert found == {"2": "na", "last": "yes"}


@pytest.mark.parametrize("words", [*CANNOT_TELL, "Can’t Tell", "  CANNOT TELL"])
def test_each_way_of_not_being_able_to_tell_is_no_answer_unless_it_is_declared(read_json, words):
    assert answers(read_json, [words]) == {"last": "yes"}
    assert answers(read_json, [words], labels=["yes"]) == {"last": "yes"}
    found = answers(read_json, [words], labels=["yes", words])
    assert found == {"0": words, "last": "yes"}


def test_other_words_are_answers(read_json):
    found = answers(read_json, ["tell", "can't", "can tell"])

    assert found == {"0": "tell", "1": "can't", "2": "can tell", "last": "yes"}
