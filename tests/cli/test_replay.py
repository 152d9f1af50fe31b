"""`voirdire replay`: what is printed, what is written, and what is refused."""

from dataclasses import replace

import polars as pl
import pytest

from rewards.reward_cases import WEIGHTS, tiny_reward, tiny_rubric
from rewards.training.recorded_runs import recorded
from voirdire.errors import UncertifiedWarning
from voirdire.rewards import load_reward, reward_of_weights
from voirdire.rubrics import rubric_to_yaml


@pytest.fixture
def files(tmp_path):
    """Write a run, a rubric, its own reward and another one."""
    (tmp_path / "tiny.yaml").write_text(rubric_to_yaml(tiny_rubric()), encoding="utf-8")
    own = tiny_reward(rubric=tmp_path / "tiny.yaml", name="own")
    own.save(tmp_path / "own.json")
    turned = {
        behavior: {name: -weight for name, weight in weights.items()}
        for behavior, weights in WEIGHTS.items()
    }
    other = reward_of_weights(turned, rubric=tmp_path / "tiny.yaml", judge=None, name="turned")
    other.save(tmp_path / "turned.json")
    recorded(tmp_path / "run", n_steps=20, reward=own)
    return tmp_path


def test_both_rewards_stand_side_by_side(call, files):
    done = call("replay", files / "run", "--reward", files / "turned.json")

    assert done.code == 0
    assert "480 completions of" in done.out
    said = " ".join(done.out.split())
    assert "rewards of own, and of turned; 0 judged anew" in said
    assert "0% of the pairs that a reward tells apart stay in the same order" in said
    assert "another completion is best in 100% of the groups" in said
    assert "12 of 20 steps; the JSON has all" in said
    assert "note: reward 'turned' pays for 2 propositions" in done.err


def test_json_has_every_step(call, files):
    found = call("replay", files / "run", "--reward", files / "turned.json", "--json").json

    assert [part["step"] for part in found["steps"]] == list(range(20))
    assert found["whole"]["mean_after"] == pytest.approx(-found["whole"]["mean_before"])
    assert found["whole"]["correlation"] == pytest.approx(-1.0)


def test_rewards_are_written(call, files):
    out = files / "r.parquet"

    done = call("replay", files / "run", "--reward", files / "own.json", "-o", out)

    assert f"written: {out}" in done.out
    written = pl.read_parquet(sorted((files / "run" / "completions").glob("*.parquet")))
    assert pl.read_parquet(out)["reward"].equals(written["reward"])


def test_verdicts_that_do_not_fit_are_missing_and_the_program_says_so(call, files):
    path = files / "tiny.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("Is it rude?", "Is it impolite?"), encoding="utf-8")
    reward_of_weights(WEIGHTS, rubric=path, judge=None, name="new").save(files / "new.json")

    done = call("replay", files / "run", "--reward", files / "new.json")

    assert done.code == 1
    assert "no completion got a reward" in done.err
    assert "asked with other words than in the run, whose answers are not used: rude" in done.err


@pytest.mark.edges
@pytest.mark.parametrize(
    "options", [("--store", "s.sqlite"), ("--mode", "single"), ("--max-cost", "1")]
)
def test_options_of_calls_need_somebody_to_call(call, files, options):
    done = call("replay", files / "run", "--reward", files / "own.json", *options)

    assert done.code == 2
    assert "must be left out: nobody is asked" in " ".join(done.err.split())


def test_a_folder_that_is_no_run_is_one_line(call, files):
    done = call("replay", files, "--reward", files / "own.json")

    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert last.startswith("voirdire: `RUN` must be the folder of a training run")
    assert last.endswith("Name what was given to its reward as record.")
    assert "Traceback" not in done.err


def test_rewards_never_become_a_file_of_the_run(call, files):
    output = files / "run" / "completions" / "mine.parquet"
    before = sorted(path.name for path in (files / "run").rglob("*"))

    done = call("replay", files / "run", "--reward", files / "own.json", "-o", output)

    assert done.code == 1
    assert done.err.startswith("voirdire: `--output` must be no file of the run itself, got '/")
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in (files / "run").rglob("*")) == before


def test_an_order_that_nothing_has_is_said_in_words_and_options_by_their_names(call, files):
    with pytest.warns(UncertifiedWarning):
        own = load_reward(files / "own.json")
    other_judge = replace(own.judge, fingerprint="sha256:" + "0" * 64)
    replace(own, judge=other_judge).save(files / "elsewhere.json")

    done = call("replay", files / "run", "--reward", files / "elsewhere.json")

    assert "No group has two completions that both rewards pay." in done.out
    said = " ".join(done.err.split())
    assert "use them with `--other-judge`" in said
