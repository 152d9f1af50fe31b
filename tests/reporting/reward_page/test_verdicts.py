"""Whether the rules help: what the intervals say, overall and by behavior."""

import pytest

from voirdire.reporting.reward_page.verdicts import (
    certified_counts,
    error_of,
    reward_verdict,
    short_verdict,
)


def rate(low, high):
    return {"value": (low + high) / 2, "low": low, "high": high, "n": 80, "n_prompts": 20}


@pytest.fixture
def judged(minimal, read):
    """Give the state and the words of a reward with these intervals."""

    def judge(total, base=None, *, held_out=True, notes=()):
        rows = [("total", total), ("rules", total), ("base", base)]
        errors = [
            {"behavior": None, "signal": signal, "against": "all", "rate": rate(*ends)}
            for signal, ends in rows
            if ends is not None
        ]
        keys = {"error_rates": errors, "is_held_out": held_out, "notes": list(notes)}
        return read(minimal | keys)

    return judge


@pytest.mark.parametrize(
    ("total", "base", "state", "words"),
    [
        ((0.1, 0.2), (0.3, 0.4), "passed", "rules help"),
        ((0.3, 0.4), (0.1, 0.2), "failed", "rules do harm"),
        ((0.1, 0.35), (0.3, 0.4), "no_evidence", "not told apart"),
        ((0.1, 0.3), (0.3, 0.4), "no_evidence", "not told apart"),
        ((0.1, 0.49), None, "passed", "better than chance"),
        ((0.4, 0.6), None, "no_evidence", "no better than chance"),
        ((0.51, 0.7), None, "failed", "worse than chance"),
        (None, None, "no_evidence", "no comparisons"),
    ],
)
def test_the_state_is_what_the_intervals_say(judged, said, total, base, state, words):
    report = judged(total, base)

    assert reward_verdict(report).state == short_verdict(report, None)[0] == state
    assert said(reward_verdict(report).short) == words


def test_the_sentence_has_the_figures(judged, said):
    report = judged((0.10, 0.15), (0.3, 0.4))

    assert said(reward_verdict(report).sentence) == (
        "With the rules, the reward ranks 12.5% of 80 comparisons the wrong way (95% interval "
        "10.0–15.0%); the base reward alone, 35.0% (30.0–40.0%)."
    )


def test_good_news_on_the_data_of_the_fit_is_half_of_it(judged, said):
    report = judged((0.1, 0.2), (0.3, 0.4), held_out=False)

    found = reward_verdict(report)

    assert found.state == "depends"
    assert said(found.short) == "rules help, on its own data"
    assert "used in the fit, so the true error rate is higher" in said(found.more)


def test_bad_news_on_the_data_of_the_fit_stays_bad(judged):
    assert reward_verdict(judged((0.3, 0.4), (0.1, 0.2), held_out=False)).state == "failed"


def test_where_nobody_knows_whether_prompts_were_used_it_is_said(judged, said):
    unknown = {"code": "held_out_unknown", "sentence": "It does not say."}
    report = judged((0.1, 0.2), (0.3, 0.4), held_out=False, notes=[unknown])

    found = reward_verdict(report)

    assert said(found.short) == "rules help, perhaps on its own data"
    assert "It is not known whether these prompts were used" in said(found.more)


def test_certified_features_are_counted_among_those_with_a_weight(content, read):
    report = read(content)
    rows = [row for row in content["drives"] if row["weight"]]

    assert certified_counts(report) == (sum(row["is_certified"] for row in rows), len(rows))
    assert certified_counts(report, "comply")[1] == sum(row["behavior"] == "comply" for row in rows)


@pytest.mark.parametrize(
    ("certified", "words"),
    [
        (True, "Valid certificates vouch for the judge of all 50 features with a weight."),
        (False, "No valid certificate vouches for the judge of any of the 50 features"),
        (None, "No valid certificate vouches for the judge of 40 of the 50 features"),
    ],
)
def test_the_verdict_says_what_certificates_vouch_for(content, read, said, certified, words):
    for row in content["drives"]:
        row["is_certified"] = row["is_certified"] if certified is None else certified

    assert words in said(reward_verdict(read(content)).more)


def test_an_error_rate_is_found_by_behavior_signal_and_side(content, read):
    report = read(content)

    for row in content["error_rates"]:
        which = {"behavior": row["behavior"], "against": row["against"]}
        assert error_of(report, row["signal"], **which).value == row["rate"]["value"]
    assert error_of(report, "base", behavior="nonesuch") is None


def test_without_a_base_reward_the_rules_are_held_against_chance(without_base, read, said):
    found = reward_verdict(read(without_base))

    assert said(found.short) == "better than chance"
    assert said(found.sentence).startswith("The rules rank 9.0% of 1,940 comparisons")
