"""A folder of files is scored into a folder of rewards, each file once."""

import json

import polars as pl
import pytest

from voirdire import rewards
from voirdire.errors import InputError
from voirdire.judging import LlmJudge, judge_folder
from voirdire.rewards import score_file, score_folder

RESPONSES = ("I'm sorry, but I can't help with that.", "First open the lid, then turn the screw.")


@pytest.fixture(scope="module")
def reward():
    """A reward with weights by hand, on what the local judge answers."""
    return rewards.reward_of_weights(
        {"comply": {"apology": -1.0, "fully_complies": 2.0}}, rubric="safety", name="by hand"
    )


@pytest.fixture
def items(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abc":
        rows = [
            {
                "id": f"{name}{n}",
                "prompt": "How?",
                "response": RESPONSES[n % 2],
                "behavior": "comply",
            }
            for n in range(4)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def read(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


def test_a_folder_is_scored_as_one_table_would_be(tmp_path, reward, items):
    found = score_folder(items, tmp_path / "out", reward=reward)
    score_file(items, tmp_path / "one.parquet", reward=reward)

    assert (found.n_files, found.n_files_there, len(found.parts)) == (3, 0, 3)
    assert read(tmp_path / "out").equals(pl.read_parquet(tmp_path / "one.parquet"))
    again = score_folder(items, tmp_path / "out", reward=reward)
    assert (again.n_files_there, again.parts) == (3, ())
    other = score_folder(items, tmp_path / "out", reward=reward, center=True)
    assert other.n_files_there == 0


def test_verdicts_of_a_folder_are_joined_and_shards_part_the_files(tmp_path, reward, items):
    judge_folder(items, tmp_path / "verdicts", rubric="safety")

    for number in (1, 2):
        score_folder(
            items, tmp_path / "out", reward=reward, verdicts=tmp_path / "verdicts",
            shard=f"{number}/2",
        )  # fmt: skip
    score_folder(items, tmp_path / "judged", reward=reward)

    assert read(tmp_path / "out").equals(read(tmp_path / "judged"))


def test_a_file_that_cannot_be_scored_is_named(tmp_path, reward, items):
    (items / "b.jsonl").write_text("no JSON\n")

    found = score_folder(items, tmp_path / "out", reward=reward)

    assert list(found.failed) == [str(items / "b.jsonl")]
    assert sorted(read(tmp_path / "out")["item"].str.head(1).unique()) == ["a", "c"]
    judge = LlmJudge(model="openai/x", base_url="http://localhost:1/v1", max_cost=1.0)
    with pytest.raises(InputError, match="`max_cost` must be left out"):
        score_folder(items, tmp_path / "out", reward=reward, judge=judge)
