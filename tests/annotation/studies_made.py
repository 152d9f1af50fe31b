"""Studies for the tests: small rubrics of every kind, and items."""

from voirdire.annotation import StudySettings, start_study
from voirdire.records import Item, Message
from voirdire.rubrics import rubric_from_text

YES_NO = """\
schema: voirdire.rubric/1
name: polite
version: "1"
questions:
  - id: polite
    kind: boolean
    text: {en: "Is the response polite?", zh: "回复是否有礼貌？"}
"""
ALL_KINDS = """\
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: polite, kind: boolean, text: {en: "Is it polite?", zh: "有礼貌吗？"}}
  - {id: tone, kind: choice, text: {en: "Which tone?", zh: "什么语气？"},
     labels: [warm, plain, cold]}
  - {id: parts, kind: multilabel, text: {en: "What is in it?", zh: "有什么？"},
     labels: [advice, joke]}
  - {id: quality, kind: scale, text: {en: "How good?", zh: "有多好？"}, minimum: 1, maximum: 5}
  - {id: why, kind: text, text: {en: "Why?", zh: "为什么？"}}
"""


def make_items(n, **more):
    return [
        Item(
            id=f"item-{k}",
            prompt=(Message(role="user", content=f"Question {k}?"),),
            response=f"Answer {k}.",
            **more,
        )
        for k in range(n)
    ]


def start(store, n=40, *, rubric=YES_NO, annotators=("ana", "ben", "chi"), items=None, **more):
    items = make_items(n) if items is None else items
    rubric = rubric_from_text(rubric)
    about = {"rubric": rubric, "items": items, "annotators": annotators}
    return start_study(store, **about, settings=StudySettings(**more))
