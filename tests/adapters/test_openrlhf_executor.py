"""OpenRLHF's own executor, driving our file and our server, also where they fail."""

import asyncio
import json
import math
import platform
import re
import socket
import sys
from pathlib import Path

import pytest
from aiohttp import web

from frameworks import require_framework

if sys.version_info >= (3, 13) or (platform.system(), platform.machine()) != ("Linux", "x86_64"):
    pytest.skip("the framework has no package for this Python or system", allow_module_level=True)
require_framework("torch", "tokenizers", "transformers", "ray", "openrlhf.utils.agent")

import openrlhf  # noqa: E402

from adapters.openrlhf_harness import (  # noqa: E402
    byte_tokenizer,
    chat,
    executed,
    experience_of,
    word_tokenizer,
)
from adapters.patient import patient_judge, patient_settings  # noqa: E402
from adapters.reward_servers import reward_server, server  # noqa: E402
from voirdire.adapters import GuardedReward  # noqa: E402
from voirdire.adapters.openrlhf import openrlhf_response, read_openrlhf_request  # noqa: E402
from voirdire.judging import LiveSettings  # noqa: E402
from voirdire.rewards import (  # noqa: E402
    LiveReward,
    MissingRewards,
    reward_of_weights,
)
from voirdire.testing import check_adapter, golden_judge, golden_reward  # noqa: E402
from web.served import serving  # noqa: E402

pytestmark = pytest.mark.ci

BOMB = "how do I make a bomb?"
SORRY, RUDE, SILENT = "I'm sorry.", "No, stupid.", "unanswerable"
FILE = """
from adapters.patient import patient_judge, patient_settings
from voirdire.testing import golden_reward
from voirdire.adapters.openrlhf import OpenRlhfReward

reward_func = OpenRlhfReward(
    golden_reward(), judge=patient_judge(), settings=patient_settings(), base_column=None
)
"""
FAILING = """
import threading
from dataclasses import dataclass

from voirdire.testing import GoldenJudge, golden_reward
from voirdire.adapters.openrlhf import OpenRlhfReward
from voirdire.judging import LiveSettings


@dataclass(frozen=True, kw_only=True)
class Failing(GoldenJudge):
    def probabilities(self, items):
        {does}


reward_func = OpenRlhfReward(
    golden_reward(), judge=Failing(), settings=LiveSettings(deadline_s=0.5), missing_reward=-0.25
)
"""


@pytest.fixture
def golden_file(tmp_path):
    path = tmp_path / "reward_func.py"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


@pytest.fixture
def based_file(tmp_path):
    path = tmp_path / "based_func.py"
    path.write_text(FILE.replace("=None", "='base_reward'"), encoding="utf-8")
    return str(path)


@pytest.fixture
def guarded():
    reward = GuardedReward(golden_reward(), judge=patient_judge(), settings=patient_settings())
    yield reward
    reward.close()


@pytest.fixture
def golden_server():
    live = LiveReward(golden_reward(), judge=patient_judge(), settings=patient_settings())
    with reward_server(live) as url:
        yield f"{url}/openrlhf"


@pytest.fixture
def based_server():
    live = LiveReward(
        golden_reward(),
        judge=patient_judge(),
        settings=patient_settings(),
        base_column="base_reward",
    )
    with reward_server(live) as url:
        yield f"{url}/openrlhf"


@pytest.fixture
def unused_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def answering(guarded):
    """Answer with our two functions around a reward, in a server that can be told to fail."""

    async def answer(document, number):
        scores = await guarded.ascored(read_openrlhf_request(document))
        return web.json_response(openrlhf_response(scores, MissingRewards(guarded.reward)))

    return answer


def rewards_of(outputs):
    return [row["reward"] for row in outputs]


UNIT_SCORES = (0.84, 0.5 - 2.875 / 7.75, 0.5 + 0.125 / 2.25)
"""Of 5, -5 and 1, which are 2.125, -2.875 and .125 golden deviations from the golden mean."""


def bombs(url, *said, **options):
    prompts = [chat(BOMB)] * len(said)
    return executed(url, said, prompts=prompts, labels=["refuse"] * len(said), **options)


def all_are_numbers(outputs):
    for row in outputs:
        numbers = [*row["reward"], *row["scores"]]
        numbers += [value for column in row["extra_logs"].values() for value in column]
        assert len(row["reward"]) == 1
        assert all(isinstance(value, float) and math.isfinite(value) for value in numbers)
    assert len({tuple(row["extra_logs"]) for row in outputs}) == 1


# -- the file ---------------------------------------------------------------------------------


def test_a_file_gives_the_executor_rewards(golden_file):
    outputs = bombs(golden_file, SORRY, RUDE, SILENT)

    assert rewards_of(outputs) == [[5.0], [-5.0], [1.0]]
    scores = [row["scores"][0] for row in outputs]
    assert scores == pytest.approx(UNIT_SCORES)
    assert [row["extra_logs"]["missing"] for row in outputs] == [[0.0], [0.0], [1.0]]
    all_are_numbers(outputs)


def test_openrlhf_makes_one_batch_of_what_it_was_given(golden_file):
    experience = experience_of(bombs(golden_file, SORRY, RUDE, SILENT))

    assert experience.rewards.flatten().tolist() == [5.0, -5.0, 1.0]
    assert experience.scores.flatten().tolist() == pytest.approx(UNIT_SCORES)
    assert experience.info["missing"].flatten().tolist() == [0.0, 0.0, 1.0]
    assert experience.info["proposition/sorry"].flatten().tolist() == [1.0, 0.0, -1.0]
    assert experience.info["reward"].mean().item() == pytest.approx(1 / 3)


def test_openrlhf_takes_the_batch_apart_and_puts_it_together_again(golden_file):
    from openrlhf.trainer.ppo_utils.experience import (
        make_experience_batch,
        split_experience_batch,
    )

    parts = split_experience_batch(experience_of(bombs(golden_file, SORRY, RUDE, SILENT)))
    again = make_experience_batch(parts[::-1])

    assert again.rewards.flatten().tolist() == [1.0, -5.0, 5.0]
    assert [float(value) for value in again.info["missing"]] == [1.0, 0.0, 0.0]


def test_sixty_four_responses_at_once_get_their_own_rewards(golden_file):
    said = [f"{SORRY if n % 3 else RUDE} {n}" for n in range(64)]

    outputs = bombs(golden_file, *said)

    assert rewards_of(outputs) == [[5.0] if n % 3 else [-5.0] for n in range(64)]


def golden_call(url):
    tokenizer = byte_tokenizer()

    def call(turns):
        labels = [
            {"behavior": turn.behavior, "prompt": turn.prompt}
            | ({} if turn.base_reward is None else {"base_reward": turn.base_reward})
            for turn in turns
        ]
        outputs = executed(
            url,
            [turn.response for turn in turns],
            prompts=[chat(str(turn.prompt), tokenizer) for turn in turns],
            labels=[json.dumps(label) for label in labels],
            tokenizer=tokenizer,
        )
        all_are_numbers(outputs)
        return [row["reward"][0] for row in outputs]

    return call


@pytest.mark.slow
def test_the_file_passes_the_golden_table(based_file):
    without = {"tools", "messages", "not_text", "surrogates"}

    check_adapter(golden_call(based_file), missing="number", without=without)


@pytest.mark.slow
def test_the_server_passes_the_golden_table(based_server):
    without = {"tools", "messages", "not_text", "surrogates"}

    check_adapter(golden_call(based_server), missing="number", without=without)


@pytest.mark.parametrize("does", ["raise RuntimeError", "threading.Event().wait(3)", "return None"])
def test_a_judge_that_raises_hangs_or_answers_nothing_leaves_numbers(tmp_path, does):
    path = tmp_path / "reward_func.py"
    path.write_text(FAILING.replace("{does}", does), encoding="utf-8")

    outputs = bombs(str(path), SORRY, RUDE)

    assert rewards_of(outputs) == [[-0.25], [-0.25]]
    assert [row["extra_logs"]["missing"] for row in outputs] == [[1.0], [1.0]]
    all_are_numbers(outputs)
    assert experience_of(outputs).rewards.flatten().tolist() == [-0.25, -0.25]


def test_a_prompt_that_was_cut_has_no_reward_instead_of_a_wrong_one(golden_file):
    # the executor keeps the end of a prompt that is too long, and hands over the whole one
    prompt = chat(f"I'm sorry, {BOMB}")

    (output,) = executed(
        golden_file, ["No."], prompts=[prompt], labels=["refuse"], max_length=len(BOMB)
    )

    assert output["extra_logs"]["missing"] == [1.0]
    assert output["reward"] == [1.0]


def test_a_tokenizer_that_changes_white_space_and_characters_is_understood(golden_file):
    prompt = "stupid   question:\n\tcafe\u0301 , bomb ?"
    tokenizer = word_tokenizer([prompt, "caf\u00e9", "I'm sorry , no ."])

    outputs = executed(
        golden_file,
        ["I'm sorry , no .", "no"],
        prompts=[prompt] * 2,
        labels=["refuse"] * 2,
        tokenizer=tokenizer,
    )

    assert rewards_of(outputs) == [[5.0], [0.5]]  # and nobody is blamed for a rude prompt


def test_a_mistake_of_setup_is_told_when_the_file_is_loaded(tmp_path):
    path = tmp_path / "reward_func.py"
    path.write_text(FILE.replace("golden_reward()", "'no-such-file.json'"), encoding="utf-8")

    with pytest.raises(ValueError, match=r"no-such-file\.json"):
        bombs(str(path), SORRY)


def test_the_options_of_the_guide_are_openrlhfs_own():
    guide = Path(__file__).parents[2] / "docs" / "guides" / "training-openrlhf-verl.md"
    trainer = Path(openrlhf.__file__).parent / "cli" / "train_ppo_ray.py"
    named = set(re.findall(r"--[a-z]+\.[\w.]+", guide.read_text(encoding="utf-8")))

    assert len(named) > 6
    assert {name for name in named if f'"{name}"' not in trainer.read_text()} == set()


# -- a server ---------------------------------------------------------------------------------


def test_a_server_gives_the_executor_rewards(golden_server):
    outputs = bombs(golden_server, SORRY, RUDE, SILENT)

    assert rewards_of(outputs) == [[5.0], [-5.0], [1.0]]
    all_are_numbers(outputs)
    assert experience_of(outputs).info["missing"].flatten().tolist() == [0.0, 0.0, 1.0]


def test_openrlhf_posts_the_three_lists(guarded):
    with server(answering(guarded)) as served:
        bombs(f"{served.url}/get_reward", SORRY)

    assert served.asked == [
        {
            "query": [f"{chat(BOMB)}{SORRY}<|im_end|>"],
            "prompts": [chat(BOMB)],
            "labels": ["refuse"],
        }
    ]


def test_the_file_and_the_server_give_the_same(golden_file, golden_server):
    said = [SORRY, RUDE, SILENT, "", "I regret it."]

    by_file = bombs(golden_file, *said)
    by_server = bombs(golden_server, *said)

    assert [row["extra_logs"] for row in by_file] == [row["extra_logs"] for row in by_server]
    assert rewards_of(by_file) == rewards_of(by_server)


def test_a_token_travels_as_the_password_of_the_address():
    live = LiveReward(golden_reward(), judge=golden_judge())
    with reward_server(live, token="0123456789abcdef") as url:
        with_token = url.replace("//", "//anyone:0123456789abcdef@")

        outputs = bombs(f"{with_token}/openrlhf", SORRY)

    assert rewards_of(outputs) == [[5.0]]


def test_a_full_server_answers_openrlhf_with_numbers():
    """Where it is refused it would end: so the request waits, and then all is missing."""
    live = LiveReward(golden_reward(), judge=golden_judge(), settings=LiveSettings(deadline_s=0.5))
    with reward_server(live, queue=1) as url:
        outputs = bombs(f"{url}/openrlhf", "sleepy 1", "sleepy 2", "sleepy 3")

    assert rewards_of(outputs) == [[1.0]] * 3
    assert [row["extra_logs"]["missing"] for row in outputs] == [[1.0]] * 3


@pytest.mark.slow
def test_the_command_serves_the_executor(tmp_path):
    path = tmp_path / "reward.json"
    reward_of_weights({"hard_refuse": {"apology": 1, "judgement": -2}}, rubric="safety").save(path)
    label = json.dumps({"behavior": "hard_refuse", "prompt": BOMB})

    with serving("--reward", path, "--missing-reward", "-1") as served:
        outputs = executed(
            f"{served.url}/openrlhf",
            [SORRY, "Sure! First, take a pipe."],
            prompts=[chat(BOMB)] * 2,
            labels=[label, "dance"],
        )

    assert rewards_of(outputs)[0][0] > 0.5
    assert rewards_of(outputs)[1] == [-1.0]
    all_are_numbers(outputs)


def test_several_servers_share_the_responses(guarded):
    with server(answering(guarded)) as one, server(answering(guarded)) as other:
        outputs = bombs(
            [f"{one.url}/get_reward", f"{other.url}/get_reward"], SORRY, RUDE, SORRY, RUDE
        )

    assert rewards_of(outputs) == [[5.0], [-5.0]] * 2
    assert (len(one.asked), len(other.asked)) == (2, 2)


@pytest.mark.slow
def test_a_server_that_is_busy_at_first_is_asked_again(guarded):
    answer = answering(guarded)

    async def busy_twice(document, number):
        return await answer(document, number) if number > 2 else web.Response(status=503)

    with server(busy_twice) as served:
        outputs = bombs(f"{served.url}/get_reward", SORRY)

    assert rewards_of(outputs) == [[5.0]]
    assert len(served.asked) == 3


async def always_busy(document, number):
    return web.Response(status=503, headers={"Retry-After": "1"})


@pytest.mark.slow
def test_a_server_that_stays_busy_leaves_openrlhf_with_nothing():
    """What our side cannot mend, and the guide warns of: after five tries there is no reward."""
    with server(always_busy) as served:
        outputs = bombs(f"{served.url}/get_reward", SORRY)

    assert rewards_of(outputs) == [None]
    assert outputs[0]["extra_logs"] == {}
    assert len(served.asked) == 5
    assert experience_of(outputs).rewards is None  # training ends asking for a reward model


@pytest.mark.slow
def test_a_server_that_nobody_reaches_breaks_the_batch_of_the_others(golden_file, unused_port):
    good = bombs(golden_file, SORRY)
    lost = bombs(f"http://127.0.0.1:{unused_port}/get_reward", SORRY)

    assert rewards_of(lost) == [None]
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'size'"):
        experience_of([*good, *lost])


def test_a_slow_answer_is_waited_for(guarded):
    answer = answering(guarded)

    async def slowly(document, number):
        await asyncio.sleep(0.3)
        return await answer(document, number)

    with server(slowly) as served:
        outputs = bombs(f"{served.url}/get_reward", SORRY)

    assert rewards_of(outputs) == [[5.0]]


def test_what_is_late_does_not_keep_the_others(golden_server):
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    queries = [f"{chat(BOMB)}{said}" for said in (SORRY, "sleepy")]

    async def asked(*queries):
        executor = SingleTurnAgentExecutor(golden_server)
        n = len(queries)
        return await executor._fetch_rewards_via_http(
            list(queries), [chat(BOMB)] * n, ["refuse"] * n
        )

    asyncio.run(asked(queries[0]))
    (given,) = asyncio.run(asked(*queries))

    assert given["rewards"] == [5.0, 1.0]
    assert given["extra_logs"]["missing"] == [0.0, 1.0]
