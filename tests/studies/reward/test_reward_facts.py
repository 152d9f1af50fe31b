"""What a report says of a reward, and whether the fit has seen the examined prompts."""

import dataclasses

import pytest

from studies.reward.small_reward import items_of
from voirdire.rewards import comparisons_of
from voirdire.rewards.prompt_hash import prompt_hash
from voirdire.studies.reward.reward_facts import held_out, reward_facts


@pytest.fixture(scope="session")
def data(random_rows):
    """Give twelve prompts."""
    return comparisons_of(items_of(random_rows(0)))


def _fitted(reward, *, hashes=None, data_hash="sha256:fit"):
    settings = {"l2": 0.1} | ({} if hashes is None else {"prompt_hashes": hashes})
    return dataclasses.replace(reward, settings=settings, data_hash=data_hash)


def test_prompts_of_the_fit_are_known_by_their_hashes(reward, data):
    hashes = sorted({prompt_hash(item) for item in data.items})

    seen = held_out(_fitted(reward, hashes=hashes[:5]), data)
    unseen = held_out(_fitted(reward, hashes=["0" * 16]), data)

    assert (seen.is_held_out, seen.n_seen, seen.n_prompts) == (False, 5, 12)
    assert (unseen.is_held_out, unseen.n_seen, unseen.is_known) == (True, 0, True)


def test_without_hashes_the_same_data_are_known_and_others_are_not(reward, data):
    same = held_out(_fitted(reward, data_hash=data.data_hash), data)
    other = held_out(_fitted(reward), data)

    assert (same.is_held_out, same.n_seen, same.is_known) == (False, 12, True)
    assert (other.is_held_out, other.n_seen, other.is_known) == (False, 0, False)


def test_weights_that_were_given_by_hand_have_seen_nothing(reward, data):
    assert held_out(reward, data).is_held_out


def test_facts_are_plain_and_leave_the_hashes_out(reward):
    figures = {"l2": 0.1, "weights": {"apology": {}}}
    row = dataclasses.replace(reward.behaviors["refuse"], figures=figures)
    fitted = dataclasses.replace(
        _fitted(reward, hashes=["a", "b"]),
        behaviors={
            "refuse": row,
        },
    )

    found = reward_facts(fitted)

    assert found["settings"] == {"l2": 0.1, "n_prompts": 2}
    assert found["rubric"]["hash"] == reward.rubric.content_hash
    assert found["weights"]["refuse"]["apology"] == 2.0
    assert found["fit"] == {"refuse": {"l2": 0.1}}
    assert found["certificates"]["apology"]["state"] == "none"
    assert found["content_hash"] == fitted.content_hash
