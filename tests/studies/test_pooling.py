"""Several questions under one false discovery rate."""

import math
from dataclasses import replace

import pytest

import voirdire
from alt_test_oracle import benjamini
from voirdire.errors import InputError
from voirdire.studies import pool_questions


@pytest.fixture(scope="module")
def results(make_survey):
    """Give one judge's results on three questions, of different annotators."""
    found = []
    for seed, slips in enumerate([0.1, 0.35, 0.5]):
        survey = make_survey(seed=seed, humans=(0.1, 0.2, 0.3, 0.4)[seed:], judges=(slips,))
        judge = survey.judges["judge0"]
        found.append(voirdire.alt_test(judge, survey.humans, question=f"q{seed}"))
    return found


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
def test_rates_are_those_of_one_correction_over_all_p_values(results, rate):
    pooled = pool_questions(results, false_discovery_rate=rate)

    p_values = [row.deciding_p_value for result in results for row in result.annotators]
    rejected = benjamini(p_values, rate, yekutieli=True)
    assert pooled.n_tests == 9
    # Four, three and two annotators.
    shares = [sum(rejected[:4]) / 4, sum(rejected[4:7]) / 3, sum(rejected[7:]) / 2]
    assert [row.winning_rate for row in pooled.questions] == shares
    assert [row.winning_rate_alone for row in pooled.questions] == [
        result.winning_rate for result in results
    ]


def test_one_question_alone_keeps_its_rate(results):
    pooled = pool_questions(results[:1])

    assert pooled.questions[0].winning_rate == results[0].winning_rate
    assert pooled.n_tests == 4


def test_quality_weighs_the_annotators_of_each_question(make_survey):
    survey = make_survey(judges=(0.25,))
    quality = {"ann0": 1.0, "ann1": 2.0, "ann2": 3.0, "ann3": 4.0}
    rows = [
        voirdire.alt_test(
            survey.judges["judge0"], survey.humans, quality=quality, question=question
        )
        for question in ("first", "second")
    ]

    pooled = pool_questions(rows)

    p_values = [row.deciding_p_value for result in rows for row in result.annotators]
    rejected = benjamini(p_values, 0.05, yekutieli=True)
    won = sum(weight for weight, wins in zip(quality.values(), rejected[:4], strict=True) if wins)
    assert pooled.questions[0].winning_rate == pytest.approx(won / 10)
    assert 0 < won < 10


def test_an_undefined_p_value_speaks_for_nobody(results):
    first = results[0]
    undefined = replace(first.annotators[0], deciding_p_value=math.nan)
    partly = replace(first, annotators=(undefined, *first.annotators[1:]))

    pooled = pool_questions([partly, results[1]])

    assert pooled.n_tests == 7
    assert pooled.questions[0].winning_rate <= 3 / 4


def test_a_question_without_tested_annotators_is_undefined(results):
    empty = replace(results[0], annotators=(), n_annotators=0, winning_rate=math.nan)

    pooled = pool_questions([empty, results[1]])

    assert math.isnan(pooled.questions[0].winning_rate)
    assert pooled.n_tests == 3


@pytest.mark.parametrize(
    "changed", [{"judge": "other"}, {"epsilon": 0.3}, {"alignment": "x"}, {"epsilon_mode": "y"}]
)
def test_only_one_judge_alignment_and_margin_pool(results, changed):
    with pytest.raises(InputError, match="one judge, alignment and epsilon, got 2 combinations"):
        pool_questions([results[0], replace(results[1], **changed)])


def test_nothing_does_not_pool():
    with pytest.raises(InputError, match="one judge, alignment and epsilon, got 0 combinations"):
        pool_questions([])
