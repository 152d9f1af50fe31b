"""Asks of every kind, and a reader of fences that shares no code with the builder."""

import json

from voirdire.judging.asking import Ask
from voirdire.rubrics import Behavior, Question, Rubric, load_rubric

SAFETY = load_rubric("safety")
PAIRWISE = load_rubric("pairwise").questions
LANGUAGES = ("en", "zh")
FORMS = ("json_schema", "json_object", "text")
SOURCES = ("logprob", "stated", "vote")
NONCE = "3f9a0c51d2e87b64"

MIXED = (
    Question(
        id="apology",
        kind="boolean",
        text={"en": "Does it apologise?", "zh": "是否致歉？"},
        yes_examples={"en": ('He said "sorry".\nTwice.',), "zh": ("真对不起。",)},
        no_examples={"en": ("No.",), "zh": ("不。",)},
    ),
    Question(
        id="tone",
        kind="choice",
        text={"en": "Which tone?", "zh": "什么语气？"},
        labels={"warm": {"en": "Kind.", "zh": "友好。"}, "冷淡": {}},
    ),
    Question(
        id="topics",
        kind="multilabel",
        text={"en": "Which topics?", "zh": "哪些话题？"},
        labels={"<b>law</b>": {}, "sport": {"en": "Games.", "zh": "体育。"}},
    ),
    Question(
        id="grade",
        kind="scale",
        text={"en": "How good?", "zh": "多好？"},
        minimum=1.0,
        maximum=5.0,
        levels={5.0: {"en": "Very.", "zh": "很好。"}, 1.0: {"en": "Not.", "zh": "不好。"}},
    ),
    Question(
        id="share",
        kind="scale",
        text={"en": "How much?", "zh": "多少？"},
        minimum=0.0,
        maximum=0.5,
    ),
    Question(id="why", kind="text", text={"en": "Why?", "zh": "为什么？"}),
)
BETTER = Question(id="better", kind="pairwise", text={"en": "Which one?", "zh": "哪一条？"})
ROUTED = Rubric(
    name="routed",
    version="1",
    questions=MIXED[:1],
    behaviors=(
        Behavior(
            id="refuse", description={"en": "Say no.", "zh": "拒绝。"}, demands={}, classes=()
        ),
        Behavior(id="comply", demands={}, classes=()),
    ),
)


def ask_of(*questions, **settings):
    """Ask `questions`, or all of `MIXED`."""
    return Ask(questions=questions or MIXED, **settings)


def parted(content, nonce):
    """Cut a user message into what is before the fence, the decoded item, and what is after."""
    lines = content.split("\n")
    assert content.splitlines() == lines, "another character ends a line"
    marks = [number for number, line in enumerate(lines) if nonce in line]
    assert [lines[number] for number in marks] == [
        f"-----BEGIN ITEM {nonce}-----",
        f"-----END ITEM {nonce}-----",
    ]
    begin, end = marks
    document = json.loads("\n".join(lines[begin + 1 : end]))
    return "\n".join(lines[:begin]), document, "\n".join(lines[end + 1 :])
