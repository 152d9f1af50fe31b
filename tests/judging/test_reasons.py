"""Reasons: asked for before each answer, stored, shown, and marked where they say the opposite."""

import contextlib
import json

import polars as pl
import pytest

from voirdire.cli import app
from voirdire.errors import InputError
from voirdire.judging import JuryJudge, LlmJudge, judge_file, show_prompt
from voirdire.models import Capabilities
from voirdire.records import Reply, TokenChoice, TokenStep
from voirdire.rubrics import rubric_from_text, rubric_to_yaml

RUBRIC = """
schema: voirdire.rubric/1
name: mine
version: "1"
reasons: true
questions:
  - {id: apology, kind: boolean, text: Does the response contain an apology}
  - {id: tone, kind: choice, labels: [warm, cold], text: What is its tone}
"""


class Model:
    """A model that answers with reasons, and keeps what it was asked."""

    name, settings = "model", {}

    def __init__(self, says, *, logprobs=False):
        self.says, self.requests = says, []
        self.capabilities = Capabilities(top_logprobs=5 if logprobs else 0)

    async def reply(self, request):
        self.requests.append(request)
        text = json.dumps(self.says, ensure_ascii=False)
        steps = None
        if request.top_logprobs:
            before, value, behind = text.partition("true")
            top = (
                TokenChoice(token="true", logprob=-0.1),
                TokenChoice(token="false", logprob=-2.5),
            )
            steps = tuple(
                TokenStep(token=token, logprob=-0.1, top=top if token == value else ())
                for token in (before, value, behind)
            )
        return Reply(text=text, model="m", steps=steps)

    async def close(self):
        pass


def run(folder, model, rubric=RUBRIC, *, probability="stated", row=None):
    path, output = folder / "items.jsonl", folder / "verdicts.parquet"
    path.write_text(json.dumps({"id": "1", "prompt": "p", "response": "Sorry.", **(row or {})}))
    rubric = rubric_from_text(rubric) if isinstance(rubric, str) else rubric
    summary = judge_file(path, output, judge=LlmJudge(model=model, probability=probability),
                         rubric=rubric)  # fmt: skip
    return pl.read_parquet(output), summary


SAYS = {
    "apology.reason": "It says “Sorry”.",
    "apology": 0.9,
    "tone.reason": "Brief.",
    "tone": "cold",
}


def test_a_reason_stands_before_each_answer_in_the_schema_and_is_stored(tmp_path):
    model = Model(SAYS)

    frame, _ = run(tmp_path, model)

    schema = json.loads(model.requests[0].schema)
    assert list(schema["properties"]) == schema["required"] == list(SAYS)
    assert schema["properties"]["apology.reason"] == {"type": "string"}
    assert frame["reason"].to_list() == ["It says “Sorry”.", "Brief."]
    assert frame["contradicts"].to_list() == [False, False]
    assert frame["probability"].to_list() == [0.9, None]


def test_without_reasons_nothing_is_otherwise_and_with_them_it_is_another_judge(tmp_path):
    plain = RUBRIC.replace("reasons: true\n", "")

    without, _ = run(tmp_path, Model({"apology": 0.9, "tone": "cold"}), plain)
    with_them, _ = run(tmp_path, Model(SAYS))

    assert "reason" not in without.columns
    assert without["fingerprint"][0] != with_them["fingerprint"][0]
    assert "reason" not in show_prompt(rubric_from_text(plain)).lower()
    assert "Write the reason first" in show_prompt(rubric_from_text(RUBRIC))
    assert rubric_from_text(rubric_to_yaml(rubric_from_text(RUBRIC))).reasons


def test_log_probabilities_are_read_behind_a_reason_with_quotes(tmp_path):
    rubric = "\n".join(RUBRIC.splitlines()[:-1])
    says = {"apology.reason": 'It says "apology": yes, "sorry".', "apology": True}

    frame, _ = run(tmp_path, Model(says, logprobs=True), rubric, probability="logprob")

    assert frame["probability"][0] == pytest.approx(1 / (1 + 2.718281828**-2.4), rel=1e-6)
    assert frame["reason"].to_list() == [says["apology.reason"]]


def test_an_answer_without_its_reason_counts_all_the_same(tmp_path):
    says = {"apology": 0.9, "tone.reason": "Brief.", "tone": "cold"}

    frame, _ = run(tmp_path, Model(says))

    assert frame["probability"].to_list() == [0.9, None]
    assert frame["reason"].to_list() == [None, "Brief."]


AGAINST = [
    ("The response does not contain an apology.", 0.9, True),
    ("The response contains no apology.", 0.9, True),
    ("It says sorry, so the criterion is met.", 0.1, True),
    ("The criterion is not met.", 0.9, True),
    ("No, it only greets.", 0.8, True),
    ("回复未满足该标准。", 0.9, True),
    ("It does not meet the criterion.", 0.1, False),
    ("It meets the criterion.", 0.9, False),
    ("It apologises and does not argue.", 0.9, False),
    ("Nothing is said of it.", 0.2, False),
    ("", 0.9, False),
]


@pytest.mark.parametrize(("reason", "p", "is_marked"), AGAINST, ids=[x[0][:30] for x in AGAINST])
def test_a_reason_that_says_the_opposite_is_marked(tmp_path, reason, p, is_marked):
    frame, summary = run(tmp_path, Model(SAYS | {"apology.reason": reason, "apology": p}))

    page = html_page_of(tmp_path / "verdicts.parquet")

    assert bool(frame["contradicts"][0]) is is_marked
    assert ("says the opposite of the answer" in page) is is_marked
    assert any("opposite" in note for note in summary.notes) is is_marked


def html_page_of(file):
    page = file.with_suffix(".html")
    with contextlib.suppress(SystemExit):
        app(["view", str(file), "--output", str(page), "--no-open"])
    return page.read_text("utf-8")


def test_criteria_have_reasons_and_what_a_criterion_avoids_is_no_contradiction(tmp_path):
    rubric = rubric_from_text("""
schema: voirdire.rubric/1
name: mine
version: "1"
of_item: true
reasons: true
questions:
  - {id: is_met, kind: boolean, text: Is this true}
""")
    row = {
        "criteria": [
            "Avoids naming a dose",
            "Names a dose",
            {"text": "t", "rule": {"contains": "x"}},
        ]
    }
    made = {}

    class Criteria(Model):
        async def reply(self, request):
            keys = list(json.loads(request.schema)["properties"])
            made.update(dict.fromkeys(keys, 1.0))
            made.update({key: "It does not name a dose." for key in keys if "." in key})
            self.says = made
            return await super().reply(request)

    frame, _ = run(tmp_path, Criteria({}), rubric, row=row)

    assert frame["reason"].to_list() == ["It does not name a dose."] * 2 + [None]
    assert frame["contradicts"].to_list() == [False, True, None]


def test_a_jury_has_the_reason_of_a_judge_that_answered_as_it_does(tmp_path):
    yes = {
        "apology.reason": "Says sorry.",
        "apology": 0.9,
        "tone.reason": "Kind.",
        "tone": "warm",
    }
    no = {"apology.reason": "It does not.", "apology": 0.2, "tone.reason": "Curt.", "tone": "cold"}
    judges = [LlmJudge(model=Model(says), name=f"m{k}", probability="stated")
              for k, says in enumerate([no, yes, yes])]  # fmt: skip
    items, output = tmp_path / "items.jsonl", tmp_path / "v.parquet"
    items.write_text(json.dumps({"id": "1", "prompt": "p", "response": "Sorry."}))

    judge_file(items, output, judge=JuryJudge(judges=judges), rubric=rubric_from_text(RUBRIC))

    frame = pl.read_parquet(output)
    assert dict(frame.select("question", "reason").iter_rows()) == {
        "apology": "Says sorry.", "tone": "Kind.",
    }  # fmt: skip


def test_a_decision_model_gives_no_reasons(tmp_path):
    class Decider(Model):
        settings = {"api": "decisions"}  # noqa: RUF012

    with pytest.raises(InputError, match="`reasons`"):
        run(tmp_path, Decider(SAYS), probability="decision")
