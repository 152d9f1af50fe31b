"""A short training run, recorded anew each time: eight steps of 16 responses."""

import warnings
from pathlib import Path

import numpy as np

from golden.inputs import probability, response, truths
from voirdire.adapters import reward_function
from voirdire.errors import UncertifiedWarning
from voirdire.judging import ScriptedJudge

QUESTIONS = ("sorry", "rude", "asks")
BEHAVIORS = ["refuse"] * 8 + ["chat"] * 8
PROMPTS = [f"Question {place // 4}?" for place in range(16)]


def _answer(item):
    if "no answer" in item.response:
        return [np.nan] * 3
    name = item.response.rpartition("(")[2].rstrip(")")
    return [probability(name, question) for question in QUESTIONS]


def scripted_judge() -> ScriptedJudge:
    """Make the judge that answers by the name of the item."""
    return ScriptedJudge(questions=QUESTIONS, answer=_answer)


def record_run(folder: Path, *, reward: Path) -> None:
    """Record a training run in a folder that is not there yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        function = reward_function(reward, judge=scripted_judge(), record=folder)
    for step in range(8):
        names = [f"item-{9000 + 16 * step + place}" for place in range(16)]
        responses = [response(name, truths(name)) for name in names]
        function(PROMPTS, responses, behaviors=BEHAVIORS, step=step)
    function.close()
