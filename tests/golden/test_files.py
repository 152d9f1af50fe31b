"""Files that were written once are read with the same results.

Most of them are read by golden runs (`{written}` in `commands.py`); here stands what no command
shows: that forms of one file agree, and what store, certificate and reward hold.
"""

import json
import shutil

import polars as pl
import pytest

from golden.commands import STORED
from golden.figures import read_golden
from golden.inputs import write_inputs
from golden.runs import FILES, KEPT, Places, call, plain_pipe
from voirdire import UncertifiedWarning, load_reward
from voirdire.rewards import read_certificate
from voirdire.store import open_store


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_verdicts_say_the_same_in_every_kind_of_file(layout, kind):
    golden = read_golden(KEPT / f"opened_{layout}_parquet.json")

    assert read_golden(KEPT / f"opened_{layout}_{kind}.json") == golden


def test_stored_replies_are_not_asked_for_again(tmp_path):
    shutil.copy(FILES / "replies.sqlite", tmp_path)
    words = Places(inputs=write_inputs(tmp_path), shared=tmp_path).filled(STORED)

    with plain_pipe(tmp_path):
        status, out, _ = call(words)

    calls = json.loads(out)["calls"]
    assert (status, calls["n_calls"]) == (0, 0)
    assert calls["n_reused"] > 0
    written = pl.read_parquet(FILES / "long.parquet").drop("shift", "form", "attempts")
    assert pl.read_parquet(tmp_path / "out.parquet").drop("response_hash").equals(written)


def test_a_store_has_its_judge_and_every_call(tmp_path):
    store = open_store(shutil.copy(FILES / "replies.sqlite", tmp_path))

    counts = [sum(1 for _ in store.scan(judge.id)) for judge in store.judges()]
    store.close()

    assert counts == [44]  # 24 items, and 20 of them in another order


def test_a_certificate_is_whole():
    found = read_certificate(FILES / "certificate.json")

    assert found.outcomes["tone | near | accuracy | 0.2"] == "passed"
    assert len(found.outcomes) == 8  # two questions, four judges


def test_a_reward_has_its_weights():
    with pytest.warns(UncertifiedWarning):
        found = load_reward(FILES / "first.json")

    assert found.behaviors["refuse"].weights["rude"] == -2.0
    assert found.behaviors["chat"].weights["chat.good"] == 2.0
