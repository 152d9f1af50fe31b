"""`voirdire examine-reward`: files in, tables, JSON and a page out."""

import dataclasses
import json

import polars as pl
import pytest

from examined_reward import drawn_rows
from studies.reward.small_reward import RUBRIC, WEIGHTS, items_of
from voirdire.reporting import to_json
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.studies import examine_reward

QUICK = ("--resamples", 60)


@pytest.fixture
def command(call):
    def voirdire(*arguments, **others):
        return call("examine-reward", *arguments, **others)

    return voirdire


@pytest.fixture
def given(tmp_path):
    """Write a reward, comparisons and verdicts, and give the paths by name."""
    rubric = rubric_from_text(RUBRIC, source="small.yaml")
    reward = reward_of_weights(WEIGHTS, rubric=rubric, judge=None)
    reward = dataclasses.replace(reward, settings={**reward.settings, "use_base": True})
    reward.save(tmp_path / "reward.json")
    rows = drawn_rows(n_prompts=10)
    lines = [
        {
            "id": item.id,
            "prompt": item.prompt[0].content,
            "response": item.response,
            "behavior": item.behavior,
            "group": item.group,
            **item.metadata,
        }
        for item in items_of(rows)
    ]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "comparisons.jsonl").write_text(text, encoding="utf-8")
    verdicts = {"item": [row["id"] for row in lines]} | {
        name: [row["p"][k] for row in rows] for k, name in enumerate(rubric.propositions)
    }
    pl.DataFrame(verdicts).write_csv(tmp_path / "verdicts.csv")
    return {
        "reward": tmp_path / "reward.json",
        "comparisons": tmp_path / "comparisons.jsonl",
        "verdicts": tmp_path / "verdicts.csv",
    }


@pytest.fixture
def asked(given):
    """Give the arguments of a plain examination."""
    return (
        given["comparisons"],
        *("--reward", given["reward"]),
        *("--verdicts", given["verdicts"], "--only", "verdicts"),
        *QUICK,
    )


def _examined(given, **settings):
    return examine_reward(
        given["reward"],
        str(given["comparisons"]),
        verdicts=[given["verdicts"]],
        judge="verdicts",
        n_resamples=60,
        **settings,
    )


def test_json_is_that_of_the_library(command, given, asked):
    done = command(*asked, "--seed", 3, "--confidence-level", 0.9, "--json")

    expected = _examined(given, seed=3, confidence_level=0.9)
    assert (done.code, done.err) == (0, "")
    assert done.json == json.loads(to_json(expected))


def test_an_order_turns_labels_round(command, given, asked):
    order = "illogical > ideal"

    done = command(*asked, "--order", order, "--json")

    expected = _examined(given, orders={"*": order})
    assert done.json["n_comparisons"] == expected.n_comparisons
    assert done.json["settings"]["orders"]["refuse"] == order


def test_a_benchmark_is_read_with_its_verdicts(command, given, asked, tmp_path):
    bench = tmp_path / "bench.jsonl"
    row = {"id": "r", "prompt": "p", "chosen": "a", "rejected": "b"}
    bench.write_text(json.dumps(row), encoding="utf-8")
    sides = {"item": ["r:chosen", "r:rejected"], "apology": [1.0, 0.0]}
    zeros = {name: [0.0, 0.0] for name in ("rude", "helps", "extra")}
    pl.DataFrame(sides | zeros).write_csv(tmp_path / "verdicts2.csv")

    done = command(
        *("--reward", given["reward"], *QUICK, "--json"),
        *("--bench", bench, "--bench-verdicts", tmp_path / "verdicts2.csv"),
        *("--behavior", "refuse"),
    )

    assert done.code == 0, done.err
    assert done.json["bench"][0]["accuracy"]["value"] == 1.0
    assert done.json["n_comparisons"] == 0


@pytest.mark.edges
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ([], "there is nothing to examine it on"),
        (["-", "--bench", "-"], "standard input (-) can be read once"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(command, given, typed, words):
    done = command(*typed, "--reward", given["reward"])

    assert (done.code, done.out) == (2, "")
    assert words in " ".join(done.err.replace("│", " ").split())


def test_a_reward_without_a_judge_needs_verdicts(command, given, assert_one_line):
    done = command(given["comparisons"], "--reward", given["reward"])

    assert_one_line(done, "cannot be made again")


def _rewritten(path, change):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(json.dumps(change(row)) for row in rows), encoding="utf-8")


def test_columns_may_have_names_of_ones_own(command, given, asked):
    plain = command(*asked, "--json").json
    _rewritten(
        given["comparisons"],
        lambda row: {
            {"label": "grade", "base_reward": "rm"}.get(name, name): value
            for name, value in row.items()
        },
    )

    named = command(*asked, "--column", "label=grade", "--base", "rm", "--json").json

    assert {row["signal"] for row in named["error_rates"]} == {"base", "total", "rules"}
    assert named["error_rates"] == plain["error_rates"]


def test_the_judges_own_classes_are_no_labels_unless_that_is_asked(
    command, given, asked, assert_one_line
):
    """A column of labels that is not found must not end in an error rate of 0."""
    _rewritten(given["comparisons"], lambda row: row | {"label": None})

    refused = command(*asked)
    taken = command(*asked, "--from-classes", "--json")

    assert_one_line(refused, "--column label=YOURS", "--from-classes")
    assert "labels_from_classes" in {note["code"] for note in taken.json["notes"]}


def test_classes_stand_in_for_labels_that_there_are(command, asked):
    labels = command(*asked, "--json").json
    classes = command(*asked, "--from-classes", "--json").json

    assert "labels_from_classes" in {note["code"] for note in classes["notes"]}
    assert classes["error_rates"] != labels["error_rates"]


def test_verdicts_on_other_completions_are_an_error_and_no_page(
    command, given, asked, tmp_path, assert_one_line
):
    _rewritten(given["comparisons"], lambda row: row | {"id": f"other-{row['id']}"})

    done = command(*asked, "--report", tmp_path / "page.html")

    assert_one_line(done, "at least one comparison that can be ranked", "no verdict")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.edges
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (
            ("--bench", "p.jsonl", "--verdicts", "v.csv"),
            "--verdicts must be left out: COMPARISONS is not given",
        ),
        (
            ("--bench", "p.jsonl", "--base", "rm"),
            "--base must be left out: COMPARISONS is not given",
        ),
        (("c.jsonl", "--bench-verdicts", "v.csv"), "must be left out: `--bench` is not given"),
    ],
)
def test_options_about_what_is_not_given_are_usage_errors(command, given, typed, words):
    done = command(*typed, "--reward", given["reward"])

    assert done.code == 2
    assert words in " ".join(done.err.replace("│", " ").split())


def test_a_gate_is_closed_where_nobody_searched_and_where_words_are_paid(command, asked, tmp_path):
    rows = [
        {"prompt": prompt, "response": text, "label": label, "behavior": "comply"}
        for prompt in ("How do I bake bread?", "How do I sew a button on?")
        for text, label in (("I'm sorry, it depends.", "ideal"), ("No idea at all.", "disallowed"))
    ]
    rows = [row | {"response": f"{row['response']} {row['prompt'][9:]}"} for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    reward_of_weights({"comply": {"apology": 1.0}}, rubric="safety").save(tmp_path / "paying.json")

    away = command(*asked, "--gate")
    paying = command(
        tmp_path / "rows.jsonl", "--reward", tmp_path / "paying.json", *QUICK, "--gate", "--json"
    )
    open_gate = command(*asked, "--json")

    assert (away.code, paying.code, open_gate.code) == (3, 3, 0)
    assert "gate not passed: no nonsense was searched" in away.err
    assert "gate not passed: words are paid as a real response on 2 of 2 prompts" in paying.err
    assert paying.json["nonsense"][0]["kind"] == "words"


def test_an_older_reward_stands_beside_and_a_regression_closes_the_gate(command, given, asked):
    weights = {name: {key: -x for key, x in own.items()} for name, own in WEIGHTS.items()}
    rubric = rubric_from_text(RUBRIC, source="small.yaml")
    upside_down = given["reward"].with_name("upside_down.json")
    reward_of_weights(weights, rubric=rubric, judge=None).save(upside_down)

    done = command(
        given["comparisons"],
        *("--reward", upside_down, "--against", given["reward"], "--gate", "--json"),
        *("--verdicts", given["verdicts"], "--only", "verdicts", *QUICK),
    )

    assert done.code == 3
    assert "error_rate is " in done.err
    assert done.json["against"]["name"] == "reward"
    assert done.json["changes"][0]["is_regression"] is True
