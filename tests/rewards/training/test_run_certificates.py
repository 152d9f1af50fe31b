"""What a run says of the proof behind its judge, from an examination that is really made."""

import asyncio
import dataclasses
import json
import math

import numpy as np
import pytest

from rewards.made_study import N_ITEMS, write_study
from rewards.reward_cases import tiny_judge, tiny_reward, tiny_rubric
from rewards.training.recorded_runs import drawn_turns, recorded, scored, watch_of
from voirdire.errors import InputError
from voirdire.io import read_labels
from voirdire.reporting import certificate_to_json
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
    path.write_text(certificate_to_json(certify(found, humans=humans, judges=judges)), "utf-8")
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
    """Change what `run.json` says of certificates; without a word the key is not there."""
    document = written(folder)
    del document["certificates"]
    (folder / "run.json").write_text(json.dumps(document | changes), encoding="utf-8")


def test_a_run_tells_what_was_shown_of_its_judge(tmp_path, certificate, certified_reward):
    recorded(tmp_path / "run", n_steps=2, reward=certified_reward)

    found = read_training_run(tmp_path / "run").certificates

    assert list(found) == ["sorry", "rude"]
    assert (found["sorry"].state, found["sorry"].is_valid) == ("passed", True)
    assert found["rude"].state in ("failed", "no_evidence")
    for name, row in found.items():
        [theirs] = [each for each in certificate.examinations if each["question"] == name]
        [ours] = row.examinations
        assert dataclasses.asdict(ours) == {key: theirs[key] for key in dataclasses.asdict(ours)}
        assert ours.n_items == N_ITEMS
        assert row.certificate == certificate.content_hash
        assert "at ε 0.2" in row.reason


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

    assert {row.state for row in found.values()} == {"other_judge"}
    assert {row.examinations for row in found.values()} == {()}
    assert written(tmp_path / "run")["certificates"]["propositions"]["sorry"]["state"] == "passed"


def test_weights_by_hand_were_never_examined(tmp_path):
    recorded(tmp_path / "run", n_steps=1)

    found = read_training_run(tmp_path / "run").certificates

    assert {name: row.state for name, row in found.items()} == {"sorry": "none", "rude": "none"}


def test_a_run_of_an_earlier_version_has_none_recorded(tmp_path, certified_reward):
    recorded(tmp_path / "run", n_steps=2, reward=certified_reward)
    rewrite(tmp_path / "run")

    run = read_training_run(tmp_path / "run")

    assert run.certificates is None
    assert len(run.steps) == 2


def test_a_run_of_an_earlier_version_that_is_gone_on_with_has_them(tmp_path, certified_reward):
    recorded(tmp_path / "run", n_steps=2, reward=certified_reward)
    before = written(tmp_path / "run")
    rewrite(tmp_path / "run")

    watch_of(tmp_path / "run", reward=certified_reward).close()

    assert written(tmp_path / "run") == before


@pytest.mark.edges
@pytest.mark.parametrize(
    "odd",
    [
        {"propositions": {}},
        {"fingerprint": "", "propositions": {"sorry": {"state": "fine", "reason": ""}}},
        {"fingerprint": "", "propositions": {"sorry": {"state": "none"}}},
        {"fingerprint": "", "propositions": 7},
        [],
    ],
)
def test_a_damaged_record_is_refused(tmp_path, odd):
    recorded(tmp_path / "run", n_steps=1)
    rewrite(tmp_path / "run", certificates=odd)

    with pytest.raises(InputError, match=r"run\.json: must say what the run is about"):
        read_training_run(tmp_path / "run")


def test_figures_that_are_none_are_undefined_and_the_run_is_written(
    tmp_path, certificate, certified_reward
):
    """A certificate may be a stranger's: its hash does not say that its figures are figures."""
    rows = tuple(
        row
        | {"winning_rate": "most", "epsilon": math.inf, "n_items": None, "alignment": "x" * 999}
        | {"advantage_probability": 10**400}
        for row in certificate.examinations
    )
    odd = dataclasses.replace(certificate, examinations=rows)
    reward = dataclasses.replace(certified_reward, certificates=(odd,))
    turns = drawn_turns(np.random.default_rng(0))
    watch = watch_of(tmp_path / "run", reward=reward)
    watch.add(scored(turns, reward=tiny_reward()), turns, step=0)
    watch.close()

    found = written(tmp_path / "run")["certificates"]["propositions"]["sorry"]["examinations"]
    assert (found[0]["winning_rate"], found[0]["epsilon"], found[0]["n_items"]) == (None, None, 0)
    assert len(found[0]["alignment"]) < 200
