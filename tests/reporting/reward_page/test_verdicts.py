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


@pytest.mark.parametrize(
    ("total", "base", "state", "words"),
    [
        ((0.1, 0.2), (0.3, 0.4), "passed", "rules help"),
        ((0.3, 0.4), (0.1, 0.2), "failed", "rules do harm"),
        ((0.1, 0.35), (0.3, 0.4), "no_evidence", "no clear difference"),
        ((0.1, 0.3), (0.3, 0.4), "no_evidence", "no clear difference"),
        ((0.1, 0.49), None, "passed", "better than chance"),
        ((0.4, 0.6), None, "no_evidence", "no better than chance"),
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

    assert "comply ✗ rules do harm 15.0% 10.0–20.0% 35.0% 30.0–40.0% – –" in text


def test_the_sentence_has_the_figures(judged, verdict_of):
    assert verdict_of(judged((0.10, 0.15), (0.3, 0.4)))[2].startswith(
        "With the rules, the reward ranks 12.5% of 80 comparisons the wrong way (95% interval "
        "10.0–15.0%); the base reward alone, 35.0% (30.0–40.0%)."
    )


def test_good_news_on_the_data_of_the_fit_is_half_of_it(judged, verdict_of):
    state, short, told = verdict_of(judged((0.1, 0.2), (0.3, 0.4), held_out=False))

    assert state == "depends"
    assert short == "rules help, not tested"
    assert "Not tested: some or all of these prompts were used in the fit" in told


def test_bad_news_on_the_data_of_the_fit_stays_bad(judged, verdict_of):
    assert verdict_of(judged((0.3, 0.4), (0.1, 0.2), held_out=False))[0] == "failed"


def test_where_nobody_knows_whether_prompts_were_used_it_is_said(judged, verdict_of):
    unknown = {"code": "held_out_unknown", "sentence": "It does not say."}
    report = judged((0.1, 0.2), (0.3, 0.4), held_out=False, notes=[unknown])

    _, short, told = verdict_of(report)

    assert short == "rules help, perhaps not tested"
    assert "It is not known whether these prompts were used" in told


@pytest.mark.ci
@pytest.mark.parametrize(
    ("certified", "words"),
    [
        (True, "The judge has valid certificates for all 50 features with a weight."),
        (False, "The judge has no valid certificate for any of the 50 features"),
        (None, "The judge has no valid certificate for 40 of the 50 features"),
    ],
)
def test_the_verdict_says_what_certificates_vouch_for(
    content, minimal, verdict_of, certified, words
):
    for row in content["drives"]:
        row["is_certified"] = row["is_certified"] if certified is None else certified

    parts = {name: content[name] for name in ("drives", "error_rates")}
    assert words in verdict_of(minimal | parts)[2]


def test_without_a_base_reward_the_rules_are_held_against_chance(without_base, verdict_of):
    _, short, told = verdict_of(without_base)

    assert short == "better than chance"
    assert told.startswith("The rules rank 9.0% of 1,940 comparisons")
