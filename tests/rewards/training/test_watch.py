"""The folder of a run: what is written, by whom, and how it is gone on with."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from rewards.reward_cases import expected_rule_reward, own_environment, tiny_judge, tiny_reward
from rewards.training.recorded_runs import (
    drawn_turns,
    parts_of,
    recorded,
    rows_in,
    scored,
    watch_of,
)
from voirdire.errors import InputError
from voirdire.io import read_verdicts, stream_items
from voirdire.judging import ScriptedJudge
from voirdire.rewards import Turn, read_training_run, reward_of_weights
from voirdire.rubrics import rubric_from_text


def test_a_completion_is_written_with_everything_that_is_known_of_it(tmp_path):
    turn = Turn(
        response="0.9 0.1",
        prompt="How?",
        behavior="refuse",
        base_reward=0.5,
        n_tokens=12,
        id="theirs",
    )
    watch = watch_of(tmp_path / "run")

    watch.add(scored([turn], base_column="base_reward"), [turn], step=7)

    [row] = rows_in(tmp_path / "run")
    rule = expected_rule_reward("refuse", 0.9, 0.1)
    assert row["step"] == 7
    assert (row["prompt"], row["response"], row["behavior"]) == ("How?", "0.9 0.1", "refuse")
    assert (row["base_reward"], row["n_tokens"], row["n_characters"]) == (0.5, 12, 7)
    assert row["rule_reward"] == pytest.approx(rule)
    assert row["reward"] == pytest.approx(rule + 0.5)
    assert (row["sorry"], row["rude"], row["missing"]) == (0.9, 0.1, None)
    assert (row["judge"], row["name"]) == ("scripted", "theirs")
    assert row["fingerprint"].startswith("sha256:")


def test_completions_are_a_file_of_items_and_of_verdicts_at_once(tmp_path):
    turns = [
        Turn(response="0.9 0.1", prompt="How?", behavior="refuse"),
        Turn(response=None, prompt="How?", behavior="refuse"),
        Turn(
            response=[{"role": "assistant", "content": "<think>so</think>0.2 0.3"}],
            prompt=[{"role": "user", "content": "Why?"}],
            behavior="chat",
        ),
    ]
    watch = watch_of(tmp_path / "run")
    scores = scored(turns)

    watch.add(scores, turns, step=0)

    [path] = parts_of(tmp_path / "run")
    [batch] = stream_items(path)
    assert [(item.response, item.behavior) for item in batch.items] == [
        ("0.9 0.1", "refuse"),
        ("0.2 0.3", "chat"),
    ]
    assert batch.items[1].prompt[0].content == "Why?"
    assert len(batch.dropped) == 1
    judged = read_verdicts(path, rubric=tiny_reward().rubric)
    assert judged.fingerprint == scores.judged.fingerprint
    np.testing.assert_array_equal(judged.probabilities, scores.judged.probabilities)


def test_calls_of_one_step_add_up(tmp_path):
    rng = np.random.default_rng(0)
    turns = drawn_turns(rng, n_prompts=4, n_each=4)
    watch = watch_of(tmp_path / "parts")
    for low in range(0, 16, 5):
        watch.add(scored(turns[low : low + 5]), turns[low : low + 5], step=3)
    watch.close()
    other = watch_of(tmp_path / "whole")
    other.add(scored(turns), turns, step=3)

    [found] = read_training_run(tmp_path / "parts").steps
    [expected] = read_training_run(tmp_path / "whole").steps
    assert (found.step, found.n, found.n_groups) == (3, 16, 4)
    assert found.reward_mean == pytest.approx(expected.reward_mean, rel=1e-12)
    assert found.reward_sd == pytest.approx(expected.reward_sd, rel=1e-12)


def test_without_a_trainers_step_so_many_completions_make_one(tmp_path):
    rng = np.random.default_rng(0)
    watch = watch_of(tmp_path / "run")
    turns = drawn_turns(rng, n_prompts=8, n_each=8)
    scores = scored(turns)

    for _ in range(9):
        watch.add(scores, turns)
    watch.close()

    found = read_training_run(tmp_path / "run").steps
    assert [(step.step, step.n) for step in found] == [
        (0, 256),
        (1, 256),
        (2, 64),
    ]


def test_what_waits_is_written_at_a_checkpoint(tmp_path):
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse", truncated=True)]
    watch, scores = watch_of(tmp_path / "run"), scored(turns)
    for step in range(3):
        watch.add(scores, turns, step=step)

    watch.flush()

    run = read_training_run(tmp_path / "run")
    assert [(step.step, step.truncated_share) for step in run.steps] == [(0, 1), (1, 1), (2, 1)]


def test_without_a_folder_alarms_are_watched_for_alone(tmp_path):
    watch = watch_of(None)
    broken = [Turn(response=None, behavior="refuse") for _ in range(8)]
    scores = scored(broken)

    alarms = [watch.add(scores, broken, step=step) for step in range(2)]
    watch.close()

    assert [[alarm.kind for alarm in row] for row in alarms] == [[], ["missing"]]


def test_only_the_owner_can_read_what_a_model_said(tmp_path):
    recorded(tmp_path / "run", n_steps=1)

    [part] = parts_of(tmp_path / "run")
    files, folders = [part, tmp_path / "run" / "run.json"], [tmp_path / "run", part.parent]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600] * 2
    assert [stat.S_IMODE(path.stat().st_mode) for path in folders] == [0o700] * 2


def test_an_alarm_is_told_where_the_step_ends(tmp_path):
    watch = watch_of(tmp_path / "run")
    broken = [Turn(response=None, behavior="refuse") for _ in range(8)]
    scores = scored(broken)

    first, second = watch.add(scores, broken, step=4), watch.add(scores, broken, step=5)

    assert first == ()
    assert [(x.step, x.text) for x in second] == [(4, "100% of the rewards are missing")]
    watch.close()
    assert [alarm.kind for alarm in read_training_run(tmp_path / "run").alarms] == ["missing"]


def test_only_the_first_rank_tells_of_alarms(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    watch = watch_of(tmp_path / "run")
    broken = [Turn(response=None, behavior="refuse") for _ in range(8)]
    scores = scored(broken)

    told = [watch.add(scores, broken, step=step) for step in range(3)]

    watch.close()
    assert told == [(), (), ()]
    assert [alarm.kind for alarm in read_training_run(tmp_path / "run").alarms] == ["missing"]


def test_a_process_that_forks_writes_a_file_of_its_own(tmp_path):
    turn = Turn(response="0.9 0.1", prompt="p", behavior="refuse")
    scores = scored([turn])
    watch = watch_of(tmp_path / "run")
    watch.add(scores, [turn], step=0)

    child = os.fork()
    if child == 0:
        try:
            watch.add(scores, [turn], step=0)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    watch.add(scores, [turn], step=0)
    watch.close()

    assert [step.n for step in read_training_run(tmp_path / "run").steps] == [3]
    assert len({row["session"] for row in rows_in(tmp_path / "run")}) == 2


def test_halves_of_surrogate_pairs_are_written_as_replacement_characters(tmp_path):
    turns = [
        Turn(response="half \ud83d a pair", prompt="\ud83d\ude00", behavior="refuse"),
        Turn(response="line\u2028end\n0.5", prompt="p", behavior="refuse"),
    ]
    watch = watch_of(tmp_path / "run")

    watch.add(scored(turns), turns, step=0)

    first, second = rows_in(tmp_path / "run")
    assert (first["response"], first["prompt"]) == ("half \ufffd a pair", "\U0001f600")
    assert second["response"] == turns[1].response


def test_a_proposition_with_the_name_of_a_column_keeps_apart(tmp_path):
    rubric = rubric_from_text(
        """
schema: voirdire.rubric/1
name: odd
version: "1"
questions:
  - {id: reward, kind: boolean, text: "Does it promise a reward?"}
behaviors:
  any:
    demands:
      reward: undesired
    classes:
      good: otherwise
"""
    )
    reward = reward_of_weights({"any": {"reward": 2.0}}, rubric=rubric, judge=None)
    judge = ScriptedJudge(questions=("reward",), answer=lambda item: [float(item.response)])
    turn = Turn(response="0.25", prompt="p", behavior="any")
    watch = watch_of(tmp_path / "run", reward=reward)

    watch.add(scored([turn], reward=reward, judge=judge), [turn], step=0)

    [row] = rows_in(tmp_path / "run")
    assert (row["reward"], row["proposition:reward"]) == (0.5, 0.25)


# Resumed, refused ------------------------------------------------------------------------------


def test_a_run_is_gone_on_with_under_the_same_reward(tmp_path):
    recorded(tmp_path / "run", n_steps=4)
    watch = watch_of(tmp_path / "run")
    turn = Turn(response="0.9 0.1", prompt="p", behavior="refuse")

    watch.add(scored([turn]), [turn], step=2)  # from a checkpoint
    watch.close()

    found = read_training_run(tmp_path / "run")
    assert [(step.step, step.n) for step in found.steps] == [(0, 24), (1, 24), (2, 1)]


def test_a_trainer_that_goes_back_within_one_process_repeats_its_steps(tmp_path):
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    scores = scored(turns)
    watch = watch_of(tmp_path / "run")

    for step in (0, 1, 2, 1):
        watch.add(scores, turns, step=step)

    assert [(s.step, s.n) for s in read_training_run(tmp_path / "run").steps] == [(0, 1), (1, 1)]


@pytest.mark.slow
def test_counted_steps_go_on_behind_those_of_a_process_that_ended(tmp_path):
    code = (
        "from rewards.training.recorded_runs import *\n"
        "t = [Turn(response='0.9 0.1', prompt='p', behavior='refuse')]\n"
        f"watch_of({str(tmp_path / 'run')!r}).add(scored(t), t)\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], env=own_environment(), check=True)

    assert [s.step for s in read_training_run(tmp_path / "run").steps] == [0, 1]


@pytest.mark.parametrize(
    ("begun", "match"),
    [
        ({"reward": tiny_reward(name="another")}, "the reward 'another' with other content"),
        ({"name": "yours"}, "a run under the name 'yours'"),
    ],
)
def test_the_folder_of_another_run_is_refused(tmp_path, begun, match):
    recorded(tmp_path / "run", n_steps=1, **begun)

    with pytest.raises(InputError, match=match):
        watch_of(tmp_path / "run")


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match=r"`record` must be an empty folder.*Name another\."):
        watch_of(tmp_path)


def test_a_file_is_refused_as_a_folder(tmp_path):
    (tmp_path / "run").write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match="`record` must be a folder, got the file"):
        watch_of(tmp_path / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)

    with pytest.raises(InputError, match="`record` must be a folder that can be written to"):
        watch_of(tmp_path / "locked" / "run")


def test_what_the_disk_refuses_later_is_an_oserror(tmp_path):
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    watch = watch_of(tmp_path / "run")
    for path in (tmp_path / "run").iterdir():
        path.unlink()
    (tmp_path / "run").rmdir()

    with pytest.raises(FileNotFoundError):
        watch.add(scored(turns), turns, step=0)


def test_who_judged_is_written_once_it_is_known(tmp_path):
    watch = watch_of(tmp_path / "run", judge_fingerprint=tiny_judge().fingerprint)
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    scores = scored(turns)

    watch.add(scores, turns, step=0)

    run = read_training_run(tmp_path / "run")
    assert (run.judge, run.fingerprint) == ("scripted", scores.judged.fingerprint)
    assert run.judge_fingerprint == tiny_judge().fingerprint
