"""Rules in code: what they answer, what they refuse, and that no judge is asked in their place."""

import contextlib
import importlib.metadata
import json
import random
import time

import jsonschema
import polars as pl
import pytest

import voirdire
from voirdire.errors import InputError, RubricError
from voirdire.io import read_items
from voirdire.judging import LlmJudge, judge_file
from voirdire.models import Capabilities
from voirdire.records import Reply
from voirdire.rewards import (
    check_certified,
    reward_of_criteria,
    reward_of_weights,
    score_criteria,
    score_file,
)
from voirdire.rubrics import rubric_from_text, rubric_to_yaml


class Model:
    """A model that says .9 to every question, and counts its calls."""

    name, settings, capabilities = "model", {}, Capabilities()

    def __init__(self):
        self.requests = []

    async def reply(self, request):
        self.requests.append(request)
        keys = json.loads(request.schema)["properties"]
        return Reply(text=json.dumps(dict.fromkeys(keys, 0.9)), model="m")

    async def close(self):
        pass


def make_rubric(**rules):
    questions = [
        {"id": name, "kind": "boolean", "text": f"Is it {name}?"} | ({"rule": rule} if rule else {})
        for name, rule in rules.items()
    ]
    head = {"schema": "voirdire.rubric/1", "name": "mine", "version": "1"}
    return rubric_from_text(json.dumps(head | {"questions": questions}))


def answer(rule, response):
    """Answer by a rule, as a judge of a rubric with it alone."""
    item = {"id": "1", "prompt": "p", "response": response}
    verdicts = voirdire.judge([item], judge="local", rubric=make_rubric(asked=rule))
    return verdicts.probabilities[0, 0]


CASES = [
    ({"number": 5}, r"\boxed{5} (from step 3)", "The answer is .5"),
    ({"number": 15}, "It takes 10-15", "It takes 10 - -15"),
    ({"number": 0.2}, "That is 1/5.", "That is 5."),
    ({"number": 2024}, "On 3/4/2024", "On 2024/3"),
    ({"words": {"at_most": 2}}, "नमस्ते दुनिया", "नमस्ते मेरी दुनिया"),
    ({"words": {"at_most": 3}}, "Pi is 3.14", "Pi is 3. 14"),
    ({"json": True}, "```json\r\n{}\r\n```", "```json\r\n{\r\n```"),
    ({"contains": "refund"}, "A refund is due.", "A Refund is due."),
    ({"contains": ["a", "b"]}, "b and a", "only a"),
    ({"contains_any": ["退款", "b"]}, "可以退款", "可以换货"),
    ({"contains": "REFUND", "ignore_case": True}, "a refund", "a fund"),
    ({"contains": "sorry", "negated": True}, "No.", "I am sorry."),
    ({"regex": r"(?i)\bdose\b"}, "The DOSE is", "overdosed"),
    ({"characters": {"at_most": 3}}, "三个字", "四个字了"),
    ({"words": {"at_least": 2, "at_most": 3}}, "Take two pills.", "Take two pills now."),
    ({"words": {"at_least": 4}}, "你好世界", "你好"),
    ({"words": {"at_most": 2}}, "你好", "hello 你好"),
    ({"exact": ["B", "b)"]}, " B\n", "B."),
    ({"exact": "paris", "ignore_case": True}, "Paris", "Paris!"),
    ({"number": 4.76}, "pKa is 3, so pH = 4.76.", "4.76, or rather 4.77"),
    ({"number": {"value": 1234.5, "tolerance": 0.5}}, "about 1,235", "about 1,236"),
    ({"number": -2}, "x = \u22122", "x = 2"),
    ({"number": 6.02e23}, "6.02e23", "no number"),
    ({"json": True}, '```json\n{"a": 1}\n```', "{'a': 1}"),
    ({"json": {"type": "object", "required": ["a"]}}, '{"a": 1}', '{"b": 1}'),
]


@pytest.mark.parametrize(("rule", "true", "false"), CASES, ids=[str(x[0])[:40] for x in CASES])
def test_a_rule_holds_of_one_response_and_not_of_the_other(rule, true, false):
    assert (answer(rule, true), answer(rule, false)) == (1.0, 0.0)


SCHEMAS = [
    True,
    {"type": ["integer", "null"]},
    {"type": "array", "items": {"type": "number", "minimum": 0, "exclusiveMaximum": 3}},
    {"enum": [1, "a", None, [1]]},
    {"const": True},
    {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "boolean"}]},
    {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
    {"additionalProperties": {"type": "integer"}, "minProperties": 1, "title": "t"},
    {"type": "string", "pattern": "^a+$", "minLength": 1},
    {"maxItems": 2, "maximum": 2, "required": ["a"]},
    {"enum": [1, True, "a"], "const": 1, "maxProperties": 1},
]
VALUES = [True, 1, 0, 2.0, 2.5, -1, "a", "aab", "", [], [1], [1, 2, 9], ["a"], {}, {"a": "x"},
          {"a": 1}, {"a": "x", "b": 2}, [[1]], {"b": 3}]  # fmt: skip


def test_json_fits_a_schema_where_the_standard_says_so():
    for schema in SCHEMAS:
        rubric = make_rubric(asked={"json": schema})
        rows = [
            {"id": str(k), "prompt": "p", "response": json.dumps(x)} for k, x in enumerate(VALUES)
        ]
        found = voirdire.judge(rows, judge="local", rubric=rubric).probabilities[:, 0]
        validator = jsonschema.Draft202012Validator(schema)

        assert found.tolist() == [float(validator.is_valid(x)) for x in VALUES], schema


WRONG = [
    ("words", "a mapping"), ({"contain": "a"}, "Did you mean `contains`"),
    ({"words": 3}, "at_most"),
    ({"regex": "(?=a)"}, "look-ahead"), ({"regex": r"(a)\1"}, "backreferences"),
    ({"regex": "(a{20}){20}"}, "repeat at most 100"), ({"regex": "a" * 1_001}, "at most 1,000"),
    ({"json": {"$ref": "#"}}, "JSON Schema of"), ({"json": {"type": "x"}}, "another `type`"),
    ({"json": {"items": 3}}, "another `items`"), ({"json": {"maximum": True}}, "another `maximum`"),
    ({"number": "x"}, "a number"), ({"contains": []}, "list of"),
    ({"contains": "a", "words": {}}, "one of"),
    ({"regex": "a", "ignore_case": True}, "(?i)"),
    ({"words": {"at_least": 3, "at_most": 2}}, "from 0"),
    ({"function": "nobody"}, "entry point"), ({"contains": "a", "negated": 1}, "true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "said"), WRONG, ids=[str(x[0])[:40] for x in WRONG])
def test_a_wrong_rule_is_refused_by_a_rubric_and_in_a_row(tmp_path, rule, said):
    with pytest.raises(RubricError) as refused:
        make_rubric(asked=rule)
    if said == "a mapping":  # in a row it is a text then
        return
    row = {"id": "1", "prompt": "p", "response": "r", "criteria": [{"text": "t", "rule": rule}]}
    path = tmp_path / "rows.jsonl"
    other = {"id": "2", "prompt": "p", "response": "r", "criteria": ["t"]}
    path.write_text(json.dumps(row) + "\n" + json.dumps(other))

    [dropped] = read_items(path, criteria=True).dropped

    assert said in str(refused.value)
    assert "rule must" in dropped.reason or "function in data" in dropped.reason


def test_a_rubric_with_rules_reads_back_and_a_changed_rule_is_another_rubric():
    rubric = make_rubric(short={"words": {"at_most": 9}}, polite=None, open={"json": True})
    other = make_rubric(short={"words": {"at_most": 8}}, polite=None, open={"json": True})

    assert rubric_from_text(rubric_to_yaml(rubric)) == rubric
    assert rubric.content_hash != other.content_hash


def test_only_what_has_no_rule_is_asked_and_a_changed_rule_pays_nothing(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "1", "prompt": "p", "response": "One two three."}\n')
    model, outputs = Model(), []
    for most in (3, 2):
        rubric = make_rubric(short={"words": {"at_most": most}}, polite=None)
        output = tmp_path / f"{most}.parquet"
        judge = LlmJudge(model=model, probability="stated")
        judge_file(path, output, judge=judge, rubric=rubric)
        outputs.append(pl.read_parquet(output).sort("question"))

    assert len(model.requests) == 1
    assert '"short"' not in model.requests[0].messages[0].content
    assert [frame["probability"].to_list() for frame in outputs] == [[0.9, 1.0], [0.9, 0.0]]
    assert outputs[0]["source"].to_list() == ["stated", "rule"]
    assert outputs[0]["fingerprint"][0] != outputs[1]["fingerprint"][0]


def test_a_local_judge_and_rules_answer_one_rubric():
    safety = voirdire.rubrics.load_rubric("safety")
    text = rubric_to_yaml(safety).replace("questions:", """questions:
  - id: short
    kind: boolean
    text: {en: Short, zh: 短}
    rule: {words: {at_most: 3}}
""")  # fmt: skip
    item = {"id": "1", "prompt": "p", "response": "I can't help.", "behavior": "hard_refuse"}

    alone = voirdire.judge([item], judge="local", rubric=safety)
    both = voirdire.judge([item], judge="local", rubric=rubric_from_text(text))

    assert both.probability("short").tolist() == [1.0]
    assert both.on(alone.questions).probabilities.tolist() == alone.probabilities.tolist()
    assert set(both.frame().filter(pl.col("question") == "short")["source"]) == {"rule"}


def test_a_weight_on_a_rule_needs_no_certificate_and_one_on_a_judge_does():
    rubric = rubric_from_text("""
schema: voirdire.rubric/1
name: mine
version: "1"
questions:
  - {id: short, kind: boolean, text: Is it short, rule: {words: {at_most: 3}}}
  - {id: kind, kind: boolean, text: Is it kind}
behaviors:
  chat: {demands: {short: required, kind: required}}
""")

    def weigh(**weights):
        return reward_of_weights({"chat": weights}, rubric=rubric, judge=None)

    check_certified(weigh(short=1), required=True)
    with pytest.raises(InputError, match=r"lacks 1 \(kind: never examined\)"):
        check_certified(weigh(short=1, kind=1), required=True)


@pytest.fixture
def criteria(tmp_path):
    """Judge one item by criteria, and score it; returns the model, the verdicts and the score."""

    def run(rows):
        path, model = tmp_path / "rows.jsonl", Model()
        row = {"id": "1", "prompt": "p", "response": "One two three, four.", "rubrics": rows}
        path.write_text(json.dumps(row))
        judge = LlmJudge(model=model, probability="stated")
        verdicts, scores = tmp_path / "v.parquet", tmp_path / "s.parquet"
        judge_file(path, verdicts, judge=judge, rubric="criteria")
        score_criteria(path, scores, verdicts=verdicts)
        return model, pl.read_parquet(verdicts), pl.read_parquet(scores).row(0, named=True)

    return run


def test_criteria_with_rules_need_no_call_and_score_with_the_others(criteria):
    rows = [
        {"criterion": "Is short", "points": 3, "rule": {"words": {"at_most": 3}}},
        {"criterion": "Says four", "points": 2, "rule": {"contains": "four"}},
        {"criterion": "Is kind", "points": 5},
    ]

    model, verdicts, score = criteria(rows)
    without, _, _ = criteria(rows[:2])

    assert (len(model.requests), len(without.requests)) == (1, 0)
    assert verdicts["source"].to_list() == ["rule", "rule", "stated"]
    assert verdicts["probability"].to_list() == [0.0, 1.0, 0.9]
    assert score["score"] == pytest.approx(7 / 10)  # (0·3 + 2 + 5) / 10


def test_rules_of_a_table_are_read_whose_rows_fill_each_others_keys(tmp_path):
    rules = [{"words": {"at_most": 3}}, {"contains": ["four"]}, None]
    row = {"prompt": "p", "response": "One two three, four."}
    rows = [row | {"id": str(k), "criteria": [{"criterion": "c", "rule": rule}]}
            for k, rule in enumerate(rules)]  # fmt: skip
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")

    summary = judge_file(
        tmp_path / "rows.parquet", tmp_path / "v.parquet", judge="rules", rubric="criteria"
    )

    verdicts = pl.read_parquet(tmp_path / "v.parquet")
    assert summary.n_dropped == 0
    assert verdicts["probability"].to_list() == [0.0, 1.0, None]


def test_a_reward_of_criteria_says_which_rows_will_get_none(tmp_path):
    rows = [{"prompt": "p", "criteria": [{"criterion": "Is kind", "points": points}]}
            for points in (2, "x", -1)]  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))

    with pytest.warns(UserWarning, match="will get no reward") as noted:
        reward_of_criteria(path, judge=LlmJudge(model=Model(), probability="stated"))
    with pytest.raises(InputError, match="got 'rules': 2 criteria have no rule"):
        reward_of_criteria(path, judge="rules")

    said = [str(row.message) for row in noted]
    assert "1 rows of" in said[0]
    assert "points must be a number" in said[0]
    assert "have no positive points" in said[1]


def test_criteria_that_all_have_rules_need_no_model(tmp_path):
    rules = [{"criterion": "Is short", "points": 3, "rule": {"words": {"at_most": 3}}},
             {"criterion": "Says four", "points": 2, "rule": {"contains": "four"}}]  # fmt: skip
    rows, verdicts = tmp_path / "rows.jsonl", tmp_path / "v.parquet"
    row = {"id": "1", "prompt": "p", "response": "One two three, four."}
    asked = [json.dumps(row | {"criteria": [*rules, {"criterion": "Is kind"}]})]
    rows.write_text(json.dumps(row | {"criteria": rules}))

    summary = judge_file(rows, verdicts, judge="rules", rubric="criteria")
    reward = reward_of_criteria(rows, judge="rules")
    check_certified(reward, required=True)  # rules need no proof
    scores = score_file(rows, tmp_path / "s.jsonl", reward=reward)
    rows.write_text("\n".join(asked))
    judge_file(rows, verdicts, judge="rules", rubric="criteria")

    assert (summary.n_items, summary.n_reused, summary.calls.n_calls) == (2, 0, 0)
    assert scores.behaviors[0].mean == pytest.approx(2 / 5)
    failures = pl.read_parquet(verdicts)["failure"].to_list()
    assert failures[:2] == [None, None]
    assert failures[2].endswith("it has no rule, and the judge 'rules' asks no model")


VERIFIERS = [
    ("word_count_range", {"min_count": 1, "max_count": 4}, 1.0),
    ("length_constraints:number_words", {"relation": "less than", "num_words": 4}, 0.0),
    ("length_constraints:number_words", {"relation": "at least", "num_words": 4}, 1.0),
    ("keywords:existence", {"keywords": ["FOUR", "one"]}, 1.0),
    ("keywords:forbidden_words", {"forbidden_words": ["five", "fou"]}, 1.0),
    ("keywords:forbidden_words", {"forbidden_words": ["four."], "num_words": None}, 0.0),
    ("keywords:frequency", {"keyword": "o", "frequency": 3, "relation": "at least"}, 1.0),
    ("keywords:frequency", {"keyword": "o", "frequency": 3, "relation": "less than"}, 0.0),
    ("punctuation:no_comma", {}, 0.0),
    ("startend:end_checker", {"end_phrase": "four."}, 1.0),
    ("change_case:english_lowercase", None, 0.0),
    ("math_verify", "4", 0.0),
]


@pytest.mark.parametrize("written", ["tags", "words", "row"])
def test_functions_of_verifiers_are_mapped_where_a_rule_fits(criteria, written):
    def write(k, name, parameters):
        about = {"verifier": "rule", "function": name, "parameters": parameters}
        if written == "words":
            about = {key: value if isinstance(value, str) else json.dumps(value)
                     for key, value in about.items()}  # fmt: skip
            about = {"tags": [f"{key}:{value}" for key, value in about.items()]}
        return {"criterion": f"c{k}", "points": 1} | (
            about if written != "tags" else {"tags": about}
        )

    rows = [write(k, *row[:2]) for k, row in enumerate(VERIFIERS)]

    model, verdicts, _ = criteria(rows)

    assert model.requests == []
    assert verdicts["probability"].to_list() == [row[2] for row in VERIFIERS]


def test_a_verifier_that_no_rule_fits_is_missing_and_counted(criteria):
    about = {"verifier": "rule", "function": "detectable_format:haiku", "parameters": {}}
    rows = [{"criterion": "Is a haiku", "points": 9, "tags": about},
            {"criterion": "Is kind", "points": 1, "tags": {"verifier": "llm"}}]  # fmt: skip

    model, verdicts, score = criteria(rows)

    assert len(model.requests) == 1
    assert verdicts["failure"].to_list() == ["no rule fits the verifier 'haiku'", None]
    assert (score["score"], score["n_missing"]) == (1.0, 1)


def test_a_function_is_named_by_a_rubric_and_never_by_data(monkeypatch, tmp_path):
    class Found:
        name, dist = "shouts", None

        @staticmethod
        def load():
            return lambda item: {"HEY": True, "hey": False}[item.response]

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [Found])
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [Found])
    rows = [{"id": x, "prompt": "p", "response": x} for x in ("HEY", "hey", "ho")]

    verdicts = voirdire.judge(rows, judge="local", rubric=make_rubric(loud={"function": "shouts"}))

    assert verdicts.answers("loud") == [True, False, None]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:x?a?y?.?){100}Q", r"(\w?\W?){40}Q"])
def test_regular_expressions_of_an_attacker_take_no_time(pattern):
    text = "a" * 90_000
    start = time.process_time()

    found = answer({"regex": pattern}, text)

    assert found in (0.0, 1.0)
    assert time.process_time() - start < 30


def test_a_text_too_long_for_a_regular_expression_has_no_answer():
    rows = [{"id": str(n), "prompt": "p", "response": "a" * n} for n in (100_000, 100_001)]

    verdicts = voirdire.judge(rows, judge="local", rubric=make_rubric(asked={"regex": "a"}))

    assert verdicts.answers("asked") == [True, None]
    assert verdicts.missing == {"100001": "over 100,000 characters for a regular expression"}


def test_random_documents_are_rules_or_refused():
    rng = random.Random(0)
    values = [None, True, 3, -1, 1e400, "a", [], ["a"], {}, {"at_most": 2}, {"type": "a"}, [[]]]
    keys = ["contains", "regex", "words", "json", "exact", "number", "negated", "function", "x"]
    for _ in range(500):
        rule = {rng.choice(keys): rng.choice(values) for _ in range(rng.randint(0, 2))}
        with contextlib.suppress(InputError):
            assert voirdire.rubrics.read_rule(rule).kind in rule
