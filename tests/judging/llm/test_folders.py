"""A folder of files is judged into a folder of verdicts: each file once, whatever happens."""

import gzip
import json
import sys
from collections import Counter
from functools import partial

import polars as pl
import pytest

import voirdire.cli
from judging.llm.counted_runs import CONCURRENCY, RUBRIC, Runs, item_line, probability, wait_until
from voirdire.errors import InputError, NoDataError
from voirdire.io import read_verdicts
from voirdire.judging import LlmJudge, judge_file, judge_folder
from voirdire.models import Capabilities
from voirdire.records import Reply
from voirdire.rubrics import rubric_from_text

TINY = rubric_from_text(RUBRIC)


class Model:
    """A model that counts; it gives no usable answer about those that it dislikes."""

    name, settings, capabilities = "model", {}, Capabilities()

    def __init__(self, *, dislikes=()):
        self.asked = Counter()
        self.dislikes = set(dislikes)

    async def reply(self, request):
        item = request.messages[-1].content.partition("I am ")[2].partition(",")[0]
        self.asked[item] += 1
        said = {key: probability(item, key) for key in ("sorry", "rude")}
        text = "no" if item in self.dislikes else json.dumps(said)
        return Reply(text=text, model="model")

    async def close(self):
        pass


def write_files(folder, *sizes):
    """Write files of items with numbers that go on from file to file."""
    folder.mkdir()
    start = 0
    for name, size in zip("abcdefgh", sizes, strict=False):
        lines = map(item_line, range(start, start + size))
        (folder / f"{name}.jsonl").write_text("".join(lines))
        start += size
    return folder


def judge(source, output, model, **about):
    asked = LlmJudge(model=model, probability="stated", concurrency=4)
    return judge_folder(source, output, judge=asked, rubric=TINY, **about)


def read(folder):
    frames = [pl.read_parquet(path, glob=False) for path in sorted(folder.glob("*.parquet"))]
    return pl.concat(frames)


def test_a_folder_holds_what_one_run_over_one_file_would(tmp_path):
    model = Model()
    items = write_files(tmp_path / "in", 30, 1, 12)
    whole = tmp_path / "whole.jsonl"
    whole.write_text("".join(path.read_text() for path in sorted(items.iterdir())))
    asked = LlmJudge(model=Model(), probability="stated")

    found = judge(items, tmp_path / "out", model)
    judge_file(whole, tmp_path / "whole.parquet", judge=asked, rubric=TINY)

    assert (found.judged.n_items, found.n_files, found.n_files_there) == (43, 3, 0)
    assert found.judged.calls.n_calls == 43
    assert set(model.asked.values()) == {1}
    assert read(tmp_path / "out").equals(pl.read_parquet(tmp_path / "whole.parquet"))
    written = sorted(path.name.split(".")[0] for path in (tmp_path / "out").iterdir())
    assert written == ["a", "b", "c", "voirdire-replies"]


def test_what_is_there_is_not_done_again_and_another_judge_reuses_nothing(tmp_path):
    items = write_files(tmp_path / "in", 5, 5)
    model = Model()
    judge(items, tmp_path / "out", model, store=False)

    (items / "b.jsonl").write_text("".join(map(item_line, range(5, 12))))
    second = judge(items, tmp_path / "out", model, store=False)
    third = judge(items, tmp_path / "out", model, store=False, threshold=0.25)

    assert (second.n_files_there, second.judged.n_items) == (1, 7)
    assert (third.n_files_there, third.judged.n_items) == (0, 12)
    assert sum(model.asked.values()) == 10 + 7 + 12
    with pytest.raises(InputError, match=r"the verdicts of one run on 'a'.*'a\.\w+.*and 'a\."):
        read_verdicts(tmp_path / "out", rubric=TINY)


def test_shards_part_the_files_between_them(tmp_path):
    items = write_files(tmp_path / "in", *[4] * 7)
    models = [Model() for _ in range(3)]

    found = [
        judge(items, tmp_path / "out", model, shard=f"{number}/3")
        for number, model in enumerate(models, start=1)
    ]

    assert [each.n_files for each in found] == [3, 2, 2]
    together = sum((model.asked for model in models), Counter())
    assert together == Counter({f"item-{number}": 1 for number in range(28)})
    verdicts = read_verdicts(tmp_path / "out", rubric=TINY)
    assert sorted(verdicts.items) == sorted(together)
    stores = sorted(path.name for path in (tmp_path / "out").glob("*.sqlite"))
    assert stores == [f"voirdire-replies-{number}-of-3.sqlite" for number in (1, 2, 3)]


@pytest.mark.parametrize("written_as", ["parquet", "jsonl", "jsonl.gz"])
def test_a_file_is_cut_where_there_are_more_shards_than_files(tmp_path, monkeypatch, written_as):
    monkeypatch.setattr("voirdire.io.parts.PART_ROWS", 10)
    rows = [json.loads(item_line(number)) | {"id": None} for number in range(35)]
    path = tmp_path / f"all.{written_as}"
    if written_as == "parquet":
        pl.DataFrame(rows, schema_overrides={"id": pl.String}).write_parquet(path)
    else:
        import gzip

        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    model = Model()

    for number in (1, 2):
        judge(path, tmp_path / "out", model, shard=f"{number}/2")
    ids = read(tmp_path / "out")["item"].unique().to_list()

    assert model.asked == Counter({f"item-{number}": 1 for number in range(35)})
    assert sorted(ids) == sorted(f"all:{line}" for line in range(1, 36))  # lines of the whole file
    names = sorted(path.name.rsplit(".", 2)[0] for path in (tmp_path / "out").glob("*.parquet"))
    assert names == [f"all.{number}-of-4" for number in (1, 2, 3, 4)]
    for path in (tmp_path / "out").glob("all.3-of-4.*"):
        path.unlink()
    with pytest.raises(InputError, match="must hold all 4 parts of 'all', got 3"):
        read_verdicts(tmp_path / "out", rubric=TINY)


def test_a_file_that_cannot_be_judged_is_named_and_the_others_are_judged(tmp_path):
    items = write_files(tmp_path / "in", 3, 3, 3)
    (items / "b.jsonl").write_text("")
    (items / "c.jsonl").write_text(item_line(6) * 2)
    (items / "d.jsonl").write_text(item_line(9) + "no JSON\n")

    found = judge(items, tmp_path / "out", Model())
    again = judge(items, tmp_path / "out", Model())

    assert found.judged.n_items == 4
    assert {name[-7:]: why[-40:] for name, why in found.failed.items()} == {
        "b.jsonl": "ust hold at least one item, got no rows. Fill it."[-40:],
        "c.jsonl": found.failed[str(items / "c.jsonl")][-40:],
    }
    assert "item-6" in found.failed[str(items / "c.jsonl")]
    assert (found.judged.n_dropped, len(list((tmp_path / "out").glob("d.*.dropped.jsonl")))) == (
        1,
        1,
    )
    assert (again.judged.n_items, again.n_files_there, again.failed) == (0, 2, found.failed)


def test_files_with_failures_are_made_again_where_that_is_asked_for(tmp_path):
    items = write_files(tmp_path / "in", 4, 4)
    model = Model(dislikes={"item-2"})
    judge(items, tmp_path / "out", model)
    n_before = model.asked["item-2"]
    model.dislikes.clear()

    same = judge(items, tmp_path / "out", model)
    mended = judge(items, tmp_path / "out", model, retry_failures=True)

    assert (same.n_files_there, mended.n_files_there) == (2, 1)
    assert model.asked == Counter({f"item-{n}": 1 for n in range(8)}) + Counter(
        {"item-2": n_before}
    )  # the other replies were stored
    assert read(tmp_path / "out")["failure"].null_count() == 16


def test_what_cannot_be_meant_is_refused(tmp_path):
    items = write_files(tmp_path / "in", 2)
    for shard in ("0/3", "4/3", "1", "a/b", "1/0"):
        with pytest.raises(InputError, match="as 3/100, got"):
            judge(items, tmp_path / "out", Model(), shard=shard)
    with pytest.raises(InputError, match="`make_item` must be left out for a folder"):
        judge(items, tmp_path / "out", Model(), make_item=lambda row: row)
    with pytest.raises(InputError, match="`limit` must be left out"):
        judge(items, tmp_path / "out", Model(), limit=1)
    with pytest.raises(NoDataError, match="must match files of items"):
        judge(tmp_path / "*.csv", tmp_path / "out", Model())
    with pytest.raises(InputError, match="must be another folder than that of the items"):
        judge(items, items / ".", Model())
    (items / "sub").mkdir()
    (items / "sub" / "a.jsonl").write_text(item_line(9))
    with pytest.raises(InputError, match=r"different names, got '.*a.jsonl' and '.*sub/a.jsonl'"):
        judge(str(items / "**/*.jsonl"), tmp_path / "out", Model())
    (items / "a.jsonl.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"different names, got '.*a.jsonl' and '.*a.jsonl.gz'"):
        judge(items, tmp_path / "out", Model(), shard="1/2")


def test_files_of_every_format_of_items_are_judged_and_others_are_left(tmp_path):
    items = tmp_path / "in"
    items.mkdir()
    rows = [json.loads(item_line(n)) for n in range(8)]
    frames = [pl.DataFrame([row]) for row in rows]
    (items / "a b.jsonl").write_text(item_line(0))
    (items / "中 文.v1..JSONL.gz").write_bytes(gzip.compress(item_line(1).encode()))
    frames[2].write_csv(items / "c.csv")
    frames[3].write_csv(items / "d[1]*.tsv", separator="\t")
    (items / "e.json").write_text(json.dumps([rows[4]]))
    frames[5].write_parquet(items / "f.PARQUET")
    (items / "g.ndjson").symlink_to(tmp_path / "g.jsonl")
    (tmp_path / "g.jsonl").write_text(item_line(6))
    for name in (".hidden.jsonl", "a.dropped.jsonl", "readme.md", "a.jsonl.part"):
        (items / name).write_text(item_line(7))
    (items / "dangling.jsonl").symlink_to(tmp_path / "nothing.jsonl")
    (items / "folder.jsonl").mkdir()

    found = judge(items, items / "out", Model())

    assert (found.failed, found.judged.n_items) == ({}, 7)
    assert {*read(items / "out")["item"]} == {row["id"] for row in rows[:7]}
    assert judge(items, items / "out", Model()).n_files_there == 7


def test_the_command_takes_a_pattern(tmp_path, monkeypatch, capsys):
    write_files(tmp_path / "in", 2, 3)
    asked = ["judge", str(tmp_path / "in" / "[ab].jsonl"), "-o", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["voirdire", *asked])
    voirdire.cli.run()
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 2

    monkeypatch.setattr(sys, "argv", ["voirdire", *[x.replace("[ab]", "[xy]") for x in asked]])
    with pytest.raises(SystemExit):
        voirdire.cli.run()
    assert "must be a file that exists" in capsys.readouterr().err


@pytest.mark.ci
def test_killed_shards_side_by_side_judge_every_item_once(tmp_path, faulty_server):
    runs = Runs(tmp_path, faulty_server, n_items=1)
    try:
        runs.items = write_files(tmp_path / "in", *[40] * 6)
        faulty_server.delay_s = 0.005
        shards = [
            (f"--shard={number}/2", f"--store={tmp_path}/{number}.sqlite") for number in (1, 2)
        ]
        start = partial(runs._start, "--judge", "openai/test", "--base-url", faulty_server.url,
                        "--probability", "stated", "--concurrency", CONCURRENCY,
                        "-o", tmp_path / "out")  # fmt: skip

        runs.hold(130)
        killed = [start(*shard) for shard in shards]
        wait_until(lambda: runs.n_served >= 110)
        for process in killed:
            process.kill()
            process.communicate()
        runs.let_go()
        for process in [start(*shard) for shard in shards]:
            runs.finish(process)
        n_served = runs.n_served
        for process in [start(*shard) for shard in shards]:
            runs.finish(process)

        assert runs.n_served == n_served <= 240 + 2 * CONCURRENCY
        found = read(tmp_path / "out").filter(question="sorry")
        assert Counter(found["item"]) == Counter({f"item-{n}": 1 for n in range(240)})
        right = [probability(item, "sorry") for item in found["item"]]
        assert found["probability"].to_list() == right
        assert not list((tmp_path / "out").glob(".*"))
    finally:
        runs.close()
