"""A sample of a run: drawn as it says, blind, in the shape that an examination reads."""

import csv
import json
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rewards.training.recorded_runs import recorded, scored, watch_of
from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels, stream_items
from voirdire.rewards import Turn, sample_training_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Record a run of nine steps, 16 refusals and 8 chats each."""
    folder = tmp_path_factory.mktemp("sampled") / "run"
    recorded(folder, n_steps=9)
    return folder


def sheet(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


# Drawing --------------------------------------------------------------------------------------


@pytest.fixture
def draw(run, tmp_path):
    """Draw a sample; give it with what was drawn, by the names of items."""

    def drawn(*, of=run, **settings):
        sample = sample_training_run(of, tmp_path / f"{len(list(tmp_path.iterdir()))}", **settings)
        return sample, {row["item"]: row for row in lines_of(sample.key)}

    return drawn


def test_strata_get_their_share(draw):
    found, drawn = draw(n=36)

    # 216 completions: 48 refusals and 24 chats in each third
    assert found.strata == {
        f"{behavior}/{phase}": {"n_different": n, "n_drawn": n // 6}
        for behavior, n in (("chat", 24), ("refuse", 48))
        for phase in ("early", "late", "middle")
    }
    assert Counter(row["stratum"] for row in drawn.values()) == {
        name: each["n_drawn"] for name, each in found.strata.items()
    }
    assert {row["inclusion_probability"] for row in drawn.values()} == {1 / 6}


@pytest.mark.edges
@pytest.mark.parametrize("n", [1, 2, 5, 7, 100, 215, 10_000])
def test_so_many_are_drawn_and_no_stratum_goes_empty(draw, n):
    found, drawn = draw(n=n)

    counts = [each["n_drawn"] for each in found.strata.values()]
    assert sum(counts) == found.n_items == len(drawn) == min(max(n, 6), 216)
    assert min(counts) >= 1
    assert len({row["completion"] for row in drawn.values()}) == len(drawn)


def test_the_same_seed_draws_the_same_sample(draw):
    ids = [[row["completion"] for row in draw(n=12, seed=seed)[1].values()] for seed in (3, 3, 4)]

    assert ids[0] == ids[1]
    assert set(ids[0]) != set(ids[2])


@pytest.mark.slow
def test_every_completion_is_drawn_as_often_as_its_probability_says(draw):
    n_seeds, n = 120, 36
    counts = Counter(
        row["completion"]
        for seed in range(n_seeds)
        for row in draw(n=n, n_annotators=1, seed=seed)[1].values()
    )

    drawn = np.array([*counts.values()] + [0] * (216 - len(counts)))
    # binomial with p = 1/6: mean 20, standard deviation 4.1; the largest of 216 within 4.5 of them
    assert drawn.sum() == n_seeds * n
    assert drawn.max() <= 20 + 4.5 * 4.1
    assert drawn.min() >= 20 - 4.5 * 4.1
    assert drawn.var() == pytest.approx(120 / 6 * 5 / 6, rel=0.35)


def record(folder, *steps):
    """Record turns, step by step."""
    watch = watch_of(folder)
    for step, turns in enumerate(steps):
        watch.add(scored(turns), turns, step=step)
    watch.close()
    return folder


def test_a_policy_that_repeats_itself_is_labelled_once(draw, tmp_path):
    same = Turn(response="0.9 0.1", prompt="p", behavior="refuse")
    steps = [
        [same] * 9 + [Turn(response=f"0.{step + 1} 0.5", prompt="p", behavior="refuse")]
        for step in range(6)
    ]

    found, drawn = draw(of=record(tmp_path / "run", *steps), n=50)

    assert (found.n_completions, found.n_different, len(drawn)) == (60, 7, 7)
    responses = {row["id"]: row["response"] for row in lines_of(found.items)}
    occurrences = {responses[name]: row["n_occurrences"] for name, row in drawn.items()}
    assert occurrences["0.9 0.1"] == 54
    assert set(occurrences.values()) == {54, 1}


def test_what_is_no_text_or_not_paid_for_is_not_drawn(draw, tmp_path):
    turns = [
        Turn(response=None, prompt="p", behavior="refuse"),
        Turn(response="0.9 0.1", prompt="p", behavior="none of these"),
        Turn(response="0.9 0.1", prompt="p"),
    ]

    with pytest.raises(NoDataError, match="of a behavior that its reward pays for, got none"):
        draw(of=record(tmp_path / "run", turns))


def test_messages_are_drawn_as_they_were_written(draw, tmp_path):
    asked = [{"role": "user", "content": "prompt"}]
    said = {"role": "assistant", "content": "0.9 0.1"}
    called = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    turns = [
        Turn(response=response, prompt=asked, behavior="refuse")
        for response in ([said], [said], [called], said["content"])
    ]

    found, drawn = draw(of=record(tmp_path / "run", turns))

    # a call of a tool is no response that a judge reads
    assert (found.n_completions, found.n_items) == (3, 2)
    rows = lines_of(found.items)
    responses = {drawn[row["id"]]["n_occurrences"]: row["response"] for row in rows}
    assert responses == {2: [said], 1: said["content"]}
    assert [row["prompt"] for row in rows] == [asked, asked]
    [batch] = stream_items(found.items)
    assert [item.response for item in batch.items] == ["0.9 0.1", "0.9 0.1"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n": 0}, "`n` must be a whole number of at least 1, got 0"),
        ({"n_annotators": 0}, "`n_annotators` must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0"),
        ({"language": "fr"}, "`language` must be one of"),
    ],
)
def test_arguments_that_break_a_rule_are_refused(draw, settings, match):
    with pytest.raises(InputError, match=match):
        draw(**settings)


# Files ----------------------------------------------------------------------------------------


@pytest.fixture
def written(run, tmp_path):
    return sample_training_run(run, tmp_path / "sample", n=24, n_annotators=2)


def test_what_annotators_get_says_nothing_of_judge_and_run(written):
    known = ("0.", "reward", "step", "scripted", "p1", "fingerprint", "early", "late")

    rows = [json.loads(line) for line in Path(written.items).read_text("utf-8").splitlines()]

    assert {tuple(row) for row in rows} == {("id", "prompt", "response", "behavior")}
    columns = ["item", "question", "label", "asked", "annotator", "prompt", "response"]
    for path in written.sheets:
        found = sheet(path)
        assert list(found[0]) == columns
        assert {row["label"] for row in found} == {""}
        heads = [f"{row['item']} {row['question']} {row['annotator']}" for row in found]
        assert not [head for head in heads if any(word in head for word in known)]


def test_each_item_is_asked_about_what_its_reward_depends_on(written):
    asked = Counter(row["question"] for row in sheet(written.sheets[0]))

    # 24 · 48/216 = 5 1/3 refusals and 2 2/3 chats of each third: 5 and 3. Refusals pay for both
    # propositions, chats for `rude` alone
    assert asked == {"rude": 24, "sorry": 15}
    assert (written.n_labels, written.n_items) == (39, 24)


def test_texts_stand_beside_the_first_question_of_their_item(written):
    texts = {row["id"]: row["response"] for row in lines_of(written.items)}
    seen = set()

    for row in sheet(written.sheets[1]):
        expected = "" if row["item"] in seen else texts[row["item"]]
        assert row["response"] == expected
        seen.add(row["item"])

    assert seen == set(texts)


def test_the_key_says_where_each_item_is_from(written, run):
    rows, items = lines_of(written.key), lines_of(written.items)
    parts = sorted((run / "completions").glob("*.parquet"))
    whole = {row["item"]: row for row in pl.read_parquet(parts).iter_rows(named=True)}

    assert [row["item"] for row in rows] == [row["id"] for row in items]
    for row, item in zip(rows, items, strict=True):
        assert whole[row["completion"]]["response"] == item["response"]
        assert whole[row["completion"]]["step"] == row["step"]


def test_filled_sheets_and_verdicts_are_read_as_labels(written):
    for path in written.sheets:
        rows = [row | {"label": "yes"} for row in sheet(path)]
        pl.DataFrame(rows).write_csv(path)

    humans = [read_labels(path, kind="boolean", role="annotator") for path in written.sheets]
    judges = read_labels(written.verdicts, kind="boolean", role="judge")

    assert [table.frame.height for table in humans] == [39, 39]
    assert not any(table.dropped for table in humans)
    pairs = [set(t.frame.select("item", "question").iter_rows()) for t in (*humans, judges)]
    assert pairs[0] == pairs[1] == pairs[2]


def test_verdicts_are_those_of_the_run(written):
    frame = pl.read_parquet(written.verdicts)

    for row in lines_of(written.items):
        sorry, rude = map(float, row["response"].split())
        own = frame.filter(pl.col("item") == row["id"])
        found = dict(zip(own["question"], own["probability"], strict=True))
        assert found == {"rude": rude} | ({"sorry": sorry} if "sorry" in found else {})
        assert own["label"].to_list() == [value >= 0.5 for value in found.values()]


def test_a_verdict_that_failed_is_a_failure(tmp_path):
    turns = [Turn(response="nan 0.5", prompt="p", behavior="refuse")]

    files = sample_training_run(record(tmp_path / "run", turns), tmp_path / "sample")

    frame = pl.read_parquet(files.verdicts)
    assert frame.select("question", "label", "failure").rows() == [
        ("sorry", None, "failed verdict: the judge gave no probability"),
        ("rude", True, None),
    ]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('=HYPERLINK("http://x","0.9")', '\'=HYPERLINK("http://x","0.9")'),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "-1"),  # a number, which a label may be
        ("-1+2", "'-1+2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("  =1", "'  =1"),
        ("\n\r=1", "'\n\n=1"),
        ("\v\xa0=1", "'\v\xa0=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("1 + 1 = 2", "1 + 1 = 2"),
        ('0.9\r0.1\r\n=1,"x"', '0.9\n0.1\n=1,"x"'),
    ],
)
def test_texts_that_a_spreadsheet_would_run_are_harmless_in_the_sheet(tmp_path, text, expected):
    turns = [Turn(response=text, prompt=text, behavior="refuse")]

    files = sample_training_run(record(tmp_path / "run", turns), tmp_path / "sample")

    first = sheet(files.sheets[0])[0]
    assert (first["response"], first["prompt"]) == (expected, expected)
    [item] = lines_of(files.items)
    assert item["response"] == text
    filled = [row | {"label": "yes"} for row in sheet(files.sheets[0])]
    pl.DataFrame(filled).write_csv(files.sheets[0])
    assert read_labels(files.sheets[0], kind="boolean", role="annotator").frame.height == 2


def test_a_formula_in_the_place_of_a_proposition_is_refused(tmp_path):
    recorded(tmp_path / "run", n_steps=1)
    about = tmp_path / "run" / "run.json"
    about.write_text(about.read_text(encoding="utf-8").replace("sorry", "=1+1"), encoding="utf-8")
    for path in (tmp_path / "run" / "completions").iterdir():
        pl.read_parquet(path).rename({"sorry": "=1+1"}).write_parquet(path)

    with pytest.raises(InputError, match=r"no spreadsheet runs as a formula, got '=1\+1'"):
        sample_training_run(tmp_path / "run", tmp_path / "sample")

    assert not (tmp_path / "sample").exists()


# The folder -----------------------------------------------------------------------------------


def test_labels_are_never_overwritten(written, run):
    path = Path(written.sheets[0])
    rows = sheet(path)
    rows[7]["label"] = "no"
    pl.DataFrame(rows).write_csv(path)
    before = path.read_bytes()

    with pytest.raises(InputError, match="`output` must hold no labels, got some"):
        sample_training_run(run, path.parent)

    assert path.read_bytes() == before


def test_a_sheet_that_cannot_be_read_may_be_somebodys_work(written, run):
    path = Path(written.sheets[1])
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InputError, match="`output` must hold no labels"):
        sample_training_run(run, path.parent)


def test_empty_sheets_are_replaced(written, run):
    folder = Path(written.items).parent

    sample_training_run(run, folder, n=12, n_annotators=1)

    assert sorted(path.name for path in folder.iterdir()) == [
        "items.jsonl",
        "key.jsonl",
        "labels-1.csv",
        "verdicts.parquet",
    ]


def test_other_files_are_refused(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match=r"holds 'thesis\.txt'"):
        sample_training_run(run, tmp_path / "mine")
    with pytest.raises(InputError, match="`output` must be a folder, got the file"):
        sample_training_run(run, tmp_path / "mine" / "thesis.txt")


def test_only_the_owner_can_read_the_texts(written):
    folder = Path(written.items).parent

    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
