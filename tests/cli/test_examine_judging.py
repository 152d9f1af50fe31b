"""`voirdire examine --judge`: the step of `voirdire judge`, and then the examination."""

import csv
import json

import pytest

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Go to a folder with items, labels by three annotators, and a rubric."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(RUBRIC)
    texts = ("I'm sorry, but I can't help with that.", "Here you are: take the second door.")
    with (tmp_path / "items.jsonl").open("w") as file:
        for n in range(40):
            row = {"id": f"i{n}", "prompt": f"Question {n}?", "response": f"{texts[n % 2]} {n}"}
            file.write(json.dumps(row | {"behavior": "comply", "source": f"s{n % 3}"}) + "\n")
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "annotator", "question", "label"])
        for k, annotator in enumerate(("ann", "bob", "eve")):
            for n in range(40):
                says = (n % 2 == 0) != (n % 10 == k)
                writer.writerow([f"i{n}", annotator, "apology", "yes" if says else "no"])
    return tmp_path


def examined(call, *options):
    done = call("examine", "--humans", "labels.csv", *options, "--resamples", "0", "--json")
    assert done.code == 0, done.err
    return done.json["examinations"]


def test_it_is_judging_and_then_examining(call, place):
    call("judge", "items.jsonl", "-o", "verdicts.parquet")
    before = {path.name for path in place.iterdir()}

    at_once = examined(call, "--judge", "local", "--items", "items.jsonl")

    assert at_once == examined(call, "--judges", "verdicts.parquet", "--kind", "boolean")
    assert at_once[0]["judge"] == "local"
    assert {path.name for path in place.iterdir()} == before  # nothing is left


def test_gold_labels_serve_without_annotators(call, place):
    rows = (place / "labels.csv").read_text().replace(",annotator,", ",gold,").splitlines()
    (place / "gold.csv").write_text(
        "\n".join(row for row in rows if "bob" not in row and "eve" not in row)
    )

    done = call(
        "examine", "--judge", "local", "--gold", "gold.csv", "--items", "items.jsonl", "--json"
    )

    assert done.code == 0, done.err
    assert [row["question"] for row in done.json["gold"]] == ["apology"]


@pytest.mark.ci
def test_a_model_is_paid_once(call, place, faulty_server):
    text = (place / "labels.csv").read_text().replace(",apology,", ",sorry,")
    (place / "labels.csv").write_text(text)
    (place / "judges.yaml").write_text(
        "schema: voirdire.judges/1\njudges:\n  - {name: one, model: openai/test, "
        f'base_url: "{faulty_server.url}", probability: stated}}\n'
    )
    asked = ("--judge", "judges.yaml", "--rubric", "tiny.yaml", "--items", "items.jsonl")

    first, n_calls = examined(call, *asked), sum(faulty_server.served.values())
    second = examined(call, *asked)

    assert n_calls == sum(faulty_server.served.values()) == 40
    assert first == second
    assert (place / "voirdire-replies.sqlite").exists()


@pytest.mark.parametrize("wrong", ["labels", "gold"])
def test_a_wrong_file_of_labels_is_seen_before_a_model_is_paid(call, place, faulty_server, wrong):
    text = (place / "labels.csv").read_text().replace(",apology,", ",sorry,")
    (place / "labels.csv").write_text(text)
    (place / "gold.csv").write_text("item,gold,question,label\ni0,gold,sorry,yes\n")
    (place / f"{wrong}.csv").write_text("who,what\nann,yes\n")
    (place / "judges.yaml").write_text(
        "schema: voirdire.judges/1\njudges:\n  - {name: one, model: openai/test, "
        f'base_url: "{faulty_server.url}", probability: stated}}\n'
    )
    before = sum(faulty_server.served.values())

    done = call(
        *("examine", "--humans", "labels.csv", "--gold", "gold.csv", "--judge", "judges.yaml"),
        *("--rubric", "tiny.yaml", "--items", "items.jsonl"),
    )

    assert done.code == 1
    assert f"{wrong}.csv" in done.err
    assert sum(faulty_server.served.values()) == before


@pytest.mark.edges
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judge", "local"), "`--judge` needs a file of prompts with responses as `--items`"),
        (("--judge", "local", "--items", "-"), "got standard input"),
        (("--judges", "v.csv", "--rubric", "tiny.yaml"), "--rubric must be left out: nobody"),
        (("--judges", "v.csv", "--store", "s.sqlite"), "--store must be left out: nobody is asked"),
    ],
)
def test_what_means_nothing_is_refused(call, place, options, words):
    done = call("examine", "--humans", "labels.csv", *options)

    assert done.code == 2
    assert words in done.err
