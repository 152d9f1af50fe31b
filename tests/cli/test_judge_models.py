"""`voirdire judge` with language models: what is printed and written, and what is never shown."""

import json
import re

import polars as pl
import pytest

from voirdire.store import open_store

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: {en: "Does it say sorry?", zh: "是否道歉？"}}
  - {id: rude, kind: boolean, text: {en: "Is it rude?", zh: "是否粗鲁？"}}
"""
KINDS = """
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
  - {id: topics, kind: multilabel, text: "Which topics?", labels: [food, travel]}
  - {id: stars, kind: scale, text: "How many stars?", minimum: 1, maximum: 5}
  - {id: why, kind: text, text: "Why?"}
"""
PAIRS = """
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: "Which is better?"}
"""
KEY = "sk-very-secret-0123456789abcdef"
STORE = "voirdire-replies.sqlite"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Go to a folder with rubrics and items, where no key is known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, text in (("tiny", RUBRIC), ("kinds", KINDS), ("pairs", PAIRS)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    rows = [{"id": f"item-{n}", "response": f"I am item-{n}."} for n in range(20)]
    write_lines(tmp_path / "items.jsonl", rows)
    pairs = [{"id": f"p{n}", "response_a": f"item-{n} a", "response_b": "b"} for n in range(4)]
    write_lines(tmp_path / "pairs.jsonl", pairs)
    return tmp_path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def judge(call, place, faulty_server):
    """Judge the items with a model on the faulty server."""

    def judge(*options, items="items.jsonl", rubric="tiny.yaml", output="out.parquet"):
        where = () if output is None else ("-o", output)
        return call(
            *("judge", items, "--rubric", rubric, "--judge", "openai/test"),
            *("--base-url", faulty_server.url, *where, *options),
        )

    return judge


def n_served(server):
    return sum(server.served.values())


def read(name="out.parquet"):
    return pl.read_parquet(name)


# How it is asked ------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("mode", "source", "n_calls"),
    [
        ("joint", "logprob", 20),
        ("joint", "stated", 20),
        ("joint", "vote", 5 * 20),
        ("single", "logprob", 2 * 20),
        ("single", "stated", 2 * 20),
        ("single", "vote", 2 * 5 * 20),
    ],
)
def test_every_way_of_asking_gives_the_servers_answers(
    judge,
    faulty_server,
    mode,
    source,
    n_calls,
    language,
):
    faulty_server.probability = lambda item, key: {"sorry": 0.125, "rude": 0.75}[key]
    stated = {"sorry": 0.125, "rude": 0.75}
    faulty_server.answer = lambda item, key, form: (
        key == "rude" if form["type"] == "boolean" else stated[key]
    )

    done = judge("--mode", mode, "--probability", source, "--prompt-language", language)

    assert done.code == 0
    assert done.err.startswith("openai/test replied as 'test', form json_schema, ")
    assert done.err.count("\n") == 1
    frame = read()
    expected = {"sorry": 0.0, "rude": 1.0} if source == "vote" else stated
    assert len(frame) == 2 * 20
    for question, wanted in expected.items():
        found = frame.filter(pl.col("question") == question)["probability"].to_list()
        assert found == pytest.approx([wanted] * 20)
    assert frame["source"].unique().to_list() == [source]
    assert frame["failure"].null_count() == len(frame)
    assert n_served(faulty_server) == n_calls
    assert f"\n{n_calls:,} calls, 0 of them repeats; " in done.out
    shown = json.dumps(faulty_server.bodies, ensure_ascii=False)
    assert ("是否" in shown) == (language == "zh")


def test_settings_reach_the_server(judge, faulty_server):
    judge(
        *("--probability", "stated", "--temperature", "0.5", "--max-tokens", "321"),
        *("--reasoning-effort", "low"),
    )

    body = faulty_server.bodies[0]
    assert (body["model"], body["temperature"], body["reasoning_effort"]) == ("test", 0.5, "low")
    assert 321 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_failures_are_listed_and_called_again_when_that_is_asked(
    judge,
    faulty_server,
):
    faulty_server.script = lambda item, n_before: "refusal" if item == "item-3" else "ok"
    first = judge("--probability", "stated")
    faulty_server.script = lambda item, n_before: "ok"

    second = judge("--probability", "stated")
    third = judge("--probability", "stated", "--retry-failures")

    for done in (first, second):
        said = " ".join(done.out.split())
        assert "failed: refusal by the judge (1). Call them again with --retry-failures; " in said
        assert " refusal by the judge: openai/test declined to reply" in said
    assert "refusal" not in third.out
    assert read()["failure"].null_count() == 40
    assert n_served(faulty_server) == 21


@pytest.mark.parametrize("as_json", [False, True])
def test_a_run_without_any_answer_says_why_and_exits_1(judge, faulty_server, as_json):
    faulty_server.script = lambda item, n_before: (
        "content_filter" if item in ("item-3", "item-5") else "refusal"
    )
    options = ("--probability", "stated", *(("--json",) if as_json else ()))

    done = judge(*options)
    again = judge(*options)

    assert done.code == again.code == 1
    assert done.err == again.err
    said, *examples = done.err.splitlines()
    assert said == (
        "voirdire: no item has a usable answer by 'openai/test': refusal by the judge (18), "
        "content filter (2)."
    )
    assert examples[0].startswith("  for example: refusal by the judge: openai/test declined")
    assert examples[1].startswith("  for example: content filter: openai/test answered HTTP 400")
    assert read()["failure"].null_count() == 0
    if as_json:
        examples = done.json["calls"]["examples"]
        assert list(examples) == ["refusal by the judge", "content filter"]


@pytest.mark.ci
@pytest.mark.parametrize("n_items", [1, 20])
@pytest.mark.parametrize("output", ["out.parquet", "-"])
def test_a_server_that_is_not_there_is_one_line_and_leaves_no_verdicts(
    call, place, assert_one_line, n_items, output
):
    rows = [{"id": f"item-{n}", "response": "?"} for n in range(n_items)]
    write_lines(place / "items.jsonl", rows)
    address = "http://127.0.0.1:1/v1"  # a port that nobody may listen at

    done = call(
        *("judge", "items.jsonl", "--rubric", "tiny.yaml", "--judge", "vllm/tiny"),
        *("--base-url", address, "-o", output),
    )

    assert_one_line(done, f"No call of this run got a reply from {address}", "no connection")
    assert not [*place.glob("out*")]
    with open_store(place / STORE) as store:
        assert [sum(1 for _ in store.scan(row.id)) for row in store.judges()] == [0]


def test_a_spent_limit_says_how_much_is_done_and_how_to_go_on(judge, assert_one_line, place):
    price = ("--price", "0.01,0.01", "--probability", "stated")

    done = judge(*price, "--max-cost", "0.00003", "--concurrency", "1")
    with open_store(place / STORE) as store:
        n_stored = sum(sum(1 for _ in store.scan(row.id)) for row in store.judges())
    more = judge(*price, "--max-cost", "1")

    assert_one_line(
        done, "`--max-cost` of $0.00003 is reached: $0.0000", "each run has the limit anew"
    )
    assert 0 < n_stored < 20
    assert done.err.endswith(f" {n_stored} item{'s are' if n_stored > 1 else ' is'} done.\n")
    assert f"{20 - n_stored} calls, 0 of them repeats; {n_stored} answers from" in more.out


# Before anything is spent ---------------------------------------------------------------------


def test_a_dry_run_counts_and_calls_nothing_and_makes_no_store(
    judge,
    faulty_server,
    place,
):
    before = sorted(path.name for path in place.iterdir())

    words = ("--mode", "single", "--probability", "stated", "--store", "sqlite:///new.sqlite")
    done = judge("--dry-run", *words, "--json")

    (found,) = done.json["estimates"]
    assert (done.code, done.err) == (0, "")
    assert (found["n_items"], found["n_calls"], found["n_stored"]) == (20, 40, 0)
    assert n_served(faulty_server) == 0
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.ci
def test_the_prompt_is_shown_with_and_without_an_item(judge, place, faulty_server):
    plain = judge("--show-prompt", "--prompt-language", "zh", output=None)
    about = judge("--show-prompt", "--probability", "stated", "--mode", "single", output=None)

    assert plain.code == about.code == 0
    assert "是否道歉" in plain.out
    assert "I am item-0." in about.out
    assert '"additionalProperties"' in about.out
    assert n_served(faulty_server) == 0
    assert not (place / STORE).exists()


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--judge", "opnai/gpt"], ["opnai"]),
        (["--judge", "openai/gpt-4o-mini"], ["OPENAI_API_KEY"]),
        (["--judge", "openai/test", "--base-url", "ftp://x"], ["ftp://x"]),
        (["--judge", "groq/llama"], ["GROQ_API_KEY"]),
        (["--judge", "vllm/x", "--api-key-env", "NO_SUCH_KEY"], ["NO_SUCH_KEY"]),
        (["--judge", "groq/x", "--probability", "logprob"], ["GROQ_API_KEY"]),
        (["--judge", "vllm/x", "--temperature", "9"], ["temperature", "9"]),
        (["--judge", "vllm/x", "--concurrency", "0"], ["concurrency", "0"]),
        (["--judge", "vllm/x", "--timeout", "-1"], ["timeout", "-1"]),
        (["--judge", "vllm/x", "--max-cost", "0"], ["cost", "0"]),
        (["--judge", "vllm/x", "--probability", "vote", "--samples", "1"], ["samples", "1"]),
        (["--judge", "vllm/x", "--store", "none/x.sqlite"], ["none"]),
        (["--judge", "vllm/x", "--store", "items.jsonl"], ["items.jsonl"]),
        (["--judge", "vllm/x", "--rubric", "none.yaml"], ["none.yaml"]),
        (["--judge", "vllm/x", "-o", "none/out.parquet"], ["`--output`", "none"]),
        (["--judge", "vllm/x", "-o", "items.jsonl"], ["items"]),
        (["--judge", "none.yaml"], ["none.yaml"]),
        (["--judge", "tiny.yaml"], ["tiny.yaml"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value[0], str) else None,
)
def test_what_is_wrong_is_said_in_one_line_and_leaves_nothing(
    call, place, assert_one_line, monkeypatch, options, words
):
    for name in ("GROQ_API_KEY", "NO_SUCH_KEY"):
        monkeypatch.delenv(name, raising=False)
    before = sorted(path.name for path in place.iterdir())

    done = call("judge", "items.jsonl", "--rubric", "tiny.yaml", "-o", "out.parquet", *options)

    assert_one_line(done, *words)
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--judge", "judges.yaml", "--seed", "5"], ["judges.yaml", "--seed", "the file"]),
        (["--max-cost", "5"], ["--max-cost", "language model", "'local'"]),
        (["--judge", "x.npz", "--store", "s.sqlite"], ["--store", "language model", "x.npz"]),
    ],
)
def test_an_option_that_would_mean_nothing_is_refused(call, place, options, words):
    done = call("judge", "items.jsonl", "--rubric", "tiny.yaml", "-o", "out", *options)

    said = " ".join(done.err.replace("\u2502", " ").split())
    assert done.code == 2
    assert all(word in said for word in words), said


# Several judges -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_examined", [2, 3])
def test_from_items_and_a_file_of_judges_to_a_report(call, place, llama_server, n_examined):
    judges_file(
        place,
        *({"name": f"tiny-{word}", **about} for word, about in VARIANTS.items()),
        model=f"openai/{llama_server.model}",
        base_url=llama_server.base_url,
    )
    labels = [f"item-{n},{who},sorry,{n * k % 3 % 2}" for n in range(20) for k, who in PEOPLE]
    (place / "labels.csv").write_text("item,annotator,question,label\n" + "\n".join(labels))

    judged = call(
        *("judge", "items.jsonl", "--rubric", "tiny.yaml", "--judge", "judges.yaml"),
        *("-o", "verdicts", "--json"),
    )
    assert all(" replied as " in line for line in judged.err.splitlines())
    outputs = [row["output"] for row in judged.json["judged"]]
    examined = call(
        *("examine", "--humans", "labels.csv", "--kind", "boolean"),
        *(word for output in outputs[:n_examined] for word in ("--judges", output)),
        *("--question", "sorry", "--report", "report.html"),
    )

    assert judged.json["failed"] == {}
    assert [row["judge"] for row in judged.json["judged"]] == [f"tiny-{word}" for word in VARIANTS]
    assert all(row["n_items"] == 20 for row in judged.json["judged"])
    assert examined.code == 0, examined.err
    report = (place / "report.html").read_text(encoding="utf-8")
    shown = [f"tiny-{word}" in report for word in VARIANTS]
    assert shown == [number < n_examined for number in range(len(VARIANTS))]


VARIANTS = {
    "joint": {"mode": "joint", "probability": "logprob"},
    "single": {"mode": "single", "probability": "logprob", "language": "zh"},
    "stated": {"mode": "joint", "probability": "stated"},
}
PEOPLE = [(1, "ann"), (2, "bob"), (5, "eve")]


def judges_file(folder, *judges, **defaults):
    """Write a file of judges; JSON is YAML too."""
    rows = [defaults | judge for judge in judges]
    text = "schema: voirdire.judges/1\njudges:\n"
    text += "".join(f"  - {json.dumps(row)}\n" for row in rows)
    path = folder / "judges.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_one_judge_that_cannot_go_on_stops_nobody_and_exits_1(
    call,
    place,
    faulty_server,
):
    judges_file(
        place,
        {"name": "good", "probability": "stated"},
        {"name": "dear", "probability": "stated", "price": {"input": 1e4, "output": 1e4}}
        | {"max_cost": 0.001, "seed": 1},
        model="openai/test",
        base_url=faulty_server.url,
    )

    done = call(
        *("judge", "items.jsonl", "--rubric", "tiny.yaml", "--judge", "judges.yaml"),
        *("-o", "verdicts"),
    )

    assert done.code == 1
    assert "dear did not come to its end: `max_cost` of $0.001 is reached" in done.err
    assert done.err.count("\n") == 2  # and what the first reply of the other showed
    assert re.search(r"^good +20 +20 +0 ", done.out, re.M)
    assert (place / "verdicts" / "good.parquet").exists()
    assert not (place / "verdicts" / "dear.parquet").exists()


# What is never shown --------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("fault", ["ok", "no_access", "bad_request", "refusal", "malformed"])
def test_the_key_is_nowhere(
    judge,
    place,
    faulty_server,
    monkeypatch,
    fault,
):
    monkeypatch.setenv("MY_KEY", KEY)
    faulty_server.script = lambda item, n_before: fault
    faulty_server.headers = {"x-echo": KEY}
    keys = ("--api-key-env", "MY_KEY", "--probability", "stated")

    done = [judge(*keys), judge(*keys, "--json"), judge(*keys, "--dry-run")]

    assert n_served(faulty_server) > 0
    for each in done:
        assert KEY not in each.out + each.err
    for path in place.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
            assert KEY[3:].encode() not in path.read_bytes(), path


def test_a_password_of_a_store_is_not_shown(judge, assert_one_line, faulty_server):
    done = judge("--store", "postgresql://me:hunter2@127.0.0.1:9/db", "--probability", "stated")

    assert_one_line(done, "127.0.0.1")
    assert "hunter2" not in done.err
    assert n_served(faulty_server) == 0
