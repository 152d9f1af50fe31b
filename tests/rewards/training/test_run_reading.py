"""Runs read again: ranks added up, sessions that replace each other, and what is damaged."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from rewards.reward_cases import own_environment, tiny_reward
from rewards.training.recorded_runs import (
    drawn_turns,
    parts_of,
    recorded,
    rows_in,
    scored,
    watch_of,
)
from voirdire.errors import InputError
from voirdire.rewards import Turn, read_training_run


def as_rank(monkeypatch, rank, world=2):
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", str(world))


@pytest.fixture
def run_of(tmp_path):
    """Write a run of sessions, each with its steps from one on; give the run as it is read."""
    recorded(tmp_path, n_steps=1)
    [part] = parts_of(tmp_path)
    rows = pl.read_parquet(part)
    part.unlink()

    def read(*sessions, ending=""):
        for place, (began, first, rank, world) in enumerate(sessions):
            writer = f"p{place + 1}" if rank is None else f"r{rank}of{world}"
            name = f"{writer}-{began * 1_000}-abc{place}{ending}"
            steps = [rows.with_columns(step=pl.lit(first + k, pl.Int64)) for k in range(10)]
            about = f"000000-{first}-{first + 9}-{(began + 9) * 1_000}"
            pl.concat(steps).write_parquet(part.with_name(f"{name}-{about}.parquet"))
        return {step.step: step.n // rows.height for step in read_training_run(tmp_path).steps}

    return read


# Ranks ----------------------------------------------------------------------------------------


def test_ranks_with_shares_of_different_size_give_the_figures_of_the_whole(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    steps = [drawn_turns(rng, n_prompts=4, n_each=4) for _ in range(3)]
    whole = watch_of(tmp_path / "whole")
    for number, turns in enumerate(steps):
        whole.add(scored(turns), turns, step=number)
    whole.close()
    for rank, share in enumerate([slice(0, 3), slice(3, 16)]):  # a group is split between them
        as_rank(monkeypatch, rank)
        watch = watch_of(tmp_path / "ranks")
        for number, turns in enumerate(steps):
            watch.add(scored(turns[share]), turns[share], step=number)
        watch.close()

    found, expected = read_training_run(tmp_path / "ranks"), read_training_run(tmp_path / "whole")

    for one, other in zip(found.steps, expected.steps, strict=True):
        assert (one.n, one.n_groups) == (other.n, other.n_groups) == (16, 4)
        assert one.reward_mean == pytest.approx(other.reward_mean, rel=1e-12)
        assert one.reward_sd == pytest.approx(other.reward_sd, rel=1e-12)
        assert one.length_reward_correlation == pytest.approx(
            other.length_reward_correlation, rel=1e-9
        )


@pytest.mark.slow
def test_processes_without_a_rank_that_run_together_add_up(tmp_path):
    code = (
        "import sys\n"
        "from rewards.training.recorded_runs import *\n"
        "t = [Turn(response='0.9 0.1', prompt='p', behavior='refuse')]\n"
        f"w = watch_of({str(tmp_path / 'run')!r})\n"
        "s = scored(t)\n"
        "w.add(s, t, step=0)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "w.add(s, t, step=0)\n"
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=own_environment(),
            text=True,
        )
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.communicate("go\n", timeout=30)

    [step] = read_training_run(tmp_path / "run").steps

    assert step.n == 4


@pytest.mark.ci
def test_parts_that_are_read_one_after_the_other_give_the_figures_of_their_steps(tmp_path):
    """Two parts of 9 MiB are read together, not six; those of two ranks share their steps."""
    recorded(tmp_path / "run", n_steps=1)
    [part] = parts_of(tmp_path / "run")
    rows = pl.read_parquet(part)
    part.unlink()
    rng = np.random.default_rng(0)
    for rank in range(2):
        session = f"r{rank}of2-{1_000 * (rank + 1)}-abc{rank}"
        for number in range(3):  # a step ends in the part after that in which it began
            texts = [rng.bytes(190_000).hex() for _ in range(rows.height)]
            low, high = 2 * number, 2 * number + 3
            name = f"{session}-{number:06d}-{low}-{high}-{1_000_000 + number}.parquet"
            rows.with_columns(
                step=pl.Series(np.sort(rng.integers(low, high + 1, rows.height))),
                response=pl.Series(texts),
                reward=pl.Series(rng.normal(size=rows.height)),
            ).write_parquet(part.with_name(name), compression="uncompressed")
    assert all(path.stat().st_size > 2**23 for path in parts_of(tmp_path / "run"))

    steps = read_training_run(tmp_path / "run").steps

    by_step = pl.concat(map(pl.read_parquet, parts_of(tmp_path / "run"))).group_by("step")
    expected = by_step.agg(
        n=pl.len(), mean=pl.col("reward").mean(), sd=pl.col("reward").std()
    ).sort("step")
    assert [(step.step, step.n) for step in steps] == list(expected.select("step", "n").iter_rows())
    assert [step.reward_mean for step in steps] == pytest.approx(expected["mean"].to_list())
    assert [step.reward_sd for step in steps] == pytest.approx(expected["sd"].to_list())


# Sessions -------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("sessions", "expected"),
    [  # when each began, its first step of ten, its rank, and how many there are
        pytest.param([(0, 0, None, 1), (1, 0, None, 1)], [2] * 10, id="side by side"),
        pytest.param([(0, 0, None, 1), (10, 5, None, 1)], [1] * 15, id="one after the other"),
        pytest.param([(0, 0, 0, 2), (20, 0, 1, 2)], [2] * 10, id="a rank that begins late"),
        pytest.param(
            [(0, 0, 0, 2), (0, 0, 1, 2), (10, 4, 0, 2), (11, 4, 1, 2)],
            [2] * 14,
            id="all ranks again",
        ),
        pytest.param(
            [(0, 0, 0, 2), (0, 0, 1, 2), (10, 4, 0, 1)],
            [2] * 4 + [1] * 10,
            id="fewer ranks than before",
        ),
    ],
)
def test_a_session_counts_until_another_takes_its_place(run_of, sessions, expected):
    assert run_of(*sessions) == dict(enumerate(expected))


def test_steps_that_are_counted_go_on_behind_those_of_sessions_that_ended(run_of):
    sessions = [(0, 0, None, 1), (1, 0, None, 1), (20, 0, None, 1)]

    assert run_of(*sessions, ending="-counted") == dict.fromkeys(range(10), 2) | dict.fromkeys(
        range(10, 20), 1
    )


def test_steps_behind_a_checkpoint_that_was_gone_back_to_do_not_count(tmp_path):
    recorded(tmp_path / "run", n_steps=6)
    watch = watch_of(tmp_path / "run")
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    watch.add(scored(turns), turns, step=3)
    watch.close()

    found = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in found.steps] == [(0, 24), (1, 24), (2, 24), (3, 1)]


# Damage ---------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_process_that_is_killed_leaves_whole_parts(tmp_path):
    code = (
        "import itertools\n"
        "from rewards.training.recorded_runs import *\n"
        f"w = watch_of({str(tmp_path / 'run')!r})\n"
        "t = [Turn(response='0.9 0.1' + ' ' * 999, prompt='p', behavior='refuse')] * 50\n"
        "s = scored(t)\n"
        "for step in itertools.count():\n"
        "    w.add(s, t, step=step)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], env=own_environment())
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(parts_of(tmp_path / "run")) < 4:
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)
    worker.wait()

    run = read_training_run(tmp_path / "run")

    assert [step.step for step in run.steps] == list(range(len(run.steps)))
    assert len(run.steps) > 100  # parts of 5,000 rows
    assert {step.n for step in run.steps[:-1]} == {50}
    assert run.dropped == ()
    assert {row["item"] for row in rows_in(tmp_path / "run")} == {
        f"{row['session']}-{n}" for n, row in enumerate(rows_in(tmp_path / "run"))
    }


@pytest.mark.ci
def test_what_waits_is_written_without_another_call(tmp_path):
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    watch, scores = watch_of(tmp_path / "run"), scored(turns)
    for _ in range(3):
        watch.add(scores, turns, step=0)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(parts_of(tmp_path / "run")) < 2:
        time.sleep(0.05)

    assert [step.n for step in read_training_run(tmp_path / "run").steps] == [3]


@pytest.mark.ci
@pytest.mark.parametrize("begin", ["fork", "spawn"])
def test_what_waits_is_written_where_a_process_ends(tmp_path, begin):
    """Also where the parent used polars, whose threads no forked process has."""
    code = (
        "import multiprocessing, sys\n"
        "import polars as pl\n"
        "from rewards.training.recorded_runs import *\n"
        "t = [Turn(response='0.9 0.1', prompt='p', behavior='refuse')]\n"
        "def work(folder):\n"
        "    w = watch_of(folder)\n"
        "    s = scored(t)\n"
        "    for step in range(3):\n"
        "        w.add(s, t, step=step)\n"
        "if __name__ == '__main__':\n"
        "    watch_of(sys.argv[1])\n"
        "    pl.DataFrame({'a': [1, 2]}).filter(pl.col('a') > 1)\n"
        f"    context = multiprocessing.get_context({begin!r})\n"
        "    worker = context.Process(target=work, args=(sys.argv[1],))\n"
        "    worker.start()\n"
        "    worker.join()\n"
    )
    script = tmp_path / "train.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, str(script), str(tmp_path / "run")]
    subprocess.run(command, env=own_environment(), check=True, timeout=120)

    run = read_training_run(tmp_path / "run")

    assert [step.n for step in run.steps] == [1, 1, 1]


def test_a_part_that_is_cut_off_is_left_out_and_listed(tmp_path):
    recorded(tmp_path / "run", n_steps=3)
    first, second = parts_of(tmp_path / "run")
    second.write_bytes(second.read_bytes()[:-40])

    run = read_training_run(tmp_path / "run")

    assert [step.step for step in run.steps] == [0]
    assert len(run.dropped) == 1
    assert run.dropped[0].startswith(f"{second.name}: is damaged, or no part of this run (")
    assert first.name not in run.dropped[0]


@pytest.mark.edges
@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"nothing",
        b"PAR1" * 9,
        pl.DataFrame({"step": [1]}),
        pl.DataFrame({"item": ["x"], "step": ["soon"]}),
    ],
    ids=["empty", "text", "marks", "another table", "words for steps"],
)
def test_a_file_that_is_no_part_costs_that_file(tmp_path, damage):
    recorded(tmp_path / "run", n_steps=2)
    foreign = tmp_path / "run" / "completions" / "a.parquet"
    if isinstance(damage, bytes):
        foreign.write_bytes(damage)
    else:
        damage.write_parquet(foreign)

    run = read_training_run(tmp_path / "run")

    assert [step.n for step in run.steps] == [24, 24]
    assert len(run.dropped) == 1
    assert run.dropped[0].startswith("a.parquet: is damaged, or no part of this run (")


@pytest.mark.ci
def test_bytes_that_are_changed_cost_a_part_or_nothing(tmp_path):
    recorded(tmp_path / "run", n_steps=2)
    rng = np.random.default_rng(0)
    [_, part] = parts_of(tmp_path / "run")
    whole = part.read_bytes()
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        part.write_bytes(damaged)

        run = read_training_run(tmp_path / "run")

        assert run.steps[0].n >= 24 or run.dropped


def test_numbers_of_a_stranger_that_cannot_be_are_none(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    [part] = parts_of(tmp_path / "run")
    odd = {"sorry": 7.0, "reward": math.inf, "class:good": math.nan}
    pl.read_parquet(part).with_columns(**{k: pl.lit(v) for k, v in odd.items()}).write_parquet(part)

    [step] = read_training_run(tmp_path / "run").steps

    assert math.isnan(step.proposition_rates["sorry"])
    assert step.n_missing == step.n == 24
    assert math.isnan(step.class_shares["chat"]["good"])


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, r"which holds no run\.json"),
        ("{", r"run\.json:1:2: .* must be a JSON object"),
        ('{"schema": "voirdire.reward/1"}', "must be 'voirdire.training/3', got 'voirdire.rew"),
        ('{"schema": "voirdire.training/3"}', "must say what the run is about"),
        (
            json.dumps({"schema": "voirdire.training/3", "name": 3, "rubric": 4, "judge": 5}),
            "must say what the run is about",
        ),
    ],
)
def test_a_folder_that_is_no_run_is_refused(tmp_path, content, match):
    if content is not None:
        (tmp_path / "run.json").write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match=match):
        read_training_run(tmp_path)


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(InputError, match="which is a file"):
        read_training_run(tmp_path / "file")
    with pytest.raises(InputError, match="which does not exist"):
        read_training_run(tmp_path / "nowhere")


def test_a_run_without_a_step_is_a_run(tmp_path):
    watch_of(tmp_path / "run")

    run = read_training_run(tmp_path / "run")

    assert (run.steps, run.alarms, run.n_completions) == ((), (), 0)


def test_a_run_says_what_it_is_about(tmp_path):
    recorded(tmp_path / "run", n_steps=2)
    reward = tiny_reward()

    run = read_training_run(tmp_path / "run")

    assert (run.name, run.framework, run.reward_name) == ("mine", "python", reward.name)
    assert run.reward_hash == reward.content_hash
    assert (run.rubric, run.rubric_hash) == ("tiny 1", reward.rubric.content_hash)
    assert (run.propositions, run.behaviors) == (("sorry", "rude"), ("refuse", "chat"))
    assert run.paying == {"refuse": ("sorry", "rude"), "chat": ("rude",)}
    assert run.question_texts["rude"] == {"en": "Is it rude?"}
    assert run.length_unit == "tokens"
    assert run.n_completions == 48


# Folders of strangers -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_in_the_folder_is_not_read(tmp_path, kind):
    recorded(tmp_path / "run", n_steps=2)
    for path in (tmp_path / "run" / "run.json", tmp_path / "run" / "completions" / "x.parquet"):
        before = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
        if before is not None:
            with pytest.raises(InputError, match=r"run\.json: .*a regular file"):
                read_training_run(tmp_path / "run")
            path.unlink()
            path.write_bytes(before)

    run = read_training_run(tmp_path / "run")

    assert len(run.steps) == 2
    assert run.dropped == ("x.parquet: is damaged, or no part of this run (no part)",)


def test_a_part_without_the_name_of_one_does_not_count(tmp_path):
    recorded(tmp_path / "run", n_steps=2)
    part = parts_of(tmp_path / "run")[0]
    part.rename(part.with_name("r0of" + "9" * 99 + part.name))

    run = read_training_run(tmp_path / "run")

    assert [step.step for step in run.steps] == [1]
    assert len(run.dropped) == 1


def test_steps_that_a_killed_process_lost_are_told(tmp_path):
    turns = [Turn(response="0.9 0.1", prompt="p", behavior="refuse")]
    watch, scores = watch_of(tmp_path / "run"), scored(turns)
    for step in (0, 2, 4, 6, 14, 16):  # every second one, as where two steps share completions
        watch.add(scores, turns, step=step)
    watch.close()

    assert read_training_run(tmp_path / "run").gaps == ((6, 14),)
