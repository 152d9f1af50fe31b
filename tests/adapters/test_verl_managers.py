"""verl's own reward managers, reward loop and agent loop, driving our functions."""

import asyncio
import math
import platform
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from frameworks import require_framework

if sys.version_info >= (3, 13) or (platform.system(), platform.machine()) != ("Linux", "x86_64"):
    pytest.skip("the framework has no package for this Python or system", allow_module_level=True)
require_framework("torch", "tokenizers", "transformers", "ray", "tensordict", "omegaconf", "verl")

import verl  # noqa: E402
from hydra import compose, initialize_config_dir  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402

from adapters.verl_harness import (  # noqa: E402
    TOKENIZER,
    RewardLoopWorker,
    collated,
    config,
    extract_reward,
    get_custom_reward_fn,
    load_reward_manager,
    rows,
)
from voirdire.adapters.verl import close_rewards  # noqa: E402
from voirdire.errors import InputError, UncertifiedWarning  # noqa: E402
from voirdire.rewards import read_training_run, reward_of_weights  # noqa: E402

pytestmark = pytest.mark.ci

SORRY, RUDE, SILENT = "I'm sorry.", "No, stupid.", "unanswerable"
FILE = """
import asyncio
import time

from voirdire.adapters import verl
from voirdire.testing import GoldenJudge, golden_reward


class Judge(GoldenJudge):
    def probabilities(self, items):
        {does}


REWARD, JUDGE = golden_reward(), Judge()


async def compute_score(**given):
    return await verl.compute_score(reward=REWARD, judge=JUDGE, **given)


def compute_score_sync(**given):
    return verl.compute_score_sync(reward=REWARD, judge=JUDGE, **given)


def compute_score_batch(**given):
    return verl.compute_score_batch(reward=REWARD, judge=JUDGE, **given)
"""


@pytest.fixture(autouse=True)
def _ended():
    yield
    close_rewards(drain_s=5)


@pytest.fixture
def function_file(tmp_path):
    """Write a file with functions around a judge that does something of its own."""

    def write(does="return super().probabilities(items)"):
        path = tmp_path / "rewards.py"
        path.write_text(FILE.replace("{does}", textwrap.indent(does, " " * 8).strip()))
        return str(path)

    return write


@pytest.fixture
def reward_file(tmp_path):
    path = tmp_path / "reward.json"
    reward_of_weights({"hard_refuse": {"apology": 1, "judgement": -2}}, rubric="safety").save(path)
    return path


def run(settings, data):
    """Have verl load its manager and reward the rows one by one, all at once."""

    async def all_of_them():
        manager = load_reward_manager(settings, TOKENIZER)
        single = (manager.run_single(data[row : row + 1]) for row in range(len(data)))
        return await asyncio.gather(*single)

    return asyncio.run(all_of_them())


def scores_of(outputs):
    return [row["reward_score"] for row in outputs]


def all_are_numbers(outputs):
    assert len({tuple(row["reward_extra_info"]) for row in outputs}) == 1
    for row in outputs:
        assert "error" not in row["reward_extra_info"]
        assert next(iter(row["reward_extra_info"])) == "score"
        assert all(math.isfinite(value) for value in row["reward_extra_info"].values())


@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo", "rate_limited"])
@pytest.mark.parametrize("name", ["compute_score", "compute_score_sync"])
def test_every_manager_of_the_reward_loop_passes_rewards_on(function_file, manager, name):
    settings = config(manager=manager, name=name, path=function_file())

    outputs = run(settings, rows([SORRY, RUDE, SILENT]))

    assert scores_of(outputs) == [5.0, -5.0, 1.0]
    assert [row["reward_extra_info"]["missing"] for row in outputs] == [0.0, 0.0, 1.0]
    all_are_numbers(outputs)


@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo", "rate_limited"])
def test_the_module_itself_is_named_in_the_configuration(reward_file, manager):
    settings = config(manager=manager, reward=str(reward_file), missing_reward=-9, deadline_s=30.0)
    data = rows([SORRY, "Sure! First, take a pipe."], ground_truth="hard_refuse")

    with pytest.warns(UncertifiedWarning):
        outputs = run(settings, data)

    assert scores_of(outputs)[0] > 0.5 > scores_of(outputs)[1]
    assert all(row["reward_extra_info"]["missing"] == 0.0 for row in outputs)
    all_are_numbers(outputs)


def test_verl_hands_its_settings_over_with_every_call(reward_file):
    function = get_custom_reward_fn(config(reward=str(reward_file), missing_reward=-9))

    with pytest.warns(UncertifiedWarning):
        found = asyncio.run(
            function(data_source="x", solution_str="y", ground_truth="dance", extra_info={})
        )

    assert (found["score"], found["missing"]) == (-9.0, 1.0)


def test_the_penalty_of_dapo_is_taken_off_our_reward(function_file):
    settings = config(manager="dapo", path=function_file())
    settings.reward.reward_kwargs = {
        "max_resp_len": 12,
        "overlong_buffer_cfg": {"enable": True, "len": 4, "penalty_factor": 1.0, "log": True},
    }

    outputs = run(settings, rows([SORRY]))  # 10 tokens: 2 of 4 into the buffer

    assert float(scores_of(outputs)[0]) == 5.0 - 0.5
    assert outputs[0]["reward_extra_info"]["score"] == 5.0


def test_sixty_four_at_once_are_judged_together(function_file, tmp_path):
    log = tmp_path / "batches"
    log.touch()
    does = f"""\
        with open({str(log)!r}, "a") as told:
            print(len(items), file=told)
        time.sleep(0.3)  # so long others may come
        return super().probabilities(items)"""
    said = [f"{SORRY if n % 2 else RUDE} {n}" for n in range(64)]

    outputs = run(config(path=function_file(textwrap.dedent(does))), rows(said))

    assert scores_of(outputs) == [5.0 if n % 2 else -5.0 for n in range(64)]
    sizes = [int(line) for line in log.read_text().split()]
    assert sum(sizes) == 64
    assert len(sizes) < 16


def test_a_judge_that_fails_three_times_in_ten_moves_no_other_reward(function_file):
    does = """\
        found = super().probabilities(items)
        found[[item.response.endswith(("1", "4", "7")) for item in items]] = float("nan")
        return found"""
    said = [f"{SORRY} {n}" for n in range(60)]

    outputs = run(config(path=function_file(textwrap.dedent(does))), rows(said))

    assert [row["reward_extra_info"]["missing"] for row in outputs] == [
        float(n % 10 in (1, 4, 7)) for n in range(60)
    ]
    assert scores_of(outputs) == [1.0 if n % 10 in (1, 4, 7) else 5.0 for n in range(60)]
    all_are_numbers(outputs)


@pytest.mark.parametrize("manager", ["naive", "rate_limited"])
@pytest.mark.parametrize("does", ["raise RuntimeError", "time.sleep(2)", "return None"])
def test_a_judge_that_raises_hangs_or_gives_nothing_leaves_numbers(function_file, manager, does):
    settings = config(
        manager=manager, path=function_file(does), deadline_s=0.3, missing_reward=0.25
    )

    outputs = run(settings, rows([SORRY, RUDE]))

    assert scores_of(outputs) == [0.25, 0.25]
    all_are_numbers(outputs)


def test_a_mistake_of_setup_ends_training_with_the_first_response(reward_file):
    with pytest.raises(InputError, match="got 'deadline'"):
        run(config(reward=str(reward_file), deadline=5), rows([SORRY]))


def test_the_rate_limited_manager_pays_zero_for_a_mistake_of_setup(reward_file):
    """What our side cannot mend, and the guide warns of."""
    settings = config(manager="rate_limited", reward=str(reward_file), deadline=5)

    (output,) = run(settings, rows([SORRY]))

    assert output["reward_score"] == 0.0
    assert "must be settings of voirdire" in output["reward_extra_info"]["error"]


def overrides_of_the_guide():
    page = Path(__file__).parents[2] / "docs" / "guides" / "training-openrlhf-verl.md"
    blocks = re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [re.findall(r"^ +(\S+=\S+)", block, re.MULTILINE) for block in blocks]


@pytest.mark.parametrize("overrides", overrides_of_the_guide())
def test_the_lines_of_the_guide_are_verls_own_configuration(overrides, reward_file):
    folder = str(Path(verl.__file__).parent / "trainer" / "config")
    lines = [
        re.sub(r"/data/reward\.json|http:\S+", str(reward_file), line)
        for line in overrides
        if ".record=" not in line
    ]
    assert len(lines) >= 4

    with initialize_config_dir(folder, version_base=None):
        function = get_custom_reward_fn(compose("ppo_trainer", overrides=lines))
    with pytest.warns(UncertifiedWarning):
        found = asyncio.run(function(solution_str=SORRY, ground_truth="hard_refuse"))

    assert found["missing"] == 0.0


# -- from the reward loop into a batch --------------------------------------------------------


@pytest.fixture
def tokenizer_folder(tmp_path):
    TOKENIZER.save_pretrained(tmp_path / "tokenizer")
    return str(tmp_path / "tokenizer")


@pytest.mark.parametrize("first", [SORRY, SILENT])
def test_the_agent_loop_makes_a_batch_whichever_response_comes_first(
    function_file, tokenizer_folder, first
):
    settings = OmegaConf.merge(
        config(path=function_file()),
        {
            "actor_rollout_ref": {"model": {"path": tokenizer_folder, "tokenizer_path": None}},
            "reward": {"reward_model": {"enable": False}},
        },
    )
    said = [first, RUDE, SILENT, SORRY, ""]
    data = rows(said)

    async def rewarded():
        return await RewardLoopWorker(settings).compute_score_batch(data)

    batch = collated(data, asyncio.run(rewarded()))
    tensor, columns = extract_reward(batch)

    wanted = [5.0 if first == SORRY else 1.0, -5.0, 1.0, 5.0, 0.5]
    assert tensor.sum(-1).tolist() == wanted
    assert columns["score"].tolist() == wanted
    assert columns["missing"].tolist() == [float(text == SILENT) for text in said]
    for column in columns.values():
        assert column.dtype == np.float64
        assert np.isfinite(column).all()


def test_columns_have_no_names_that_validation_uses_itself(function_file):
    outputs = run(config(path=function_file()), rows([SORRY]))

    # verl collects `reward` itself, and reads `acc` and `pred` as something else
    assert not {"reward", "acc", "pred"} & set(outputs[0]["reward_extra_info"])


def test_verl_averages_our_columns_in_validation(function_file):
    from verl.trainer.ppo.metric_utils import process_validation_metrics

    outputs = run(config(path=function_file()), rows([SORRY, SILENT, SORRY, SILENT]))
    infos = {
        name: [row["reward_extra_info"][name] for row in outputs]
        for name in outputs[0]["reward_extra_info"]
    }

    found = process_validation_metrics(["a"] * 4, ["0", "1", "2", "3"], infos)

    assert found["a"]["missing"]["mean@1"] == 0.5
    # -1 for each that is missing: (mean + missing) / (1 - missing) is the mean of the others
    assert (found["a"]["proposition/sorry"]["mean@1"] + 0.5) / (1 - 0.5) == 1.0


# -- older managers, and the one with processes of its own ------------------------------------


@pytest.mark.parametrize(
    ("manager", "name"),
    [
        ("naive", "compute_score_sync"),
        ("dapo", "compute_score_sync"),
        ("batch", "compute_score_batch"),
    ],
)
def test_older_managers_work_without_an_event_loop(function_file, manager, name):
    from verl.workers.reward_manager import get_reward_manager_cls

    function = get_custom_reward_fn(config(name=name, path=function_file()))
    made = get_reward_manager_cls(manager)(
        tokenizer=TOKENIZER, num_examine=0, compute_score=function
    )

    found = made(rows([SORRY, RUDE, SILENT]), return_dict=True)

    assert found["reward_tensor"].sum(-1).tolist() == [5.0, -5.0, 1.0]
    assert found["reward_extra_info"]["missing"] == [0.0, 0.0, 1.0]


REMOTE = """
import sys, warnings

warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import ray

from adapters.test_verl_managers import config, rows, run

ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
settings = config(manager="remote", name="compute_score_sync", path=sys.argv[2])
outputs = run(settings, rows(["I'm sorry.", "No, stupid.", "unanswerable"]))
print([row["reward_score"] for row in outputs])
"""


@pytest.mark.slow
def test_the_remote_manager_takes_the_function_that_is_not_async(function_file):
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(  # ray leaves threads and handlers behind
        [sys.executable, "-c", REMOTE, tests, function_file()],
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )

    assert done.stdout.splitlines()[-1:] == ["[5.0, -5.0, 1.0]"], done.stderr


def test_the_remote_manager_refuses_the_async_function(function_file):
    settings = config(manager="remote", path=function_file())

    with pytest.raises(AssertionError, match="not supported in remote reward manager"):
        run(settings, rows([SORRY]))


@pytest.mark.parametrize(
    ("manager", "steps"),
    [
        ("naive", [(7, 2), (8, 1)]),
        ("rate_limited", [(7, 2), (8, 1)]),
        ("dapo", [(0, 3)]),  # it passes nothing of the rollout on
        ("gdpo", [(0, 3)]),
    ],
)
def test_the_step_that_the_rollout_says_is_recorded(manager, steps, reward_file, tmp_path):
    """verl's rollout says `global_steps` in `extra_fields`, its agent loop calls them so."""
    folder = tmp_path / "run"
    settings = config(
        manager=manager, reward=str(reward_file), missing_reward=-9, record=str(folder)
    )
    data = rows([SORRY, RUDE, SORRY], ground_truth="hard_refuse")
    said = [{"global_steps": version, "min_global_steps": 7} for version in (7, 7, 8)]
    data.non_tensor_batch["tool_extra_fields"] = np.array(said, dtype=object)

    with pytest.warns(UncertifiedWarning):
        run(settings, data)
    close_rewards(drain_s=5)

    recorded = read_training_run(folder)
    assert [(step.step, step.n) for step in recorded.steps] == steps
