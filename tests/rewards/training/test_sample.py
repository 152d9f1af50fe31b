"""A sample of a run: drawn as it says, blind, in the shape that an examination reads."""

import csv
import json
import stat
from collections import Counter

import numpy as np
import polars as pl
import pytest

from rewards.training.recorded_runs import recorded, scored, watch_of
from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels, stream_items
from voirdire.rewards import Turn, sample_training_run, write_sample


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Record a run of nine steps, 16 refusals and 8 chats each."""
    folder = tmp_path_factory.mktemp("sampled") / "run"
    recorded(folder, n_steps=9)
    return folder


def sheet(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Drawing --------------------------------------------------------------------------------------


def test_strata_get_their_share(run):
    found = sample_training_run(run, n=36)

    # 216 completions: 48 refusals and 24 chats in each third
    assert found.strata == {
        f"{behavior}/{phase}": (n, n // 6)
        for behavior, n in (("chat", 24), ("refuse", 48))
        for phase in ("early", "late", "middle")
    }
    assert Counter(row.stratum for row in found.items) == {
        name: n_drawn for name, (_, n_drawn) in found.strata.items()
    }
    assert {row.inclusion_probability for row in found.items} == {1 / 6}


@pytest.mark.edges
@pytest.mark.parametrize("n", [1, 2, 5, 7, 100, 215])
def test_so_many_are_drawn_and_no_stratum_goes_empty(run, n):
    found = sample_training_run(run, n=n)

    drawn = [n_drawn for _, n_drawn in found.strata.values()]
    assert sum(drawn) == len(found.items) == max(n, 6)
    assert min(drawn) >= 1
    assert len({row.completion["item"] for row in found.items}) == len(found.items)


def test_all_are_drawn_where_there_are_fewer(run):
    found = sample_training_run(run, n=10_000)

    assert len(found.items) == 216
    assert {row.inclusion_probability for row in found.items} == {1.0}


def test_the_same_seed_draws_the_same_sample(run):
    first, again = sample_training_run(run, n=12, seed=3), sample_training_run(run, n=12, seed=3)
    other = sample_training_run(run, n=12, seed=4)

    ids = [[row.completion["item"] for row in one.items] for one in (first, again, other)]
    assert ids[0] == ids[1]
    assert set(ids[0]) != set(ids[2])


@pytest.mark.slow
def test_every_completion_is_drawn_as_often_as_its_probability_says(run):
    n_seeds, n = 120, 36
    counts = Counter(
        row.completion["item"]
        for seed in range(n_seeds)
        for row in sample_training_run(run, n=n, seed=seed).items
    )

    drawn = np.array([counts[name] for name in counts] + [0] * (216 - len(counts)))
    # binomial with p = 1/6: mean 20, standard deviation 4.1; the largest of 216 within 4.5 of them
    assert drawn.sum() == n_seeds * n
    assert drawn.max() <= 20 + 4.5 * 4.1
    assert drawn.min() >= 20 - 4.5 * 4.1
    assert drawn.var() == pytest.approx(120 / 6 * 5 / 6, rel=0.35)


def test_a_policy_that_repeats_itself_is_labelled_once(tmp_path):
    watch = watch_of(tmp_path / "run")
    same = Turn(response="0.9 0.1", prompt="p", behavior="refuse")
    for step in range(6):
        turns = [same] * 9 + [Turn(response=f"0.{step + 1} 0.5", prompt="p", behavior="refuse")]
        watch.add(scored(turns), turns, step=step)
    watch.close()

    found = sample_training_run(tmp_path / "run", n=50)

    assert (found.n_completions, len(found.items)) == (60, 7)
    occurrences = {row.item.response: row.n_occurrences for row in found.items}
    assert occurrences["0.9 0.1"] == 54
    assert set(occurrences.values()) == {54, 1}


def test_what_is_no_text_or_not_paid_for_is_not_drawn(tmp_path):
    watch = watch_of(tmp_path / "run")
    turns = [
        Turn(response=None, prompt="p", behavior="refuse"),
        Turn(response="0.9 0.1", prompt="p", behavior="none of these"),
        Turn(response="0.9 0.1", prompt="p"),
    ]
    watch.add(scored(turns), turns, step=0)
    watch.close()

    with pytest.raises(NoDataError, match="of a behavior that its reward pays for, got none"):
        sample_training_run(tmp_path / "run")


def test_messages_are_drawn_as_they_were_written(tmp_path):
    asked = [{"role": "user", "content": "prompt"}]
    said = {"role": "assistant", "content": "0.9 0.1"}
    called = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    turns = [
        Turn(response=response, prompt=asked, behavior="refuse")
        for response in ([said], [said], [called], said["content"])
    ]
    watch = watch_of(tmp_path / "run")
    watch.add(scored(turns), turns, step=0)
    watch.close()

    found = sample_training_run(tmp_path / "run")
    files = write_sample(found, tmp_path / "sample")

    # a call of a tool is no response that a judge reads
    assert (found.n_completions, len(found.items)) == (3, 2)
    drawn = {row.n_occurrences: row for row in found.items}
    assert drawn[2].completion["response"] == [said]
    assert drawn[1].completion["response"] == said["content"]
    lines = files.items.read_text(encoding="utf-8").splitlines()
    assert [row["prompt"] for row in map(json.loads, lines)] == [asked, asked]
    [batch] = stream_items(files.items)
    assert [item.response for item in batch.items] == ["0.9 0.1", "0.9 0.1"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n": 0}, "`n` must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0"),
    ],
)
def test_arguments_that_break_a_rule_are_refused(run, settings, match):
    with pytest.raises(InputError, match=match):
        sample_training_run(run, **settings)


# Files ----------------------------------------------------------------------------------------


@pytest.fixture
def written(run, tmp_path):
    sample = sample_training_run(run, n=24)
    return sample, write_sample(sample, tmp_path / "sample", n_annotators=2)


def test_what_annotators_get_says_nothing_of_judge_and_run(written):
    _, files = written
    known = ("0.", "reward", "step", "scripted", "p1", "fingerprint", "early", "late")

    rows = [json.loads(line) for line in files.items.read_text(encoding="utf-8").splitlines()]

    assert {tuple(row) for row in rows} == {("id", "prompt", "response", "behavior")}
    columns = ["item", "question", "label", "asked", "annotator", "prompt", "response"]
    for path in files.sheets:
        found = sheet(path)
        assert list(found[0]) == columns
        assert {row["label"] for row in found} == {""}
        heads = [f"{row['item']} {row['question']} {row['annotator']}" for row in found]
        assert not [head for head in heads if any(word in head for word in known)]


def test_each_item_is_asked_about_what_its_reward_depends_on(written):
    sample, files = written

    asked = Counter(row["question"] for row in sheet(files.sheets[0]))

    # 24 · 48/216 = 5 1/3 refusals and 2 2/3 chats of each third: 5 and 3. Refusals pay for both
    # propositions, chats for `rude` alone
    assert asked == {"rude": 24, "sorry": 15}
    assert files.n_labels == 39
    assert len(sample.items) == 24


def test_texts_stand_beside_the_first_question_of_their_item(written):
    sample, files = written
    texts = {row.name: row.item.response for row in sample.items}
    seen = set()

    for row in sheet(files.sheets[1]):
        expected = "" if row["item"] in seen else texts[row["item"]]
        assert row["response"] == expected
        seen.add(row["item"])

    assert seen == set(texts)


def test_the_key_says_where_each_item_is_from(written, run):
    sample, files = written
    rows = [json.loads(line) for line in files.key.read_text(encoding="utf-8").splitlines()]
    parts = sorted((run / "completions").glob("*.parquet"))
    whole = {row["item"]: row for row in pl.read_parquet(parts).iter_rows(named=True)}

    assert [row["item"] for row in rows] == [row.name for row in sample.items]
    for row, item in zip(rows, sample.items, strict=True):
        assert whole[row["completion"]]["response"] == item.item.response
        assert whole[row["completion"]]["step"] == row["step"]
        assert row["inclusion_probability"] == item.inclusion_probability


def test_filled_sheets_and_verdicts_are_read_as_labels(written):
    _, files = written
    for path in files.sheets:
        rows = [row | {"label": "yes"} for row in sheet(path)]
        pl.DataFrame(rows).write_csv(path)

    humans = [read_labels(path, kind="boolean", role="annotator") for path in files.sheets]
    judges = read_labels(files.verdicts, kind="boolean", role="judge")

    assert [table.frame.height for table in humans] == [39, 39]
    assert not any(table.dropped for table in humans)
    pairs = [set(t.frame.select("item", "question").iter_rows()) for t in (*humans, judges)]
    assert pairs[0] == pairs[1] == pairs[2]


def test_verdicts_are_those_of_the_run(written):
    sample, files = written
    frame = pl.read_parquet(files.verdicts)

    for row in sample.items:
        sorry, rude = map(float, row.item.response.split())
        own = frame.filter(pl.col("item") == row.name)
        found = dict(zip(own["question"], own["probability"], strict=True))
        assert found == {"rude": rude} | ({"sorry": sorry} if "sorry" in found else {})
        assert own["label"].to_list() == [value >= 0.5 for value in found.values()]


def test_a_verdict_that_failed_is_a_failure(tmp_path):
    watch = watch_of(tmp_path / "run")
    turns = [Turn(response="nan 0.5", prompt="p", behavior="refuse")]
    watch.add(scored(turns), turns, step=0)
    watch.close()

    files = write_sample(sample_training_run(tmp_path / "run"), tmp_path / "sample")

    frame = pl.read_parquet(files.verdicts)
    assert frame.select("question", "label", "failure").rows() == [
        ("sorry", None, "failed verdict: the judge gave no probability"),
        ("rude", True, None),
    ]


def test_items_are_read_as_items(written):
    sample, files = written

    [batch] = stream_items(files.items)

    assert [item.response for item in batch.items] == [row.item.response for row in sample.items]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('=HYPERLINK("http://x","0.9")', '\'=HYPERLINK("http://x","0.9")'),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("  =1", "'  =1"),
        ("\n\r=1", "'\n\r=1"),
        ("\v\xa0=1", "'\v\xa0=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("1 + 1 = 2", "1 + 1 = 2"),
    ],
)
def test_texts_that_a_spreadsheet_would_run_are_harmless_in_the_sheet(tmp_path, text, expected):
    watch = watch_of(tmp_path / "run")
    turns = [Turn(response=text, prompt=text, behavior="refuse")]
    watch.add(scored(turns), turns, step=0)
    watch.close()

    files = write_sample(sample_training_run(tmp_path / "run"), tmp_path / "sample")

    first = sheet(files.sheets[0])[0]
    assert (first["response"], first["prompt"]) == (expected, expected)
    assert json.loads(files.items.read_text(encoding="utf-8"))["response"] == text


def test_a_formula_in_the_place_of_a_proposition_is_refused(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    about = tmp_path / "run" / "run.json"
    about.write_text(about.read_text(encoding="utf-8").replace("sorry", "=1+1"), encoding="utf-8")
    for path in (tmp_path / "run" / "completions").iterdir():
        pl.read_parquet(path).rename({"sorry": "=1+1"}).write_parquet(path)

    with pytest.raises(InputError, match=r"no spreadsheet runs as a formula, got '=1\+1'"):
        write_sample(sample_training_run(tmp_path / "run"), tmp_path / "sample")

    assert not (tmp_path / "sample").exists()


# The folder -----------------------------------------------------------------------------------


def test_labels_are_never_overwritten(written, run):
    sample, files = written
    rows = sheet(files.sheets[0])
    rows[7]["label"] = "no"
    pl.DataFrame(rows).write_csv(files.sheets[0])
    before = files.sheets[0].read_bytes()

    with pytest.raises(InputError, match="`output` must hold no labels, got some"):
        write_sample(sample, files.folder)

    assert files.sheets[0].read_bytes() == before


def test_a_sheet_that_cannot_be_read_may_be_somebodys_work(written):
    sample, files = written
    files.sheets[1].write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InputError, match="`output` must hold no labels"):
        write_sample(sample, files.folder)


def test_empty_sheets_are_replaced(written, run):
    _, files = written

    write_sample(sample_training_run(run, n=12), files.folder, n_annotators=1)

    assert sorted(path.name for path in files.folder.iterdir()) == [
        "items.jsonl",
        "key.jsonl",
        "labels-1.csv",
        "verdicts.parquet",
    ]


def test_other_files_are_refused(written, tmp_path):
    sample, _ = written
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match=r"holds 'thesis\.txt'"):
        write_sample(sample, tmp_path / "mine")
    with pytest.raises(InputError, match="`output` must be a folder, got the file"):
        write_sample(sample, tmp_path / "mine" / "thesis.txt")


def test_only_the_owner_can_read_the_texts(written):
    _, files = written

    assert {stat.S_IMODE(path.stat().st_mode) for path in files.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700
