"""`voirdire annotate`: what it refuses, `change` and `export`; the page has tests of its own."""

import json
import socket

import polars as pl
import pytest

from annotation.studies_made import ALL_KINDS, YES_NO, start
from voirdire.annotation import COORDINATOR, open_study
from voirdire.io import read_labels
from voirdire.store import Answer, open_annotations


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"new-{k}", "prompt": "Hi?", "response": "Hello."} for k in range(3)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rubric.yaml").write_text(YES_NO, encoding="utf-8")
    return tmp_path


def answer(store, seat, item, value, **more):
    study = open_study(store)
    about = {"question": "polite", "value": value} | more
    store.insert([(study.key, Answer(uuid=f"{seat}{item}{value}", seat=seat, item=item, **about))])


def test_a_study_is_begun_with_what_is_typed_and_the_port_must_be_free(place, call):
    about = ["items.jsonl", "--rubric", "rubric.yaml", "--annotators", "ana,ben", "--per-item", "1"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = call("annotate", *about, "--epsilon", "0.1", "--port", port)

    assert done.code == 1
    assert "`--port` must be free" in done.err
    with open_annotations(place / "voirdire-annotations.sqlite") as store:
        study = open_study(store)
    assert [seat.name for seat in study.seats] == ["", "ana", "ben"]
    printed = dict(line.split() for line in done.out.splitlines())
    seats = [study.find_seat(link.partition("#")[2]).name for link in printed.values()]
    assert (list(printed), seats) == (["coordinator", "ana", "ben"], ["", "ana", "ben"])
    assert (study.settings.per_item, study.settings.epsilon) == (1, 0.1)


def test_a_call_that_cannot_be_meant_makes_no_store(place, call):
    assert "`--rubric` is missing" in call("annotate", "items.jsonl").err
    assert "must be a store of annotations, got no file" in call("annotate").err
    assert "items are missing" in call("annotate", "--annotators", "ana").err
    assert list(place.glob("*.sqlite")) == []


def test_people_and_items_come_and_links_go_while_it_runs(place, call):
    with open_annotations(place / "study.db") as store:
        _, links = start(store, 2)

        words = ("--add", "dan,eve", "--items", "items.jsonl", "--revoke", "ben")
        renewed = ("--new-link", "coordinator,chi", "--address", "https://x.org")
        done = call("annotate", "change", "--store", "study.db", *words, *renewed)

        study = open_study(store)
    printed = dict(line.split() for line in done.out.splitlines())
    secrets = {name: link.removeprefix("https://x.org/#") for name, link in printed.items()}
    assert list(secrets) == ["dan", "eve", "coordinator", "chi"]
    assert [study.find_seat(secret).name for secret in secrets.values()] == [
        "dan",
        "eve",
        "",
        "chi",
    ]
    assert study.find_seat(links["ana"]).name == "ana"
    assert all(study.find_seat(links[name]) is None for name in ("ben", "chi", ""))
    assert "items added: 3" in done.err
    assert len(study.order) == 5


@pytest.mark.edges
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_labels_and_gold_are_written_for_examine(place, call, ending):
    with open_annotations(place / "study.db") as store:
        start(store, 2, rubric=ALL_KINDS)
        for seat, value in ((0, True), (1, False), (2, None), (COORDINATOR, True)):
            answer(store, seat, "item-0", value)
    about = ("--store", "study.db", "--codes", "--gold", f"gold.{ending}")

    done = call("annotate", "export", *about, "-o", f"labels.{ending}")

    read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    rows = read(place / f"labels.{ending}").select("annotator", "label").cast(pl.String).rows()
    assert rows == [("P1", "true"), ("P2", "false"), ("P3", "can't tell")]
    assert len(read(place / f"gold.{ending}")) == 1
    assert f"--humans labels.{ending} --judges VERDICTS --kind scale --question quality" in done.err
    assert call("annotate", "export", *about[:2], "-o", "labels.xlsx").code == 1


def test_numbers_of_a_scale_are_in_a_table_as_they_were_given(place, call):
    given = [-2, 19009.75, 0.5, 56028.0]
    with open_annotations(place / "study.db") as store:
        start(store, 4, rubric=ALL_KINDS.replace("minimum: 1,", "minimum: -5,"))
        for k, value in enumerate(given):
            answer(store, 0, f"item-{k}", value, question="quality")

    call("annotate", "export", "--store", "study.db", "-o", "labels.csv")

    table = read_labels("labels.csv", role="annotator", kind="scale", question="quality")
    assert table.frame.sort("item")["label"].cast(float).to_list() == given
    assert table.dropped == ()


def test_links_that_were_made_before_a_mistake_are_printed(place, call):
    with open_annotations(place / "study.db") as store:
        start(store, 2)

        done = call("annotate", "change", "--store", "study.db", "--add", "dan,ana")

        assert "annotators must differ, got 'ana' twice" in done.err
        [(name, link)] = [line.split() for line in done.out.splitlines()]
        assert open_study(store).find_seat(link.partition("#")[2]).name == name == "dan"


def test_the_next_call_names_the_margin_of_the_stop(place, call):
    with open_annotations(place / "study.db") as store:
        study, _ = start(store, 3, epsilon=0.15, epsilon_mode="multiplicative")
    (place / "judge.csv").write_text("item,label\n" + "".join(f"{x},true\n" for x in study.order))
    about = ("--judges", "judge.csv", "--stop", "stop.json", "--store", "study.db")

    done = call("annotate", "export", *about, "-o", "labels.csv")

    margin = "--question polite --epsilon 0.15 --epsilon-mode multiplicative --stop stop.json"
    assert f"--kind boolean {margin}" in done.err


def test_a_page_of_instructions_is_text(place, call):
    (place / "guidelines.txt").write_bytes(b"\xff\xfe\x00")

    about = ("--rubric", "rubric.yaml", "--annotators", "ana", "--guidelines", "guidelines.txt")
    done = call("annotate", "items.jsonl", *about)

    assert "`--guidelines` must be text in UTF-8" in done.err
    assert list(place.glob("*.sqlite")) == []


@pytest.mark.parametrize(
    ("platform", "written"),
    [("label-studio", {"config.xml", "tasks.json"}), ("argilla", {".argilla", "records.json"})],
)
def test_a_study_is_written_for_another_platform(place, call, platform, written):
    about = ("items.jsonl", "--rubric", "rubric.yaml", "--on", platform)
    done = call("annotate", "elsewhere", *about, "-o", "study")

    assert done.code == 0
    assert {path.name for path in (place / "study").iterdir()} == written
