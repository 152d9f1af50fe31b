"""Probabilities from tokens: against every continuation written out, and figures by hand."""

import math
import random
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judging.given_replies import batch_of
from voirdire.errors import UnsupportedError
from voirdire.records import Reply, TokenChoice, TokenStep
from voirdire.rubrics import Question

WORDS = (
    *("true", "false", "true", "false", " true", " false", "True", "FALSE", "t", "tr", "fa", "ue"),
    *("false,", 'true,"b":', "truely", "null", "yes", "no", "1", "x", "</s>", *' \n":', "", '":'),
)


def step(token, **top):
    """Make a step of probabilities; ``taken=`` is the token's own where it is not listed."""
    own = top.pop("taken", None)
    own = top.get(token, own)
    choices = tuple(TokenChoice(word, log(p)) for word, p in top.items())
    return TokenStep(token, log(1.0 if own is None else own), choices)


def log(probability):
    return math.log(probability) if probability > 0 else -9999.0


def reply_of(*steps):
    return Reply(text="".join(row.token for row in steps), steps=steps)


def read(replies, *names):
    """Give by reply the probability and the missing mass of each question, or a failure."""
    asked = [Question(id=name, kind="boolean", text={"en": "?"}) for name in names]
    batch = batch_of(replies, *asked, probability="logprob")
    found = zip(batch.probabilities.tolist(), batch.details.missing_mass.tolist(), strict=True)
    return [
        [batch.failures.get((row, k), pair) for k, pair in enumerate(zip(*pairs, strict=True))]
        for row, pairs in enumerate(found)
    ]


def read_values(*values):
    """Read the question `a` of several replies, each with the steps of its value."""
    replies = [reply_of(step('{"a":'), *steps, step("}")) for steps in values]
    return [found for (found,) in read(replies, "a")]


def test_the_probability_is_that_of_yes_among_yes_and_no_however_they_are_spelled():
    space = {" ": 0.5, "true": 0.125, "\n": 0.125, "false": 0.25}
    spellings = {" true": 0.3, "true": 0.1, " True": 0.05, " tr": 0.05, " false": 0.2, "fal": 0.05}

    found = read_values(
        [step("true", true=0.6, false=0.2, null=0.1)],
        [step(" true", **spellings)],
        [step(" ", **space), step("true", true=0.75, false=0.125)],  # the choice is put off
        [step("true", taken=0.1, false=0.3, null=0.6)],  # counts though it is not listed
    )

    yes, no = 1 / 8 + 1 / 2 * 3 / 4, 1 / 4 + 1 / 2 * 1 / 8
    expected = [(6 / 8, 2 / 10), (0.5 / 0.75, 0.25), (yes / (yes + no), 1 - yes - no), (0.25, 0.6)]
    assert found == [pytest.approx(pair) for pair in expected]


def test_one_token_may_hold_the_end_of_the_key_the_value_and_more():
    top = {'":true,"': 0.5, '":false': 0.25, '":null': 0.125, '":': 0.125, "true": 0.0}
    end = step("false", false=0.75, true=0.25)
    # a vocabulary with '":true' in it: whoever means true would have used it
    ends = {'":': 0.3, '":true': 0.5, '":false': 0.1, '" :': 0.05, "s": 0.05}
    steps = [step('{"a'), step('":', **ends), step("true", true=0.25, false=0.75), step("}")]

    ((first, second),) = read(
        [reply_of(step('{"a'), step('":true,"', **top), step('b":'), end, step("}"))], "a", "b"
    )
    ((not_taken,),) = read([reply_of(*steps)], "a")

    assert first == pytest.approx((2 / 3, 1 / 4))
    assert second == pytest.approx((1 / 4, 0))
    assert not_taken == pytest.approx(((0.5 + 0.3 * 0.25) / 0.9, 0.0))


@pytest.mark.parametrize(
    ("yes", "no"), [(0.0, -9999.0), (0.0, -math.inf), (0.0, -800.0), (0.001, -9999.0)]
)
def test_what_is_never_said_has_probability_zero_and_rounding_above_one_is_one(yes, no):
    top = (TokenChoice("true", yes), TokenChoice("false", no))

    assert read_values([TokenStep("true", yes, top)]) == [(1.0, 0.0)]


NOT_LOGARITHMS = (
    (math.nan, -1.0),
    (-1.0, math.nan),
    (4.2, -3.0),  # logits
    (math.inf, -1.0),
    (-0.1, -0.1),  # 1.81 in all
)


def test_numbers_that_cannot_be_log_probabilities_are_unreadable():
    sure = step("true", true=0.6, false=0.2)
    # a value whose numbers cannot be, and numbers before a value; neither is hidden by a zero
    values = [
        [TokenStep("true", yes, (TokenChoice("true", yes), TokenChoice("false", no)))]
        for yes, no in NOT_LOGARITHMS
    ]
    values += [[TokenStep(" ", odd), sure] for odd in (math.nan, math.inf, 3.0)]
    values += [[TokenStep(" ", -9999.0), *values[2]]]

    found = read_values(*values)

    assert all("log-probabilities at the value of 'a', not other" in row.reason for row in found)


def test_neither_true_nor_false_among_the_likely_is_unreadable():
    others = {"null": 0.9, '"': 0.05, "yes": 0.04}

    found = read_values(
        [step("true", taken=1e-6, **others)], [step("true", taken=0, true=0, null=1.0)]
    )

    words = "have true or false among the likely tokens at the value of 'a'"
    assert all(words in row.reason for row in found)


@pytest.mark.parametrize(
    "reply",
    [
        reply_of(step('{"a":'), step("true", taken=0.6), step("}")),
        reply_of(step('{"a":'), step("true", true=0.6), step("}")),
        Reply(text='{"a": true}', steps=None),
        Reply(text='{"a": true}', steps=()),
    ],
)
def test_a_server_that_never_says_what_else_was_likely_cannot_be_used(reply):
    with pytest.raises(UnsupportedError, match="ask with `stated` or `vote`") as caught:
        read([reply], "a")

    assert caught.value.feature == "logprobs"


def test_one_value_without_alternatives_is_unreadable():
    first, second = step("true", true=0.6, false=0.3), step("true", true=0.6)

    ((found, lacking),) = read(
        [reply_of(step('{"a":'), first, step(',"b":'), second, step("}"))], "a", "b"
    )

    assert found == pytest.approx((2 / 3, 0.1))
    assert "likely tokens beside the one that was taken at the value of 'b'" in lacking.reason


# What single tokens say where a value may begin, beside true and false at .4 and .2.

MEANINGS = {
    (0.7 / 0.9, 0.1): [" true", "TRUE", "t", "Tru", "true,", "true}", "\n\ttrue\n}"],
    (0.4 / 0.9, 0.1): ["False", "f", " fal", "false,", 'false,"b":', "FALSE}", "false.5"],
    (0.4 / 0.6, 0.4): [
        *("", " ", "\n  ", '"true', '"', "yes", "null", "1", "0.9", "truely", "true_", "falsehood"),
        *("true1", "tea", "trui", "untrue", ":true", "是", "true是", "tｒue", "<eos>", "}", ","),
    ],
}


@pytest.mark.parametrize("meant", MEANINGS)
def test_a_token_says_true_or_false_or_neither(meant):
    values = [[step("true", true=0.4, false=0.2, **{token: 0.3})] for token in MEANINGS[meant]]

    assert read_values(*values) == [pytest.approx(meant)] * len(values)


# Which token writes the value, where tokens and text are not the same.


def beside_a_text(text, *rows):
    """Read the question `a` beside a text `x` from replies of one text and several spellings."""
    asked = Question(id="a", kind="boolean", text={"en": "?"})
    beside = Question(id="x", kind="text", text={"en": "?"})
    replies = [Reply(text=text, steps=tuple(row)) for row in rows]
    batch = batch_of(replies, asked, beside, probability="logprob")
    pairs = zip(batch.probabilities[:, 0], batch.details.missing_mass[:, 0], strict=True)
    return [batch.failures.get((row, 0), pair) for row, pair in enumerate(pairs)]


def test_tokens_that_spell_another_text_or_spell_it_twice_are_unreadable():
    value, other = step("true", true=0.6, false=0.2), step("false", true=0.3, false=0.6)
    whole = [step('{"x": "很", "a": '), value, step("}")]
    divided = [step('{"x": "'), step("\ufffd"), step("\ufffd"), step('", "a": ')]

    found = beside_a_text(
        '{"x": "很", "a": true}',
        [*whole[:2], step(" "), whole[2]],  # white space that the text does not have
        [whole[0], other, whole[2]],
        whole[:2],
        whole * 2,
        [step('{"x": "好", "a": '), *whole[1:]],
        [*divided, other, whole[2]],
        [*divided, *whole[1:]] * 2,
    )

    assert all("be spelled, once, by the tokens of its log-prob" in row.reason for row in found)


def test_characters_divided_among_tokens_and_special_tokens_around_do_not_matter():
    value = step(" true", **{" true": 0.6, " false": 0.2})
    half, more = step("\ufffd"), step("\ufffd\ufffd")

    found = beside_a_text(
        '{"x": "很很很很很很很很好", "a": true}',
        [step('{"x": "'), half, more, step('好", "'), step('a":'), value, step("}<|end|>")],
        [step('<s>{"x": "很很很很很很很很好", "a":'), value, step("}")],
    )
    found += beside_a_text(
        '{"x": "\ufffd", "a": true}', [step('{"x": "\ufffd", "a":'), value, step("}")]
    )

    assert found == [pytest.approx((0.75, 0.2))] * 3


# Random tokenisations against an oracle that writes out what each token would have made of the
# text, and reads that as a person would.


@st.composite
def tokenised(draw):
    """Draw a reply about some questions, cut anywhere, with random alternatives everywhere."""
    names = draw(st.permutations(["a", "b", "apology"]))[: draw(st.integers(1, 3))]
    gap = st.sampled_from(["", "", " ", "\n  "])
    text = draw(gap) + "{"
    places = {}
    for place, name in enumerate(names):
        text += ("," if place else "") + draw(gap) + f'"{name}"'
        quote = len(text) - 1
        text += draw(gap) + ":" + draw(gap)
        places[name] = (quote, len(text))
        text += draw(st.sampled_from(["true", "false"])) + draw(gap)
    text += "}" + draw(gap)
    whole = draw(st.sampled_from(["", "<s>", "Hm. "])) + text + draw(st.sampled_from(["", "</s>"]))
    edges = sorted([0, *draw(st.lists(st.integers(0, len(whole)), max_size=14)), len(whole)])
    shift = whole.index(text)
    places = {name: (quote + shift, start + shift) for name, (quote, start) in places.items()}
    rng = random.Random(draw(st.integers(0, 2**32)))
    steps = []
    for begin, end in pairwise(edges):
        start = min((s for _, s in places.values() if begin <= s < end), default=end)
        steps.append(random_step(rng, whole[begin:end], lead=whole[begin:start]))
    return names, text, tuple(steps), places


def random_step(rng, token, *, lead):
    """Make a step of words behind the token's own lead, behind others, or of none."""
    leads = (lead, lead, lead, lead, lead.strip(), "", ":", '":', " ")
    listed = [token] * rng.choice([0, 1, 1, 2])
    listed += [rng.choice(leads) + rng.choice(WORDS) for _ in range(rng.randrange(7))]
    letters = 'truefalsTRUEFALSyb1,{":_ '
    listed += ["".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(2)]
    rng.shuffle(listed)
    if not rng.randrange(8):
        listed = []
    weights = [0, 1, 10, rng.random(), rng.random()]
    chances = {word: rng.choice(weights) for word in (token, *listed)}
    whole = sum(chances.values()) + rng.choice([0, rng.random(), 10]) + 1e-9
    logprobs = {word: log(chance / whole) for word, chance in chances.items()}
    top = tuple(TokenChoice(word, logprobs[word]) for word in listed)
    return TokenStep(token, logprobs[token], top)


def oracle(steps, *, quote, start):
    """Sum over every continuation that is known; None where there is no answer, and why."""
    whole = "".join(row.token for row in steps)
    begin, chain = 0, []
    for row in steps:
        if begin + len(row.token) > quote and begin <= start:
            chain.append((begin, row))
        begin += len(row.token)
        if begin > start:
            break
    *before, (begin, last) = chain
    listed = {choice.token: math.exp(choice.logprob) for choice in last.top}
    if set(listed) <= {last.token} and (not listed or math.exp(last.logprob) < 0.99):
        return None, "likely tokens beside"
    known = masses(listed, whole[:begin], whole[: quote + 1])
    here = masses(listed | {last.token: math.exp(last.logprob)}, whole[:begin], whole[: quote + 1])
    parts = [(1.0, here)]
    for begin, row in reversed(before):
        if not row.top and ":" not in whole[quote + 1 : begin]:
            continue
        listed = {choice.token: math.exp(choice.logprob) for choice in row.top}
        here, taken = masses(listed, whole[:begin], whole[: quote + 1]), math.exp(row.logprob)
        total = 1.0 if ":" in whole[quote + 1 : begin] else sum(here) + taken
        if total:
            known = tuple(map(sum, zip(known, here, strict=True)))
            parts = [(reach * taken / total, found) for reach, found in parts]
            parts.append((1 / total, here))
    yes = math.fsum(reach * found[0] for reach, found in parts)
    no = math.fsum(reach * found[1] for reach, found in parts)
    if not any(known) or yes + no == 0:
        return None, "likely tokens"
    if (yes if whole[start] == "t" else no) < 0.1 * (yes + no):
        return None, "not say the opposite"
    return yes / (yes + no), max(0.0, 1 - yes - no)


def masses(listed, text, key):
    """Sum the probabilities of words after which the text says yes, and says no."""
    return tuple(
        math.fsum(p for word, p in listed.items() if meant(text + word, key) == side)
        for side in ("yes", "no")
    )


def meant(text, key):
    """Read a text that may be unfinished: what does it say behind the key?"""
    value = re.fullmatch(r"\s*:\s*(\S.*)", text.removeprefix(key), re.DOTALL)
    if value is None or not text.startswith(key):
        return "nothing"
    for word, side in (("true", "yes"), ("false", "no")):
        if re.match(r"\w*", value[1])[0].lower() == word or word.startswith(value[1].lower()):
            return side
    return "something else"


@given(drawn=tokenised())
@example(
    drawn=(
        ["a"],
        '{"a":true}',
        (
            TokenStep('{"', 0.0),
            TokenStep('a":', log(0.5), (TokenChoice('a":false', log(0.4)),)),
            TokenStep("", log(0.5), (TokenChoice("true", log(0.25)),)),
            TokenStep("tr", log(0.5), (TokenChoice("false", log(0.25)),)),
            TokenStep("ue}", 0.0),
        ),
        {"a": (3, 5)},
    )
)
def test_probabilities_are_those_of_all_known_continuations(drawn):
    names, text, steps, places = drawn
    expected = {name: oracle(steps, quote=quote, start=s) for name, (quote, s) in places.items()}
    replies = [Reply(text=text, steps=steps)]
    if set(expected.values()) == {(None, "likely tokens beside")}:
        with pytest.raises(UnsupportedError, match="likely tokens"):
            read(replies, *names)
        return
    (found,) = read(replies, *names)
    # where no question has an answer, all have the reason of the first
    reasons = [why for p, why in expected.values() if p is None]
    for name, pair in zip(names, found, strict=True):
        if expected[name][0] is None:
            assert any(why in pair.reason for why in reasons)
            continue
        assert pair == pytest.approx(expected[name], abs=1e-12)
        assert 0 <= pair[0] <= 1
