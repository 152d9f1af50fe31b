"""A pre-flight on a policy's own responses."""

import json
import math

import numpy as np
import pytest

from asked_models import Asked
from studies.reward.small_reward import items_of, judged_of
from voirdire.errors import InputError, NoDataError
from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge, Price, ScriptedJudge
from voirdire.studies import examine_reward

SORRY, RUDE, HELPS = [1.0, 0, 0, 0], [1.0, 1, 0, 0], [0.0, 0, 1, 0]


def _rows(groups, *, behavior="refuse", bases=None):
    found = []
    for name, responses in groups.items():
        for k, p in enumerate(responses):
            row = {"prompt": name, "behavior": behavior, "p": p}
            if bases is not None:
                row["base"] = bases[name][k]
            found.append(row)
    return found


def check_policy(policy, reward, *, verdicts=None, **settings):
    found = examine_reward(reward, policy=policy, policy_verdicts=verdicts, **settings)
    return found.policy, found.dropped


@pytest.fixture
def check(reward, propositions):
    """Check rows with their verdicts."""

    def checked(rows, **settings):
        verdicts = judged_of(rows, propositions)
        return check_policy(items_of(rows), reward, verdicts=verdicts, **settings)

    return checked


def test_groups_whose_rewards_are_all_the_same_are_counted(check):
    rows = _rows({"a": [SORRY, SORRY, SORRY], "b": [SORRY, RUDE], "c": [HELPS]})

    found, dropped = check(rows)

    assert (found.n_items, found.n_groups, found.group_size) == (6, 3, 2.0)
    assert found.n_without_variance == 2  # "a", and "c" that has nothing to compare
    assert found.n_missing == 0
    assert dropped == ()


def test_spreads_are_means_of_standard_deviations_within_groups(check):
    rows = _rows(
        {"a": [SORRY, RUDE], "b": [SORRY, SORRY, HELPS]},
        bases={"a": [1.0, 2.0], "b": [0.0, 0.0, 3.0]},
    )

    found, _ = check(rows)

    # rules: sorry 3, rude 1, helps -3
    spreads = [np.std([3, 1], ddof=1), np.std([3, 3, -3], ddof=1)]
    assert found.rule_spread == pytest.approx(np.mean(spreads))
    assert found.base_spread == pytest.approx(
        np.mean([np.std([1, 2], ddof=1), np.std([0, 0, 3], ddof=1)])
    )
    assert found.spread_ratio == pytest.approx(found.rule_spread / found.base_spread)


def test_without_a_base_reward_there_is_no_ratio(check):
    found, _ = check(_rows({"a": [SORRY, RUDE]}))

    assert math.isnan(found.base_spread)
    assert math.isnan(found.spread_ratio)


def test_a_response_without_a_verdict_is_missing_and_listed(check):
    rows = _rows({"a": [SORRY, [math.nan] * 4], "b": [SORRY, RUDE]})

    found, dropped = check(rows)

    assert found.n_missing == 1
    assert found.n_without_variance == 1  # "a" has one reward left
    assert [(row.item, row.reason) for row in dropped] == [("i1", "no verdict")]


def test_classes_count_by_the_most_probable_one(check):
    rows = _rows({"a": [SORRY, RUDE, [0.9, 0, 0, 0], [0.9, 0, 0.2, 0]]})

    found, _ = check(rows)

    # ideal, unacceptable (rude), ideal .9, and ideal .72 against disallowed .2
    assert found.class_shares["refuse.ideal"] == 0.75
    assert found.class_shares["refuse.unacceptable"] == 0.25
    assert sum(found.class_shares.values()) == pytest.approx(1.0)


def test_behaviors_stand_side_by_side(check):
    rows = _rows({"a": [SORRY, RUDE], "b": [SORRY, SORRY]}) + _rows(
        {"c": [HELPS, SORRY]}, behavior="comply"
    )

    found, _ = check(rows)

    assert found.behaviors["refuse"] == {
        "n_items": 4,
        "n_groups": 2,
        "mean": pytest.approx((3 + 1 + 3 + 3) / 4),
        "standard_deviation": pytest.approx(np.std([3, 1, 3, 3])),
        "share_without_variance": 0.5,
    }
    assert found.behaviors["comply"]["mean"] == pytest.approx((1.5 + 0.5 + 0) / 2)


def test_responses_without_a_group_share_their_messages(reward, propositions):
    rows = [
        {"id": f"i{k}", "prompt": prompt, "response": f"r{k}", "behavior": "refuse"}
        for k, prompt in enumerate("aab")
    ]
    verdicts = judged_of([{"p": SORRY}, {"p": RUDE}, {"p": SORRY}], propositions)

    found, _ = check_policy(rows, reward, verdicts=verdicts)

    assert found.n_groups == 2


def test_a_local_judge_calls_nothing_and_is_timed(reward, rubric):
    judge = ScriptedJudge(questions=rubric.propositions, answer=lambda item: SORRY)
    items = items_of(_rows({"a": [SORRY, SORRY]}))

    found, _ = check_policy(items, reward, judge=judge, step_size=100)

    assert (found.n_calls, found.n_tokens, found.cost) == (0, 0, 0.0)
    assert (found.step_calls, found.step_cost) == (0.0, 0.0)
    assert found.step_seconds == pytest.approx(found.seconds / 2 * 100)


def _language_model(**settings):
    asked = Asked(lambda shown: dict.fromkeys(("apology", "rude", "helps", "extra"), 0.2))
    price = Price(input=1.0, output=2.0, cached_input=1.0, source="by hand")
    return LlmJudge(model=asked.model, probability="stated", price=price, **settings)


@pytest.mark.parametrize(("mode", "per_item"), [("joint", 1), ("single", 4)])
def test_a_language_model_is_counted_and_a_step_worked_out(reward, mode, per_item):
    items = items_of(_rows({"a": [SORRY, SORRY], "b": [SORRY]}))

    found, _ = check_policy(items, reward, judge=_language_model(mode=mode), step_size=10)

    assert found.n_calls == 3 * per_item
    assert found.step_calls == 10 * per_item
    assert found.step_cost == pytest.approx(found.cost / 3 * 10)
    assert found.step_seconds > 0


def test_replies_of_an_earlier_run_leave_the_seconds_of_a_step_unknown(reward, tmp_path):
    items = items_of(_rows({"a": [SORRY, SORRY]}))
    store = tmp_path / "replies.sqlite"
    first, _ = check_policy(items, reward, judge=_language_model(), store=store)

    again, _ = check_policy(items, reward, judge=_language_model(), store=store)

    assert first.step_seconds > 0
    assert math.isnan(again.step_seconds)
    assert again.n_calls == 2  # that it would take
    assert again.n_tokens > 0
    assert again.step_cost > 0


def test_of_a_cascade_only_what_the_first_judge_passes_on_is_counted(reward, rubric, tmp_path):
    items = items_of(_rows({"a": [SORRY] * 4}))
    passed_on = items[1].id

    def says(item):
        return [0.5, 0, 0, 0] if item.id == passed_on else SORRY

    first = ScriptedJudge(questions=rubric.propositions, answer=says, name="quick")
    store = tmp_path / "replies.sqlite"

    def found(judge):
        return check_policy(items, reward, judge=judge, store=store, step_size=100)[0]

    cascade = CascadeJudge(first=first, then=_language_model(), unsure=(0.1, 0.9))
    paid, again = found(cascade), found(cascade)
    found(_language_model())
    alone = found(_language_model())

    assert (paid.n_calls, paid.step_calls) == (1, 25)
    assert (again.n_calls, again.step_calls) == (1, 25)  # that it would take
    assert again.step_cost == pytest.approx(25 * again.cost)
    assert again.n_tokens == pytest.approx(alone.n_tokens / 4, abs=1) != 0


def test_of_a_jury_the_calls_of_all_its_models_are_counted(reward, rubric, tmp_path):
    items = items_of(_rows({"a": [SORRY] * 4}))
    quiet = ScriptedJudge(questions=rubric.propositions, answer=lambda item: SORRY, name="quiet")
    store = tmp_path / "replies.sqlite"
    models = [_language_model(name="one"), _language_model(mode="single", name="many")]

    def check(*judges):
        jury = JuryJudge(judges=judges)
        return check_policy(items, reward, judge=jury, store=store, step_size=100)[0]

    paid, again = check(quiet, *models), check(quiet, *models)

    assert (paid.n_calls, paid.step_calls) == (again.n_calls, again.step_calls) == (20, 500)
    assert again.cost > 0
    assert again.step_cost == pytest.approx(25 * again.cost)


def test_given_verdicts_of_an_unknown_judge_leave_costs_unknown(check):
    found, _ = check(_rows({"a": [SORRY, RUDE]}))

    assert found.n_calls == 0
    assert all(math.isnan(x) for x in (found.cost, found.step_calls, found.step_seconds))


def test_a_base_reward_is_a_finite_number_or_missing(reward, propositions):
    bases = [1, "2.5", True, "x", float("inf"), "nan", None, [1]]
    rows = _rows({"a": [SORRY] * 8}, bases={"a": bases})

    found, dropped = check_policy(items_of(rows), reward, verdicts=judged_of(rows, propositions))

    assert {row.item for row in dropped} == {f"i{k}" for k in range(2, 8)}
    assert {row.reason for row in dropped} == {"no base reward, where others have one"}
    assert found.base_spread == pytest.approx(np.std([1, 2.5], ddof=1))


def test_a_file_is_read_as_items_are(reward, tmp_path, propositions):
    rows = [
        {"id": f"i{k}", "prompt": "a", "response": f"r{k}", "behavior": "refuse", "base_reward": x}
        for k, x in enumerate(["1.5", None])
    ]
    path = tmp_path / "policy.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    found, dropped = check_policy(
        path, reward, verdicts=judged_of([{"p": SORRY}, {"p": RUDE}], propositions)
    )

    assert found.n_missing == 1
    assert dropped[0].reason == "no base reward, where others have one"
    assert dropped[0].source == str(path)


def test_responses_must_be_some(reward):
    with pytest.raises(NoDataError, match="`policy` must hold at least one item"):
        check_policy([], reward)


def test_a_judge_that_cannot_be_made_again_must_be_given(reward):
    with pytest.raises(InputError, match="cannot be made again"):
        check_policy(items_of(_rows({"a": [SORRY]})), reward)
