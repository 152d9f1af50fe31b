"""`--gate`: exit 3 unless the judge's outcome is passed."""

import json

import pytest

# On the command line --------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--gate", "--only", "bad"], 3),
        (["--gate", "--only", "good", "--only", "bad"], 3),
        (["--gate"], 3),
        (["--gate", "--json"], 3),
        (["--only", "good", "--gate"], 0),
        (["--gate", "--only", "good"], 0),
        (["--gate", "-h"], 0),
        ([], 0),
    ],
    ids=str,
)
def test_a_gate_decides_the_exit_code(call, files, arguments, code):
    assert call("examine", *files, *arguments).code == code


def test_a_failed_gate_still_prints_the_result_and_says_whose_it_was(call, files):
    done = call("examine", *files, "--gate", "--json")

    assert done.code == 3
    assert {row["judge"]: row["outcome"] for row in done.json["examinations"]} == {
        "good": "passed",
        "bad": "failed",
    }
    assert done.said.count("\n") == 1
    assert "bad: worse" in done.said


def test_every_margin_of_the_run_must_pass(call, files, study):
    done = call(
        "examine",
        *files,
        "--epsilon",
        "0.2",
        "--epsilon",
        "0",
        "--gate",
        "--only",
        "good",
        "--json",
    )

    outcomes = [row["outcome"] for row in done.json["examinations"] if row["judge"] == "good"]
    assert "passed" in outcomes
    assert done.code == (0 if set(outcomes) == {"passed"} else 3)
    assert set(outcomes) != {"passed"}


def test_no_evidence_does_not_pass_a_gate(call, tmp_path):
    labels = {f"i{row}": "yes" if row else "no" for row in range(60)}
    (tmp_path / "h.json").write_text(json.dumps(dict.fromkeys("abc", labels)))
    (tmp_path / "j.json").write_text(json.dumps({"always": dict.fromkeys(labels, "yes")}))
    arguments = ["--humans", tmp_path / "h.json", "--judges", tmp_path / "j.json"]

    done = call("examine", *arguments, "--kind", "boolean", "--gate", "--json")

    (row,) = done.json["examinations"]
    assert (row["winning_rate"], row["passed"]) == (1, False)
    assert row["outcome"] == "no_evidence"
    assert done.code == 3


def test_failures_count_against_the_gate(call, files, study, tmp_path):
    answers = dict(study["judges"]["good"])
    answers |= {f"i{row}": None for row in range(25)}
    (tmp_path / "failing.json").write_text(json.dumps({"good": answers}))

    done = call("examine", *files[:2], "--judges", tmp_path / "failing.json", "--gate", "--json")

    (row,) = done.json["examinations"]
    assert row["worst_case"]["winning_rate_answered"] >= 0.5 > row["winning_rate"]
    assert done.code == 3


@pytest.fixture
def judges_of_different_questions(study, tmp_path):
    """Write annotations of two questions, with `good` asked the first and `other` neither."""
    for name, role, questions in (
        ("humans", "annotator", {"ann": "ab", "bob": "ab", "eve": "ab"}),
        ("judges", "judge", {"good": "a", "bad": "ab", "fine": "ab", "other": "c"}),
    ):
        labels = study[name] | dict.fromkeys(("fine", "other"), study["judges"]["good"])
        rows = [
            {"item": item, role: rater, "question": question, "label": label}
            for rater, asked in questions.items()
            for question in asked
            for item, label in labels[rater].items()
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)
    return ["--humans", tmp_path / "humans.jsonl", "--judges", tmp_path / "judges.jsonl"]


def test_a_judge_that_was_not_asked_every_question_passes_no_gate(
    call, judges_of_different_questions
):
    chosen = [*judges_of_different_questions, "--only", "good", "--only", "fine", "--gate"]

    alone = call("examine", *chosen, "--question", "a")
    done = call("examine", *chosen, "--json")

    assert alone.code == 0
    assert {row["question"] for row in done.json["examinations"]} == {"a", "b"}
    assert {row["outcome"] for row in done.json["examinations"]} == {"passed"}
    assert done.code == 3
    assert "good: not examined (b" in done.said
