"""A cascade on the command line: judged, foretold, interrupted, examined, and paid with."""

import json
import random

import polars as pl
import pytest

from judging_files import RUBRIC, make_items, write_items, write_labels
from voirdire.io import read_items
from voirdire.judging import LocalJudge, distill_files

QUESTIONS = ("sorry", "asks")
UNSURE = (0.2, 0.8)
VAGUE = ("The sky is wide here.", "Sorry to say it rains, is it not", "Do tell, it is late.")
PRICE = "{input: 1000, output: 0}"


def probability(item, key):
    """Give every item and question an answer of the second judge."""
    return round(random.Random(f"{item}/{key}").random(), 6)


def named_items(n_items):
    """Make items that the server knows by name; some are hard to tell."""
    chance = random.Random(5)
    rows = make_items(n_items, seed=11)
    for number, row in enumerate(rows):
        said = chance.choice(VAGUE) if number % 3 == 0 else row["response"]
        row |= {"id": f"item-{number}", "response": f"{said} (item-{number})"}
    return rows


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Give a folder with a distilled judge and its rubric."""
    folder = tmp_path_factory.mktemp("cascade")
    rows = make_items(200, seed=9)
    (folder / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    found = distill_files(
        write_items(folder / "items.jsonl", rows),
        [write_labels(folder / "labels.csv", rows)],
        rubric=folder / "tiny.yaml",
        name="tiny-judge",
    )
    found.judge.save(folder / "tiny.npz")
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch, faulty_server):
    """Go to a folder with items, a cascade, and a server that counts its calls."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    faulty_server.answer = lambda item, key, form: probability(item, key)
    for name in ("tiny.yaml", "tiny.npz"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    write_items(tmp_path / "items.jsonl", named_items(60), behavior="refuse")
    write_cascade(tmp_path, faulty_server)
    return tmp_path


def write_cascade(folder, server, *, more=""):
    (folder / "cascade.yaml").write_text(
        f"""\
schema: voirdire.cascade/1
cascade:
  name: both
  first: tiny.npz
  unsure: [{UNSURE[0]}, {UNSURE[1]}]
  then:
    model: openai/test
    base_url: {server.url}
    probability: stated
    concurrency: 4
    price: {PRICE}
    {more}
""",
        encoding="utf-8",
    )


def expected_of(place):
    """Work out by hand who answers which item, and what."""
    judge = LocalJudge.load(place / "tiny.npz")
    items = read_items(place / "items.jsonl").items
    first = judge.probabilities(items)[:, [judge.questions.index(name) for name in QUESTIONS]]
    found = {}
    for item, values in zip(items, first.tolist(), strict=True):
        goes_on = any(UNSURE[0] < value < UNSURE[1] for value in values)
        then = [probability(item.id, name) for name in QUESTIONS]
        found[item.id] = (goes_on, then if goes_on else values)
    return found


def n_served(server):
    return sum(server.served.values())


def judged(call, *options, items="items.jsonl", output="out.parquet"):
    return call(
        "judge", items, "--rubric", "tiny.yaml", "--judge", "cascade.yaml", "-o", output, *options
    )


@pytest.mark.ci
def test_a_file_is_judged_by_both_and_examined_as_one(call, place, faulty_server):
    expected = expected_of(place)
    n_on = sum(goes_on for goes_on, _ in expected.values())

    done = judged(call)

    assert done.code == 0, done.err
    assert 10 < n_on == n_served(faulty_server) < 50
    assert "60 items judged by both (openai/test, joint, stated and en)" in done.out
    assert f"The first judge of the cascade answered {60 - n_on} items." in done.out
    frame = pl.read_parquet("out.parquet").filter(pl.col("source") != "derived")
    assert frame["item"].unique(maintain_order=True).to_list() == list(expected)
    assert frame["judge"].unique().to_list() == ["both"]
    for item, question, value, source in frame.select(
        "item", "question", "probability", "source"
    ).iter_rows():
        goes_on, values = expected[item]
        assert value == pytest.approx(values[QUESTIONS.index(question)], abs=1e-12)
        assert source == ("stated" if goes_on else "classifier")

    write_labels(place / "labels.csv", named_items(60), annotators=("ann", "bob"), slips=0.1)
    told = call(
        *("examine", "--humans", "labels.csv", "--judges", "out.parquet"),
        *("--kind", "boolean", "--json"),
    )
    assert told.code == 0, told.err
    assert {row["judge"] for row in told.json["examinations"]} == {"both"}


@pytest.mark.ci
def test_a_dry_run_says_what_would_go_on_and_what_it_costs(call, place, faulty_server):
    n_on = sum(goes_on for goes_on, _ in expected_of(place).values())

    words = judged(call, "--dry-run")
    told = judged(call, "--dry-run", "--json").json["estimates"][0]
    judged(call)
    after = judged(call, "--dry-run", "--json").json["estimates"][0]

    assert f"both: {n_on} of 60 items would go on to the language model" in words.out
    assert (told["n_items"], told["n_calls"], told["n_kept"]) == (60, n_on, 60 - n_on)
    assert told["cost"] == pytest.approx(told["prompt_tokens"] * 1e-3)  # 1,000 dollars a million
    assert (after["n_calls"], after["n_stored"], after["cost"]) == (0, n_on, 0)
    assert n_served(faulty_server) == n_on


@pytest.mark.ci
def test_the_cost_of_a_run_can_be_limited_and_the_next_goes_on(call, place, faulty_server):
    n_on = sum(goes_on for goes_on, _ in expected_of(place).values())

    stopped = judged(call, "--max-cost", "3")
    n_before = n_served(faulty_server)
    done = judged(call)

    assert stopped.code == 1
    assert "max_cost" in stopped.err or "--max-cost" in stopped.err
    assert 0 < n_before < n_on
    assert done.code == 0
    assert n_served(faulty_server) == n_on


def test_what_is_wrong_with_the_file_is_one_line(call, place):
    text = (place / "cascade.yaml").read_text(encoding="utf-8")
    (place / "cascade.yaml").write_text(text.replace("first:", "begin:"), encoding="utf-8")

    done = judged(call)

    assert done.code == 1
    assert "cascade.yaml:4:3: `cascade` has no key 'begin'. It has `first`, `then`" in done.err
    assert "Traceback" not in done.err


@pytest.fixture
def comparisons(place):
    """Write completions of twelve prompts with labels, good ones that say sorry."""
    rows = [
        {
            "id": f"c{prompt}-{label}",
            "prompt": f"How is number {prompt} done?",
            "response": f"{said} (item-{100 * k + prompt})",
            "label": label,
            "behavior": "refuse",
        }
        for prompt in range(12)
        for k, (label, said) in enumerate(
            [("ideal", "Sorry, rain is beyond me."), ("unacceptable", VAGUE[prompt % 3])]
        )
    ]
    path = place / "comparisons.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_strangers_file_has_no_key_sent_and_the_way_out_works(call, place, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "open-sesame")
    monkeypatch.delenv("VOIRDIRE_KEY_VARIABLES", raising=False)
    text = (place / "cascade.yaml").read_text(encoding="utf-8")
    named = text.replace("base_url:", "api_key_env: DATABASE_PASSWORD\n    base_url:")
    (place / "cascade.yaml").write_text(named, encoding="utf-8")

    refused = judged(call)

    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert "a key that a file names must be the provider's own at its own address" in refused.err
    assert "sesame" not in refused.err

    way_out = refused.err.rpartition("set VOIRDIRE_KEY_VARIABLES=")[2].strip().removesuffix(".")
    monkeypatch.setenv("VOIRDIRE_KEY_VARIABLES", way_out)
    assert judged(call).code == 0
