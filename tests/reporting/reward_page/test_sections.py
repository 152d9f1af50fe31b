"""The sentences of the sections, against figures worked out by hand."""

import msgspec
import pytest

from voirdire.reporting.page_frame.numerals import share
from voirdire.reporting.page_frame.speech import Name
from voirdire.reporting.reward_page.drives import demand_of, drives_of
from voirdire.reporting.reward_page.noted import noted
from voirdire.reporting.reward_page.numerals import duration, money
from voirdire.reporting.reward_page.paper import paper_sentences
from voirdire.reporting.reward_page.phrases import CHINESE, ENGLISH
from voirdire.reporting.reward_page.ranking import label_rows, near_sentences, refusal_sentences
from voirdire.reporting.reward_page.speaker import RewardSpeaker
from voirdire.reporting.reward_page.use import (
    bench_rows,
    bench_sentences,
    policy_sentences,
    router_sentences,
    scale_sentences,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0%"), (0.0004, "<0.1%"), (0.0625, "6.2%"), (0.9996, ">99.9%"), (1, "100%"),
     (None, "–"), (float("nan"), "–")],
)  # fmt: skip
def test_a_share_has_a_decimal_and_0_is_none(value, shown):
    assert share(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0123, "12 ms"), (0.9996, "1 s"), (12, "12 s"), (119.6, "120 s"), (180, "3 min"),
     (9000, "2.5 h"), (None, "–")],
)  # fmt: skip
def test_time_is_in_the_unit_that_suits_it(seconds, shown):
    assert duration(seconds, ENGLISH) == shown


def test_money_below_a_cent_is_a_bound():
    amounts = (1234.5, 0.004, 0, None)

    assert [money(x, ENGLISH) for x in amounts] == ["$1,234.50", "less than $0.01", "$0.00", "–"]
    assert money(0.004, CHINESE) == "不到 0.01 美元"


def drive(feature, share, **figures):
    base = {"behavior": "comply", "feature": feature, "weight": 1.0, "share": share}
    return base | {"is_certified": True} | figures


@pytest.fixture
def drives(minimal, read):
    def view(*rows, error=0.2):
        rate = {"behavior": "comply", "signal": "rules", "against": "all", "rate": {"value": error}}
        return drives_of(read(minimal | {"drives": list(rows), "error_rates": [rate]}), "comply")

    return view


def test_the_fewest_features_that_make_up_half_are_named(drives, said):
    found = drives(drive("a", 0.2), drive("b", 0.25), drive("comply.ideal", 0.3), drive("c", 0.25))

    assert [row.feature for row in found.rows] == ["comply.ideal", "b", "c", "a"]
    assert said(found.sentences) == "ideal and b make up 55% of the spread."


def test_dead_contradictory_and_uncertified_features_are_named(drives, said):
    found = drives(
        drive("strong", 0.9, is_certified=False),
        drive("against", 0.1, is_contradictory=True),
        drive("dead", 0.0, is_dead=True, weight=0.0, is_certified=False),
    )

    text = said(found.sentences)
    assert "Contradictory: against." in text
    assert "Dead: dead." in text
    assert "Not certified, and among the strongest: strong." in text


def test_a_feature_without_which_the_reward_ranks_better_is_named(drives, said):
    worse = drive("worse", 0.5, error_rate_without=0.15)
    fine = drive("fine", 0.5, error_rate_without=0.3)

    assert "Without worse the error rate would be lower: 15.0% instead of 20.0%." in said(
        drives(worse, fine).sentences
    )
    slightly = said(drives(worse | {"error_rate_without": 0.198}, fine).sentences)
    assert "would be lower" not in slightly


def test_demands_are_in_the_words_of_rubrics(content, read, said):
    report = read(content)

    assert {row.demand for row in report.drives} > {"required false", "desired false", "allowed"}
    for row in report.drives:
        if row.demand:
            assert said(demand_of(row)) == row.demand
            assert said(demand_of(row), "zh") != row.demand
    core = msgspec.structs.replace(report.drives[0], demand="core required false")
    assert said(demand_of(core)) == "required false, core"
    assert demand_of(msgspec.structs.replace(core, demand="tomorrow")) == Name("tomorrow")
    assert demand_of(msgspec.structs.replace(core, demand="")) is None


def scale(behavior, mean, deviation):
    return {"behavior": behavior, "mean": mean, "standard_deviation": deviation}


def test_scales_that_are_apart_or_uneven_are_told(minimal, read, said):
    rows = [scale("a", -3.0, 1.0), scale("b", 2.0, 1.0), scale("c", 0.0, 2.5)]

    text = said(scale_sentences(read(minimal | {"scales": rows}).scales))

    assert "The means lie 5.00 apart, from −3.00 for a to 2.00 for b, which is 5.0 times" in text
    assert "c spreads its rewards 2.5 times as much as a." in text


def test_scales_that_are_alike_are_told(minimal, read, said):
    rows = [scale("a", 0.0, 1.0), scale("b", 0.5, 1.0)]

    assert said(scale_sentences(read(minimal | {"scales": rows}).scales)) == (
        "The means lie within one standard deviation of each other."
    )
    assert scale_sentences(read(minimal | {"scales": rows[:1]}).scales) == ()


def test_the_router_is_counted_over_all_prompts(content, read, said):
    text = said(router_sentences(read(content).router))

    # 52 + 33 + 74 of 52 + 6 + 1 + 5 + 33 + 2 + 2 + 3 + 74 + 2 unrouted = 180
    assert "It chose as declared for 159 of 180 prompts (88%). For 2 prompts it chose none" in text
    assert "The most costly mistake: hard_refuse under the weights of comply, with 68.2%" in text


def test_the_pre_flight_says_what_a_step_costs(content, read, said):
    text = said(policy_sentences(read(content).policy))

    assert "4,096 responses in 512 groups of 8 on average." in text
    assert "In 29% of the groups all rewards are the same" in text  # 147 of 512
    assert "3.5 times as much as the base reward does (2.14 against .61). Neither drowns" in text
    assert "A training step of 512 responses takes 512 calls, $0.18 and 12 s." in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_without_variance": 300}, "That is more than half"),
        ({"n_without_variance": 0}, "In every group the rewards differ"),
        ({"spread_ratio": 12.0}, "The base reward hardly counts beside them"),
        ({"spread_ratio": 0.05}, "The rules hardly count beside it"),
        ({"step_cost": None}, "an unknown price"),
        ({"step_cost": 0.0}, "512 calls, no money and 12 s"),
        ({"step_seconds": None}, "an unknown time"),
        ({"step_calls": 12.3}, "takes 13 calls"),
        ({"group_size": 7.5}, "groups of 7.5 on average"),
    ],
)
def test_the_pre_flight_says_what_to_do(content, read, said, change, words):
    content["policy"] |= change

    assert words in said(policy_sentences(read(content).policy))


def test_the_hardest_comparisons_and_refusals_are_named(content, read, said):
    report = read(content)

    assert said(near_sentences(report)).startswith(
        "Hardest for base + rules is soft_refuse: 47.5% of 80 comparisons between “ideal” and "
        "“less_good”"
    )
    assert "missed refusals on soft_refuse, on 12.5% of 40 prompts" in said(
        refusal_sentences(report)
    )
    for row in content["refusals"]:
        row["rate"] |= {"value": 0.0}
    assert said(refusal_sentences(read(content))) == "Under base + rules there is none."


def test_labels_keep_their_order_and_their_numbers(content, read):
    rows = label_rows(read(content), "hard_refuse")

    assert [row.label for row in rows] == [
        "ideal", "less_good", "unacceptable", "illogical", "disallowed"
    ]  # fmt: skip
    assert [row.n for row in rows] == [120, 60, 60, 60, 60]  # 60 prompts with 2 ideal completions


def test_the_benchmark_starts_with_all_pairs(content, read, said):
    content["bench"].reverse()
    report = read(content)

    assert [row.subset for row in bench_rows(report)][:3] == [None, "*", "donotanswer"]
    assert said(bench_sentences(report)).startswith("Base + rules is right on 84.1% of 740 pairs")


def test_the_paragraph_says_whether_the_prompts_were_used(content, read, said):
    held_out = said(paper_sentences(read(content), version="9"))
    used = said(paper_sentences(read(content | {"is_held_out": False}), version="9"))

    assert "(local) gives to the propositions" in held_out
    assert "180 prompts, none of which was used in the fit" in held_out
    assert "some or all of these were used in the fit" in used
    assert "1,000 bootstrap resamples of prompts" in held_out
    assert held_out.endswith("voirdire 9.")


def test_notes_are_in_the_language_of_the_page(read, content, said):
    chinese, english = RewardSpeaker("zh"), RewardSpeaker("en")
    known = {
        "code": "few_prompts",
        "sentence": "Few prompts.",
        "figures": {"least": 30, "prompts": {"comply": 3}},
    }
    unknown = {"code": "tomorrow", "sentence": "A new sentence.", "figures": {}}
    older = known | {"figures": {}}
    notes = read(content | {"notes": [known, unknown, older]}).notes

    assert [said(each, "zh") for each in noted(notes, chinese)] == [
        "有比较的提示不足 30 个：comply。对这么少的提示重抽样，区间偏窄。",
        "A new sentence.",
        "Few prompts.",
    ]
    assert said(noted(notes, english)[0]) == "Few prompts."
