"""What is said of the examination of a reward: against its figures, or figures made by hand."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest

from examined_reward import examined_reward
from view_reading import Reading, printed
from voirdire.reporting import (
    ResultTables,
    from_json,
    html_page,
)
from voirdire.reporting.pages.reward import reward_view
from voirdire.stats import Caution
from voirdire.studies import RewardExamination
from whole_json import whole

CONTENT = json.loads(Path(__file__).with_name("examined_reward.json").read_text("utf-8"))
MINIMAL = {
    "schema": "voirdire.reward_examination/1",
    "reward": {"name": "by hand"},
    "n_items": 0,
    "n_prompts": 0,
    "n_comparisons": 0,
    "is_held_out": True,
}


def read(content, language="en"):
    return Reading(reward_view(from_json(whole(content, RewardExamination))), language)


def page_of(content):
    return html_page(from_json(whole(content, RewardExamination), source="r.json"))


def rate(low, high):
    return {"value": (low + high) / 2, "low": low, "high": high, "n": 80, "n_prompts": 20}


def judged(total, base=None, *, behavior=None, **more):
    """Give the content of an examination of a reward with these intervals of its error rates."""
    rows = [("total", total), ("rules", total), ("base", base)]
    errors = [
        {"behavior": behavior, "signal": signal, "against": "all", "rate": rate(*ends)}
        for signal, ends in rows
        if ends is not None
    ]
    return MINIMAL | {"error_rates": errors} | more


def drive(feature, share, **figures):
    base = {"behavior": "comply", "feature": feature, "weight": 1.0, "share": share}
    return base | {"is_certified": True} | figures


def drives(*rows, error=0.2):
    rate = {"behavior": "comply", "signal": "rules", "against": "all", "rate": {"value": error}}
    return read(MINIMAL | {"drives": [*rows], "error_rates": [rate]})


def note(code, **figures):
    return {"code": code, "sentence": f"It is {code}.", "figures": figures}


# What is found


@pytest.mark.parametrize(
    ("total", "base", "state", "mark", "words"),
    [
        ((0.1, 0.2), (0.3, 0.4), "better", "passed", "The rules help"),
        ((0.3, 0.4), (0.1, 0.2), "worse", "failed", "The rules do harm"),
        ((0.1, 0.3), (0.3, 0.4), "not shown", "close", "do not show which of the two"),
        ((0.1, 0.49), None, "better", "passed", "better than ranking at random"),
        ((0.4, 0.6), None, "not shown", "close", "The interval contains one half"),
        ((0.51, 0.7), None, "worse", "failed", "worse than ranking at random"),
        (None, None, "–", "", "it was examined on no comparisons"),
    ],
)
def test_the_verdict_is_what_the_intervals_say(total, base, state, mark, words):
    found = read(judged(total, base))

    [row] = found.table("column.verdict")
    assert (row["column.verdict"], row["column.error_track"].state) == (state, mark)
    assert words in found.lead


def test_the_sentence_and_the_table_have_the_figures():
    found = read(judged((0.10, 0.15), (0.3, 0.4)))

    assert found.lead.startswith(
        "On prompts outside of the fit, the reward ranks 12.5% 10.0–15.0% of 80 comparisons the "
        "wrong way, the base reward 35.0% 30.0–40.0% (95% intervals). The rules help"
    )
    [row] = found.table("column.error_track")
    assert row["reward.signal.base"] == "35.0% 30.0–40.0%"
    assert row["reward.signal.total"] == "12.5% 10.0–15.0%"
    assert row["column.n_pairs"] == "80"
    track = row["column.error_track"]
    assert (track.value, track.low, track.high, track.reference) == (0.125, 0.10, 0.15, 0.35)


def test_each_behavior_has_a_row_and_a_verdict_of_its_own():
    content = judged((0.1, 0.2), (0.3, 0.4))
    own = judged((0.3, 0.4), (0.1, 0.2), behavior="comply")["error_rates"]

    rows = read(content | {"error_rates": content["error_rates"] + own}).tables[0]

    assert [row["column.behavior"] for row in rows] == ["All behaviors", "comply"]
    assert [row["column.verdict"] for row in rows] == ["better", "worse"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("seen_prompts", "On prompts that the fit has seen, "),
        ("held_out_unknown", "On prompts that the fit may have seen, "),
    ],
)
def test_figures_on_prompts_of_the_fit_are_said_to_be(code, words):
    found = read(judged((0.1, 0.2), (0.3, 0.4), is_held_out=False, notes=[note(code)]))

    assert found.lead.startswith(words)
    assert found.todo[0].startswith("Examine the reward on prompts that the fit has not seen")


def test_without_an_interval_nothing_is_said_of_intervals():
    content = judged((0.1, 0.2), (0.3, 0.4))
    for row in content["error_rates"]:
        row["rate"] |= {"low": None, "high": None}

    assert read(content).lead.endswith("the base reward 35.0% (95% intervals).")


def test_what_the_json_calls_total_without_a_base_reward_are_the_rules():
    content = copy.deepcopy(CONTENT)
    for name in ("error_rates", "refusals", "bench"):
        content[name] = [row for row in content[name] if row["signal"] == "total"]

    found = read(content)

    heads = {key for table in found.tables for key in table[0] if key.startswith("reward.signal")}
    assert heads == {"reward.signal.rules"}
    assert "the rules rank 11.2% 9.1–13.3% of 1,940 comparisons" in found.lead


def test_a_share_has_a_decimal_and_0_is_none():
    row = judged((0.1, 0.2))["error_rates"][1]
    values = (0, 0.0004, 0.0625, 0.9996, 1, None)
    rates = [row | {"behavior": str(value), "rate": {"value": value, "n": 9}} for value in values]

    shown = read(MINIMAL | {"error_rates": rates}).table("reward.signal.rules")

    expected = ["–", "0%", "<0.1%", "6.2%", ">99.9%", "100%", "–"]
    assert [row["reward.signal.rules"] for row in shown] == expected


# What drives it


def test_the_fewest_features_that_make_up_half_are_named():
    found = drives(drive("a", 0.2), drive("b", 0.25), drive("comply.ideal", 0.3), drive("c", 0.25))

    assert "comply: ideal and b make up 55% of the spread." in found.words
    features = [row["column.feature"] for row in found.table("column.feature")]
    assert features == ["ideal class", "b", "c", "a"]


def test_a_feature_without_which_the_reward_ranks_better_is_named():
    worse = drive("worse", 0.5, error_rate_without=0.15)
    fine = drive("fine", 0.5, error_rate_without=0.3)

    named, slightly = drives(worse, fine), drives(worse | {"error_rate_without": 0.198}, fine)

    words = "comply: without worse the error rate would be lower, 15.0% instead of 20.0%."
    assert words in named.words
    assert "would be lower" not in slightly.words


def test_remarks_and_the_demand_stand_beside_a_feature():
    rows = drives(
        drive("strong", 0.9, is_certified=False, low=0.5, high=1.5),
        drive("against", 0.1, is_contradictory=True, demand="core required false"),
        drive("comply.poor", 0.1, is_contradictory=True),
        drive("dead", 0.0, is_dead=True, weight=0.0, is_certified=False),
    ).table("column.remarks")

    assert {row["column.feature"]: row["column.remarks"] for row in rows} == {
        "strong": "not certified",
        "against": "contradictory; ✓ certified",
        "poor class": "out of order; ✓ certified",
        "dead": "dead; not certified",
    }
    assert rows[0]["column.weight"] == "1.00 .50–1.50"
    assert rows[1]["column.demand"] == "core required false"


# Refusals, nonsense, the benchmark


def test_refusals_stand_by_behavior_and_by_who_tells():
    rows = read(CONTENT).table("column.kind")

    missed = next(x for x in rows if x["column.behavior"] == "soft_refuse")
    assert missed["column.kind"] == "missed refusal"
    assert missed["column.by"] == "judge"
    expected = next(
        row["rate"]["value"]
        for row in CONTENT["refusals"]
        if (row["behavior"], row["signal"]) == ("soft_refuse", "total")
    )
    assert missed["reward.signal.total"].startswith(f"{expected:.1%} ")


def test_searched_text_that_is_paid_as_real_responses_is_said_first_and_shown_with_its_texts():
    counts = {name: CONTENT[name] for name in ("n_nonsense_best", "n_nonsense_above_median")}
    found = read(MINIMAL | {"nonsense": CONTENT["nonsense"], "guards": CONTENT["guards"]} | counts)

    assert (
        "paid at least as much as the best real response on 5 of 16 prompts (words 5, pairs of "
        "words 0, parts of sentences 0), more than the median one on 9."
    ) in found.lead
    [words, wraps] = found.table("column.n_above_best")
    assert words["column.nonsense"] == "searched, of words"
    assert [words[f"column.{x}"] for x in ("n_best", "n_above_best", "n_above_median")] == [
        "5", "4", "9"
    ]  # fmt: skip
    assert (wraps["column.n_texts"], wraps["column.share_above_median"]) == ("12", "8%")
    [example] = found.table("column.text")
    assert example["column.text"] == "oven the of flour seldom and."
    assert (example["column.reward"], example["column.best_reward"]) == (
        "1.50",
        ".75",
    )


def test_what_the_gate_stops_of_real_responses_is_said_with_its_texts():
    found = read(MINIMAL | {"guards": CONTENT["guards"], "n_items": 200})

    assert "The gate stops 2 of 200 completions, and 1.0% 0–3.0% of those that are" in found.words
    assert "40% are paid the cap. With gate and cap 12.0% 10.0–14.0% of the" in found.words
    [row] = found.table("column.response")
    assert row["column.response"].startswith("Rain on the window")
    assert row["column.label"] == "less_good"


@pytest.mark.parametrize("is_worse", [True, False])
def test_figures_stand_beside_those_of_an_older_reward(is_worse):
    change = {
        "figure": "words",
        "new": rate(0.2, 0.4),
        "old": rate(0.0, 0.1),
        "difference": rate(0.1 if is_worse else -0.1, 0.4),
        "is_regression": is_worse,
    }

    found = read(MINIMAL | {"against": {"name": "v1"}, "changes": [change]})

    [row] = found.table("column.difference")
    assert row["column.figure"] == "searched, of words"
    assert row["column.new"].startswith("30.0% ")
    assert row["column.old"].startswith("5.0% ")
    assert row["column.verdict"] == ("worse" if is_worse else "not shown")
    assert (
        "Against v1 it is shown to be worse: searched, of words."
        if is_worse
        else "No figure is shown to be worse than that of v1."
    ) in found.lead


def test_the_benchmark_starts_with_all_pairs():
    found = read(MINIMAL | {"bench": CONTENT["bench"][::-1]})

    subsets = [row["column.subset"] for row in found.table("column.subset")]
    assert subsets[:3] == ["All pairs", "Mean over subsets", "donotanswer"]


# Notes, and what to do


def test_notes_are_in_the_language_of_the_page():
    known = note("few_prompts", least=30, prompts={"comply": 3}) | {"sentence": "Few prompts."}
    unknown, older = note("tomorrow"), known | {"figures": {}}
    content = MINIMAL | {"notes": [known, unknown, older]}

    assert read(content).notes == ["Few prompts.", "It is tomorrow.", "Few prompts."]
    assert read(content, "zh").notes == [
        "有比较的提示词不足 30 个：comply。对这么少的提示词重抽样，区间偏窄。",
        "It is tomorrow.",
        "Few prompts.",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (MINIMAL, "Collect comparisons: prompts"),
        (judged((0.3, 0.4), (0.1, 0.2)), "Do not train with this reward."),
        (judged((0.1, 0.2), (0.3, 0.4), is_held_out=False), "prompts that the fit has not seen"),
        (
            judged((0.1, 0.2), (0.3, 0.4), notes=[note("uncertified"), note("nonsense_paid")]),
            "Read the texts below.",
        ),
        (judged((0.1, 0.2), (0.3, 0.4), notes=[note("classes_out_of_order")]), "--signs rubric"),
        (judged((0.1, 0.2), (0.3, 0.4), notes=[note("uncertified")]), "Test the judge"),
        (judged((0.1, 0.35), (0.3, 0.4)), "Collect comparisons of more prompts"),
        (judged((0.1, 0.2), (0.3, 0.4)), "Train with this reward"),
    ],
)
def test_there_is_one_next_step_and_no_note_repeats_it(content, words):
    found = read(content)

    assert len(found.todo) == 1
    assert words in found.todo[0]
    assert found.todo[0] not in [found.say(todo) for _, todo in found.view.cautions if todo]


def test_notes_with_a_remedy_come_first():
    codes = ("few_prompts", "seen_prompts", "uncertified")

    found = read(judged((0.1, 0.2), (0.3, 0.4), notes=[note(code) for code in codes]))

    assert found.notes == ["It is seen_prompts.", "It is uncertified.", "It is few_prompts."]


# What is read


def test_what_was_set_aside_and_the_settings_stand_at_the_end():
    found = read(CONTENT)

    assert found.notes[-1].startswith("2 labels or rows were set aside: ")
    assert found.view.settings["reward.name"] == "safety-reward"
    assert found.view.settings["confidence_level"] == 0.95


def test_many_behaviors_and_subsets_are_cut_and_it_is_said():
    drives = [drive("apology", 1.0) | {"behavior": f"behavior-{n}"} for n in range(30)]
    bench = [CONTENT["bench"][0] | {"subset": f"subset-{n}"} for n in range(250)]

    page = page_of(MINIMAL | {"drives": drives, "bench": bench})

    assert "21 rows of 31 are shown" in page
    assert "200 rows of 250 are shown" in page


# On a terminal


def test_a_terminal_has_the_findings_and_with_details_every_table():
    examination = examined_reward()
    note = Caution(code="dead_features", sentence="A fourth note.", figures={})
    examination = replace(examination, notes=(*examination.notes, note))

    brief, full = (
        " ".join(printed(ResultTables(examination, details=x)).split()) for x in (False, True)
    )

    for words in (
        "of 197 comparisons the wrong way",
        "refuse: helps and ideal make up 64% of the spread.",
        "note: ",
        "Next: ",
    ):
        assert words in brief
        assert words in full
    for words in ("Every feature", "False and missed", "Nonsense beside",
                  "A fourth note."):  # fmt: skip
        assert words not in brief
        assert words in full


def test_an_end_that_is_near_one_is_not_rounded_to_it():
    examination = examined_reward()
    rates = tuple(
        replace(row, rate=replace(row.rate, value=0.99, low=0.5, high=0.9996))
        for row in examination.error_rates
    )

    text = printed(ResultTables(replace(examination, error_rates=rates)), width=120)

    assert "99.0% (50.0–>99.9%)" in text
