"""Questions of every kind, what is sent about them, and a reader of fences of our own."""

import json
import re

from judging.given_replies import OneForm, rubric_of
from voirdire.judging import LlmJudge, judge_items, show_prompt
from voirdire.rubrics import Question, load_rubric

SAFETY = load_rubric("safety")
PAIRWISE = load_rubric("pairwise").questions
LANGUAGES = ("en", "zh")
FORMS = ("json_schema", "json_object", "text")
SOURCES = ("logprob", "stated", "vote")
NONCE = "0" * 16  # in a prompt that is shown to people

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


def shown(*questions, item=None, **settings):
    """Give what people are shown of a prompt: the system's text, the user's, and the schema."""
    text = show_prompt(rubric_of(*questions), item=item, **({"n_examples": 9} | settings))
    parts = re.fullmatch(
        r"=== system ===\n(.*?)\n\n=== user ===\n(.*?)\n"
        r"(?:\n=== JSON Schema of the reply ===\n(.*)\n)?",
        text,
        re.DOTALL,
    )
    return parts[1], parts[2], parts[3] and json.loads(parts[3])


def requests_about(items, *questions, form="json_schema", **settings):
    """Give what a model is sent about items, in their order."""
    model = OneForm(lambda request: "no reply", form=form)
    limits = {"concurrency": 1, "max_attempts": 1, "keep_going": True}
    judge = LlmJudge(model=model, **limits | {"n_examples": 9, "n_samples": 2} | settings)
    list(judge_items(items, judge, rubric=rubric_of(*questions)))
    return model.requests


def nonce_of(request):
    return re.search("^-----BEGIN ITEM (.*)-----$", request.messages[1].content, re.MULTILINE)[1]


def parted(content, nonce):
    """Cut a user message into what is before the fence, the decoded item, and what is after."""
    lines = content.split("\n")
    assert content.splitlines() == lines, "another character ends a line"
    begin, end = [number for number, line in enumerate(lines) if nonce in line]
    assert lines[begin] == f"-----BEGIN ITEM {nonce}-----"
    assert lines[end] == f"-----END ITEM {nonce}-----"
    document = json.loads("\n".join(lines[begin + 1 : end]))
    return "\n".join(lines[:begin]), document, "\n".join(lines[end + 1 :])
