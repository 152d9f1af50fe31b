"""What every result that is not examined by people says: both languages, hostile names, figures."""

import random
import re

import pytest

from examined_reward import examined_reward
from made_views import VIEWS, made_calls, made_fit, made_judging, made_replies, made_several
from made_views import made_verdicts as verdicts
from page_reading import Page, text_of
from view_reading import Reading, printed
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.reporting import (
    ResultTables,
    from_json,
    html_page,
)
from voirdire.reporting.pages.frame import render_page
from voirdire.reporting.pages.reward import fit_view, reward_view
from voirdire.reporting.pages.verdicts import (
    judging_view,
    replies_view,
    several_view,
    verdicts_view,
)
from voirdire.studies import RewardExamination
from whole_json import whole

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "{0.__class__}",
    "</style></svg><script>alert(2)</script>",
    "a\u202eb\u2066c\u2069",
    "\ud800",
    "\x00\x1b[31m",
    "' onmouseover='alert(3)",
    "标注员 שלום",
    "<!--",
    "x" * 100_000,
)
FIXED = {"signal", "against", "kind", "schema", "by"}
ON_A_TERMINAL = {"estimates", "rubrics", "sample"}
KINDS = {**VIEWS, "reward": lambda _name: reward_view(examined_reward())}


PAGES = [kind for kind in KINDS if kind not in ON_A_TERMINAL]


@pytest.fixture(params=["en", "zh"])
def language(request):
    return request.param


def assert_inert(page):
    """Nothing in a page may act, and nothing is asked for from elsewhere."""
    seen = Page(page)
    assert seen.open == []
    assert len(seen.ids) == len(set(seen.ids))
    assert not {"iframe", "object", "embed", "form", "img"} & set(seen.elements)
    assert seen.elements.count("script") <= 1  # the filter's, which the page's policy names
    assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
    assert not re.search(r"url\((?!#)|@import|(?:src|href)=\"(?!data:|#)", page)
    for mark in ("\u202e", "\x1b", "x" * 5_000):
        assert mark not in page
    page.encode("utf-8")


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_whole_in_both_languages_and_the_same_each_time(kind, language):
    page = render_page(KINDS[kind]("mine"), language=language)

    assert_inert(page)
    page_without_script = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    page_without_script = page_without_script.partition('id="settings"')[0]  # values are JSON
    assert not re.search(
        r"[{}]|\bnan\b|Undefined|\bNone\b|\b[a-z]+\.column\.", text_of(page_without_script)
    )
    assert render_page(KINDS[kind]("mine"), language=language) == page


@pytest.mark.parametrize("kind", VIEWS)
def test_hostile_text_stays_text(kind):
    for name in HOSTILE:
        view = VIEWS[kind](name)

        text = printed(ResultTables(view, details=True))

        if kind in PAGES:
            assert_inert(render_page(view, language="zh", title=name))
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_hostile_text_in_the_examination_of_a_reward_stays_text(language):
    rng = random.Random(len(language))

    def hostile(value, key=""):
        if isinstance(value, dict):
            return {name: hostile(each, name) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [hostile(each, key) for each in value]
        return rng.choice(HOSTILE) if isinstance(value, str) and key not in FIXED else value

    content = hostile(as_plain(examined_reward()))
    content["dropped"] = [{"reason": text, "source": text, "value": text} for text in HOSTILE]

    assert_inert(html_page(from_json(whole(content, RewardExamination)), language=language))


@pytest.mark.parametrize("kind", KINDS)
def test_a_terminal_of_eighty_columns_has_every_table(kind):
    lines = printed(ResultTables(KINDS[kind]("mine"), details=True)).splitlines()

    wide = [line for line in lines if len(line.rstrip()) > 80]
    assert all("voirdire " in line for line in wide)  # a command stays on one line


def test_another_result_is_refused_with_what_may_be_shown():
    with pytest.raises(InputError, match=r"must be one of .*RewardFit.*got 3"):
        ResultTables(3)


# Verdicts and judging


def test_rates_of_verdicts_are_those_of_the_rows():
    found = Reading(verdicts_view(verdicts(), name="v.csv"))

    first, second = found.table("column.share_true")
    figures = ("judge", "share_true", "mean_probability")
    assert tuple(first[f"column.{name}"] for name in figures) == (
        "polite", "50%", ".550",  # 1 of 2, (.9 + .2) / 2
    )  # fmt: skip
    assert (second["column.n_answers"], second["column.n_failures"]) == ("1", "1")
    assert second["column.share_track"].value == 1.0
    assert "polite: late (1)" in found.lead
    assert found.todo[-1] == "voirdire examine --humans labels.csv --judges v.csv --kind boolean"


def test_judging_shows_answers_of_every_kind_calls_and_what_examines_them():
    found = Reading(judging_view(made_judging("sorry")))

    proposition, choice, scale = found.tables[0]
    assert (proposition["column.share_true"], proposition["column.n_failures"]) == ("25%", "2")
    assert (proposition["column.n_answers"], proposition["column.labels"]) == ("10", "–")
    assert choice["column.labels"] == "“cold” × 7 and “warm” × 3"  # of 10 answers
    assert scale["column.labels"] == "mean 3.50"
    assert [row["column.question"] for row in found.tables[1]] == ["sorry.ideal"]
    assert "24 calls, 3 of them repeats; 5 answers from the store; " in found.words
    assert "1,200 tokens in (100 cached), 90 out; $0.25" in found.words
    assert "failed: timeout (2)." in found.words
    assert found.notes == [
        "sorry was refused",
        "see sorry",
        "By its own card sorry should not be trusted on sorry.",
    ]
    assert [line.split("out.parquet ")[-1] for line in found.todo[1:]] == [
        "--kind boolean", "--question sorry --kind choice", "--question stars --kind scale",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "n"), [({"output": "-"}, 0), ({"layout": "wide"}, 0), ({"calls": None}, 2)]
)
def test_only_a_long_file_is_examined_by_a_command(changes, n):
    assert len(judging_view(made_judging(**changes)).todo) == n


def test_several_judges_stand_in_a_line_each():
    judged = made_several("good", "bad")

    found = Reading(several_view(judged))

    assert [tuple(row.values())[:5] for row in found.tables[0]] == [
        ("good", "12", "24", "2", "$0.25"),
        ("bad", "12", "24", "2", "$0.25"),
    ]
    assert found.todo[1].startswith("voirdire examine --humans labels.csv --judges v --kind")


def test_an_unknown_price_is_said_to_be():
    view = judging_view(made_judging(calls=made_calls(cost=None)))

    assert "price unknown" in Reading(view).words


def test_replies_stand_with_their_texts_behind_a_bar():
    text = printed(ResultTables(replies_view(made_replies("i1"))))

    assert "\ni1 (abababababababab): i1, joint, attempt 0: a reply\n" in text
    assert "\n    | first\n    | i1\n" in text
    assert "\ncdcdcdcdcdcdcdcd: i1, joint, attempt 1: failure\n  Reason: timeout: i1\n" in text
    assert "and 3 more; --limit lists more." in text


# A fit


def test_weights_and_error_rates_of_a_fit_are_those_of_its_record():
    fit = made_fit()
    row = fit.behaviors[0]

    found = Reading(fit_view(fit))

    [rates] = found.table("column.error_rate")
    assert rates["column.error_rate"].startswith(f"{row.error_rate.value:.1%} ")
    assert rates["column.error_track"].reference == row.error_rate_base.value
    assert rates["column.n_pairs"] == f"{row.n_pairs:,}"
    weights = {each["column.feature"]: each for each in found.table("column.origin")}
    useful = next(each.weight for each in row.weights if each.feature == "useful")
    assert weights["useful"]["column.weight"] == " ".join(
        f"{useful.value:.3f} {useful.low:.3f} to {useful.high:.3f}".replace("-", "−")
        .replace("0.", ".").split()
    )  # fmt: skip
    assert weights["polite"]["column.weight"] == "1.500"
    assert weights["polite"]["column.origin"] == "given"
    assert weights["long"]["column.origin"] == "ignored"
    assert f"λ {row.l2:g}" in printed(ResultTables(fit)).replace("\n", " ")
