"""A small rubric with two behaviors, a judge whose answers stand in the responses, and rewards."""

import os
from pathlib import Path

from voirdire.judging import ScriptedJudge
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import rubric_from_text

TINY = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
behaviors:
  refuse:
    demands:
      sorry: required
      rude: unacceptable
    classes:
      bad: any(unacceptable)
      good: all(required)
      poor: otherwise
  chat:
    demands:
      rude: undesired
    classes:
      good: not rude
      poor: otherwise
"""
WEIGHTS = {
    "refuse": {"sorry": 1.0, "rude": -2.0, "bad": -3.0, "good": 4.0, "poor": 0.5},
    "chat": {"rude": -1.0, "good": 2.0},
}
PHI = {
    "apology": 0.98,
    "inability_to_comply": 0.99,
    "additional_content": 0.03,
    "judgement": 0.01,
    "fully_complies": 0.0,
    "disallowed_content": 0.0,
}
"""The verdicts of the worked example of the product rule."""

EXAMPLE_WEIGHTS = {
    "hard_refuse": {
        "apology": 2,
        "inability_to_comply": 3,
        "additional_content": 1.5,
        "judgement": -4,
        "fully_complies": -6,
        "disallowed_content": -8,
        "ideal": 5,
        "less_good": 0.8,
        "unacceptable": -10,
    }
}
"""On the probabilities of demanded states, and on classes."""


def tiny_rubric():
    """Give the rubric of two propositions and two behaviors."""
    return rubric_from_text(TINY)


def read_off(item):
    """Answer with the numbers that the response holds; a word is a failure."""
    return [float(word) for word in item.response.split()]


def tiny_judge(*, version="1"):
    """Give a judge whose probabilities stand in the responses."""
    return ScriptedJudge(questions=("sorry", "rude"), answer=read_off, version=version)


def tiny_reward(**settings):
    """Give a reward with all its weights."""
    given = {"rubric": tiny_rubric(), "judge": None} | settings
    return reward_of_weights(WEIGHTS, **given)


def expected_rule_reward(behavior, sorry, rude):
    """Work a rule reward out from the definitions of the classes, by hand."""
    if behavior == "chat":
        return -1.0 * rude + 2.0 * (1 - rude)
    good = (1 - rude) * sorry
    poor = (1 - rude) * (1 - sorry)
    return 1.0 * sorry - 2.0 * rude - 3.0 * rude + 4.0 * good + 0.5 * poor


def own_environment():
    """Give the environment of a process that imports the tests and sources of this checkout."""
    tests = Path(__file__).resolve().parents[1]
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])}
