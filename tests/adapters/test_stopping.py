"""Training that an alarm stops: in every adapter, and for a policy trained against a gate."""

import copy
import pickle
from importlib.resources import files

import numpy as np
import pytest

from adapters.test_trl import SORRY, Trainer
from voirdire.adapters import GuardedReward, reward_function
from voirdire.adapters.trl import TrlReward
from voirdire.errors import InputError, RewardStoppedError
from voirdire.rewards import FitSettings, Turn, fit_reward, read_training_run
from voirdire.testing import golden_judge, golden_reward

BROKEN = [Turn(response=None, behavior="refuse") for _ in range(8)]
NONSENSE = [Turn(response="sorry sorry sorry sorry " * 9, behavior="refuse") for _ in range(8)]
WHOLE = [Turn(response=f"I'm sorry, {k}.", behavior="refuse") for k in range(8)]


def stopping(**settings):
    return GuardedReward(golden_reward(), judge=golden_judge(), name="mine", **settings)


@pytest.mark.parametrize(
    ("turns", "kind", "said"),
    [
        (BROKEN, "missing", "step 0: 100% of the rewards are missing"),
        (NONSENSE, "nonsense", "step 0: 100% of the responses are nonsense"),
    ],
)
def test_the_call_after_an_alarm_raises_where_it_is_to_stop(turns, kind, said):
    stops, goes_on = stopping(stop_on=(kind,)), stopping(stop_on=("length",))

    for step in range(2):  # an alarm begins where its step ends
        stops.scored(turns, step=step)
    for step in range(4):
        goes_on.scored(turns, step=step)

    with pytest.raises(RewardStoppedError, match=f"reward 'mine' stopped: {said}"):
        stops.scored(turns, step=2)
    stops.close()
    goes_on.close()


def test_copies_stop_at_their_own_alarms():
    reward = stopping(stop_on=("missing",))
    for step in range(2):
        reward.scored(BROKEN, step=step)

    for twin in (copy.deepcopy(reward), pickle.loads(pickle.dumps(reward))):
        assert twin.scored(WHOLE, step=0).rewards == [5.0] * 8
        twin.close()
    reward.close()


def test_an_alarm_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match=r"`stop_on` must be one of 'missing', .*got 'boredom'"):
        stopping(stop_on=("boredom",))


@pytest.mark.parametrize(("truncated", "rewards"), [("paid", [5.0, 5.0]), ("missing", [None, 5.0])])
def test_responses_that_were_cut_off_may_have_no_reward(truncated, rewards):
    reward = stopping(truncated=truncated)
    turns = [Turn(response="I'm sorry.", behavior="refuse", truncated=k == 0) for k in range(2)]

    found = reward.scored(turns)
    reward.close()

    assert found.rewards == rewards
    cut_off = {"0": "the trainer cut the response off"}
    assert found.scores.missing == (cut_off if truncated == "missing" else {})


# TRL ------------------------------------------------------------------------------------------


class Control:
    should_training_stop = False


class Saving(Trainer):
    """A trainer that can be stopped, and has callbacks."""

    def __init__(self):
        super().__init__()
        self.control, self.callbacks = Control(), []
        self.eos_token_ids = [2]
        self.add_callback = self.callbacks.append


def test_trl_ends_as_if_training_were_over_and_logs_the_alarm_at_its_step():
    reward = TrlReward(golden_reward(), judge=golden_judge(), name="t", stop_on=("missing",))
    trainer, stopped = Saving(), []

    for trainer.step in range(3):
        trainer.asks(reward, ["unanswerable"] * 8)
        stopped.append(trainer.control.should_training_stop)
    reward.close()

    assert stopped == [False, True, True]
    assert trainer.metrics["t/alarm/missing"] == [0.0, 1.0, 0.0]
    assert trainer.metrics["t/alarm/length"] == [0.0] * 3


def test_without_a_trainer_the_function_raises():
    reward = TrlReward(golden_reward(), judge=golden_judge(), stop_on=("missing",))
    trainer = Trainer()
    trainer.asks(reward, ["unanswerable"] * 8)
    trainer.step = 1

    with pytest.raises(RewardStoppedError, match="100% of the rewards are missing"):
        trainer.asks(reward, ["unanswerable"] * 8)
    reward.close()


def test_the_record_is_written_where_the_trainer_saves(tmp_path):
    reward = TrlReward(golden_reward(), judge=golden_judge(), record=tmp_path / "run")
    trainer = Saving()
    for trainer.step in range(3):
        trainer.asks(reward, [SORRY] * 4)
    [callback] = trainer.callbacks

    callback.on_step_end(None, None, None)
    before = len(read_training_run(tmp_path / "run").steps)
    callback.on_save(None, None, None, model=None)

    assert (before, len(read_training_run(tmp_path / "run").steps)) == (1, 3)
    reward.close()


@pytest.mark.parametrize(
    "given",
    [
        {"completion_ids": [[7, 8, 9], [7, 8, 2]]},
        {"completion_mask": [[0, 0, 0], [1, 1, 0]]},
    ],
    ids=["no token that ends it", "masked"],
)
def test_trl_says_what_it_cut_off(given):
    reward = TrlReward(golden_reward(), judge=golden_judge(), name="t", truncated="missing")
    trainer = Saving()

    found = trainer.asks(reward, [SORRY] * 2, **given)
    reward.close()

    assert found == [None, 5.0]
    assert trainer.metrics["t/truncated"] == [0.5]


# A policy that is trained against a gate -------------------------------------------------------

SENTENCES = (
    ("You can mix the flour with warm water and a little salt.",
     "Start with four cups of flour and one cup of water.",
     "First of all, weigh the flour and put it into a bowl."),
    ("Let the dough rest in a warm place for about an hour.",
     "After ten minutes of kneading, the dough should be smooth.",
     "Then cover the bowl with a towel and wait until it rises."),
    ("After that, bake it in a hot oven until it is brown.",
     "It takes thirty minutes in the oven at the highest heat.",
     "I'm sorry, but I can't help with that."),
    ("A good loaf sounds hollow when you knock on it.",
     "Let it cool on a rack before you cut the first slice.",
     "You should be ashamed of asking me such a thing."),
)  # fmt: skip
WORDS = tuple(
    "oven sorry green the of quickly seven flour bake table under can't hour nine policy window "  # noqa: SIM905
    "bread safe harm illegal please water never salt dough run is was an by from".split()
)
N_EACH, N_TRAINED = 32, 40


def train_policy(reward, *, fluency, seed=0):
    """Train by GRPO: a token for each place of a response, of which words make no sentence."""
    rng = np.random.default_rng(seed)
    spoken = [(*sentences, *WORDS) for sentences in SENTENCES]
    logits = np.zeros((len(spoken), len(spoken[0])))
    logits[:, :3] = fluency
    for step in range(N_TRAINED):
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chosen = np.array([[rng.choice(row.size, p=row) for row in chances] for _ in range(N_EACH)])
        said = [" ".join(spoken[place][token] for place, token in enumerate(row)) for row in chosen]
        paid = reward(["How do I bake bread?"] * N_EACH, said, behaviors="comply", step=step)
        paid = np.array(paid, dtype=float)
        advantages = (paid - paid.mean()) / (paid.std() + 1e-4)
        for row, advantage in zip(chosen, advantages, strict=True):
            gradient = -chances
            gradient[np.arange(row.size), row] += 1
            logits += 2.0 * advantage * gradient / N_EACH


@pytest.fixture(scope="module")
def gated_reward():
    """Fit a reward with gate and cap on the comparisons of the demo."""
    comparisons = files("voirdire") / "data" / "demo" / "comparisons.jsonl"
    settings = FitSettings(n_resamples=0, use_base=False, gate=True, cap=True)
    return fit_reward(str(comparisons), rubric="safety", judge="local", settings=settings).model


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_a_policy_that_begins_fluent_stays_fluent(gated_reward, tmp_path):
    reward = reward_function(gated_reward, record=tmp_path, stop_on=("gated", "nonsense"))

    train_policy(reward, fluency=6.0)
    reward.close()

    run = read_training_run(tmp_path)
    assert len(run.steps) == N_TRAINED
    first, last = run.steps[:10], run.steps[-10:]
    assert np.mean([step.gated_share for step in last]) < 0.05
    assert np.mean([step.reward_mean for step in last]) > np.mean([s.reward_mean for s in first])
    assert not {alarm.kind for alarm in run.alarms} & {"gated", "nonsense", "margin"}


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")
def test_a_policy_that_begins_with_random_weights_is_floored_and_stopped(gated_reward, tmp_path):
    reward = reward_function(gated_reward, record=tmp_path, stop_on=("gated", "nonsense"))

    with pytest.raises(RewardStoppedError, match="the gate floors"):
        train_policy(reward, fluency=0.0)
    reward.close()

    run = read_training_run(tmp_path)
    assert len(run.steps) <= 10
    assert run.steps[0].gated_share > 0.9
    assert (run.alarms[0].kind, run.alarms[0].step) == ("gated", 0)
