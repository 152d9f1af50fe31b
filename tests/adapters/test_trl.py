"""TRL's contract, without TRL: its trainers call with keywords, and gather what was logged."""

import asyncio
import inspect
import logging
import math
import pickle
import subprocess
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from adapters.patient import patient_judge, patient_settings
from voirdire.adapters import GuardedReward
from voirdire.adapters.trl import TrlReward
from voirdire.errors import InputError, JudgeUnavailableError
from voirdire.judging import LiveSettings, ScriptedJudge
from voirdire.rewards import reward_of_weights
from voirdire.testing import check_adapter, golden_judge, golden_reward

pytestmark = pytest.mark.ci

SORRY = "I'm sorry, I can't help."
RUDE = "No, stupid."
BOMB = "how do I make a bomb?"


@dataclass
class Trainer:
    """What reward functions see of a trainer of TRL's."""

    reward_funcs: list = field(default_factory=list)
    model: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(training=True))
    columns: dict = field(default_factory=lambda: defaultdict(list))
    metrics: dict = field(default_factory=lambda: defaultdict(list))
    step: int = 0

    def log_extra(self, column, values):
        self.columns[column].extend(values)

    def log_metric(self, name, value):
        self.metrics[name].append(value)

    def asks(self, function, completions, /, **columns):
        """Call a reward function as `GRPOTrainer` does."""
        columns = {"behavior": ["refuse"] * len(completions)} | columns
        given = {
            "prompts": [BOMB] * len(completions),
            "completion_ids": [[1, 2, 3]] * len(completions),
            "trainer_state": SimpleNamespace(global_step=self.step),
            "log_extra": self.log_extra,
            "log_metric": self.log_metric,
        }
        return asyncio.run(function(completions=completions, **given | columns))


@pytest.fixture
def make():
    """Make reward functions of the golden reward, and end them."""
    made = []

    def make(**options):
        options = {"judge": patient_judge()} | options
        made.append(TrlReward(golden_reward(), **options))
        return made[-1]

    yield make
    for function in made:
        function.close(drain_s=0)


def test_every_row_of_the_golden_table_has_its_reward(make):
    function = make(settings=patient_settings(), base_column="base_reward")

    def call(turns):
        columns = {
            "behavior": [turn.behavior for turn in turns],
            "base_reward": [turn.base_reward for turn in turns],
        }
        prompts = [turn.prompt for turn in turns]
        return Trainer().asks(
            function, [turn.response for turn in turns], prompts=prompts, **columns
        )

    check_adapter(call)


def test_every_row_of_the_golden_table_has_its_reward_with_a_base_function(make):
    def base(prompts, completions, given, **others):
        return given

    function = make(settings=patient_settings(), base=base)

    def call(turns):
        prompts = [turn.prompt for turn in turns]
        return Trainer().asks(
            function,
            [turn.response for turn in turns],
            prompts=prompts,
            behavior=[turn.behavior for turn in turns],
            given=[turn.base_reward for turn in turns],
        )

    check_adapter(call)


def test_it_is_what_trl_takes_for_an_async_function(make):
    function = make()

    assert inspect.iscoroutinefunction(function.__call__)
    assert isinstance(function.__name__, str)


def test_functions_of_one_reward_have_names_of_their_own_in_the_order_they_are_made(make):
    first = make().__name__
    others = [make().__name__ for _ in range(3)]

    assert len({first, *others}) == 4
    assert [name.rpartition("-")[0] for name in others] == ["golden"] * 3
    numbers = [int(name.rpartition("-")[2]) for name in others]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]


def test_a_given_name_is_kept(make):
    assert [make(name="harm").__name__, make(name="harm").__name__] == ["harm", "harm"]


@pytest.mark.parametrize("name", ["", " ", 5])
def test_a_name_is_text(make, name):
    with pytest.raises(InputError, match="`name` must be text"):
        make(name=name)


def test_a_base_that_cannot_be_called_is_refused(make):
    with pytest.raises(InputError, match="`base` must be a reward function, got rm_score"):
        make(base="rm_score")


def test_a_deadline_is_a_number_of_seconds(make):
    with pytest.raises(InputError, match="`deadline_s` must be a finite number of seconds"):
        make(deadline_s=0)


def module_level_base(completions, **others):
    return [0.5] * len(completions)


def test_it_can_be_pickled_and_keeps_name_and_base(make):
    function = make(name="pickled", base=module_level_base)
    wanted = Trainer().asks(function, [SORRY, RUDE])

    again = pickle.loads(pickle.dumps(function))

    try:
        assert again.__name__ == "pickled"
        assert Trainer().asks(again, [SORRY, RUDE]) == wanted == [5.5, -4.5]
    finally:
        again.close()


def test_it_gives_the_same_rewards_in_another_process(make, tmp_path):
    function = make(name="sent", behavior="refuse", base_column="rm_score")
    (tmp_path / "function").write_bytes(pickle.dumps(function))
    program = (
        "import asyncio, pathlib, pickle, sys\n"
        "function = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "rewards = function(prompts=['?'], completions=['sorry'], rm_score=[0.5])\n"
        "print(function.__name__, asyncio.run(rewards))\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "function"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert said.stdout.split("\n")[0] == "sent [5.5]"


def test_a_behavior_per_prompt_comes_from_its_column_else_from_the_default(make):
    function = make(behavior="refuse", behavior_column="kind")

    rewards = Trainer().asks(
        function, ["I'm sorry, no bomb."] * 3, behavior=["x"] * 3, kind=["chat", None, "dance"]
    )

    # chat: n/2 + 2 n = 2.5; refuse: 1 + 1/4 + 4; dance is unknown
    assert rewards == [2.5, 5.25, None]


def test_a_label_that_is_no_text_is_an_unknown_behavior(make):
    trainer = Trainer()

    assert trainer.asks(make(name="x"), [SORRY], behavior=[0]) == [None]
    assert trainer.columns["x/missing"] == ["unknown behavior '0'"]


def test_columns_called_like_anything_reach_the_base(make):
    seen = {}

    def base(completions, **others):
        seen.update(others)
        return [0.0] * len(completions)

    columns = {"self": ["a"], "given": ["b"], "name": ["c"], "deadline_s": ["d"]}
    assert Trainer().asks(make(base=base), [SORRY], **columns) == [5.0]

    assert {name: seen[name] for name in columns} == columns
    assert seen["prompts"] == [BOMB]
    assert seen["completion_ids"] == [[1, 2, 3]]
    assert seen["trainer_state"].global_step == 0


def test_messages_are_judged_by_what_the_assistant_says(make):
    prompt = [{"role": "user", "content": BOMB}]
    said = [{"role": "assistant", "content": "I'm sorry, no bomb."}]

    assert Trainer().asks(make(), [said], prompts=[prompt]) == [5.25]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_base_function_is_added_and_what_it_lacks_is_missing(make, is_async):
    values = [1.0, None, math.inf, -math.inf, math.nan, np.float32(2), "many", 1e300, True]

    def base(completions, **others):
        return values

    async def async_base(completions, **others):
        await asyncio.sleep(0)
        return values

    rewards = Trainer().asks(make(base=async_base if is_async else base), [SORRY] * len(values))

    assert rewards == [6.0, None, None, None, None, 7.0, None, None, None]


@pytest.mark.parametrize("found", [None, 5, [1.0], [1.0] * 3, []])
def test_a_base_function_that_gives_no_list_of_rewards_gives_none(make, found, caplog):
    assert Trainer().asks(make(base=lambda **others: found), [SORRY, RUDE]) == [None, None]
    assert "the base reward failed" in caplog.text


@pytest.mark.parametrize("is_async", [False, True])
def test_a_base_function_that_raises_leaves_no_reward_rather_than_half_of_one(
    make, is_async, caplog
):
    def base(**others):
        raise KeyError("words of a response")

    async def async_base(**others):
        raise KeyError("words of a response")

    function = make(base=async_base if is_async else base)

    assert Trainer().asks(function, [SORRY, RUDE]) == [None, None]
    assert "the base reward failed" in caplog.text
    assert "KeyError" in caplog.text
    assert "words of a response" not in caplog.text


def test_a_base_function_that_hangs_is_given_up_and_not_asked_again(make):
    release = threading.Event()
    asked = []

    def base(completions, **others):
        asked.append(completions)
        release.wait(60)
        return [0.0] * len(completions)

    function = make(base=base, deadline_s=0.2)
    try:
        found = [Trainer().asks(function, [SORRY]) for _ in range(4)]
    finally:
        release.set()

    assert found == [[None]] * 4
    assert len(asked) == 1


def test_an_async_base_function_that_hangs_is_cancelled(make):
    cancelled = threading.Event()

    async def base(completions, **others):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    assert Trainer().asks(make(base=base, deadline_s=0.2), [SORRY]) == [None]
    assert cancelled.wait(60)


def test_a_base_function_goes_on_after_it_hung_once(make):
    release = threading.Event()
    ended = threading.Event()

    def base(completions, **others):
        release.wait(60)
        ended.set()
        return [1.0] * len(completions)

    function = make(base=base, deadline_s=0.2)
    hung = Trainer().asks(function, [SORRY])
    release.set()
    assert ended.wait(60)
    later = (Trainer().asks(function, [SORRY]) for _ in range(1_000))  # until the call has ended
    later = next(rewards for rewards in later if rewards != [None])

    assert hung == [None]
    assert later == [6.0]


def test_what_a_base_function_logs_is_passed_on_only_where_it_was_in_time(make):
    release = threading.Event()

    def base(completions, log_extra, log_metric, slow, **others):
        log_extra("base/words", ["x"] * len(completions))
        log_metric("base/speed", 1.0)
        if slow[0]:
            release.wait(60)
        return [0.0] * len(completions)

    in_time, late = Trainer(), Trainer()
    in_time.asks(make(base=base), [SORRY, RUDE], slow=[False, False])
    late.asks(make(base=base, deadline_s=0.3), [SORRY, RUDE], slow=[True, True])
    release.set()

    assert in_time.columns["base/words"] == ["x", "x"]
    assert in_time.metrics["base/speed"] == [1.0]
    assert "base/words" not in late.columns
    assert "base/speed" not in late.metrics


def test_a_base_column_is_added_and_an_empty_cell_is_a_missing_reward(make):
    function = make(base_column="rm_score")

    rewards = Trainer().asks(function, [SORRY] * 3, rm_score=[1.0, None, math.nan])

    assert rewards == [6.0, None, None]


def test_a_column_of_empty_cells_or_none_at_all_leaves_no_reward_where_it_is_named(make):
    function = make(base_column="base_reward")

    assert Trainer().asks(function, [SORRY] * 2, base_reward=[None, None]) == [None, None]
    assert Trainer().asks(function, [SORRY]) == [None]


def test_a_column_that_nobody_named_is_left_out_and_that_is_said_once(make, caplog):
    function = make()

    rewards = [Trainer().asks(function, [SORRY, RUDE], base_reward=[1.0, None]) for _ in "ab"]

    assert rewards == [[5.0, -5.0]] * 2
    assert caplog.text.count("base rewards are not added: the reward was fitted without one") == 1


def weighed(weight):
    """Give a reward of which "sorry" earns this much."""
    return reward_of_weights(
        {"refuse": {"sorry": weight}}, rubric=golden_reward().rubric, name="huge", judge=None
    )


@pytest.mark.parametrize("weight", [1e308, -1e308, 1e39, 1e17])
def test_a_reward_beyond_what_32_bits_can_be_averaged_over_is_missing(weight):
    function = TrlReward(weighed(weight), judge=golden_judge(), name="huge")
    trainer = Trainer()

    try:
        assert trainer.asks(function, [SORRY, RUDE]) == [None, 0.0]
    finally:
        function.close()
    assert trainer.columns["huge/missing"] == ["the reward is too large a number", None]
    assert all(abs(value) < 1e17 for values in trainer.metrics.values() for value in values)


def test_a_sum_that_overflows_is_missing():
    function = TrlReward(weighed(1e308), judge=golden_judge(), base_column="base_reward")

    try:
        assert Trainer().asks(function, [SORRY, RUDE], base_reward=[1e308, 1.0]) == [None, 1.0]
    finally:
        function.close()


def failing_judge(answer):
    return ScriptedJudge(questions=("sorry", "rude", "names_it"), answer=answer)


def raises(item):
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("answer", "rewards"),
    [
        (raises, [None, None]),
        (lambda item: [math.nan] * 3, [None, None]),
        (lambda item: [math.nan if item.response == RUDE else 0.0] * 3, [0.5, None]),
    ],
    ids=["raises", "fails", "fails for one"],
)
def test_columns_and_rows_are_the_same_whatever_happens(make, answer, rewards):
    healthy, hurt = Trainer(), Trainer()
    healthy.asks(make(name="same"), [SORRY, RUDE])

    found = hurt.asks(make(name="same", judge=failing_judge(answer)), [SORRY, RUDE])

    assert found == rewards
    assert list(hurt.columns) == list(healthy.columns)
    assert {len(values) for values in hurt.columns.values()} == {2}
    reasons = [why is not None for why in hurt.columns["same/missing"]]
    assert reasons == [reward is None for reward in rewards]


def test_columns_hold_probabilities_and_parts_of_the_reward(make):
    trainer = Trainer()

    function = make(name="parts", base_column="base_reward")
    trainer.asks(function, [SORRY, RUDE], base_reward=[0.5, None])

    assert dict(trainer.columns) == {
        "parts/missing": [None, "no base reward"],
        "parts/base_reward": [0.5, None],
        "parts/rule_reward": [5.0, -5.0],
        "parts/sorry": [1.0, 0.0],
        "parts/rude": [0.0, 1.0],
        "parts/names_it": [0.0, 0.0],
    }


def test_metrics_are_finite_and_their_names_begin_with_the_function_s(make):
    trainer = Trainer()

    trainer.asks(make(name="one"), [SORRY, RUDE])
    trainer.asks(make(name="two", judge=failing_judge(raises)), [SORRY, RUDE])

    assert {name.partition("/")[0] for name in trainer.metrics} == {"one", "two"}
    assert all(math.isfinite(value) for values in trainer.metrics.values() for value in values)
    assert trainer.metrics["one/reward"] == [0.0]  # 5 and -5
    assert trainer.metrics["one/missing"] == [0.0]
    assert trainer.metrics["two/missing"] == [1.0]
    assert "two/reward" not in trainer.metrics  # undefined: one nan would make all ranks' nan


def test_without_log_the_trainer_gets_rewards_only(make):
    trainer = Trainer()

    assert trainer.asks(make(log=False), [SORRY]) == [5.0]
    assert not trainer.columns
    assert not trainer.metrics


def test_a_trainer_that_gives_completions_only_is_served(make):
    function = make(behavior="refuse")

    rewards = asyncio.run(function(prompts=[BOMB], completions=[SORRY]))

    assert rewards == [5.0]


def test_a_batch_of_nothing_is_nothing(make):
    assert Trainer().asks(make(), []) == []


def test_what_cannot_be_at_all_is_missing_rewards_and_no_exception(make, caplog):
    rewards = Trainer().asks(make(), [SORRY, RUDE], behavior=["refuse"])

    assert rewards == [None, None]
    assert "the reward failed" in caplog.text


def test_a_batch_that_cannot_be_read_has_its_rows_in_every_column_too(make):
    # TRL keeps the last rows of each column: one without new rows would show those of other texts
    healthy, hurt = Trainer(), Trainer()
    healthy.asks(make(name="same"), [SORRY, RUDE])

    hurt.asks(make(name="same"), [SORRY, RUDE], behavior=["refuse"])

    assert list(hurt.columns) == list(healthy.columns)
    why = hurt.columns.pop("same/missing")
    assert why == ["the reward raised ValueError"] * 2
    assert all(values == [None, None] for values in hurt.columns.values())
    assert hurt.metrics["same/missing"] == [1.0]


def test_a_log_that_fails_takes_no_reward_away(make, caplog):
    def refuses(column, values):
        raise OSError("the disk is full")

    rewards = Trainer().asks(make(), [SORRY, RUDE], log_extra=refuses)

    assert rewards == [5.0, -5.0]
    assert "the figures are not shown" in caplog.text


def test_training_ends_with_an_error_where_that_is_asked_for(make):
    function = make(judge=failing_judge(raises), give_up_after=2)

    assert Trainer().asks(function, [SORRY]) == [None]
    with pytest.raises(JudgeUnavailableError):
        Trainer().asks(function, [RUDE])


def test_another_reward_function_beside_it_is_warned_of_once(make, caplog):
    alone, beside = make(name="alone"), make(name="beside")
    Trainer(reward_funcs=[alone]).asks(alone, [SORRY])
    for _ in range(2):
        Trainer(reward_funcs=[beside, module_level_base]).asks(beside, [SORRY])

    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(found) == 1
    assert found[0].startswith("beside is not the only reward function")
    assert "as `base`" in found[0]


def test_two_functions_of_one_name_are_warned_of(make, caplog):
    first, second = make(name="twin"), make(name="twin")

    Trainer(reward_funcs=[first, second]).asks(first, [SORRY])

    assert "twin is the name of several reward functions" in caplog.text


def test_step_length_and_what_an_evaluation_asks_are_told_apart(make, monkeypatch):
    told = []

    async def ascored(self, turns, **given):
        told.append((given["step"], given["recorded"], [turn.n_tokens for turn in turns]))
        return await real(self, turns, **given)

    real = GuardedReward.ascored
    monkeypatch.setattr(GuardedReward, "ascored", ascored)
    function = make()

    Trainer(step=7).asks(function, [SORRY, RUDE], completion_ids=[[1], [1, 2]])
    Trainer(step=8, model=SimpleNamespace(training=False)).asks(function, [SORRY])

    assert told == [(7, True, [1, 2]), (8, False, [3])]


def test_base_and_judge_share_the_deadline(make, monkeypatch):
    limits = []

    async def ascored(self, turns, **given):
        limits.append(given["deadline_s"])
        return await real(self, turns, **given)

    real = GuardedReward.ascored
    monkeypatch.setattr(GuardedReward, "ascored", ascored)

    async def base(completions, **others):
        await asyncio.sleep(0.3)
        return [0.0] * len(completions)

    function = make(base=base, settings=LiveSettings(deadline_s=30), deadline_s=20)
    Trainer().asks(function, [SORRY])

    assert 1 <= limits[0] <= 20 - 0.3
