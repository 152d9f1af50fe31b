"""Whether the rules help: what the intervals say, overall and by behavior."""

import pytest


def rate(low, high):
    return {"value": (low + high) / 2, "low": low, "high": high, "n": 80, "n_prompts": 20}


@pytest.fixture
def judged(minimal):
    """Give the content of a page about a reward with these intervals."""

    def judge(total, base=None, *, held_out=True, notes=()):
        rows = [("total", total), ("rules", total), ("base", base)]
        errors = [
            {"behavior": None, "signal": signal, "against": "all", "rate": rate(*ends)}
            for signal, ends in rows
            if ends is not None
        ]
        keys = {"error_rates": errors, "is_held_out": held_out, "notes": list(notes)}
        return minimal | keys

    return judge


@pytest.mark.edges
@pytest.mark.parametrize(
    ("total", "base", "state", "words"),
    [
        ((0.1, 0.2), (0.3, 0.4), "passed", "rules help"),
        ((0.3, 0.4), (0.1, 0.2), "failed", "rules do harm"),
        ((0.1, 0.35), (0.3, 0.4), "no_evidence", "no clear difference"),
        ((0.1, 0.3), (0.3, 0.4), "no_evidence", "no clear difference"),
        ((0.1, 0.49), None, "passed", "better than chance"),
        ((0.4, 0.6), None, "no_evidence", "not shown better than chance"),
        ((0.51, 0.7), None, "failed", "worse than chance"),
        (None, None, "no_evidence", "no comparisons"),
    ],
)
def test_the_state_is_what_the_intervals_say(judged, verdict_of, total, base, state, words):
    assert verdict_of(judged(total, base))[:2] == (state, words)


def test_a_behavior_has_a_verdict_of_its_own(judged, page_text):
    report = judged((0.1, 0.2), (0.3, 0.4))
    own = [row | {"behavior": "comply"} for row in report["error_rates"]]
    own[0]["rate"], own[2]["rate"] = own[2]["rate"], own[0]["rate"]

    text = page_text(report | {"error_rates": report["error_rates"] + own})

    assert "comply ✗ rules do harm 35.0% 30.0–40.0% 15.0% 10.0–20.0% – 0 0/0" in text


def test_the_sentence_has_the_figures(judged, verdict_of):
    assert verdict_of(judged((0.10, 0.15), (0.3, 0.4)))[2].startswith(
        "On prompts outside of the fit, the reward ranks 12.5% of 80 comparisons the wrong way "
        "(95% interval 10.0–15.0%), the base reward 35.0% (30.0–40.0%). The rules help"
    )


@pytest.mark.parametrize("base", [None, (0.3, 0.4)])
def test_without_an_interval_nothing_is_said_of_intervals(judged, verdict_of, base):
    content = judged((0.1, 0.2), base)
    for row in content["error_rates"]:
        row["rate"] |= {"low": None, "high": None}

    state, _, sentence = verdict_of(content)

    assert state == "no_evidence"
    assert sentence.startswith("On prompts outside of the fit")
    assert "overlap" not in sentence
    assert "one half" not in sentence


def test_good_news_on_the_data_of_the_fit_is_half_of_it(judged, verdict_of):
    state, short, told = verdict_of(judged((0.1, 0.2), (0.3, 0.4), held_out=False))

    assert state == "depends"
    assert short == "rules help, not tested"
    assert told.startswith("On prompts that the fit has seen, the reward ranks")


def test_bad_news_on_the_data_of_the_fit_stays_bad(judged, verdict_of):
    assert verdict_of(judged((0.3, 0.4), (0.1, 0.2), held_out=False))[0] == "failed"


def test_where_nobody_knows_whether_prompts_were_used_it_is_said(judged, verdict_of):
    unknown = {"code": "held_out_unknown", "sentence": "It does not say."}
    report = judged((0.1, 0.2), (0.3, 0.4), held_out=False, notes=[unknown])

    _, short, told = verdict_of(report)

    assert short == "rules help, perhaps not tested"
    assert told.startswith("On prompts that the fit may have seen, the reward ranks")


def test_without_a_base_reward_the_rules_are_held_against_chance(without_base, verdict_of):
    _, short, told = verdict_of(without_base)

    assert short == "better than chance"
    assert "the rules rank 9.0% of 1,940 comparisons" in told


def drive(behavior, **figures):
    return {"behavior": behavior, "feature": "apology", "weight": 1.0} | figures


def test_the_table_counts_weights_against_demands_and_certified_features(judged, page_text):
    rows = [
        drive("comply", is_certified=True),
        drive("comply", is_contradictory=True, demand="undesired"),
        drive("refuse", is_contradictory=True, demand="undesired"),
        drive("refuse", is_contradictory=True, weight=0.0),  # a class: nothing demands one
        drive("refuse", weight=0.0),
    ]

    text = page_text(judged((0.1, 0.2), (0.3, 0.4)) | {"drives": rows})

    assert "All behaviors ✓ rules help 15.0% 10.0–20.0% 35.0% 30.0–40.0% – 2 1/3" in text
    assert "comply ? no comparisons – – – 1 1/2" in text
    assert "refuse ? no comparisons – – – 1 0/1" in text


def note(code, sentence="A sentence."):
    return {"code": code, "sentence": sentence}


def test_at_most_three_notes_stand_on_top_with_what_to_do(judged, rendered, page_text):
    codes = ("few_prompts", "seen_prompts", "uncertified", "other_judge", "worse_than_base")
    content = judged((0.1, 0.2), (0.3, 0.4), notes=[note(x, f"It is {x}.") for x in codes])

    page, text = rendered(content), page_text(content)

    assert "What to do: Set prompts aside before you fit" in text
    top, _, folded = page.partition('id="reward-notes"')
    assert [x for x in codes if f"It is {x}." in top] == [
        "seen_prompts",
        "uncertified",
        "other_judge",
    ]
    assert [x for x in codes if f"It is {x}." in folded] == ["few_prompts", "worse_than_base"]
    assert "More notes: 2" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"error_rates": []}, "Collect comparisons: prompts"),
        ({"error_rates": "hurts"}, "Do not train with this reward."),
        ({"is_held_out": False}, "prompts that the fit has not seen"),
        ({"notes": [note("degenerate_outranks"), note("uncertified")]}, "Add such nonsense"),
        ({"notes": [note("contradictory_features"), note("uncertified")]}, "hold the signs"),
        ({"notes": [note("uncertified")]}, "propositions without a certificate"),
        ({"error_rates": "unclear"}, "Collect comparisons of more prompts"),
        ({}, "Train with this reward"),
    ],
)
def test_there_is_one_next_step(judged, page_text, change, words):
    ends = {"hurts": ((0.3, 0.4), (0.1, 0.2)), "unclear": ((0.1, 0.35), (0.3, 0.4))}
    rates = change.get("error_rates")
    change |= {"error_rates": judged(*ends[rates])["error_rates"]} if rates else {}

    text = page_text(judged((0.1, 0.2), (0.3, 0.4)) | change)

    assert text.count("Next: ") == 1
    assert words in text[text.index("Next: ") :][:150]
