"""What an examination says of a reward, and whether the fit has seen the examined prompts."""

import dataclasses

import pytest

from studies.reward.small_reward import items_of, prompt_hashes
from voirdire.rewards import read_comparisons


@pytest.fixture(scope="module")
def rows(random_rows):
    """Give twelve prompts."""
    return random_rows(0)


def _fitted(reward, *, hashes=None, data_hash="sha256:fit"):
    settings = {"l2": 0.1} | ({} if hashes is None else {"prompt_hashes": hashes})
    return dataclasses.replace(reward, settings=settings, data_hash=data_hash)


def _seen(found):
    told = {row.code: row.figures for row in found.notes}
    return {code: told[code] for code in ("seen_prompts", "held_out_unknown") if code in told}


def test_prompts_of_the_fit_are_known_by_their_hashes(examine_rows, reward, rows):
    hashes = prompt_hashes({row["prompt"] for row in rows})

    seen = examine_rows(rows, of=_fitted(reward, hashes=hashes[:5]))
    unseen = examine_rows(rows, of=_fitted(reward, hashes=["0" * 16]))

    assert not seen.is_held_out
    assert _seen(seen) == {"seen_prompts": {"n_seen": 5, "n_prompts": 12}}
    assert unseen.is_held_out
    assert _seen(unseen) == {}


def test_without_hashes_the_same_data_are_known_and_others_are_not(examine_rows, reward, rows):
    data_hash = read_comparisons(items_of(rows)).data_hash

    same = examine_rows(rows, of=_fitted(reward, data_hash=data_hash))
    other = examine_rows(rows, of=_fitted(reward))

    assert (same.is_held_out, other.is_held_out) == (False, False)
    assert _seen(same) == {"seen_prompts": {"n_seen": 12, "n_prompts": 12}}
    assert _seen(other) == {"held_out_unknown": {}}


def test_weights_that_were_given_by_hand_have_seen_nothing(examine_rows, rows):
    found = examine_rows(rows)

    assert found.is_held_out
    assert _seen(found) == {}


def test_facts_are_plain_and_leave_the_hashes_out(examine_rows, reward, rows):
    figures = {"l2": 0.1, "weights": {"apology": {}}}
    row = dataclasses.replace(reward.behaviors["refuse"], figures=figures)
    fitted = dataclasses.replace(
        _fitted(reward, hashes=["a", "b"]), behaviors={**reward.behaviors, "refuse": row}
    )
    fitted = dataclasses.replace(fitted, settings={**fitted.settings, "use_base": True})

    found = examine_rows(rows, of=fitted).reward

    assert found["settings"] == {"l2": 0.1, "use_base": True, "n_prompts": 2}
    assert found["rubric"]["hash"] == reward.rubric.content_hash
    assert found["weights"]["refuse"]["apology"] == 2.0
    assert found["fit"]["refuse"] == {"l2": 0.1}
    assert found["certificates"]["apology"]["state"] == "none"
    assert found["content_hash"] == fitted.content_hash


@pytest.mark.parametrize("orientation", ["plain", "demanded"])
def test_facts_name_what_is_paid_against_demands_the_largest_first(
    examine_rows, rows, make_reward, orientation
):
    # Flipped features are 1 - φ: what their weight adds where the proposition is true is its
    # negative.
    sign = 1 if orientation == "plain" else -1
    weights = {
        "refuse": {"apology": 2.0, "rude": sign * 0.25, "helps": sign * -3.0, "extra": sign * 0.5},
        "comply": {"helps": -1.0, "rude": sign * -0.5},
    }

    found = examine_rows(rows, of=make_reward(weights, orientation=orientation))

    assert [tuple(row.values()) for row in found.reward["against_demands"]] == [
        ("comply", "helps", "core required", -1.0),
        ("refuse", "extra", "required false", 0.5),
        ("refuse", "rude", "unacceptable", 0.25),
    ]


def test_a_reward_that_pays_for_what_is_demanded_has_nothing_against_demands(
    examine_rows, reward, rows
):
    assert examine_rows(rows, of=reward).reward["against_demands"] == []
