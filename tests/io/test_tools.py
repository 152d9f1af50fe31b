"""What Langfuse, Phoenix, MLflow, promptfoo, DeepEval and Inspect export is read as labels."""

import json

import polars as pl
import pytest

from voirdire.errors import InputError, NoDataError
from voirdire.io import read_labels


def langfuse(item, name, value, source, **more):
    return {"id": f"{item}-{source}", "traceId": item, "observationId": None, "name": name,
            "value": value, "source": source, "dataType": "NUMERIC", "stringValue": None,
            "comment": None, "authorUserId": None, "metadata": {}} | more  # fmt: skip


def phoenix(item, label, kind, **more):
    return {"id": "a", "span_id": item, "name": "polite", "annotator_kind": kind,
            "result": {"label": label, "score": 0.0, "explanation": "since it says so"},
            "metadata": {}, "identifier": "", "user_id": None} | more  # fmt: skip


def mlflow(value, kind, who, **more):
    return {"assessment_id": "a", "assessment_name": "polite", "trace_id": "t1",
            "source": {"source_type": kind, "source_id": who}, "feedback": {"value": value},
            "rationale": "since it says so", "metadata": {}} | more  # fmt: skip


def promptfoo(test, parts, **more):
    return {"testIdx": test, "promptIdx": 0, "provider": {"id": "m"}, "success": True,
            "vars": {}, "response": {"output": "x"},
            "gradingResult": {"pass": True, "score": 1, "componentResults": parts}
            } | more  # fmt: skip


def part(kind, passed, **more):
    assertion = {"type": kind, "value": "is polite", "metric": "polite"}
    return {"pass": passed, "score": float(passed), "reason": "r", "assertion": assertion} | more


LANGFUSE = {
    "data": [
        langfuse("t1", "polite", 1, "ANNOTATION", dataType="BOOLEAN", authorUserId="ann"),
        langfuse("t2", "polite", 0, "ANNOTATION", dataType="BOOLEAN", authorUserId="bob"),
        langfuse("t1", "polite", 0, "EVAL", dataType="BOOLEAN", metadata={"model": "gpt"}),
        langfuse("t2", "polite", 1, "API", dataType="BOOLEAN"),
    ],
    "meta": {"page": 1},
}
PHOENIX = {
    "data": [
        phoenix("t1", "yes", "HUMAN", user_id="ann"),
        phoenix("t2", "no", "HUMAN", identifier="bob"),
        phoenix("t1", "no", "LLM", metadata={"model": "gpt"}),
    ],
    "next_cursor": None,
}
ERROR = {"error": {"error_code": "RATE_LIMIT_EXCEEDED", "error_message": "secret"}}
MLFLOW = [
    {
        "info": {
            "trace_id": "t1",
            "assessments": [
                mlflow("yes", "HUMAN", "ann"),
                mlflow("no", "LLM_JUDGE", "gpt"),
                {"assessment_name": "answer", "expectation": {"value": "no"},
                 "source": {"source_type": "HUMAN", "source_id": "ann"}},
            ],
        },
        "data": {"spans": []},
    },
    {
        "info": {
            "trace_id": "t2",
            "assessments": [
                mlflow("no", "HUMAN", "bob", trace_id="t2"),
                mlflow(None, "LLM_JUDGE", "gpt", trace_id="t2", feedback=ERROR),
            ],
        }
    },
]  # fmt: skip
PROMPTFOO = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "results": [
            promptfoo(0, [part("llm-rubric", False), part("human", True)]),
            promptfoo(1, [part("human", False)]),
            promptfoo(2, None, gradingResult=None, error="no reply", success=False),
        ],
    },
}
DEEPEVAL = {
    "testCases": [
        {"name": "t1", "input": "?", "actualOutput": "x", "metricsData": [
            {"name": "polite", "score": 0.4, "threshold": 0.5, "success": False, "reason": "r",
             "evaluationModel": "gpt", "error": None}]},
        {"name": "t2", "metricsData": [
            {"name": "polite", "success": False, "evaluationModel": "gpt",
             "error": "judge timed out"}]},
    ],
}  # fmt: skip


def read(path, document, role, **reading):
    if path.suffix == ".jsonl":
        document = "\n".join(map(json.dumps, document))
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    frame = read_labels(path, role=role, **reading).frame
    return frame.select("question", "item", "rater", "label", "failure").rows()


CASES = [
    ("Langfuse", LANGFUSE, [("t1", "ann", True), ("t2", "bob", False)], ("t1", "gpt", False)),
    ("Phoenix", PHOENIX, [("t1", "ann", "yes"), ("t2", "bob", "no")], ("t1", "gpt", "no")),
    ("MLflow", MLFLOW, [("t1", "ann", "yes"), ("t2", "bob", "no")], ("t1", "gpt", "no")),
    ("promptfoo", PROMPTFOO, [("0|0", "human", True), ("1|0", "human", False)],
     ("0|0", "llm-rubric", False)),
]  # fmt: skip


@pytest.mark.parametrize(("document", "people", "judge"), [row[1:] for row in CASES],
                         ids=[row[0] for row in CASES])  # fmt: skip
def test_people_and_judges_are_told_apart(tmp_path, document, people, judge):
    def words(value):
        return {"true": True, "false": False, "yes": True, "no": False}[str(value).lower()]

    humans = read(tmp_path / "a.json", document, "annotator", kind="boolean")
    judges = read(tmp_path / "a.json", document, "judge", kind="boolean")

    assert [(item, who, words(label)) for _, item, who, label, _ in humans] == [
        (item, who, words(label)) for item, who, label in people
    ]
    [(question, item, who, label, failure), *_] = judges
    assert (question, item, who, words(label)) == ("polite", *judge[:2], words(judge[2]))
    assert failure is None


def test_an_error_of_a_judge_is_a_failure_and_no_label(tmp_path):
    by_mlflow = read(tmp_path / "a.json", MLFLOW, "judge", kind="boolean")
    by_deepeval = read(tmp_path / "b.json", DEEPEVAL, "judge", kind="boolean")

    assert by_mlflow[1][3:] == (None, "RATE_LIMIT_EXCEEDED")
    assert by_deepeval[0][1:] == ("t1", "gpt", "false", None)
    assert by_deepeval[1][1:] == ("t2", "gpt", None, "judge timed out")


def test_scores_are_numbers_of_a_scale(tmp_path):
    rows = read(tmp_path / "a.json", DEEPEVAL, "judge", kind="scale")

    assert float(rows[0][3]) == 0.4


def test_json_lines_are_read_too_and_what_says_neither_is_noted(tmp_path):
    rows = read(tmp_path / "a.jsonl", LANGFUSE["data"], "annotator", kind="boolean")
    table = read_labels(tmp_path / "a.jsonl", role="judge", kind="boolean")

    assert len(rows) == 2
    assert any("1 scores say neither person nor judge" in note for note in table.notes)


def test_a_file_without_people_says_so(tmp_path):
    with pytest.raises(NoDataError, match="must hold labels of people, got 2 of judges"):
        read(tmp_path / "a.json", DEEPEVAL, "annotator")
    with pytest.raises((NoDataError, InputError)):
        read(tmp_path / "b.json", {"testCases": [{"metricsData": "x"}]}, "judge")


def test_ordinary_files_are_read_as_before(tmp_path):
    rows = [{"item": "a", "annotator": "ann", "label": "x"}, {"item": "b", "annotator": "ann",
            "label": "y"}]  # fmt: skip
    found = read(tmp_path / "a.json", rows, "annotator")
    pl.DataFrame(rows).write_csv(tmp_path / "a.csv")

    assert [row[1] for row in found] == ["a", "b"]
