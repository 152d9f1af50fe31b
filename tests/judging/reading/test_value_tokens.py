"""Probabilities from tokens: against every continuation written out, and figures by hand."""

import json
import math
import random
import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.asking import Ask
from voirdire.judging.reading import ReplyReader
from voirdire.records import Reply, TokenChoice, TokenStep
from voirdire.rubrics import Question

WORDS = (
    *("true", "false", "true", "false", " true", " false", "True", "FALSE", "t", "tr", "fa", "ue"),
    *(
        "false,",
        'true,"b":',
        "truely",
        '"',
        "null",
        "yes",
        "no",
        "1",
        " ",
        "\n",
        "",
        "x",
        ":",
        '":',
        "</s>",
    ),
)


def asked(*names):
    questions = tuple(Question(id=name, kind="boolean", text={"en": "?"}) for name in names)
    return Ask(questions=questions, probability="logprob")


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


def read_one(*steps):
    """Read the only question `a` of a reply."""
    answers = ReplyReader(asked("a")).read(reply_of(*steps))
    return answers.values[0], answers.missing_mass[0]


def test_the_probability_is_that_of_yes_among_yes_and_no():
    found = read_one(step('{"a":'), step("true", true=0.6, false=0.2, null=0.1), step("}"))

    assert found == pytest.approx((6 / 8, 2 / 10))


def test_tokens_that_write_the_same_are_summed():
    top = {" true": 0.3, "true": 0.1, " True": 0.05, " tr": 0.05, " false": 0.2, "fal": 0.05}

    found = read_one(step('{"a":'), step(" true", **top), step("}"))

    assert found == pytest.approx((0.5 / 0.75, 0.25))


def test_a_value_in_pieces_is_read_at_its_first_piece():
    found = read_one(
        step('{"a":'), step("tr", tr=0.3, true=0.2, f=0.5), step("ue", ue=0.9, x=0.1), step("}")
    )

    assert found == pytest.approx((0.5, 0.0))


def test_one_token_may_hold_the_end_of_the_key_the_value_and_more():
    top = {'":true,"': 0.5, '":false': 0.25, '":null': 0.125, '":': 0.125, "true": 0.0}

    answers = ReplyReader(asked("a", "b")).read(
        reply_of(
            step('{"a'), step('":true,"', **top), step('b":'), step("false", false=0.75, true=0.25),
            step("}"),
        )
    )  # fmt: skip

    assert answers.values == pytest.approx((2 / 3, 1 / 4))
    assert answers.missing_mass == pytest.approx((1 / 4, 0))


def test_white_space_puts_the_choice_off():
    space = {" ": 0.5, "true": 0.125, "\n": 0.125, "false": 0.25}

    found = read_one(
        step('{"a":'), step(" ", **space), step("true", true=0.75, false=0.125), step("}")
    )

    yes, no = 1 / 8 + 1 / 2 * 3 / 4, 1 / 4 + 1 / 2 * 1 / 8
    assert found == pytest.approx((yes / (yes + no), 1 - yes - no))


def test_white_space_without_alternatives_is_missing_mass_only():
    found = read_one(
        step('{"a":'), step(" ", taken=0.5), step("true", true=0.6, false=0.2), step("}")
    )

    assert found == pytest.approx((0.75, 0.6))


def test_tokens_that_end_a_key_with_its_value_count_though_another_was_taken():
    # A vocabulary with '":true' in it: whoever means true would have used it.
    ends = {'":': 0.3, '":true': 0.5, '":false': 0.1, '" :': 0.05, "s": 0.05}

    found = read_one(
        step('{"a'), step('":', **ends), step("true", true=0.25, false=0.75), step("}")
    )

    yes, no = (0.5 + 0.3 * 0.25) / 0.9, (0.1 + 0.3 * 0.75) / 0.9
    assert found == pytest.approx((yes, 0.0))
    assert yes + no == pytest.approx(1)


def test_how_likely_the_key_was_does_not_matter():
    found = read_one(
        step('{"', taken=0.1), step("a", a=0.2, b=0.7), step('":', **{'":': 0.1, '" :': 0.8}),
        step("true", true=0.6, false=0.2), step("}"),
    )  # fmt: skip

    assert found == pytest.approx((0.75, 0.2))


def test_the_taken_token_counts_though_it_is_not_listed():
    found = read_one(step('{"a":'), step("true", taken=0.01, false=0.3, null=0.6), step("}"))

    assert found == pytest.approx((0.01 / 0.31, 0.69))


def test_a_token_that_is_listed_twice_counts_once():
    choices = (("true", 0.5), ("false", 0.25), ("true", 0.5), ("false", 0.125))
    doubled = TokenStep("true", log(0.5), tuple(TokenChoice(w, log(p)) for w, p in choices))

    assert read_one(step('{"a":'), doubled, step("}")) == pytest.approx((2 / 3, 1 / 4))


@pytest.mark.parametrize("never", [-9999.0, -math.inf, -1e308, -800.0])
def test_what_is_never_said_has_probability_zero(never):
    top = (TokenChoice("true", 0.0), TokenChoice("false", never))

    assert read_one(step('{"a":'), TokenStep("true", 0.0, top), step("}")) == (1.0, 0.0)


def test_rounding_above_one_is_one():
    top = (TokenChoice("true", 0.001), TokenChoice("false", -9999.0))

    assert read_one(step('{"a":'), TokenStep("true", 0.001, top), step("}")) == (1.0, 0.0)


def test_a_sum_that_rounding_takes_above_one_leaves_no_missing_mass():
    found = read_one(step('{"a":'), step("true", true=0.612, false=0.408), step("}"))

    assert found == pytest.approx((0.6, 0.0))
    assert found[1] >= 0


def test_a_sure_token_alone_has_no_other_side():
    assert read_one(step('{"a":'), step("false", false=1.0), step("}")) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (math.nan, -1.0),
        (-1.0, math.nan),
        (4.2, -3.0),  # logits
        (800.0, 1.0),
        (math.inf, -1.0),
        (0.0, 0.0),  # both certain
        (-0.1, -0.1),  # 1.81 in all
    ],
)
def test_numbers_that_cannot_be_log_probabilities_are_unreadable(true, false):
    top = (TokenChoice("true", true), TokenChoice("false", false))

    with pytest.raises(VerdictParseError, match="log-probabilities at the value of 'a', not other"):
        read_one(step('{"a":'), TokenStep("true", true, top), step("}"))


@pytest.mark.parametrize("odd", [math.nan, math.inf, 3.0])
def test_numbers_before_the_value_are_checked_as_well(odd):
    with pytest.raises(VerdictParseError, match="log-probabilities at the value of 'a', not other"):
        read_one(step('{"a":'), TokenStep(" ", odd), step("true", true=0.6, false=0.2), step("}"))


def test_a_number_that_cannot_be_is_not_hidden_by_a_zero_before_it():
    value = TokenStep("true", 3.0, (TokenChoice("true", 3.0), TokenChoice("false", -1.0)))

    with pytest.raises(VerdictParseError, match="log-probabilities at the value of 'a', not other"):
        read_one(step('{"a":'), TokenStep(" ", -9999.0), value, step("}"))


def test_neither_true_nor_false_among_the_likely_is_unreadable():
    top = {"null": 0.9, '"': 0.05, "yes": 0.04}

    with pytest.raises(VerdictParseError, match=r"true or false among the likely tokens .* 'a'"):
        read_one(step('{"a":'), step("true", taken=1e-6, **top), step("}"))
    with pytest.raises(VerdictParseError, match="true or false among the likely tokens"):
        read_one(step('{"a":'), step("true", taken=0, true=0, null=1.0), step("}"))


@pytest.mark.parametrize("top", [{}, {"true": 0.6}])
def test_a_server_that_never_says_what_else_was_likely_cannot_be_used(top):
    with pytest.raises(UnsupportedError, match="`stated` or `vote`") as caught:
        read_one(step('{"a":'), step("true", taken=0.6, **top), step("}"))

    assert caught.value.feature == "logprobs"


def test_one_value_without_alternatives_is_unreadable():
    steps = (
        step('{"a":'), step("true", true=0.6, false=0.3), step(',"b":'), step("true", true=0.6),
        step("}"),
    )  # fmt: skip

    with pytest.raises(VerdictParseError, match=r"likely tokens beside .* 'b'"):
        ReplyReader(asked("a", "b")).read(reply_of(*steps))


def test_the_order_of_the_reply_counts_for_its_tokens():
    steps = (
        step('{"b":'), step("true", true=0.9, false=0.1), step(',"a":'),
        step("false", true=0.2, false=0.8), step("}"),
    )  # fmt: skip

    assert ReplyReader(asked("a", "b")).read(reply_of(*steps)).values == pytest.approx((0.2, 0.9))


def test_many_leads_and_tokens_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr("voirdire.judging.reading.value_tokens._MOST_LEADS", 2)
    reader = ReplyReader(asked("a"))

    for n_spaces in (0, 1, 2, 3, 0, 1):
        gap = " " * n_spaces
        value = step(f"{gap}true", **{f"{gap}true": 0.6, "false": 0.2})
        found = reader.read(reply_of(step('{"a":'), value, step("}")))

        assert found.values == pytest.approx((0.75,))
        assert len(reader._tokens._behind) <= 2


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
    rng.shuffle(listed)
    if not rng.randrange(8):
        listed = []
    chances = {
        word: rng.choice([0, 1, 10, rng.random(), rng.random()]) for word in (token, *listed)
    }
    whole = sum(chances.values()) + rng.choice([0, rng.random(), 10]) + 1e-9
    logprobs = {word: log(chance / whole) for word, chance in chances.items()}
    top = tuple(TokenChoice(word, logprobs[word]) for word in listed)
    return TokenStep(token, logprobs[token], top)


def oracle(steps, *, quote, start):
    """Sum over every continuation that is known; None where too little is, and why."""
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
        return None, "alone"
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
        return None, "absent"
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


def check_against_oracle(names, text, steps, places):
    expected = {name: oracle(steps, quote=quote, start=s) for name, (quote, s) in places.items()}
    reasons = {reason for probability, reason in expected.values() if probability is None}
    order = sorted(names)
    reader = ReplyReader(asked(*order))

    if reasons:
        error = (
            UnsupportedError if set(expected.values()) == {(None, "alone")} else VerdictParseError
        )
        with pytest.raises(error, match="likely tokens"):
            reader.read(Reply(text=text, steps=steps))
        return
    answers = reader.read(Reply(text=text, steps=steps))
    found = dict(zip(order, zip(answers.values, answers.missing_mass, strict=True), strict=True))
    for name in names:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)
        assert 0 <= found[name][0] <= 1


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
    check_against_oracle(*drawn)


@pytest.mark.slow
@given(drawn=tokenised())
@settings(max_examples=5_000)
def test_probabilities_are_those_of_all_known_continuations_many_times(drawn):
    check_against_oracle(*drawn)


@given(drawn=tokenised(), odd=st.sampled_from([math.nan, 5.0, math.inf, 1e308, -math.inf]))
def test_odd_numbers_give_probabilities_or_an_error(drawn, odd):
    names, text, steps, _ = drawn
    spoilt = tuple(
        TokenStep(row.token, odd, tuple(TokenChoice(c.token, odd) for c in row.top))
        for row in steps
    )

    try:
        answers = ReplyReader(asked(*names)).read(Reply(text=text, steps=spoilt))
    except (VerdictParseError, UnsupportedError):
        return
    for probability, missing in zip(answers.values, answers.missing_mass, strict=True):
        assert 0 <= probability <= 1
        assert 0 <= missing <= 1


def test_every_probability_can_be_checked_by_hand():
    # A reply as a server of the OpenAI dialect gives it, with alternatives at values only.
    logprobs = {" true": -0.105360516, " false": -2.302585093, " null": -9.2}
    top = tuple(TokenChoice(word, number) for word, number in logprobs.items())
    steps = [TokenStep("{", 0.0)]
    for name in ("a", "b"):
        steps += [TokenStep(f'"{name}', 0.0), TokenStep('":', -0.01)]
        steps += [TokenStep(" true", logprobs[" true"], top), TokenStep(",", 0.0)]
    steps[-1] = TokenStep("}", 0.0)

    answers = ReplyReader(asked("a", "b")).read(reply_of(*steps))

    assert json.loads(reply_of(*steps).text) == {"a": True, "b": True}
    assert answers.values == pytest.approx((0.9, 0.9))
    assert answers.missing_mass == pytest.approx((0.0, 0.0), abs=1e-8)
