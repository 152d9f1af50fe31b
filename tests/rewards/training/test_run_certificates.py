"""What a run says of the proof behind its judge, from an examination that is really made."""

import asyncio
import dataclasses
import json

import numpy as np
import pytest

from rewards.made_study import write_study
from rewards.reward_cases import tiny_judge, tiny_rubric
from rewards.training.recorded_runs import drawn_turns, recorded, watch_of
from voirdire.errors import InputError
from voirdire.io import read_labels
from voirdire.reporting import to_json
from voirdire.rewards import LiveReward, read_certificate, read_training_run, reward_of_weights
from voirdire.studies import TestPlan as Plan
from voirdire.studies import certify, examine


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Examine a judge whom people follow on one question, and guess on the other."""
    folder = tmp_path_factory.mktemp("study")
    write_study(folder)
    humans = read_labels(folder / "humans.csv", role="annotator", kind="boolean")
    judges = read_labels(folder / "verdicts.parquet", role="judge", kind="boolean")
    found = examine(
        humans=humans, judges=judges, kind="boolean", plan=Plan(epsilon=0.2), around=False
    )
    path = folder / "certificate.json"
    path.write_text(to_json(certify(found, humans=humans, judges=judges)), "utf-8")
    return read_certificate(path)


@pytest.fixture
def certified_reward(certificate):
    """Give a reward that is bound to the judge of the certificate."""
    bound = reward_of_weights(
        {"refuse": {"sorry": 1, "rude": -1}, "chat": {"rude": -1}},
        rubric=tiny_rubric(),
        judge=tiny_judge(),
        bound=True,
    )
    return dataclasses.replace(bound, certificates=(certificate,))


def written(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def rewrite(folder, **changes):
    """Change what `run.json` says."""
    text = json.dumps(written(folder) | changes)
    (folder / "run.json").write_text(text, encoding="utf-8")


def test_a_run_tells_what_was_shown_of_its_judge(tmp_path, certified_reward):
    recorded(tmp_path / "run", n_steps=2, reward=certified_reward)

    found = read_training_run(tmp_path / "run").certificates

    assert list(found) == ["sorry", "rude"]
    assert found["sorry"] == "passed"
    assert found["rude"] in ("failed", "no_evidence")


def test_certificates_say_nothing_of_another_judge_who_answered(tmp_path, certified_reward):
    async def asked(turns):
        other = tiny_judge(version="2")
        live = LiveReward(certified_reward, judge=other, other_judge=True)
        await live.start()
        try:
            return await live.turn_rewards(turns)
        finally:
            await live.close()

    turns = drawn_turns(np.random.default_rng(0))
    watch = watch_of(tmp_path / "run", reward=certified_reward)
    watch.add(asyncio.run(asked(turns)), turns, step=0)
    watch.close()

    found = read_training_run(tmp_path / "run").certificates

    assert set(found.values()) == {"other_judge"}


def test_weights_by_hand_were_never_examined(tmp_path):
    recorded(tmp_path / "run", n_steps=1)

    found = read_training_run(tmp_path / "run").certificates

    assert found == {"sorry": "none", "rude": "none"}


@pytest.mark.edges
@pytest.mark.parametrize(
    "odd",
    [
        {"sorry": "fine"},
        {"sorry": 7},
        [],
    ],
)
def test_a_damaged_record_is_refused(tmp_path, odd):
    recorded(tmp_path / "run", n_steps=1)
    rewrite(tmp_path / "run", certificates=odd)

    with pytest.raises(InputError, match=r"run\.json: must say what the run is about"):
        read_training_run(tmp_path / "run")
