import polars as pl
import pytest

from voirdire._types import CANNOT_TELL
from voirdire.io.missing import is_blank, is_cannot_tell, is_missing_word, says_cannot_tell


def judged(texts, rule):
    return pl.DataFrame({"x": pl.Series(texts, dtype=pl.String)}).select(rule).to_series().to_list()


def test_null_and_white_space_are_blank():
    assert judged([None, "", " \t\n", "0", "\u3000"], is_blank(pl.col("x"))) == [
        True,
        True,
        True,
        False,
        True,
    ]


def test_words_for_missing_are_to_the_letter():
    assert judged(["NA", " NA ", "na"], is_missing_word(pl.col("x"), ["NA"])) == [True, True, False]


@pytest.mark.parametrize("words", [*CANNOT_TELL, "Can’t Tell", "  CANNOT TELL"])
def test_each_way_of_not_being_able_to_tell(words):
    assert judged([words], is_cannot_tell(pl.col("x"), declared=None)) == [True]
    assert judged([words], is_cannot_tell(pl.col("x"), declared=["yes"])) == [True]
    assert judged([words], is_cannot_tell(pl.col("x"), declared=[words])) == [False]
    assert says_cannot_tell(words)


def test_other_words_are_answers():
    assert judged(["tell", "can't"], is_cannot_tell(pl.col("x"), declared=None)) == [False, False]
    assert not says_cannot_tell("can tell")
