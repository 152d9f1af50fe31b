"""Results carry the right figures under the right names, for every judge and epsilon."""

from dataclasses import replace

import numpy as np
import pytest

from voirdire import stats

RNG = np.random.default_rng(11)
HUMANS = RNG.integers(0, 3, (90, 4))
JUDGES = np.column_stack([HUMANS[:, 0], RNG.integers(0, 3, 90), RNG.integers(0, 3, 90)])
HUMANS[60:, 3] = -1
JUDGES[:50, 2] = -1
NAMES = stats.Names(
    judges=["one", "two", "three"],
    annotators=["ann", "bob", "eve", "sam"],
    question="tone",
    label=lambda code: "abc"[int(code)],
    settings={"seed": 0},
)


@pytest.fixture(scope="module")
def results():
    failed = np.zeros((90, 3), dtype=bool)
    failed[:5, 2] = True
    return stats.alt_test(JUDGES, HUMANS, epsilon=[0.0, 0.2], failed=failed, names=NAMES)


def test_results_come_judge_by_judge_and_epsilon_by_epsilon(results):
    assert [(r.judge, r.epsilon) for r in results] == [
        (judge, epsilon) for judge in ("one", "two", "three") for epsilon in (0.0, 0.2)
    ]


def test_names_and_settings_are_carried(results):
    for result in results:
        assert result.question == "tone"
        assert result.alignment == "accuracy"
        assert result.epsilon_mode == "additive"
        assert result.settings == {"seed": 0, "n_clusters": None}
        assert {row.annotator for row in result.annotators} | set(result.untested) == {
            "ann",
            "bob",
            "eve",
            "sam",
        }


def test_n_items_counts_items_that_were_compared(results):
    compared = {
        judge: int(((JUDGES[:, k] >= 0) & ((HUMANS >= 0).sum(axis=1) >= 2)).sum())
        for k, judge in enumerate(NAMES.judges)
    }

    assert {r.judge: r.n_items for r in results} == compared == {"one": 90, "two": 90, "three": 40}


def test_the_untested_are_those_with_too_few_items(results):
    by_judge = {r.judge: r for r in results}

    # "three" labelled the last 40 items, "sam" the first 60: 10 in common.
    assert by_judge["three"].untested == ("sam",)
    assert by_judge["one"].untested == ()
    assert [r.n_annotators for r in results] == [4, 4, 4, 4, 3, 3]


def test_the_expert_is_neither_tested_nor_untested():
    [result] = stats.alt_test(JUDGES[:, 0], HUMANS, expert=1)

    assert [row.annotator for row in result.annotators] == ["0", "2", "3"]
    assert result.untested == ()


def test_failures_are_counted_per_judge(results):
    assert [r.worst_case.n_failures for r in results] == [0, 0, 0, 0, 5, 5]
    for result in results[:4]:
        assert result.worst_case.winning_rate_answered == result.winning_rate
        assert result.worst_case.advantage_probability == result.advantage_probability
        assert result.worst_case.passed == result.passed


def test_each_kind_of_control_appears_once(results):
    for result in results:
        kinds = [control.control for control in result.controls]
        assert kinds == ["constant", "random", "majority_vote"]
        assert result.controls[0].label in set("abc")
    assert results[0].controls == results[2].controls
    # the third judge was asked about 40 items, and so are what stands beside it
    asked = (JUDGES[:, 2] >= 0) | (np.arange(90) < 5)
    alone = stats.alt_test(
        JUDGES[asked, 2],
        HUMANS[asked],
        epsilon=0.0,
        failed=np.arange(45) < 5,
        names=replace(NAMES, judges=["x"]),
    )
    known = [row for row in alone[0].controls if row.control != "random"]
    assert [row for row in results[4].controls if row.control != "random"] == known


def test_without_names_columns_are_numbers():
    [result] = stats.alt_test(JUDGES[:, 0], HUMANS, epsilon=0.2)

    assert result.judge == "0"
    assert [row.annotator for row in result.annotators] == ["0", "1", "2", "3"]


def test_a_users_alignment_is_shown_by_its_name():
    def closeness(a, b):
        return -np.abs(a - b)

    [named] = stats.alt_test(JUDGES[:, 0], HUMANS, alignment=closeness, values=[0, 1, 2])

    assert named.alignment == "closeness"
    assert named.human_agreement.level == "nominal"
