"""Replies read as answers: what was written comes back, and nothing else is ever an answer."""

import json
import math
import random
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import voirdire
from judging.given_replies import OneForm, batch_of, judged, rubric_of
from voirdire.judging import LlmJudge
from voirdire.records import Failure, Reply, TokenChoice, TokenStep
from voirdire.rubrics import Question

FORMS = ("json_schema", "json_object", "text")


def question(name, kind="boolean", **more):
    return Question(id=name, kind=kind, text={"en": "?"}, **more)


def labelled(*labels):
    return {label: {} for label in labels}


APOLOGY, TONE = question("apology"), question("tone", "choice", labels=labelled("warm", "冷", "q"))
TOPICS = question("topics", "multilabel", labels=labelled("law", "health", "a]b"))
WHOLE = question("score", "scale", minimum=1.0, maximum=5.0)
REAL = question("degree", "scale", minimum=-1.0, maximum=0.5)
WHY, BETTER = question("why", "text"), question("better", "pairwise", labels=labelled("A", "B"))
ALL = (APOLOGY, TONE, TOPICS, WHOLE, REAL, WHY)


def values(replies, asked, **more):
    """Give the answers to one question, a failure where a reply cannot be read."""
    return [found[asked.id] for found in judged(replies, asked, **more)]


def misread(cases, asked, **more):
    """Give those texts of which something else is said than that they cannot be read, and why."""
    said = values(list(cases), asked, **more)
    return {
        text: answer
        for (text, words), answer in zip(cases.items(), said, strict=True)
        if not isinstance(answer, Failure)
        or not answer.reason.startswith("unreadable reply: `reply` (asked for as ")
        or words not in answer.reason
    }


def test_a_whole_number_may_be_written_in_any_way():
    texts = [f'{{"score": {written}}}' for written in ("4", "4.0", "4e0", "0.4E1", "40e-1")]

    assert values(texts, WHOLE) == [4.0] * 5


def test_a_tag_inside_of_a_text_does_not_cut_it():
    why = "it says </think> and. <think> </s>"

    assert values([json.dumps({"why": why})], WHY, form="text") == [why]


NO_OBJECT = (
    *("", "  ", "null", "[]", "true", '[{"apology": 1}]', '{"apology": 1', '{"apology": 1,}'),
    *('{"apology": 1}{"apology": 1}', '{"apology": 1} or {"apology": 0.6}', "0.5", "no object"),
    *("{'apology': 1}", '{"apology": NaN}', '{"apology": [NaN]}', '{"apology": -Infinity}'),
    *('{"apology": 0x1}', '{"apology": 01}', '{"apology": .5}', '{"apology": True}', "{", "} {"),
    *('{"apology" 1}', '{,"apology":1}', '{"apology":1}}', '{"apology":[}', '{"apology": 1.}'),
    *('{"apology": 1 /* sure */}', '{"apology": 1, "\\ud800": 1}', 'See {x}: {"apology": 0.5}'),
    *('{"apology": ' + "[" * 100_000, '{"apology": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    *('A list: [ {"apology": 0.5} , 2]', '[0, {"apology": 0.5}]', 'Sure: {"apology": 0.5, }'),
    '```json\n{"apology": 0.5}\n```\n```json\n{"apology": 0.6}\n```',
    # thoughts elsewhere than before it
    *('{"apology": 0.5} <think>But then', 'Well, <think>{"apology": 0.5}'),
    *('So: <think>x</think>{"apology": 0.5}', '{"apology": 0.5}<think>x</think>'),
)
NO_ANSWER = {
    "{}": "answer 'apology'",
    '{"Apology": 1}': "answer only what was asked, not 'Apology'",
    '{"apology ": 1}': "answer only what was asked, not 'apology '",
    '{"apology": 1, "more": {"apology": 0}}': "answer only what was asked, not 'more'",
    '{"apology": 1, "apology": 1}': "answer 'apology' once",
    '{"apology": 1, "\\u0061pology": 0}': "answer 'apology' once",
    '{"apology": true}': "answer 'apology' with a number from 0 to 1, not true",
    '{"apology": "0.9"}': 'with a number from 0 to 1, not "0.9"',
    '{"apology": null}': "with a number from 0 to 1, not null",
    '{"apology": [0.5]}': "with a number from 0 to 1, not [0.5]",
    '{"apology": {"p": 0.5, "p": 0.5}}': "with a number from 0 to 1",
    '{"apology": 1.0000001}': "with a number from 0 to 1, not 1.0000001",
    '{"apology": -1e-9}': "with a number from 0 to 1",
    '{"apology": 1e999}': "with a number from 0 to 1",
    '{"apology": 90}': "with a number from 0 to 1, not 90",
    '{"apology": ' + "9" * 5_000 + "}": "with a number from 0 to 1",
    '{"apology": 0.5' + " " * 1_000_000 + "}": "at most 1,000,000 characters long, not 1,000,016",
    '<think>{"apology": 0.5}': "behind its thoughts, which never end",
    '[THINK]x[/THINK]<think>{"apology": 0.5}': "behind its thoughts, which never end",
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_stated_answer(form):
    no_object = dict.fromkeys(NO_OBJECT, "must hold one JSON object and no other braces, got")

    assert misread(no_object | NO_ANSWER, APOLOGY, form=form) == {}


@pytest.mark.parametrize(
    ("asked", "rule", "written"),
    [
        (APOLOGY, "true or false", ["1", "0", "0.9", '"true"', '"yes"', "null", "[true]"]),
        (TONE, "one of 'warm', '冷', 'q', not ", ['"Warm"', '"warm "', '["warm"]', "null"]),
        (
            TOPICS,
            "a list of any of 'law', 'health', 'a]b', none of them twice",
            [
                *('"law"', '["law", "law"]', '["law", "l\\u0061w"]', '["law", "sport"]'),
                *('["law", ["health"]]', '{"law": true}'),
            ],
        ),
        (WHOLE, "a whole number from 1 to 5, not ", ["3.5", "6", "0", '"3"', "true"]),
        (REAL, "a number from -1 to 0.5", ["0.51", "-1.01"]),
        (WHY, "a text", ["1", "null"]),
        (BETTER, "one of 'A', 'B', 'tie'", ['"a"', '"Tie"']),
    ],
)
def test_what_is_no_answer_of_its_kind(asked, rule, written):
    texts = {f'{{"{asked.id}": {word}}}': f"answer {asked.id!r} with {rule}" for word in written}

    assert misread(texts, asked, probability="vote") == {}
    assert misread(texts, asked, probability="logprob") == {}


def test_the_error_says_what_form_was_asked_for_and_how_the_reply_begins_and_ends():
    text = "I cannot \x1b[31m judge\n" + "x" * 500 + "\n" + "y" * 75 + "end"

    failure, behind_thoughts = values([text, f"<think>{{No}}.</think>{text}"], APOLOGY)

    shown = "I cannot \\x1b[31m judge⏎" + "x" * 55 + "…"
    assert failure.reason == (
        "refusal by the judge: `reply` (asked for as json_schema) must hold one JSON object and no "
        f"other braces, got {shown!r}, which ends with {'…⏎' + 'y' * 75 + 'end'!r}."
    )
    assert behind_thoughts.reason.startswith("refusal by the judge: ")


def test_a_reply_that_was_cut_off_is_said_to_be():
    text, whole = '{"apology": 0.5, "to', '{"apology": 0.5}'
    ends = [(text, "length"), (f"Is it {whole}? But", "length"), (text, "stop"), (whole, "length")]

    cut, guessed, stopped, read = values(
        [Reply(text=text, finish_reason=end) for text, end in ends], APOLOGY
    )

    for failure in (cut, guessed):
        assert "cut off at the token limit: allow more tokens with `max_tokens`" in failure.reason
    assert "cut off" not in stopped.reason
    assert read == 0.5


# What may stand around the object.

AROUND = (
    *(("<think></think>", ""), ("[THINK]x[/THINK]", "</s>"), ("◁think▷ {x} ◁/think▷\n", "\n")),
    ('\n \u00a0<think> It may think of <think> and {"apology": 1}.</think>', "<|im_end|>\n"),
    ("<think>" + "hm " * 30_000 + "</think>", ""),
    ('It says {"apology": 0}, hm.</think>\n', ""),  # the template began to think
    ('{"apology": 0}? No.</think>', ""),
    ("<|channel|>analysis<|message|>{}<|end|><|channel|>final <|constrain|>json<|message|>", ""),
    ("<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("Here is my thought process: {no}. Here is my response: ", ""),
    *(("```json\n", "\n```"), ("So:\n```\n", "```\nDone."), ("Sure! ", " I hope that helps.")),
    *(("\ufeff", ""), (" \r\n", " "), ("<think>x</think>So: ```json\n", "```")),
)


@pytest.mark.parametrize("form", FORMS)
def test_an_object_is_found_behind_thoughts_and_in_prose_in_every_form(form):
    plain = [f'{before}{{"apology": 0.5}}{behind}' for before, behind in AROUND]
    # one answer of two is wrong: the slow way of reading
    odd = [f'{before}{{"apology": 0.5, "tone": "odd"}}{behind}' for before, behind in AROUND]

    assert values(plain, APOLOGY, form=form) == [0.5] * len(AROUND)
    for found in judged(odd, APOLOGY, TONE, form=form):
        assert found["apology"] == 0.5
        assert isinstance(found["tone"], Failure)


@given(seed=st.integers(0, 2**32))
def test_what_is_found_in_prose_is_never_one_of_two(seed):
    rng = random.Random(seed)
    parts = [*'{}"a:1,\\ []`x', "<think>", "</think>"]
    cases = [["".join(rng.choices(parts, k=rng.randrange(8))) for _ in range(3)] for _ in range(40)]
    texts = [before + json.dumps({"why": why}) + behind for before, why, behind in cases]

    for (before, why, behind), answer in zip(cases, values(texts, WHY), strict=True):
        if not isinstance(answer, Failure):
            # Nothing but what was thought before it has braces or goes on thinking.
            outside = before.rpartition("</think>")[2] + behind
            assert answer == why
            assert not {"{", "}"} & set(outside)
            assert "<think>" not in outside


# Log-probabilities, beside values that have none.


def reply_of(*tokens):
    """Make a reply of tokens; a pair is a value with its probability of true."""
    steps = []
    for token in tokens:
        word, p = (token, None) if isinstance(token, str) else token
        chances = {} if p is None else {"true": p * 0.9, "false": (1 - p) * 0.9}
        top = tuple(TokenChoice(other, math.log(chance)) for other, chance in chances.items())
        steps.append(TokenStep(word, math.log(chances.get(word, 0.6)), top))
    return Reply(text="".join(step.token for step in steps), steps=tuple(steps))


def test_tokens_are_found_behind_thoughts_and_in_prose():
    thoughts = ('<think>{"apology":', ("true", 0.9), "}</think>", "\n\n")
    no = ("false", 0.3)
    at_once = reply_of(*thoughts, '{"apology":', no, "}")
    slowly = reply_of(*thoughts, '{"\\u0061pology":', no, "}")
    fenced = reply_of(*thoughts, '```json\n{"apology":', no, "}\n```")
    prose = reply_of('So: {"apology":', no, "}")
    left = Reply(text=f"{prose.text}<|im_end|>", steps=prose.steps)  # no step for the last token

    found = values([at_once, slowly, fenced, left], APOLOGY, probability="logprob")

    assert found == pytest.approx([0.3] * 4)


@pytest.mark.parametrize("tail", ["", "<|im_end|>"])
def test_other_kinds_beside_log_probabilities_are_taken_as_written(tail):
    reply = reply_of(
        '{"tone": "', "\ufffd", '\ufffd", "', "advice", '":', ("false", 0.2), ', "score": ', "3",
        ', "why": "', "' apology':true ", '", "apology":', ("true", 0.8), "}", tail,
    )  # fmt: skip
    text = reply.text.replace("\ufffd\ufffd", "冷").removesuffix(tail)
    asked = (TONE, APOLOGY, WHOLE, WHY, question("advice"))

    batch = batch_of([Reply(text=text, steps=reply.steps)], *asked, probability="logprob")

    assert batch.probabilities[0] == pytest.approx([0.8, 0.2], abs=1e-12)
    assert batch.details.missing_mass[0] == pytest.approx([0.1, 0.1])
    labels = {"tone": ("冷",), "score": (3.0,), "why": ("' apology':true ",)}
    assert batch.details.labels == labels


@pytest.mark.parametrize(("p", "is_read"), [(0.11, True), (0.09, False), (1e-6, False)])
def test_log_probabilities_that_say_the_opposite_of_the_reply_are_a_failure(p, is_read):
    texts = ['{"apology":', ("true", p), ', "again": ', ("false", 1 - p), ', "third":']
    reply = reply_of(*texts, ("true", 0.6), "}")

    (found,) = judged([reply], APOLOGY, question("again"), question("third"), probability="logprob")

    assert found["third"] == pytest.approx(0.6)
    if is_read:
        assert [found["apology"], found["again"]] == pytest.approx([p, 1 - p])
    else:
        words = "have log-probabilities that agree with the value of 'apology', not say the opp"
        assert words in found["apology"].reason
        assert isinstance(found["again"], Failure)


def test_answers_of_little_mass_are_kept_and_counted_in_one_caution():
    top = (TokenChoice("true", math.log(0.03)), TokenChoice("false", math.log(0.01)))
    steps = (TokenStep('{"apology":', 0.0), TokenStep("true", top[0].logprob, top))
    reply = Reply(text='{"apology":true}', steps=(*steps, TokenStep("}", 0.0)))
    judge = LlmJudge(model=OneForm(lambda request: reply))
    rows = [{"response": "a"}, {"response": "b"}]

    found = voirdire.judge(rows, judge=judge, rubric=rubric_of(APOLOGY), store=False)

    assert found.probabilities == pytest.approx(np.full((2, 1), 0.75))
    assert found.details.missing_mass == pytest.approx(np.full((2, 1), 0.96))
    assert found.notes[-1].endswith(
        "neither true nor false, at most 96.0% (apology); less than a tenth is on true and false "
        "together for 2 of the answers"
    )


# Any answers, and many ways to write them.

ANSWERS = {
    "tone": st.sampled_from(list(TONE.labels)),
    "topics": st.lists(st.sampled_from(list(TOPICS.labels)), unique=True),
    "score": st.integers(1, 5),
    "degree": st.floats(-1, 0.5),
    "why": st.text(st.characters(codec="utf-8"), max_size=20),
}


@given(
    said=st.fixed_dictionaries(ANSWERS),
    is_sorry=st.booleans(),
    p=st.floats(0.2, 1),
    seed=st.integers(0, 2**32),
    source=st.sampled_from(["stated", "vote", "logprob"]),
)
def test_any_answers_written_in_any_way_come_back(said, is_sorry, p, seed, source):
    rng = random.Random(seed)
    said |= {"apology": p if source == "stated" else is_sorry}
    shuffled = dict(rng.sample(list(said.items()), len(said)))
    text = json.dumps(shuffled, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5)
    text = text.replace('"apology":', rng.choice(['"apology" :\n', '"\\u0061pology":']))
    begin = re.search(r'pology"\s*:\s*', text).end()
    word, other = ("true", "false") if is_sorry else ("false", "true")
    top = (TokenChoice(word, math.log(p * 0.9)), TokenChoice(other, math.log(1.0 - p * 0.9)))
    steps = (
        TokenStep(text[:begin], 0.0),
        TokenStep(word, top[0].logprob, top),
        TokenStep(text[begin + len(word) :], 0.0),
    )

    (found,) = judged([Reply(text=text, steps=steps)], *ALL, probability=source)

    yes = p * 0.9 if is_sorry else 1 - p * 0.9
    assert found.pop("apology") == pytest.approx(
        {"stated": p, "vote": float(is_sorry), "logprob": yes}[source]
    )
    said["topics"] = tuple(label for label in TOPICS.labels if label in said["topics"])
    assert found == {name: said[name] for name in found}


SPLINTERS = [*'{}[],:"\\1-0. \nAé\x00\ufeff', "true", "false", "NaN", "e9", "\\ud800", '"apology":']
ANY_TEXT = (
    st.text(st.characters(), max_size=60)
    | st.lists(st.sampled_from([*SPLINTERS, "<think>", "</think>"])).map("".join)
    | st.binary(max_size=60).map(lambda data: data.decode("utf-8", "surrogateescape"))
)


@given(
    texts=st.lists(ANY_TEXT, min_size=1, max_size=20),
    form=st.sampled_from(FORMS),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    probability=st.sampled_from(["stated", "vote", "logprob"]),
)
@example(texts=['{"apology":\ud800}'], form="text", finish_reason=None, probability="stated")
def test_any_text_is_an_answer_or_a_failure(texts, form, finish_reason, probability):
    top = (TokenChoice("true", -1.0), TokenChoice("\ud800", -2.0))
    replies = [
        Reply(text=text, finish_reason=finish_reason, steps=(TokenStep(text, -0.1, top),))
        for text in texts
    ]

    for answer in values(replies, APOLOGY, form=form, probability=probability):
        if isinstance(answer, Failure):
            answer.reason.encode()  # it can be printed and stored
        else:
            assert 0 <= answer <= 1


HOSTILE = (
    *("{" * 500_000, '{"a":' * 200_000, '{"a":' + "[" * 900_000, '{"a": "' + "\\" * 900_000),
    *('{"' + "x" * 900_000, '{"a"' + " " * 900_000, '{"a": ' + "1" * 900_000 + "}"),
    *('{"a": [' + "1" * 900_000 + "]}", '{"a": [' + '"x",' * 200_000, '{"a": "\\u00' * 90_000),
)


@pytest.mark.parametrize("form", ["json_schema", "text"])
def test_hostile_texts_of_a_million_characters_come_to_an_end(form):
    asked = question("a")
    replies = [
        Reply(text=text, steps=(TokenStep(text, -0.1, (TokenChoice("true", -1.0),)),))
        for text in HOSTILE
    ]

    found = values(replies, asked, form=form, probability="logprob")

    assert all(isinstance(answer, Failure) for answer in found)
