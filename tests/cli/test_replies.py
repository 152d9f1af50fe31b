"""`voirdire replies`: what is stored of each call, and what was sent, as the server saw it."""

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
PAIRS = """
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: "Which is better?"}
"""
STORE = "voirdire-replies.sqlite"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Go to a folder with rubrics and items."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    (tmp_path / "pairs.yaml").write_text(PAIRS, encoding="utf-8")
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


def without_codes(text):
    """Put zeros for the random code of a fence, which is another in each request."""
    return re.sub(r"\b[0-9a-f]{16}\b", "0" * 16, text)


def test_a_listing_has_the_judges_and_the_items_that_failed_first(judge, replies, faulty_server):
    faulty_server.script = script(item_3="malformed", item_5="bad_request")
    judge()

    done = replies()

    assert done.code == 0
    lines = done.out.splitlines()
    assert re.search(r"1 +openai/test +test +joint +stated +10 +4", lines[2])
    begins = [line.split()[0] for line in lines[6:14]]
    assert begins[0] == hash_of("I am item-3.")[:16]  # three replies that nobody can read
    assert begins[1] == hash_of("I am item-5.")[:16]
    assert {*begins[2:]} == {hash_of(f"I am item-{n}.")[:16] for n in (0, 1, 2, 4, 6, 7)}
    assert "bad request" in lines[7]


def test_a_listing_may_hold_ids_or_failures_alone_or_fewer_items(judge, replies, faulty_server):
    faulty_server.script = script(item_3="refusal", item_5="bad_request")
    judge()

    named = replies("--items", "items.jsonl", "--json").json
    failed = replies("--failed", "--json").json
    few = replies("--limit", "3")

    assert {row["id"]: row["item"] for row in named["items"]} == {
        f"item-{n}": hash_of(f"I am item-{n}.") for n in range(8)
    }
    assert [row["n_failed"] for row in failed["items"]] == [1, 1]
    assert (failed["n_items"], named["n_items"]) == (2, 8)
    assert "5 more items" in few.out


def test_an_item_is_shown_whole_by_the_beginning_of_its_hash(judge, replies, faulty_server):
    faulty_server.script = script(item_3="malformed")
    judge()

    shown = replies(hash_of("I am item-3.")[:8])
    data = replies(hash_of("I am item-3.")[:8], "--json").json

    assert [(row["call"], row["attempt"], row["outcome"]) for row in data["attempts"]] == [
        ("joint", attempt, "unreadable") for attempt in range(3)
    ]
    texts = [row["text"] for row in data["attempts"]]
    assert all(text and f"    | {text}" in shown.out for text in texts)
    assert "joint, attempt 2: a reply that cannot be read (json_schema" in shown.out
    assert data["attempts"][0]["prompt_tokens"] > 0
    assert data["item"] == hash_of("I am item-3.")
    assert data["sent"] == []
    assert "What was sent cannot be shown" in shown.out
    assert "`--items`" in shown.out


def test_a_failure_has_its_reason_its_status_and_its_tries(judge, replies, faulty_server):
    faulty_server.script = script(item_5="bad_request")
    judge()

    (row,) = replies("item-5", "--items", "items.jsonl", "--json").json["attempts"]
    shown = replies("item-5", "--items", "items.jsonl").out

    assert (row["outcome"], row["status"], row["n_tries"]) == ("failure", 400, 1)
    assert (row["text"], row["model"]) == (None, None)
    assert row["reason"] in shown
    assert "HTTP 400" in shown


@pytest.mark.parametrize("mode", ["joint", "single"])
@pytest.mark.parametrize("source", ["logprob", "stated", "vote"])
def test_what_was_sent_is_what_the_server_got(judge, replies, place, faulty_server, mode, source):
    rows = [{"id": f"item-{n}", "response": f"I am item-{n}."} for n in (0, 3)]
    write_lines(place / "items.jsonl", rows)  # the server keeps the last twenty requests

    judge(*("--mode", mode, "--prompt-language", "zh", "--concurrency", "1"), source=source)

    data = replies("item-3", "--items", "items.jsonl", "--json").json

    got = [
        (
            [(row["role"], without_codes(row["content"])) for row in body["messages"]],
            body["response_format"]["json_schema"]["schema"],
        )
        for body in faulty_server.bodies
        if "I am item-3." in body["messages"][-1]["content"]
    ]
    shown = [
        ([(row["role"], row["content"]) for row in sent["messages"]], json.loads(sent["schema"]))
        for sent in data["sent"]
    ]
    assert len(shown) == len({row["call"] for row in data["attempts"]}) > 0
    assert data["unsent"] is None
    assert sorted(shown, key=repr) == sorted(got, key=repr)


def test_a_pair_is_found_and_shown_both_ways(judge, replies, place, faulty_server):
    write_lines(place / "pairs.jsonl", [{"id": "p", "response_a": "item-1 a", "response_b": "b"}])
    judge(items="pairs.jsonl", rubric="pairs.yaml")

    data = replies("p", "--items", "pairs.jsonl", "--json", rubric="pairs.yaml").json

    assert [sent["call"] for sent in data["sent"]] == ["joint", "joint/swapped"]
    first, second = (sent["messages"][-1]["content"] for sent in data["sent"])
    assert first.index("item-1 a") > first.index("response_a")
    assert second.index("item-1 a") > second.index("response_b")


def test_another_rubric_shows_no_prompt_and_reads_no_reply(judge, replies, faulty_server):
    faulty_server.script = script(item_3="malformed")
    judge()

    data = replies("item-3", "--items", "items.jsonl", "--json", rubric="safety").json

    assert data["sent"] == []
    assert "another release: name the rubric" in data["unsent"]
    assert {row["outcome"] for row in data["attempts"]} == {"reply"}
    assert not data["judges"][0]["is_read"]
    assert "note: judge 1 was asked something else" in replies(rubric="safety").out
    assert "note:" not in replies().out


def test_a_damaged_row_is_called_damaged(judge, replies):
    judge()
    item = bytes.fromhex(hash_of("I am item-2."))
    statement("UPDATE voirdire_calls SET blob = substr(blob, 1, 20) WHERE item = ?", item)

    listing = replies("--failed", "--json").json
    shown = replies(item.hex()).out

    assert [row["item"] for row in listing["items"]] == [item.hex()]
    assert "joint, attempt 0: damaged" in shown
    assert "damaged on the disk" in shown


def test_nothing_in_a_reply_reaches_the_terminal_as_a_command(judge, replies, faulty_server):
    text = '{"sorry": "\x1b]0;owned\x07\u202e", "rude"\r: 1}\njoint, attempt 9: a reply\n\x9b2J'
    judge()
    rewrite_text("I am item-2.", text)

    shown = replies(hash_of("I am item-2."), "--items", "items.jsonl").out

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    assert r"\x1b]0;owned\x07\u202e" in shown
    assert "\njoint, attempt 9" not in shown
    assert "\n    | joint, attempt 9: a reply\n" in shown


def rewrite_text(response, text):
    """Let a model have replied something else, as a row of the first release, without checksum."""
    import msgspec

    kept = msgspec.msgpack.encode([text, "json_schema", "stop", "test\x1b[2J", None, None])
    item = bytes.fromhex(hash_of(response))
    statement("UPDATE voirdire_calls SET blob = ? WHERE item = ?", b"\x01" + kept, item)


def test_only_failures_of_an_item_are_shown_where_that_is_asked(judge, replies, faulty_server):
    faulty_server.script = lambda item, n: "malformed" if (item, n) == ("item-3", 0) else "ok"
    judge()

    whole = replies("item-3", "--items", "items.jsonl", "--json").json
    failed = replies("item-3", "--items", "items.jsonl", "--failed", "--json").json

    assert [row["outcome"] for row in whole["attempts"]] == ["unreadable", "reply"]
    assert failed["attempts"] == whole["attempts"][:1]


def test_judges_of_one_store_are_kept_apart(judge, replies):
    judge()
    judge("--mode", "single")

    listing = replies("--json").json
    data = replies("item-3", "--items", "items.jsonl", "--json").json

    assert [(row["mode"], row["n_calls"]) for row in listing["judges"]] == [
        ("joint", 8),
        ("single", 16),
    ]
    assert listing["n_items"] == 16
    assert [(row["judge"], row["call"].split("/")[0]) for row in data["attempts"]] == [
        (1, "joint"),
        (2, "single"),
        (2, "single"),
    ]


def test_what_is_judged_is_found_as_it_was_judged(judge, replies, place):
    rows = [{"id": "item-0", "text": "<think>item-9</think>I am item-0."}]
    write_lines(place / "items.jsonl", rows)
    judge("--column", "response=text")

    data = replies("item-0", "--items", "items.jsonl", "--column", "response=text", "--json").json
    whole = replies(
        *("item-0", "--items", "items.jsonl", "--column", "response=text"),
        *("--judged", "whole_turn", "--json"),
    )

    assert data["item"] == hash_of("I am item-0.")
    assert whole.code == 1  # that text was never judged


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("zz",), "`item` must be the beginning of a hash, in hexadecimal digits, got 'zz'"),
        (("item-3",), "Name `--items` to use an id"),
        (
            ("item-99", "--items", "items.jsonl"),
            "`item` must be an id of `--items`, or the beginning of a hash",
        ),
        (("",), "`item` must be the beginning of a hash"),
        (("0" * 64,), "must be an item with a stored reply"),
    ],
)
def test_an_item_that_is_not_there_is_said(judge, replies, assert_one_line, options, words):
    judge()

    assert_one_line(replies(*options), words)


def test_a_beginning_of_several_hashes_is_refused(judge, replies, place, assert_one_line):
    rows = [{"id": f"item-{n}", "response": f"I am item-{n}."} for n in range(40)]
    write_lines(place / "items.jsonl", rows)
    judge()
    begins = [hash_of(row["response"])[:1] for row in rows]
    digit = next(each for each in begins if begins.count(each) > 1)

    assert_one_line(replies(digit), "must be the beginning of one hash", "Write more digits.")


def test_a_store_that_is_not_there_is_not_made(call, place, assert_one_line):
    done = call("replies", "missing.sqlite")

    assert_one_line(done, "`store` must be a store of replies, got 'missing.sqlite'")
    assert not (place / "missing.sqlite").exists()


def test_a_store_without_replies_says_so(call, place):
    from voirdire.store import open_store

    open_store("empty.sqlite").close()

    done = call("replies", "empty.sqlite")

    assert (done.code, done.out) == (0, "The store holds no replies.\n")
