"""Hypothesis strategies for rubrics of every kind that the YAML form can say."""

import json

from hypothesis import strategies as st

from voirdire.rubrics import (
    Behavior,
    CompletionClass,
    Demand,
    Question,
    Rubric,
    rubric_from_text,
)

# Words that YAML reads as something else without quotes, or that end a plain text.
TRICKY = (
    "yes",
    "No",
    "true",
    "null",
    "~",
    "1e3",
    "0o17",
    "0x1F",
    "1_000",
    "1.0",
    ".inf",
    "2024-01-01",
    "12:30:45",
    "<<",
    "=",
    "- a",
    "? a",
    "a: b",
    "a #b",
    "#b",
    "&a",
    "*a",
    "!tag x",
    "%YAML 1.1",
    "---",
    "...",
    "[a",
    "{a: b}",
    "'quoted'",
    '"quoted"',
    "it's",
    "a\\nb",
    "a\n\n  b\nc",
    "a\n# b",
    "- a\n- b",
    "x: |\n  y",
    "tab\tin it",
    "回复是否道歉？\n“对不起”",
    "𠮷 😀",
    "e\u0301",
    "@at",
    "`tick`",
    "|",
    ">",
)
CHARACTERS = st.characters(
    codec="utf-8",
    exclude_categories=["Cc", "Cs", "Zl", "Zp"],
    exclude_characters="\ufeff\ufffe\uffff",
    include_characters="\n\t",
)
TEXTS = (st.sampled_from(TRICKY) | st.text(CHARACTERS, max_size=120)).map(str.strip).filter(bool)
LINES = TEXTS.filter(lambda text: "\n" not in text)
IDS = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).map("q_{}".format)
LANGUAGES = st.sampled_from([("en",), ("zh",), ("en", "zh")])
DEMANDS = st.sampled_from(
    [
        Demand(word="required", demanded=True),
        Demand(word="required", demanded=True, core=True),
        Demand(word="required", demanded=False),
        Demand(word="required", demanded=False, core=True),
        Demand(word="desired", demanded=True),
        Demand(word="desired", demanded=False),
        Demand(word="allowed", demanded=None),
        *(
            Demand(word=word, demanded=False)
            for word in ("undesired", "unacceptable", "illogical", "disallowed")
        ),
    ]
)


def in_languages(languages, values=TEXTS):
    return st.fixed_dictionaries(dict.fromkeys(languages, values))


@st.composite
def questions(draw, name, languages, kind):
    """One question of a kind."""
    text = in_languages(languages)
    more = {}
    if kind == "boolean":
        examples = draw(st.lists(TEXTS, unique=True, max_size=4))
        half = len(examples) // 2
        for key, own in (("yes_examples", examples[:half]), ("no_examples", examples[half:])):
            if own:
                more[key] = dict.fromkeys(draw(LANGUAGES.filter(languages.__eq__)), tuple(own))
    elif kind in ("choice", "multilabel"):
        names = draw(st.lists(LINES, unique=True, min_size=2, max_size=4))
        more["labels"] = {label: draw(st.just({}) | text) for label in names}
    elif kind == "pairwise":
        more["labels"] = {"A": {}, "B": {}, "tie": {}}
    elif kind == "scale":
        ends = st.integers(-5, 5) | st.floats(-1e300, 1e300)
        low, high = sorted(draw(st.lists(ends.map(float), unique=True, min_size=2, max_size=2)))
        levels = draw(st.lists(st.sampled_from([low, high, (low + high) / 2]), unique=True))
        more |= {"minimum": low, "maximum": high}
        more["levels"] = {level: draw(text) for level in levels}
    return Question(id=name, kind=kind, text=draw(text), **more)


def default_classes(*propositions, when=None):
    """Give the classes that a file leaves out, or widens by one condition."""
    behavior = {"demands": {propositions[0]: "required"}}
    behavior |= {} if when is None else {"unacceptable_when": when}
    asked = [{"id": name, "kind": "boolean", "text": "?"} for name in dict.fromkeys(propositions)]
    document = {"schema": "voirdire.rubric/1", "name": "x", "version": "1", "questions": asked}
    text = json.dumps(document | {"behaviors": {"any": behavior}})
    return rubric_from_text(text).behavior("any").classes


@st.composite
def behaviors(draw, name, propositions, languages):
    """One behavior with the default classes, with a wider one, or with its own."""
    demands = draw(st.dictionaries(st.sampled_from(propositions), DEMANDS, min_size=1))
    one, other = draw(st.sampled_from(propositions)), draw(st.sampled_from(propositions))
    classes = draw(
        st.sampled_from(
            [
                default_classes(one),
                default_classes(one, other, when=f"not {one} or ({other})"),
                (
                    CompletionClass(name="bad", when=f"count(required unmet) >= 1 or {one}"),
                    CompletionClass(name="good", when="otherwise"),
                ),
                (CompletionClass(name="all_of_them", when="true"),),
            ]
        )
    )
    description = draw(st.just({}) | in_languages(languages))
    return Behavior(id=name, description=description, demands=demands, classes=classes)


@st.composite
def rubrics(draw):
    """Any rubric."""
    languages = draw(LANGUAGES)
    names = draw(st.lists(IDS, unique=True, min_size=1, max_size=5))
    kinds = ("boolean", "boolean", "choice", "multilabel", "scale", "text", "pairwise")
    asked = tuple(draw(questions(name, languages, draw(st.sampled_from(kinds)))) for name in names)
    propositions = [row.id for row in asked if row.kind == "boolean"]
    ids = draw(st.lists(IDS, unique=True, max_size=2)) if propositions else []
    return Rubric(
        name=draw(st.from_regex(r"[a-z0-9][a-zA-Z0-9._-]{0,10}", fullmatch=True)),
        version=draw(LINES),
        description=draw(st.just({}) | in_languages(languages)),
        questions=asked,
        expressions={"x_named": f"not {propositions[0]}"} if propositions else {},
        behaviors=tuple(draw(behaviors(name, propositions, languages)) for name in ids),
        threshold=draw(st.floats(0.001, 0.999)),
    )
