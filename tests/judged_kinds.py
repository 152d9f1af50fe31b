"""Forty items judged by a scripted model on questions of every kind, and three people's labels."""

import json

from asked_models import Asked, shown_item
from voirdire.errors import RefusalError
from voirdire.judging import LlmJudge
from voirdire.records import Failure, Item
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel

N_ITEMS = 40
REFUSED = 11
KINDS = rubric_from_text("""
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold]}
  - {id: topics, kind: multilabel, text: "Which topics?", labels: [food, travel, work]}
  - {id: quality, kind: scale, text: "How good?", minimum: 1, maximum: 5}
  - {id: why, kind: text, text: "Why?"}
""")
PAIRS = rubric_from_text("""
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: "Which is better?"}
""")
PROPOSITIONS = rubric_from_text("""
schema: voirdire.rubric/1
name: propositions
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
""")
KIND_OF = {
    "sorry": "boolean",
    "tone": "choice",
    "topics": "multilabel",
    "quality": "scale",
    "why": "text",
    "better": "choice",
}
ALIGNMENT_OF = {"topics": "jaccard", "quality": "neg_rmse"}
RUBRIC_OF = dict.fromkeys(KIND_OF, KINDS) | {"better": PAIRS}


def truth(question, n):
    """Give the label of an item that nobody slips on."""
    return {
        "sorry": n % 3 == 0,
        "tone": ("warm", "cold")[n * 7 % 5 < 2],
        "topics": [("food",), ("food", "work"), ("travel",)][n * 5 % 7 % 3],
        "quality": 1 + n * 5 % 7 % 5,
        "why": f"because of {n % 4}",
        "better": ("A", "B", "tie")[n * 5 % 8 % 3],
    }[question]


def people(question):
    """Give the annotators' labels, as mappings in memory."""
    return {
        name: {f"i{n}": truth(question, n + (n % slip == 0)) for n in range(N_ITEMS)}
        for name, slip in (("ann", 4), ("bob", 5), ("eve", 7))
    }


def machine(question):
    """Give what the model answers, as a mapping in memory: it refuses once."""
    labels = {f"i{n}": truth(question, n + 2 * (n % 6 == 0)) for n in range(N_ITEMS)}
    return labels | {f"i{REFUSED}": Failure(reason="refusal by the judge")}


def human_rows(questions):
    """Give the annotators' labels as rows of a file."""
    return [
        {"item": item, "annotator": name, "question": question, "label": as_text(label)}
        for question in questions
        for name, labels in people(question).items()
        for item, label in labels.items()
    ]


def as_text(label):
    if isinstance(label, bool):
        return str(label).lower()
    return json.dumps(label) if isinstance(label, tuple) else str(label)


def items(rubric):
    """Give the items: pairs for the rubric about pairs."""
    return [
        Item(id=f"i{n}", response=f"answer {n}", other=f"other {n}" if rubric is PAIRS else None)
        for n in range(N_ITEMS)
    ]


def item_rows(rubric):
    names = ("response_a", "response_b") if rubric is PAIRS else ("response", None)
    return [
        {"id": item.id, "prompt": "What?", names[0]: item.response}
        | ({names[1]: item.other} if names[1] else {})
        for item in items(rubric)
    ]


def judge_of(rubric, **settings):
    """Give a judge who answers as `machine` does, from what it is shown."""

    def one(shown):
        n = int(shown["response"].split()[-1])
        if n == REFUSED:
            return RefusalError("I will not")
        found = {row.id: machine(row.id)[f"i{n}"] for row in rubric.questions}
        found["sorry"] = 0.9 if found["sorry"] else 0.2
        return found | ({"topics": list(found["topics"])} if "topics" in found else {})

    def two(request):
        shown = shown_item(request)
        side, n = shown["response_a"].split()
        if int(n) == REFUSED:
            return RefusalError("I will not")
        label = machine("better")[f"i{n}"]
        swapped = {"A": "B", "B": "A", "tie": "tie"}
        return {"better": label if side == "answer" else swapped[label]}

    model = ScriptedModel(two, **settings) if rubric is PAIRS else Asked(one, **settings).model
    return LlmJudge(model=model)
