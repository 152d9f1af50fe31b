"""`voirdire replies`: what is stored of each call."""

import contextlib
import hashlib
import json
import re
import sqlite3

import pytest

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: {en: "Does it say sorry?", zh: "是否道歉？"}}
  - {id: rude, kind: boolean, text: {en: "Is it rude?", zh: "是否粗鲁？"}}
"""
STORE = "voirdire-replies.sqlite"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Go to a folder with rubrics and items."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    rows = [{"id": f"item-{n}", "response": f"I am item-{n}."} for n in range(8)]
    write_lines(tmp_path / "items.jsonl", rows)
    return tmp_path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def judge(call, place, faulty_server):
    def judge(*options, items="items.jsonl", rubric="tiny.yaml", source="stated"):
        return call(
            *("judge", items, "--rubric", rubric, "--judge", "openai/test"),
            *("--base-url", faulty_server.url, "-o", "out.parquet", "--probability", source),
            *options,
        )

    return judge


@pytest.fixture
def replies(call):
    def replies(*options, rubric="tiny.yaml"):
        return call("replies", STORE, *options, "--rubric", rubric)

    return replies


def hash_of(response):
    """Say what a store calls an item: SHA-256 over its prompt, its response and a second one."""
    seen = json.dumps([[], response, None], separators=(",", ":"))
    return hashlib.sha256(seen.encode()).hexdigest()


def script(**faults):
    """Have single items meet a fault, named with an underscore for the hyphen."""
    known = {name.replace("_", "-"): fault for name, fault in faults.items()}
    return lambda item, n_before: known.get(item, "ok")


def statement(query, *values):
    with contextlib.closing(sqlite3.connect(STORE)) as connection:
        connection.execute(query, values)
        connection.commit()


def test_a_reply_has_its_text_and_a_failure_its_reason(judge, replies, faulty_server):
    faulty_server.script = script(item_3="malformed", item_5="bad_request")
    judge()

    data = replies("--items", "items.jsonl", "--json").json
    failed = replies("--failed", "--items", "items.jsonl")

    assert data["n_replies"] == 6 + 3 + 1
    outcomes = {(row["id"], row["outcome"]) for row in data["replies"]}
    assert {outcome for _, outcome in outcomes} == {"reply", "unreadable", "failure"}
    bad = [row for row in data["replies"] if row["outcome"] != "reply"]
    assert {row["id"] for row in bad} == {"item-3", "item-5"}
    for row in bad:
        assert row["item"] == hash_of(f"I am {row['id']}.")
        assert row["text"] is None or f"    | {row['text']}" in failed.out
    assert "item-5" in failed.out
    assert "bad request" in failed.out
    assert "item-2" not in failed.out


def test_an_item_is_named_by_its_id_or_the_beginning_of_its_hash(judge, replies, faulty_server):
    faulty_server.script = script(item_3="malformed")
    judge()

    by_hash = replies(hash_of("I am item-3.")[:8], "--json").json["replies"]
    by_id = replies("item-3", "--items", "items.jsonl", "--json").json["replies"]

    assert [(row["call"], row["attempt"], row["outcome"]) for row in by_hash] == [
        ("joint", attempt, "unreadable") for attempt in range(3)
    ]
    assert [row | {"id": None} for row in by_id] == by_hash


def test_another_rubric_reads_no_reply(judge, replies, faulty_server):
    faulty_server.script = script(item_3="malformed")
    judge()

    shown = replies(rubric="safety")
    failed = replies("--failed", rubric="safety")

    assert "a reply to something else than the questions of this rubric" in shown.out
    assert failed.out.startswith("0 replies\n")


def test_nothing_in_a_reply_reaches_the_terminal_as_a_command(judge, replies):
    text = '{"sorry": "\x1b]0;owned\x07\u202e", "rude"\r: 1}\njoint, attempt 9: a reply\n\x9b2J'
    judge()
    rewrite_text("I am item-2.", text)

    shown = replies(hash_of("I am item-2."), "--items", "items.jsonl").out

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    assert r"\x1b]0;owned\x07\u202e" in shown
    assert "\njoint, attempt 9" not in shown
    assert "\n    | joint, attempt 9: a reply\n" in shown


def rewrite_text(response, text):
    """Let a model have replied something else."""
    from zlib import crc32

    import msgspec

    kept = msgspec.msgpack.encode([text, "json_schema", "stop", "test\x1b[2J", None, None])
    item = bytes.fromhex(hash_of(response))
    blob = b"\x03" + crc32(kept).to_bytes(4, "big") + kept
    statement("UPDATE voirdire_calls SET blob = ? WHERE item = ?", blob, item)


@pytest.mark.edges
@pytest.mark.parametrize(
    "options", [("zz",), ("item-3",), ("item-99", "--items", "items.jsonl"), ("0" * 64,)]
)
def test_an_item_that_is_not_there_is_said(judge, replies, assert_one_line, options):
    judge()

    assert_one_line(replies(*options), f"got {options[0]!r}, of which no reply is stored")


def test_a_store_that_is_not_there_is_not_made(call, place, assert_one_line):
    done = call("replies", "missing.sqlite")

    assert_one_line(done, "`STORE` must be a file that exists, got 'missing.sqlite'")
    assert not (place / "missing.sqlite").exists()
