"""Prompts from files of every format: what is read, and what is set aside."""

import gzip
import io
import json

import polars as pl
import pytest

from rewards.synthesis.obedient import RECIPES, SAFETY, judge, writer
from voirdire.errors import InputError, NoDataError
from voirdire.records import Item
from voirdire.rewards import synthesize, synthesize_file

ROWS = [
    {"id": "a", "prompt": "How do I bake?", "behavior": "comply"},
    {"id": "b", "prompt": "How do I steal?", "behavior": "hard_refuse"},
]
EXPECTED = [("a", "How do I bake?", "comply"), ("b", "How do I steal?", "hard_refuse")]


ONE_EACH = RECIPES.model_copy(
    update={"behaviors": {name: [slots[0]] for name, slots in RECIPES.behaviors.items()}}
)


def read(given):
    """Give the completions that are written for prompts, one for each, and what was set aside."""
    made = synthesize(given, model=writer(), judge=judge(), rubric=SAFETY, recipes=ONE_EACH)
    return made.rows, made.summary.dropped


def told(items):
    return [(row["group"], row["prompt"], row["behavior"]) for row in items]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_gzip(path, rows):
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def write_json(path, rows):
    path.write_text(json.dumps(rows), encoding="utf-8")


def write_csv(path, rows):
    pl.DataFrame(rows).write_csv(path)


def write_parquet(path, rows):
    pl.DataFrame(rows).write_parquet(path)


WRITERS = {
    "p.jsonl": write_jsonl,
    "p.jsonl.gz": write_gzip,
    "p.json": write_json,
    "p.csv": write_csv,
    "p.parquet": write_parquet,
}


@pytest.mark.edges
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_prompts(tmp_path, name):
    WRITERS[name](tmp_path / name, ROWS)

    found, dropped = read(tmp_path / name)

    assert told(found) == EXPECTED
    assert dropped == ()


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_completions_gives_each_prompt_once(tmp_path, name):
    rows = [row | {"id": f"{row['id']}{k}", "response": "x"} for row in ROWS for k in range(2)]
    WRITERS[name](tmp_path / name, rows)

    found, dropped = read(tmp_path / name)

    assert [row["group"] for row in found] == ["a0", "b0"]
    assert [row.reason for row in dropped] == ["the same prompt as 'a0'", "the same prompt as 'b0'"]


def test_columns_may_have_names_of_their_own(tmp_path):
    row = {"key": "a", "ask": "How do I bake?", "kind": "comply"}
    write_csv(tmp_path / "p.csv", [row])

    synthesize_file(
        tmp_path / "p.csv",
        tmp_path / "made.jsonl",
        model=writer(),
        judge=judge(),
        rubric=SAFETY,
        recipes=ONE_EACH,
        columns={"id": "key", "prompt": "ask", "behavior": "kind"},
    )

    made = json.loads((tmp_path / "made.jsonl").read_text(encoding="utf-8"))
    assert (made["group"], made["prompt"], made["behavior"]) == EXPECTED[0]


def test_the_same_words_for_two_behaviors_are_two_prompts():
    rows = [ROWS[0], ROWS[0] | {"id": "b", "behavior": "hard_refuse"}]

    found, dropped = read(rows)

    assert (len(found), dropped) == (2, ())


def test_a_stream_is_read_and_a_broken_line_is_set_aside():
    stream = io.BytesIO(b'{"prompt": "Hi", "behavior": "comply"}\nno json\n')

    found, dropped = read(stream)

    assert told(found) == [("stream:1", "Hi", "comply")]
    assert dropped[0].line == 2


def test_a_file_that_holds_no_prompts_is_refused_with_a_way_out(tmp_path):
    (tmp_path / "a.csv").write_text("colour,size\nred,1\n", encoding="utf-8")

    with pytest.raises(NoDataError, match=r"no prompt.*Name the columns"):
        read(tmp_path / "a.csv")
    with pytest.raises(InputError, match="nowhere"):
        read(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a", "a", "item ids must be unique, got 'a' again"),
        ("a", "a ", r"item ids must be unique, got 'a ' again \(first at line 1\)"),
        ("a b", "a\u00a0 b", "item ids must be unique"),
    ],
)
def test_ids_that_are_alike_are_refused_before_anything_is_called(tmp_path, first, second, message):
    # they stand further apart than prompts that are worked on together
    rows = [ROWS[0] | {"id": f"{k}", "prompt": f"p {k}"} for k in range(300)]
    rows = [ROWS[0] | {"id": first}, *rows, ROWS[1] | {"id": second}]
    write_jsonl(tmp_path / "p.jsonl", rows)
    model = writer()

    for given in (rows, tmp_path / "p.jsonl"):
        with pytest.raises(InputError, match=message):
            synthesize(given, model=model, judge=judge(), rubric=SAFETY, recipes=ONE_EACH)

    assert model.calls == []


def test_ids_with_white_space_between_other_words_are_two():
    found, _ = read([ROWS[0] | {"id": "1 1"}, ROWS[1] | {"id": "11"}])

    assert [row["group"] for row in found] == ["1 1", "11"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold at least one prompt, got no rows. Fill it."),
        ("no json\n[1]\n", r"got 2 rows and a reason against each \(first p.jsonl:1: line must be"),
        ('{"ask": "Hi", "behavior": "comply"}', "no prompt: .* Name the columns with"),
        ('{"prompt": "Hi"}', "no behavior: .* or the behavior of all with"),
    ],
)
def test_a_file_without_prompts_says_why_and_what_to_do(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.jsonl").write_text(text, encoding="utf-8")

    with pytest.raises(NoDataError, match=message):
        read("p.jsonl")


def test_what_is_no_prompt_in_memory_is_refused():
    with pytest.raises(InputError, match="must be a file, or a sequence"):
        read(3)
    with pytest.raises(InputError, match="must all be items or all be mappings"):
        read([Item(id="a", response=""), "text"])
    with pytest.raises(InputError, match="must have unique ids, got 'a' twice"):
        read([Item(id="a", response="")] * 2)
