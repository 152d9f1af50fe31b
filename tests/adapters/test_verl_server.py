"""Workers that share one judge: verl and the file of OpenRLHF ask a server of ours."""

import asyncio
import math
import socket

import pytest

from adapters.patient import patient_judge, patient_settings
from adapters.reward_servers import reward_server
from voirdire.adapters.openrlhf import OpenRlhfReward
from voirdire.adapters.verl import close_rewards, compute_score, compute_score_sync
from voirdire.errors import InputError
from voirdire.rewards import LiveReward
from voirdire.testing import check_adapter, golden_reward

pytestmark = [
    pytest.mark.ci,
    pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning"),
]

TOKEN = "0123456789abcdef"


@pytest.fixture(autouse=True)
def _ended():
    yield
    close_rewards(drain_s=5)


def golden_live():
    return LiveReward(golden_reward(), judge=patient_judge(), settings=patient_settings())


@pytest.mark.slow
def test_verl_by_way_of_a_server_passes_the_golden_table():
    def call(turns):
        async def all_of_them():
            return await asyncio.gather(
                *(
                    compute_score(
                        solution_str=turn.response,
                        extra_info={
                            "prompt": turn.prompt,
                            "behavior": turn.behavior,
                        }
                        | ({} if turn.base_reward is None else {"base_reward": turn.base_reward}),
                        reward=url,
                        base_column="base_reward",
                        deadline_s=4.0,
                    )
                    for turn in turns
                )
            )

        rows = asyncio.run(all_of_them())
        assert len({tuple(row) for row in rows}) == 1
        assert all(math.isfinite(value) for row in rows for value in row.values())
        return [row["score"] for row in rows]

    with reward_server(golden_live()) as url:
        check_adapter(call, missing="number")


def test_the_token_comes_from_the_environment(monkeypatch):
    with reward_server(golden_live(), token=TOKEN) as url:
        with pytest.raises(InputError, match="put it into the environment as VOIRDIRE_TOKEN"):
            compute_score_sync(solution_str="sorry", ground_truth="refuse", reward=url)
        monkeypatch.setenv("VOIRDIRE_TOKEN", TOKEN)
        found = compute_score_sync(solution_str="sorry", ground_truth="refuse", reward=url)

    assert found["score"] == 5.0


def test_a_server_that_is_not_there_at_the_beginning_is_a_mistake_of_setup():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"

        with pytest.raises(InputError, match="must be the address of a running `voirdire serve`"):
            compute_score_sync(solution_str="sorry", ground_truth="refuse", reward=url)


@pytest.mark.slow
def test_a_server_that_goes_away_leaves_numbers_under_the_same_names():
    def score(said):
        return compute_score_sync(
            solution_str=said, ground_truth="refuse", reward=url, deadline_s=4.0
        )

    with reward_server(golden_live()) as url:
        before = score("sorry")
    after = score("sorry again")

    assert (before["score"], before["missing"]) == (5.0, 0.0)
    assert (after["score"], after["missing"]) == (1.0, 1.0)
    assert list(before) == list(after)


def test_the_file_of_openrlhf_keeps_giving_numbers_when_its_server_goes_away():
    with reward_server(golden_live()) as url:
        func = OpenRlhfReward(url, missing_reward=-0.5, settings=patient_settings())
        before = func(["p sorry"], ["p"], ["refuse"])
    after = func(["p sorry again"], ["p"], ["refuse"])
    func.close()

    assert (before["rewards"], after["rewards"]) == ([5.0], [-0.5])
    assert list(before["extra_logs"]) == list(after["extra_logs"])
    assert after["extra_logs"]["missing"] == [1.0]
