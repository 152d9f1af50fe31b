"""Rewards of weights that are given by hand."""

import json

import pytest

from rewards.reward_cases import tiny_judge, tiny_rubric
from voirdire.errors import InputError
from voirdire.rewards import reward_of_weights


def test_features_that_are_not_named_weigh_nothing():
    reward = reward_of_weights({"refuse": {"good": 2}}, rubric=tiny_rubric())

    assert reward.behaviors["refuse"].weights == {
        "sorry": 0.0,
        "rude": 0.0,
        "refuse.bad": 0.0,
        "refuse.good": 2.0,
        "refuse.poor": 0.0,
    }
    assert list(reward.behaviors) == ["refuse"]


@pytest.mark.parametrize("name", ["weights.json", "weights.yaml"])
def test_weights_come_from_a_file(tmp_path, name):
    path = tmp_path / name
    path.write_text(json.dumps({"refuse": {"refuse.good": 2.5, "rude": -1}}), encoding="utf-8")

    reward = reward_of_weights(path, rubric=tiny_rubric())

    assert reward.weight_vector("refuse").tolist() == [0.0, -1.0, 0.0, 2.5, 0.0]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"refuse": {"sorrry": 1}}, r"'sorrry'\. Did you mean `sorry`"),
        ({"refuse": {"xyz": 1}}, r"'xyz'\. The features are sorry, rude, refuse\.bad"),
        ({"chat": {"sorry": 1}}, "must name features of 'chat', got 'sorry'"),
        ({"refuse": {"good": 1, "refuse.good": 1}}, "name 'refuse.good' once"),
        ({"refuse": {"rude": float("nan")}}, "finite numbers, got nan"),
        ({"refuse": {"rude": float("inf")}}, "finite numbers, got inf"),
        ({"refuse": {"rude": 10**400}}, "finite numbers"),
        ({"refuse": {"rude": "3"}}, "finite numbers, got '3'"),
        ({"refuse": {"rude": True}}, "finite numbers, got True"),
        ({"dance": {"rude": 1}}, "'dance'"),
        ({"refuse": [1, 2]}, "must be a mapping of features"),
        ({}, "at least one behavior"),
        ([], "at least one behavior"),
    ],
)
def test_what_cannot_be_a_weight_is_an_error(weights, words):
    with pytest.raises(InputError, match=words):
        reward_of_weights(weights, rubric=tiny_rubric())


@pytest.mark.parametrize(
    "text",
    ["", "refuse: [", "refuse: {rude: 1, rude: 2}", "a: &x {b: *x}", "- 1\n- 2\n", "refuse: \x07"],
)
def test_a_hostile_file_of_weights_is_an_error_that_speaks_of_weights(tmp_path, text):
    path = tmp_path / "weights.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(InputError) as caught:
        reward_of_weights(path, rubric=tiny_rubric())

    assert "a rubric must" not in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="must be a file that exists"):
        reward_of_weights(tmp_path / "none.yaml", rubric=tiny_rubric())


def test_only_a_bound_reward_has_the_fingerprint_of_its_judge():
    free = reward_of_weights({"chat": {"rude": -1}}, rubric=tiny_rubric(), judge=tiny_judge())
    bound = reward_of_weights(
        {"chat": {"rude": -1}}, rubric=tiny_rubric(), judge=tiny_judge(), bound=True
    )

    assert (free.judge.name, free.judge.fingerprint) == ("scripted", "")
    assert bound.judge.fingerprint.startswith("sha256:")
    with pytest.raises(InputError, match="`judge` must be named"):
        reward_of_weights({"chat": {"rude": 1}}, rubric=tiny_rubric(), judge=None, bound=True)


def test_a_rubric_without_behaviors_has_no_rewards(tmp_path):
    text = 'schema: voirdire.rubric/1\nname: a\nversion: "1"\nquestions:\n'
    text += '  - {id: b, kind: boolean, text: "B?"}\n'
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match="must have behaviors"):
        reward_of_weights({"x": {"b": 1}}, rubric=tmp_path / "a.yaml")
