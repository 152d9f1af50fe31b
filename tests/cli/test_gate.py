"""`--gate`: exit 3 unless the judge's outcome is passed."""

import json

import pytest
import typer

from voirdire.cli.gate import EVERY_JUDGE, check_gates, closed_gates
from voirdire.errors import InputError


class Result:
    """As much of a result as a gate looks at."""

    def __init__(self, judge, outcome):
        self.judge = judge
        self.outcome = outcome
        self.question = "polite"
        self.alignment = "accuracy"
        self.epsilon = 0.2


class Found:
    """As much of an examination as a gate looks at."""

    def __init__(self, *results):
        self.results = tuple(Result(*result) for result in results)
        self.judges = tuple(dict.fromkeys(result.judge for result in self.results))
        self.settings = {"questions": ["polite"]}

    def of_judge(self, name):
        return tuple(result for result in self.results if result.judge == name)


@pytest.mark.parametrize(
    ("outcomes", "gates", "n_closed"),
    [
        ([("a", "passed")], ["a"], 0),
        ([("a", "failed")], ["a"], 1),
        ([("a", "no_evidence")], ["a"], 1),
        ([("a", "passed"), ("a", "failed")], ["a"], 1),
        ([("a", "passed"), ("b", "failed")], ["a"], 0),
        ([("a", "passed"), ("b", "failed")], ["a", "b"], 1),
        ([("a", "passed"), ("b", "failed")], [EVERY_JUDGE], 1),
        ([("a", "failed"), ("b", "failed")], [EVERY_JUDGE], 2),
        ([("a", "passed"), ("b", "passed")], [EVERY_JUDGE], 0),
        ([("a", "failed")], [], 0),
    ],
)
def test_only_passed_passes(outcomes, gates, n_closed):
    assert len(closed_gates(Found(*outcomes), gates)) == n_closed


def test_a_closed_gate_says_whose_it_is_and_why():
    (said,) = closed_gates(Found(("x" * 10**6, "no_evidence")), [EVERY_JUDGE])

    assert said.startswith("xxx")
    assert "no_evidence (polite, accuracy, ε 0.2)" in said
    assert len(said) < 300


@pytest.mark.parametrize("gates", [[], [EVERY_JUDGE], ["a"], ["b", "a"]])
def test_known_judges_can_be_gated(gates):
    check_gates(gates, ["a", "b"])


def test_an_unknown_judge_is_refused_with_the_known_names():
    judges = [f"{'x' * 1000}{number}" for number in range(30)]

    with pytest.raises(InputError, match=r"`--gate` must name one of the judges 'x.* got 'y") as e:
        check_gates([judges[0], "y" * 10**6], judges)

    assert len(str(e.value)) < 1500


# On the command line --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--gate", "good"], 0),
        (["--gate=good"], 0),
        (["--gate", "bad"], 3),
        (["--gate", "good", "--gate", "bad"], 3),
        (["--gate"], 3),
        (["--gate", "--json"], 3),
        (["--judge", "good", "--gate"], 0),
        (["--gate", "--judge", "good"], 0),
        (["--gate", "-h"], 0),
        ([], 0),
    ],
    ids=str,
)
def test_a_gate_decides_the_exit_code(call, files, arguments, code):
    assert call("examine", *files, *arguments).code == code


def test_a_bare_gate_in_front_leaves_the_next_option_alone(call, files):
    done = call("examine", "--gate", *files, "--json")

    assert done.code == 3
    assert len(done.json["examinations"]) == 2


@pytest.mark.parametrize("place", ["last", "middle"])
def test_a_gate_exits_3_from_a_real_program(execute, files, place):
    arguments = [*files, "--gate"] if place == "last" else ["--gate", *files]

    done = execute("examine", *arguments, "--json" if place == "middle" else "--judge=bad")

    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "bad" in done.err


def test_a_failed_gate_still_prints_the_result_and_says_whose_it_was(call, files):
    done = call("examine", *files, "--gate", "bad", "--json")

    assert done.code == 3
    assert {row["judge"]: row["outcome"] for row in done.json["examinations"]} == {
        "good": "passed",
        "bad": "failed",
    }
    assert done.err.count("\n") == 1
    assert "bad: failed" in done.err


def test_every_margin_of_the_run_must_pass(call, files, study):
    done = call("examine", *files, "--epsilon", "0.2", "--epsilon", "0", "--gate", "good", "--json")

    outcomes = [row["outcome"] for row in done.json["examinations"] if row["judge"] == "good"]
    assert "passed" in outcomes
    assert done.code == (0 if set(outcomes) == {"passed"} else 3)
    assert set(outcomes) != {"passed"}


def test_no_evidence_does_not_pass_a_gate(call, tmp_path):
    labels = {f"i{row}": "yes" if row else "no" for row in range(60)}
    (tmp_path / "h.json").write_text(json.dumps(dict.fromkeys("abc", labels)))
    (tmp_path / "j.json").write_text(json.dumps({"always": dict.fromkeys(labels, "yes")}))
    arguments = ["--humans", tmp_path / "h.json", "--judges", tmp_path / "j.json"]

    done = call("examine", *arguments, "--kind", "boolean", "--gate", "always", "--json")

    (row,) = done.json["examinations"]
    assert row["passed"] is True
    assert row["outcome"] == "no_evidence"
    assert done.code == 3


def test_failures_count_against_the_gate(call, files, study, tmp_path):
    answers = dict(study["judges"]["good"])
    answers |= {f"i{row}": None for row in range(25)}
    (tmp_path / "failing.json").write_text(json.dumps({"good": answers}))

    done = call("examine", *files[:2], "--judges", tmp_path / "failing.json", "--gate", "--json")

    (row,) = done.json["examinations"]
    assert row["passed"] is True
    assert row["worst_case"]["passed"] is False
    assert done.code == 3


def test_an_unknown_gate_is_our_error(call, invoke, files):
    done = call("examine", *files, "--gate", "nobody")

    assert done.code == 1
    assert (
        done.err == "voirdire: `--gate` must name one of the judges 'good', 'bad', got 'nobody'.\n"
    )
    assert isinstance(invoke("examine", *files, "--gate", "nobody").exception, InputError)


@pytest.fixture
def judges_of_different_questions(study, tmp_path):
    """Write annotations of two questions, with `good` asked the first and `other` neither."""
    for name, role, questions in (
        ("humans", "annotator", {"ann": "ab", "bob": "ab", "eve": "ab"}),
        ("judges", "judge", {"good": "a", "bad": "ab", "other": "c"}),
    ):
        labels = study[name] | {"other": study["judges"]["good"]}
        rows = [
            {"item": item, role: rater, "question": question, "label": label}
            for rater, asked in questions.items()
            for question in asked
            for item, label in labels[rater].items()
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)
    return ["--humans", tmp_path / "humans.jsonl", "--judges", tmp_path / "judges.jsonl"]


def test_a_judge_of_a_question_that_nobody_annotated_passes_no_gate(
    call, judges_of_different_questions
):
    done = call("examine", *judges_of_different_questions, "--gate", "other", "--json")

    assert done.code in (1, 3)


def test_a_judge_that_was_not_asked_every_question_passes_no_gate(
    call, judges_of_different_questions
):
    alone = call("examine", *judges_of_different_questions, "--question", "a", "--gate", "good")
    done = call("examine", *judges_of_different_questions, "--gate", "good", "--json")

    assert alone.code == 0
    assert {row["question"] for row in done.json["examinations"]} == {"a", "b"}
    assert done.code == 3


def test_a_judge_whose_name_is_like_an_option_can_be_gated(call, files, study, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps({"--json": study["judges"]["good"]}))

    done = call("examine", *files[:2], "--judges", tmp_path / "odd.json", "--gate=--json")

    assert done.code == 0
    assert "✓ passed" in done.out


def test_the_command_is_the_one_with_the_gate():
    from voirdire.cli import app
    from voirdire.cli.gate import GatedCommand

    assert isinstance(typer.main.get_command(app).commands["examine"], GatedCommand)
