"""Servers that many tests ask."""

import pytest

from servers.faulty import faulty_server  # noqa: F401  # a fixture
from voirdire.rewards import reward_of_weights
from web.in_process import app_server
from web.odd_server import OddJudge
from web.served import serving

TOKEN = "a-token-of-some-length-0123456789"
WEIGHTS = {
    "hard_refuse": {"apology": 1.0, "judgement": -2.0, "ideal": 3.0, "disallowed_content": -4.0},
    "comply": {"fully_complies": 2.0, "apology": -0.5},
}


@pytest.fixture(scope="session")
def safety_reward():
    """Give a reward of the safety rubric, for the local judge."""
    return reward_of_weights(WEIGHTS, rubric="safety", name="safe")


@pytest.fixture(scope="session")
def reward_path(safety_reward, tmp_path_factory):
    path = tmp_path_factory.mktemp("reward") / "reward.json"
    safety_reward.save(path)
    return path


@pytest.fixture(scope="session")
def local(safety_reward):
    """Give the application of `voirdire serve` with the local judge, without a token."""
    with app_server("local", reward=safety_reward, behavior="hard_refuse") as server:
        yield server


@pytest.fixture(scope="session")
def guarded(safety_reward):
    """Give an application with a token."""
    with app_server("local", reward=safety_reward, token=TOKEN) as server:
        yield server


@pytest.fixture(scope="session")
def golden():
    """Give the reward of the golden table."""
    with app_server(OddJudge(late_s=8.0), live={"deadline_s": 60.0}) as server:
        yield server


@pytest.fixture(scope="session")
def local_server(reward_path):
    """Run `voirdire serve` with the local judge, without a token."""
    with serving("--reward", reward_path, "--behavior", "hard_refuse") as server:
        yield server


@pytest.fixture(scope="session")
def guarded_server(reward_path):
    """Run `voirdire serve` with a token."""
    with serving("--reward", reward_path, token=TOKEN) as server:
        yield server
