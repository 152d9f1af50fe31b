"""Figures: what is counted under which name, and means by hand."""

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from voirdire.judging.live.answers import LiveState
from voirdire.rewards.judged_items import JudgedItems
from voirdire.rewards.live import LiveScores
from voirdire.rewards.scoring.scores import Scores
from voirdire.web.figures import Figures


def scores(rewards, probabilities, **more):
    ids = tuple(str(place) for place in range(len(rewards)))
    missing = {name: "no behavior" for name, r in zip(ids, rewards, strict=True) if np.isnan(r)}
    array = np.array(rewards, dtype=float)
    return LiveScores(
        scores=Scores(
            items=ids,
            behaviors=("x",) * len(ids),
            rewards=array,
            base_rewards=array,
            rule_rewards=array,
            missing=missing,
        ),
        judged=JudgedItems(
            items=ids,
            propositions=("a", "b"),
            probabilities=np.array(probabilities, dtype=float).reshape(len(ids), 2),
            behaviors=("x",) * len(ids),
            judge="j",
            fingerprint="f",
        ),
        seconds=0.1,
        **more,
    )


def figures(state=None):
    return Figures(
        ("a", "b"), state=lambda: LiveState() if state is None else state, queue_length=lambda: 7
    )


def read(found):
    """Read the text with Prometheus's own parser."""
    families = text_string_to_metric_families(found.text().decode())
    samples = [sample for family in families for sample in family.samples]
    return {(s.name, *sorted(s.labels.values())): s.value for s in samples}


def test_items_are_counted_by_where_their_verdicts_came_from():
    found = figures()

    found.rewarded(
        scores(
            [1.0, 2.0, np.nan, 4.0],
            [[0.5, 0.5], [0.5, 0.5], [np.nan, 0.5], [0.5, 0.5]],
            n_remembered=1,
            n_stored=1,
        )
    )

    rows = read(found)
    assert [
        rows["voirdire_items_total", s] for s in ("remembered", "stored", "judged", "none")
    ] == [
        1,
        1,
        1,
        1,
    ]
    assert rows["voirdire_reward_count",] == 3
    assert rows["voirdire_reward_sum",] == 7.0
    assert rows["voirdire_rewards_missing_total", "behavior"] == 1


def test_means_leave_out_what_is_missing():
    found = figures()

    found.rewarded(scores([1.0, 1.0], [[0.2, np.nan], [0.6, np.nan]]))

    rows = read(found)
    assert rows["voirdire_proposition_mean", "a"] == pytest.approx(0.4)  # (.2 + .6)/2
    assert ("voirdire_proposition_mean", "b") not in rows  # unknown is not 0
    assert rows["voirdire_proposition_verdicts_total", "a"] == 2
    assert rows["voirdire_proposition_verdicts_total", "b"] == 0


def test_means_follow_the_last_thousand_items_and_sums_all():
    found = figures()

    found.rewarded(scores([0.0] * 5_000, [[0.0, 1.0]] * 5_000))
    found.rewarded(scores([0.0] * 1_000, [[1.0, 1.0]] * 1_000))

    rows = read(found)
    kept = 0.999**1_000
    assert rows["voirdire_proposition_mean", "a"] == pytest.approx(1_000 / (1_000 + kept * 5_000))
    assert rows["voirdire_proposition_probability_total", "a"] == 1_000


def test_an_empty_request_changes_no_mean():
    found = figures()
    found.rewarded(scores([1.0], [[0.2, 0.3]]))

    found.rewarded(scores([], []))

    assert read(found)["voirdire_proposition_mean", "a"] == pytest.approx(0.2)


def test_the_judge_is_asked_when_the_figures_are():
    state = LiveState(n_waiting=3, n_calls=10, n_failures=2, cost=0.5, is_broken=True)

    rows = read(figures(state))

    assert rows["voirdire_items_under_way",] == 7
    assert rows["voirdire_items_waiting",] == 3
    assert rows["voirdire_judge_calls_total",] == 10
    assert rows["voirdire_judge_failures_total",] == 2
    assert rows["voirdire_judge_cost_dollars_total",] == 0.5
    assert rows["voirdire_judge_broken",] == 1


def test_an_unknown_cost_is_no_figure():
    assert ("voirdire_judge_cost_dollars_total",) not in read(figures())


def test_two_servers_in_a_process_count_apart():
    one, other = figures(), figures()

    one.answered("/healthz", 200, seconds=0.01)

    assert read(one)["voirdire_requests_total", "/healthz", "200"] == 1
    assert ("voirdire_requests_total", "/healthz", "200") not in read(other)
