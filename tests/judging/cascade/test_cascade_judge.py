"""What a cascade is made of, what it refuses, and what its fingerprint holds."""

import re

import pytest

from asked_models import Asked
from voirdire.errors import InputError
from voirdire.judging import CascadeJudge, LlmJudge, ScriptedJudge, judge
from voirdire.records import Item
from voirdire.rubrics import rubric_from_text
from voirdire.testing import ScriptedModel

NAN = float("nan")
ITEM = Item(id="a", response="0.01 0.99 a")


def verdicts_of(cascade, rubric):
    return judge([ITEM], rubric=rubric, judge=cascade)


@pytest.mark.parametrize(
    ("unsure", "message"),
    [
        (0.5, "`unsure` must be two finite numbers"),
        ((0.9, 0.1), "the lower one first, got (0.9, 0.1)"),
        ((0.1,), "`unsure` must be two finite numbers"),
        ((0.1, NAN), "`unsure` must be two finite numbers"),
        ((False, True), "`unsure` must be two finite numbers"),
        ("ab", "`unsure` must be two finite numbers"),
        ({"sorry": (0.1, 0.9)}, "`unsure` must have the key 'default'"),
        ({"default": (0, 1), "sorry": (1, 0)}, "`unsure['sorry']` must be two finite numbers"),
    ],
)
def test_bounds_that_are_none_are_refused(cascades, unsure, message):
    with pytest.raises(InputError, match=re.escape(message)):
        cascades.cascade(unsure)


def test_a_language_model_does_not_come_first(cascades):
    for first in ("openai/gpt-4o-mini", cascades.then(), cascades.cascade(), 3):
        with pytest.raises(InputError, match="`first` must be 'local', a file"):
            cascades.cascade(first=first)


def test_what_comes_then_is_a_language_model(cascades):
    with pytest.raises(InputError, match="`then` must be an LlmJudge, got ScriptedJudge"):
        cascades.cascade(then=cascades.first())


@pytest.mark.parametrize("propositions", ["sorry", 5])
def test_propositions_are_names(cascades, propositions):
    with pytest.raises(InputError, match="`propositions` must be a sequence"):
        cascades.cascade(propositions=propositions)


@pytest.mark.parametrize(
    "settings",
    [{"propositions": ["sorree"]}, {"unsure": {"default": (0, 1), "sorree": (0, 1)}}],
)
def test_a_proposition_that_the_rubric_lacks_is_refused(cascades, rubric, settings):
    with pytest.raises(InputError, match="must name propositions of rubric 'tiny', got 'sorree'"):
        verdicts_of(cascades.cascade(**settings), rubric)


def test_the_first_judge_must_answer_every_proposition(cascades, rubric):
    first = ScriptedJudge(questions=("sorry",), answer=lambda item: [0.5], name="half")

    with pytest.raises(InputError, match="got 'half' without 'rude'"):
        verdicts_of(cascades.cascade(first=first), rubric)


def test_a_question_that_is_not_boolean_is_refused(cascades):
    rubric = rubric_from_text(
        "schema: voirdire.rubric/1\nname: kinds\nversion: '1'\nquestions:\n"
        "  - {id: sorry, kind: boolean, text: Sorry}\n"
        "  - {id: stars, kind: scale, text: Stars, minimum: 1, maximum: 5}\n"
    )

    with pytest.raises(InputError, match="boolean questions only for a cascade, got 'kinds'"):
        verdicts_of(cascades.cascade(), rubric)


def test_the_fingerprint_holds_both_judges_and_the_bounds(cascades, rubric):
    makers = [
        cascades.cascade(),
        cascades.cascade((0.04, 0.95)),
        cascades.cascade((0.05, 0.96)),
        cascades.cascade(first=cascades.first(version="2")),
        cascades.cascade(then=cascades.then(probability="stated")),
        cascades.cascade(propositions=["sorry"]),
        cascades.cascade({"default": (0.05, 0.95), "sorry": (0.2, 0.8)}),
    ]

    made = [verdicts_of(cascade, rubric) for cascade in makers]
    pure = [verdicts_of(one, rubric) for one in (cascades.first(), cascades.then())]

    assert len({verdicts.fingerprint for verdicts in [*made, *pure]}) == len(makers) + 2


def test_the_same_bounds_in_other_words_are_the_same_judge(cascades, rubric):
    makers = [
        cascades.cascade((0, 1)),
        cascades.cascade([0.0, 1.0]),
        cascades.cascade({"default": (0, 1)}),
        cascades.cascade({"default": (0.3, 0.4), "rude": (0, 1), "sorry": (0, 1)}),
        cascades.cascade((0, 1), propositions=("rude", "sorry")),
        cascades.cascade((0, 1), name="another"),
    ]

    assert len({verdicts_of(made, rubric).fingerprint for made in makers}) == 1


def test_it_is_called_as_both_judges_unless_it_has_a_name(cascades, rubric):
    assert verdicts_of(cascades.cascade(), rubric).judge == "quick+scripted"
    assert verdicts_of(cascades.cascade(name="mine"), rubric).judge == "mine"


def test_a_first_judge_that_is_no_file_is_named(tmp_path, rubric):
    cascade = CascadeJudge(
        first=tmp_path / "none.npz", then=LlmJudge(model=ScriptedModel(str)), unsure=(0, 1)
    )

    with pytest.raises(InputError, match=r"none\.npz', which is no file"):
        verdicts_of(cascade, rubric)


def test_bounds_are_open_and_a_missing_answer_goes_on_whichever_it_is(cascades, rubric):
    said = {
        "ends": (0.2, 0.8),  # neither is strictly between
        "inside": (0.201, 0.99),
        "named": (0.0, 0.6),  # the second has bounds of its own
        "outside": (0.19, 0.5),  # at the lower of those
        "none": (NAN, 0.0),
    }
    items = [Item(id=name, response=f"{p} {q} {name}") for name, (p, q) in said.items()]
    unsure = {"default": (0.2, 0.8), "rude": (0.5, 0.8)}

    judge(items, rubric=rubric, judge=cascades.cascade(unsure))
    all_count = {response.split()[-1] for response in cascades.asked.seen}
    cascades.asked.seen.clear()
    judge(items, rubric=rubric, judge=cascades.cascade(unsure, propositions=["rude"]))
    one_counts = {response.split()[-1] for response in cascades.asked.seen}

    assert all_count == {"inside", "named", "none"}
    assert one_counts == {"named", "none"}


def test_what_the_card_of_the_first_judge_says_is_told():
    model = Asked(lambda shown: {}).model
    cascade = CascadeJudge(first="local", then=LlmJudge(model=model), unsure=(0, 0))

    verdicts = judge([{"prompt": "x", "response": "I'm sorry."}], judge=cascade)

    assert "by its own card 'local' should not be trusted on" in verdicts.notes[0]
    assert verdicts.judge == "local+scripted"
