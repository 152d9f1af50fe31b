"""Replies read as answers: what was written comes back, and nothing else is ever an answer."""

import json
import math
import random
import re
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rubric_strategies import IDS, LANGUAGES
from rubric_strategies import questions as questions_of_kind
from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.asking import Answers, Ask
from voirdire.judging.reading import ReplyReader, RouterReader
from voirdire.records import Reply, TokenChoice, TokenStep
from voirdire.rubrics import Question

KINDS = ("boolean", "boolean", "choice", "multilabel", "scale", "text", "pairwise")


def question(name, kind="boolean", **more):
    return Question(id=name, kind=kind, text={"en": "?"}, **more)


def labelled(*labels):
    return {label: {} for label in labels}


APOLOGY, TONE = question("apology"), question("tone", "choice", labels=labelled("warm", "冷", "q"))
TOPICS = question("topics", "multilabel", labels=labelled("law", "health", "a]b"))
WHOLE = question("score", "scale", minimum=1.0, maximum=5.0)
REAL = question("degree", "scale", minimum=-1.0, maximum=0.5)
WHY, BETTER = question("why", "text"), question("better", "pairwise", labels=labelled("A", "B"))
ALL = (APOLOGY, TONE, TOPICS, WHOLE, REAL, WHY, BETTER)
ONE_OF_EACH = {
    "apology": 0.75, "tone": "冷", "topics": ["health", "law"], "score": 4, "degree": -0.5,
    "why": 'It says "no".\n', "better": "A",
}  # fmt: skip


def read(text, *asked, probability="stated", form="json_schema", swapped=False, **more):
    ask = Ask(questions=asked, probability=probability, swapped=swapped)
    return ReplyReader(ask).read(Reply(text=text, form=form, **more))


def complaint(text, *asked, **more):
    with pytest.raises(VerdictParseError) as caught:
        read(text, *asked, **more)
    assert caught.value.reply.text == text
    return str(caught.value)


def test_one_answer_of_each_kind():
    found = read(json.dumps(ONE_OF_EACH), *ALL)

    assert found == Answers(
        (0.75, "冷", ("law", "health"), 4.0, -0.5, 'It says "no".\n', "A"), missing_mass=None
    )


@pytest.mark.parametrize("is_ascii", [True, False])
def test_keys_may_come_in_any_order(is_ascii):
    turned = dict(reversed(ONE_OF_EACH.items()))

    assert read(json.dumps(turned, ensure_ascii=is_ascii), *ALL) == read(
        json.dumps(ONE_OF_EACH), *ALL
    )


@pytest.mark.parametrize(("said", "value"), [("true", 1.0), ("false", 0.0)])
def test_a_vote_is_one_or_zero(said, value):
    assert read(f'{{"apology": {said}}}', APOLOGY, probability="vote") == Answers((value,))


@pytest.mark.parametrize(("said", "meant"), [("A", "B"), ("B", "A"), ("tie", "tie")])
def test_a_pair_shown_the_other_way_round_is_turned_back(said, meant):
    text = json.dumps({"better": said})

    assert read(text, BETTER, swapped=True).values == (meant,)
    assert read(text, BETTER).values == (said,)


def test_an_empty_set_of_labels_is_an_answer():
    assert read('{"topics": []}', TOPICS).values == ((),)


@pytest.mark.parametrize("written", ["4", "4.0", "4e0", "0.4E1", "40e-1"])
def test_a_whole_number_may_be_written_in_any_way(written):
    assert read(f'{{"score": {written}}}', WHOLE).values == (4.0,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be one JSON object and nothing else, got ''"),
        ("  ", "be one JSON object"),
        ("null", "be one JSON object"),
        ("[]", "be one JSON object"),
        ("true", "be one JSON object"),
        ('[{"apology": 1}]', "be one JSON object"),
        ('{"apology": 1', "be one JSON object"),
        ('{"apology": 1,}', "be one JSON object"),
        ('{"apology": 1} .', "be one JSON object"),
        ('{"apology": 1}{"apology": 1}', "be one JSON object"),
        ('Here it is:\n```json\n{"apology": 1}\n```', "be one JSON object"),
        ('Sure: {"apology": 1}', "be one JSON object"),
        ('<think></think>{"apology": 1}', "be one JSON object"),
        ('\ufeff{"apology": 1}', "be one JSON object"),
        ('\u00a0{"apology": 1}', "be one JSON object"),
        ("{'apology': 1}", "be one JSON object"),
        ('{"apology": NaN}', "be one JSON object"),
        ('{"apology": Infinity}', "be one JSON object"),
        ('{"apology": -Infinity}', "be one JSON object"),
        ('{"apology": 0x1}', "be one JSON object"),
        ('{"apology": 01}', "be one JSON object"),
        ('{"apology": .5}', "be one JSON object"),
        ('{"apology": True}', "be one JSON object"),
        ('{"apology": 1 /* sure */}', "be one JSON object"),
        ("{}", "answer 'apology'"),
        ('{"Apology": 1}', "answer only what was asked, not 'Apology'"),
        ('{"apology ": 1}', "answer only what was asked, not 'apology '"),
        ('{"apology": 1, "more": {"apology": 0}}', "answer only what was asked, not 'more'"),
        ('{"apology": 1, "\\ud800": 1}', "answer only what was asked"),
        ('{"apology": 1, "apology": 1}', "answer 'apology' once"),
        ('{"apology": 1, "\\u0061pology": 0}', "answer 'apology' once"),
        ('{"apology": true}', "answer 'apology' with a number from 0 to 1, not true"),
        ('{"apology": "0.9"}', 'with a number from 0 to 1, not "0.9"'),
        ('{"apology": null}', "with a number from 0 to 1, not null"),
        ('{"apology": [0.5]}', "with a number from 0 to 1, not [0.5]"),
        ('{"apology": {"p": 0.5}}', "with a number from 0 to 1"),
        ('{"apology": {"p": 0.5, "p": 0.5}}', "with a number from 0 to 1"),
        ('{"apology": [NaN]}', "with a number from 0 to 1"),
        ('{"apology": 1.0000001}', "with a number from 0 to 1, not 1.0000001"),
        ('{"apology": -1e-9}', "with a number from 0 to 1"),
        ('{"apology": 1e999}', "with a number from 0 to 1"),
        ('{"apology": 90}', "with a number from 0 to 1, not 90"),
        ('{"apology": ' + "9" * 5_000 + "}", "with a number from 0 to 1"),
        ('{"apology": [' + "9" * 5_000 + "]}", "be one JSON object"),
        ('{"apology": ' + "[" * 100_000, "be one JSON object"),
        ('{"apology": ' + "[" * 100_000 + "]" * 100_000 + "}", "be one JSON object"),
    ],
    ids=lambda text: ascii(text)[:60],
)  # fmt: skip
def test_what_is_no_stated_answer(text, words):
    assert words in complaint(text, APOLOGY)


@pytest.mark.parametrize("written", ["1", "0", "0.9", '"true"', '"yes"', "null", "[true]"])
@pytest.mark.parametrize("probability", ["vote", "logprob"])
def test_only_true_and_false_answer_a_boolean_question(written, probability):
    said = complaint(f'{{"apology": {written}}}', APOLOGY, probability=probability)

    assert "answer 'apology' with true or false" in said


@pytest.mark.parametrize(
    ("asked", "written", "rule"),
    [
        (TONE, '"Warm"', "one of 'warm', '冷', 'q', not \"Warm\""),
        (TONE, '"warm "', "one of"),
        (TONE, '["warm"]', "one of"),
        (TONE, "null", "one of"),
        (TONE, '"\\ud83d"', "one of"),
        (TOPICS, '"law"', "a list of any of 'law', 'health', 'a]b', none of them twice"),
        (TOPICS, '["law", "law"]', "a list of any of"),
        (TOPICS, '["law", "l\\u0061w"]', "a list of any of"),
        (TOPICS, '["law", "sport"]', "a list of any of"),
        (TOPICS, '["law", ["health"]]', "a list of any of"),
        (TOPICS, '{"law": true}', "a list of any of"),
        (WHOLE, "3.5", "a whole number from 1 to 5, not 3.5"),
        (WHOLE, "6", "a whole number from 1 to 5"),
        (WHOLE, "0", "a whole number from 1 to 5"),
        (WHOLE, '"3"', "a whole number from 1 to 5"),
        (WHOLE, "true", "a whole number from 1 to 5"),
        (REAL, "0.51", "a number from -1 to 0.5"),
        (REAL, "-1.01", "a number from -1 to 0.5"),
        (WHY, "1", "a text, not 1"),
        (WHY, "null", "a text"),
        (WHY, '"\\udc00"', "a text"),
        (BETTER, '"a"', "one of 'A', 'B', 'tie'"),
        (BETTER, '"Tie"', "one of"),
    ],
)
def test_what_is_no_answer_of_its_kind(asked, written, rule):
    assert f"answer {asked.id!r} with {rule}" in complaint(f'{{"{asked.id}": {written}}}', asked)


def test_a_raw_line_end_in_a_text_is_no_json():
    assert "one JSON object" in complaint('{"why": "a\nb"}', WHY)


def test_the_error_says_what_form_was_asked_for_and_how_the_reply_begins():
    text = "I cannot \x1b[31m judge\n" + "x" * 500

    said = complaint(text, APOLOGY, form="json_object")

    shown = "I cannot \\x1b[31m judge⏎" + "x" * 55 + "…"
    assert said == (
        "`reply` (asked for as json_object) must be one JSON object and nothing else, got "
        f"{shown!r}."
    )


def test_a_reply_that_was_cut_off_is_said_to_be():
    said = complaint('{"apology": 0.5, "to', APOLOGY, TONE, finish_reason="length")

    assert said.endswith("It was cut off at its longest: allow more tokens with `max_tokens`.")
    assert "cut off" not in complaint('{"apology": 0.5, "to', APOLOGY, TONE, finish_reason="stop")


def test_a_whole_object_is_read_however_it_ended():
    assert read('{"apology": 0.5}', APOLOGY, finish_reason="length").values == (0.5,)


def test_a_reply_of_more_than_a_million_characters_is_not_read():
    text = '{"apology": 0.5' + " " * 1_000_000 + "}"

    assert "at most 1,000,000 characters long, not 1,000,016" in complaint(text, APOLOGY)


@pytest.mark.parametrize(
    "text",
    [
        '{"apology": 0.5}',
        'So:\n```json\n{"apology": 0.5}\n```\n',
        'Sure! {"apology": 0.5} I hope that helps.',
        '<think>{"apology": 1}? No.</think>\n\n{"\\u0061pology": 0.5}',
    ],
)
def test_prose_around_the_object_is_for_plain_text_only(text):
    assert read(text, APOLOGY, form="text").values == (0.5,)
    if not text.startswith("{"):
        for form in ("json_schema", "json_object"):
            assert "and nothing else" in complaint(text, APOLOGY, form=form)


@pytest.mark.parametrize("form", ["json_schema", "json_object", "text"])
@pytest.mark.parametrize(
    "text", ['\n```json\n{"apology": 0.5}\n```\n', '```\r\n{"apology": 0.5}```']
)
def test_a_code_fence_around_the_whole_reply_is_read_in_every_form(text, form):
    assert read(text, APOLOGY, form=form).values == (0.5,)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"apology": 0.5}\n```\n```json\n{"apology": 0.6}\n```',
        '```json\n{"apology": 0.5}',
        '```python\n{"apology": 0.5}\n```',
        '```json\n{"apology": 0.5} and more\n```',
    ],
)
def test_a_fence_around_anything_else_is_not_read(text):
    assert "one JSON object" in complaint(text, APOLOGY, form="json_schema")


@pytest.mark.parametrize(
    "text",
    [
        "0.5",
        '{"apology": 0.5} or {"apology": 0.6}',
        '<think>{"apology": 0.5}',
        'Sure: {"apology": 0.5',
        '[{"apology": 0.5}]',
        'Sure: {"apology": 0.5, }',
    ],
)
def test_prose_without_exactly_one_object_is_not_read(text):
    assert "one JSON object and no other braces" in complaint(text, APOLOGY, form="text")


def test_an_object_in_prose_that_was_cut_off_is_not_read():
    text = 'First guess: {"apology": 0.5} But wait'

    assert "cut off" in complaint(text, APOLOGY, form="text", finish_reason="length")


def test_an_object_in_prose_is_held_to_the_same_rules():
    assert "answer 'apology' once" in complaint(
        'So: {"apology": 0.5, "apology": 0.5}', APOLOGY, form="text"
    )


# Log-probabilities, beside values that have none.


def spelled(*tokens):
    """Make steps; a pair is a value with its probability of true."""
    steps = []
    for token in tokens:
        if isinstance(token, str):
            steps.append(TokenStep(token, -0.5))
        else:
            word, p = token
            top = (
                TokenChoice("true", math.log(p * 0.9)),
                TokenChoice("false", math.log(0.9 - p * 0.9)),
            )
            steps.append(TokenStep(word, next(c.logprob for c in top if c.token == word), top))
    return tuple(steps)


@pytest.mark.parametrize("tail", ["", "<|im_end|>"])
def test_other_kinds_beside_log_probabilities_are_taken_as_written(tail):
    ask = Ask(questions=(TONE, APOLOGY, WHOLE, question("advice")), probability="logprob")
    steps = spelled(
        '{"tone": "', "\ufffd", '\ufffd", "', "advice", '":', ("false", 0.2), ', "score": ', "3",
        ', "apology":', ("true", 0.8), "}", tail,
    )  # fmt: skip
    text = '{"tone": "冷", "advice":false, "score": 3, "apology":true}'

    found = ReplyReader(ask).read(Reply(text=text, steps=steps))

    assert found.values == pytest.approx(("冷", 0.8, 3.0, 0.2), abs=1e-12)
    assert found.missing_mass == pytest.approx((math.nan, 0.1, math.nan, 0.1), nan_ok=True)


def test_log_probabilities_are_found_in_prose_and_behind_escapes():
    steps = spelled('<think>{"apology": true}</think>', '{"\\u0061pology":', ("false", 0.3), "} .")
    reader = ReplyReader(Ask(questions=(APOLOGY,)))

    found = reader.read(Reply(text="".join(s.token for s in steps), steps=steps, form="text"))

    assert found.values == pytest.approx((0.3,))


def test_words_inside_of_texts_are_no_values():
    ask = Ask(questions=(WHY, APOLOGY), probability="logprob")
    steps = spelled(
        '{"why":"', ' apology":true ', ": ", "true", '", ', '"apology":', ("true", 0.6), "}"
    )
    steps = (
        steps[:1]
        + tuple(TokenStep(s.token.replace('"', "'"), s.logprob) for s in steps[1:4])
        + steps[4:]
    )
    text = "".join(s.token for s in steps)

    assert ReplyReader(ask).read(Reply(text=text, steps=steps)).values[1] == pytest.approx(0.6)


def test_tokens_that_spell_another_text_are_unreadable():
    steps = spelled('{"apology":', ("true", 0.6), "}")

    for text in ('{"apology": true}', '{"apology":false}'):
        said = complaint(text, APOLOGY, probability="logprob", steps=steps)
        assert "be spelled, once, by the tokens of its log-probabilities" in said


def test_tokens_that_spell_the_reply_twice_are_unreadable():
    steps = spelled(*['{"apology":', ("true", 0.6), "}"] * 2)

    assert "once" in complaint('{"apology":true}', APOLOGY, probability="logprob", steps=steps)


@pytest.mark.parametrize("steps", [None, ()])
def test_without_log_probabilities_the_error_names_the_way_out(steps):
    with pytest.raises(UnsupportedError, match="ask with `stated` or `vote`") as caught:
        read('{"apology": true}', APOLOGY, probability="logprob", steps=steps)

    assert caught.value.feature == "logprobs"


def test_log_probabilities_are_not_needed_where_nothing_is_true_or_false():
    assert read('{"tone": "q"}', TONE, probability="logprob") == Answers(("q",))


def test_log_probabilities_of_other_asks_are_not_looked_at():
    steps = spelled("something", " else")

    assert read('{"apology": true}', APOLOGY, probability="vote", steps=steps) == Answers((1.0,))


# The router.


def test_the_router_reads_which_behavior_was_chosen():
    reader = RouterReader(["comply", "hard_refuse"])

    assert reader.read(Reply(text='{"behavior": "hard_refuse"}')) == "hard_refuse"
    assert reader.read(Reply(text='So {"behavior": "comply"}', form="text")) == "comply"


@pytest.mark.parametrize(
    "text", ['{"behavior": "refuse"}', '"comply"', "comply", '{"a": "comply"}']
)
def test_the_router_takes_nothing_else(text):
    with pytest.raises(VerdictParseError, match="asked for as json_schema"):
        RouterReader(["comply", "hard_refuse"]).read(Reply(text=text))


# Any rubric, any answers, any way to write them.


@st.composite
def asks(draw):
    names = draw(st.lists(IDS, unique=True, min_size=1, max_size=6))
    languages = draw(LANGUAGES)
    rows = [
        draw(questions_of_kind(name, languages, draw(st.sampled_from(KINDS)))) for name in names
    ]
    return Ask(
        questions=tuple(rows),
        probability=draw(st.sampled_from(["stated", "vote", "logprob"])),
        swapped=draw(st.booleans()),
    )


@st.composite
def filled(draw):
    """Draw an ask, the values of a reply to it, and the answers that these are."""
    ask = draw(asks())
    pairs = [draw(answer_to(row, ask)) for row in ask.questions]
    values = {row.id: value for row, (value, _) in zip(ask.questions, pairs, strict=True)}
    return ask, values, tuple(answer for _, answer in pairs)


def answer_to(row, ask):
    if row.kind == "boolean" and ask.probability == "stated":
        return st.floats(0, 1).map(lambda p: (p, p))
    if row.kind == "boolean":
        return st.booleans().map(lambda said: (said, float(said)))
    if row.kind == "choice":
        return st.sampled_from(list(row.labels)).map(lambda label: (label, label))
    if row.kind == "multilabel":
        labels = list(row.labels)
        in_order = st.sets(st.sampled_from(labels)).map(
            lambda s: tuple(x for x in labels if x in s)
        )
        return in_order.flatmap(lambda s: st.permutations(s).map(lambda given: (given, s)))
    if row.kind == "scale":
        return scale_points(row).map(lambda x: (x, float(x)))
    if row.kind == "pairwise":
        turned = {"A": "B", "B": "A", "tie": "tie"}
        return st.sampled_from(["A", "B", "tie"]).map(
            lambda x: (x, turned[x] if ask.swapped else x)
        )
    return st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: (text, text))


def is_whole(row):
    points = (row.minimum, row.maximum, *row.levels)
    return all(x == math.floor(x) for x in points) and bool(
        row.levels or row.maximum - row.minimum <= 20
    )


def scale_points(row):
    if is_whole(row):
        return st.integers(int(row.minimum), int(row.maximum)).filter(
            lambda x: row.minimum <= float(x) <= row.maximum
        )
    return st.floats(row.minimum, row.maximum)


def write(value, rng):
    """Write a value in one of the many ways that JSON has."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return rng.choice([repr(value), f"{Decimal(value):E}", f"{Decimal(value):f}"])
    if isinstance(value, str):
        return '"' + "".join(write_character(character, rng) for character in value) + '"'
    return (
        "["
        + gap(rng)
        + (gap(rng) + "," + gap(rng)).join(write(x, rng) for x in value)
        + gap(rng)
        + "]"
    )


def write_character(character, rng):
    plain = json.dumps(character, ensure_ascii=False)[1:-1]
    return plain if rng.random() < 0.8 else "".join(f"\\u{x:04x}" for x in utf16(character))


def utf16(character):
    data = character.encode("utf-16-be")
    return [int.from_bytes(data[place : place + 2], "big") for place in range(0, len(data), 2)]


def gap(rng):
    return rng.choice(["", "", "", " ", "\n  ", "\t", "\r\n"])


def write_object(values, rng):
    members = [
        gap(rng) + write(key, rng) + gap(rng) + ":" + gap(rng) + write(value, rng) + gap(rng)
        for key, value in rng.sample(list(values.items()), len(values))
    ]
    return gap(rng) + "{" + ",".join(members) + "}" + gap(rng)


def with_steps(text, ask, rng):
    """Cut a reply into tokens, with both words at every true and false."""
    steps = []
    for piece in re.findall(r"true|false|[^tf]+|.", text, re.DOTALL):
        top = tuple(
            TokenChoice(word, math.log(rng.uniform(0.1, 0.5))) for word in ("true", "false")
        )
        own = next((c.logprob for c in top if c.token == piece), -0.1)
        steps.append(TokenStep(piece, own, top if piece in ("true", "false") else ()))
    return Reply(text=text, steps=tuple(steps))


@given(drawn=filled(), seed=st.integers(0, 2**32))
def test_any_answers_written_in_any_way_come_back(drawn, seed):
    ask, values, answers = drawn
    rng = random.Random(seed)
    text = write_object(values, rng)

    found = ReplyReader(ask).read(with_steps(text, ask, rng))

    for row, value, answer in zip(ask.questions, found.values, answers, strict=True):
        if row.kind == "boolean" and ask.probability == "logprob":
            assert 0 < value < 1
        else:
            assert value == answer
            assert type(value) is type(answer)


def plain_reading(text, ask):
    """Read a reply slowly, by the rules alone; None where it breaks one."""
    try:
        pairs = json.loads(text, object_pairs_hook=Pairs, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, Pairs):
        return None
    found = dict(pairs)
    if len(found) != len(pairs) or set(found) != {row.id for row in ask.questions}:
        return None
    answers = tuple(plain_answer(found[row.id], row, ask) for row in ask.questions)
    return None if None in answers else answers


class Pairs(list):
    """Members of an object, in order, repeats included."""


def refuse(word):
    raise ValueError(word)


def plain_answer(value, row, ask):
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if row.kind == "boolean" and ask.probability == "stated":
        return float(value) if is_number and 0 <= value <= 1 else None
    if row.kind == "boolean":
        return float(value) if isinstance(value, bool) else None
    if row.kind == "scale":
        is_point = is_number and row.minimum <= value <= row.maximum
        return float(value) if is_point and (not is_whole(row) or value == int(value)) else None
    if row.kind == "multilabel":
        if type(value) is not list or not all(
            isinstance(x, str) and x in row.labels for x in value
        ):
            return None
        return tuple(x for x in row.labels if x in value) if len(set(value)) == len(value) else None
    if not isinstance(value, str) or re.search("[\ud800-\udfff]", value):
        return None
    if row.kind == "text":
        return value
    if row.kind == "choice":
        return value if value in row.labels else None
    sides = (
        {"A": "B", "B": "A", "tie": "tie"} if ask.swapped else {"A": "A", "B": "B", "tie": "tie"}
    )
    return sides.get(value)


SPLINTERS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "\\",
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        "1",
        "-",
    ),
    *(
        "0",
        ".",
        "e9",
        "2",
        "1.0",
        " ",
        "\n",
        "\x00",
        "\ufeff",
        "\\u0061",
        "\\ud800",
        "A",
        '""',
        "é",
    ),
)


def spoil(text, values, rng):
    """Change a reply in a few places, or not at all."""
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        place, width = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 1, 2, 5])
        text = text[:place] + rng.choice([*SPLINTERS, ""]) + text[place + width :]
    if not rng.randrange(4):
        key = rng.choice(list(values))
        extra = write(key, rng) + ":" + write(rng.choice(list(values.values())), rng)
        text = text.replace("{", "{" + extra + ",", 1)
    return text


def check_against_plain_reading(drawn, seed):
    ask, values, _ = drawn
    rng = random.Random(seed)
    if not rng.randrange(3):
        values |= {rng.choice(list(values)): rng.choice([2, 1.0, True, "A", ["A", "A"], None])}
    text = spoil(write_object(values, rng), values, rng)
    stated = Ask(
        questions=ask.questions,
        probability="vote" if ask.probability == "logprob" else ask.probability,
        swapped=ask.swapped,
    )
    expected = plain_reading(text, stated)

    try:
        found = ReplyReader(stated).read(Reply(text=text)).values
    except VerdictParseError:
        found = None

    assert found == expected
    assert [type(value) for value in found or ()] == [type(value) for value in expected or ()]


@given(drawn=filled(), seed=st.integers(0, 2**32))
def test_what_is_read_and_what_is_refused_follows_from_the_rules(drawn, seed):
    check_against_plain_reading(drawn, seed)


@pytest.mark.slow
@settings(max_examples=2_000)
@given(drawn=filled(), seed=st.integers(0, 2**32))
def test_what_is_read_and_what_is_refused_follows_from_the_rules_many_times(drawn, seed):
    check_against_plain_reading(drawn, seed)


@given(
    text=st.text(st.characters(), max_size=60)
    | st.lists(st.sampled_from([*SPLINTERS, '{"apology":', "<think>", "</think>", "```json"])).map(
        "".join
    )
    | st.binary(max_size=60).map(lambda data: data.decode("utf-8", "surrogateescape")),
    form=st.sampled_from(["json_schema", "json_object", "text"]),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    probability=st.sampled_from(["stated", "vote", "logprob"]),
)
@example(text='{"apology":\ud800}', form="text", finish_reason=None, probability="stated")
@example(text='{"apology":true}', form="text", finish_reason="length", probability="logprob")
@example(text='{"apology":0.5,"why":"\ud800"}', form="text", finish_reason=None, probability="vote")
def test_any_text_is_an_answer_or_an_error_of_ours(text, form, finish_reason, probability):
    steps = (TokenStep(text, -0.1, (TokenChoice("true", -1.0), TokenChoice("\ud800", -2.0))),)
    reply = Reply(text=text, form=form, finish_reason=finish_reason, steps=steps)
    reader = ReplyReader(Ask(questions=(APOLOGY,), probability=probability))

    try:
        answers = reader.read(reply)
    except VerdictParseError as error:
        str(error).encode()  # it can be printed and stored
    else:
        assert 0 <= answers.values[0] <= 1
