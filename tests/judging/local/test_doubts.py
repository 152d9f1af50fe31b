from dataclasses import replace

import pytest

from voirdire.judging import JudgeCard, QuestionFigures, TrainingData

GOOD = QuestionFigures(
    question="apology",
    data="gold",
    n_items=100,
    n_positives=40,
    sensitivity=0.9,
    specificity=0.9,
    mcc=0.8,
    auc=0.95,
    auc_low=0.9,
    auc_high=0.98,
    brier=0.1,
    accuracy=0.9,
    baseline_brier=0.24,
    baseline_accuracy=0.6,
    trusted=True,
    reason="",
)
BAD = replace(GOOD, mcc=0.1, trusted=False, reason="the Matthews correlation is 0.10")


def card(*figures, calibrates=True):
    names = dict.fromkeys(row.data for row in figures)
    data = [TrainingData(name=name, n_items=100, calibrates=calibrates) for name in names]
    return JudgeCard(name="x", questions=("apology",), data=tuple(data), figures=figures)


def test_the_deciding_set_alone_is_enough_for_a_doubt():
    found = card(BAD, replace(GOOD, data="own"))

    assert found.doubts("apology") == ("the Matthews correlation is 0.10",)
    assert (found.trusted, found.untrusted) == ((), ("apology",))


def test_so_is_another_set_and_it_is_named():
    found = card(GOOD, replace(BAD, data="own"))

    assert found.doubts("apology") == ("the Matthews correlation is 0.10 on own",)
    assert "- `apology`: the Matthews correlation is 0.10 on own" in found.to_markdown()


def test_without_a_doubt_it_is_trusted():
    found = card(GOOD, replace(GOOD, data="own"))

    assert found.doubts("apology") == ()
    assert found.trusted == ("apology",)


@pytest.mark.parametrize("n_positives", [9, 91])
def test_a_set_with_too_few_of_either_answer_raises_no_doubt(n_positives):
    few = replace(BAD, data="own", n_positives=n_positives)

    assert card(GOOD, few).trusted == ("apology",)


def test_nor_does_one_that_has_no_part_in_calibration():
    assert card(GOOD, replace(BAD, data="pieces"), calibrates=False).trusted == ("apology",)


def test_a_question_without_figures_is_not_trusted():
    assert JudgeCard(name="x", questions=("apology",)).doubts("apology") == ("no figures",)


def test_the_card_says_where_other_sets_decide():
    few = replace(BAD, n_positives=3, trusted=False, reason="only 3 positives")
    text = card(few, replace(GOOD, data="own")).to_markdown()

    assert "gold has fewer than ten positives of `apology` (3): other sets decide." in text


def test_a_few_positives_of_which_none_was_found_raise_one():
    none = replace(BAD, data="own", n_positives=3, sensitivity=0.0, reason="only 3 positives")
    one = replace(none, sensitivity=1 / 3)

    assert card(GOOD, none).doubts("apology") == ("none of the 3 positives found on own",)
    assert card(GOOD, one).doubts("apology") == ()
