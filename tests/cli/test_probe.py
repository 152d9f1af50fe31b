"""`voirdire probe`: a judge under controlled versions of items."""

import json
import re
from dataclasses import fields

import pytest

from voirdire.studies import ProbeReport

RUBRIC = """
schema: voirdire.rubric/1
name: tiny
version: "1"
questions:
  - {id: sorry, kind: boolean, text: {en: "Does it say sorry?", zh: "是否道歉？"}}
  - {id: rude, kind: boolean, text: {en: "Is it rude?", zh: "是否粗鲁？"}}
"""
QUICK = ("--swaps", "999")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Go to a folder with a rubric and items, where no key is known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "tiny.yaml").write_text(RUBRIC, encoding="utf-8")
    rows = [
        {
            "id": f"item-{n}",
            "prompt": f"How do I boil {n} eggs?",
            "response": f"Sorry, item-{n} says no. Boil them for {n} minutes. Then cool them.",
        }
        for n in range(1, 13)
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.fixture
def probe(call, place):
    """Probe the local judge."""

    def probe(*options, items="items.jsonl"):
        return call("probe", items, *QUICK, *options)

    return probe


@pytest.fixture
def probe_model(call, place, faulty_server):
    """Probe a model on a server that says sorry more often where others agree."""

    def probability(item, key):
        shown = faulty_server.bodies[-1]["messages"][-1]["content"]
        return 0.3 + 0.4 * (key == "sorry" and ("94%" in shown or "out of ten" in shown))

    faulty_server.probability = probability
    faulty_server.answer = lambda item, key, form: probability(item, key) > 0.5

    def probe(*options):
        return call(
            *("probe", "items.jsonl", *QUICK, "--rubric", "tiny.yaml", "--judge", "openai/test"),
            *("--base-url", faulty_server.url, *options),
        )

    return probe


# The local judge ------------------------------------------------------------------------------


def test_the_result_is_a_sentence_then_tables_and_the_size_is_said_before(probe):
    done = probe("--only", "bandwagon")

    assert done.code == 0
    assert re.search(r"(?m)^(None|1) of 1 probe found a bias in local, at a false", done.out)
    assert re.search(r"askings of the same \(2 runs, α \S+\), 0% of the labels flip", done.out)
    assert re.search(r"bandwagon/majority +12 ", done.out)
    assert re.fullmatch(r"asking about \d+ versions of 12 items\n", done.err)


def test_json_is_the_record_field_by_field(probe):
    done = probe("--only", "style", "--json")

    assert list(done.json) == [row.name for row in fields(ProbeReport)]
    assert done.json["probes"][0]["family"] == "style"
    assert done.json["probes"][0]["questions"][0]["change"]["noise_rate"]["estimate"] == 0


def test_a_dry_run_asks_nothing(probe):
    done = probe("--dry-run", "--items", "5")
    found = probe("--dry-run", "--items", "all", "--json")

    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"It would ask about \d+ versions of 5 items\.\n", done.out)
    assert found.json["n_versions"] > 12
    assert found.json["estimates"] == []


def test_the_gate_is_not_passed_where_a_bias_is_found(probe):
    any_size = ("--only", "style", "--least-effect", "0")

    done = probe(*any_size, "--json")
    gated = probe(*any_size, "--gate")

    n_found = sum(row["is_found"] for row in done.json["probes"])
    assert done.code == 0
    assert n_found > 0
    assert gated.code == 3
    assert f"{n_found} of 4 probes found a bias" in gated.out


def test_annotators_say_how_far_a_judge_prefers_its_own_model(probe, place):
    lines = (place / "items.jsonl").read_text().splitlines()
    rows = [json.loads(line) | {"by": ("mine", "theirs")[n % 2]} for n, line in enumerate(lines)]
    (place / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = [f"{row['id']},fully_complies,{who},false" for row in rows for who in ("ann", "bob")]
    (place / "labels.csv").write_text("\n".join(["item,question,annotator,label", *labels]))

    done = probe(
        *("--only", "bandwagon", "--humans", "labels.csv"),
        *("--author", "by", "--own-model", "mine", "--json"),
    )

    [found] = done.json["self_preference"]
    assert (found["question"], found["n_own"], found["n_others"]) == ("fully_complies", 6, 6)


# A language model -----------------------------------------------------------------------------


def test_a_dry_run_of_a_model_says_calls_and_tokens_and_needs_no_key(probe_model, faulty_server):
    done = probe_model("--only", "bandwagon", "--dry-run")

    assert done.code == 0
    assert re.search(r"versions of 12 items\.\n", done.out)
    assert "Tokens are estimated" in done.out
    assert sum(faulty_server.served.values()) == 0


@pytest.mark.ci
def test_what_was_asked_once_is_not_asked_again(probe_model, faulty_server):
    first = probe_model("--only", "bandwagon", "--json")
    n_served = sum(faulty_server.served.values())
    again = probe_model("--only", "bandwagon", "--json")

    assert sum(faulty_server.served.values()) == n_served > 0
    assert again.json["probes"] == first.json["probes"]


# What is refused ------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "authorityy"), "Perhaps 'authority' is meant"),
        (("--items", "1"), "`--items` must be a whole number of at least 2, got 1"),
        (("--author", "model"), "`--author` and `--own-model` must be given together"),
        (("--own-model", "m", "--author", "x"), "must be a value of the column"),
    ],
)
def test_a_wrong_setting_is_one_line(probe, assert_one_line, words, said):
    done = probe(*words)
    errors = done.err.splitlines()

    assert (done.code, done.out) == (1, "")
    assert said in errors[-1]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--items", "few"), "`--items` must be a whole number or all, got 'few'"),
        (("--humans", "-"), "`--humans` must be a file, got standard input"),
        (("--max-cost", "1"), "`--judge` must name a language model for --max-cost"),
    ],
)
def test_wrong_usage_is_refused(probe, words, said):
    done = probe(*words)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_labels_that_are_needed_at_the_end_are_read_before_anything_is_asked(
    probe_model, faulty_server, assert_one_line
):
    assert_one_line(probe_model("--humans", "gone.csv"), "gone.csv")
    assert sum(faulty_server.served.values()) == 0
