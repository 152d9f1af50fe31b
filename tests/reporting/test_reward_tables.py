"""The examination of a reward on a terminal."""

import dataclasses
import io
import math
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console

from examined_reward import examined_reward
from voirdire.reporting import RewardExaminationTables
from voirdire.studies import RewardExamination, RewardNote


@pytest.fixture(scope="module")
def reward_examination():
    """Give an examination with every part."""
    return examined_reward()


@pytest.fixture
def shown():
    """Print an examination as a pipe of some width gets it."""

    def show(examination, *, width=80, **settings):
        stream = io.StringIO()
        console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
        console.print(RewardExaminationTables(examination, **settings))
        return stream.getvalue()

    return show


def test_prompts_without_comparisons_are_no_part_of_what_is_tested(shown):
    figures = {"n_seen": 3, "n_prompts": 3}
    note = RewardNote(code="seen_prompts", sentence="All were.", figures=figures)
    found = RewardExamination(
        reward={"name": "mine"}, n_items=9, n_prompts=4, n_comparisons=8, is_held_out=False,
        notes=(note,),
    )  # fmt: skip

    text = " ".join(shown(found).split())

    assert "3 of 3 with comparisons in the fit: not tested on these" in text


def test_everything_fits_eighty_columns(shown, reward_examination):
    text = shown(reward_examination)

    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("width", [30, 40, 60, 79])
def test_every_figure_is_whole_in_a_narrow_terminal(shown, reward_examination, width):
    text = shown(reward_examination, width=width, details=True)

    whole = shown(reward_examination, width=200, details=True)
    figure = re.compile(r"[-\[]?[\d,]*\.?\d+[%\]]?")
    assert Counter(figure.findall(text)) == Counter(figure.findall(whole))
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width


def test_every_part_has_its_table(shown, reward_examination):
    text = " ".join(shown(reward_examination, width=120).split())

    for words in (
        "error rate: share of comparisons ranked the wrong way",
        "hard cases",
        "nonsense (1 of 2 kinds): its rule reward beside the real responses of its prompt",
        "comply refusal 1.50 1.25 .50 65% 100% 20",
        "what drives refuse",
        "rule rewards of the behaviors side by side",
        "the policy's own responses",
        "benchmark: share of pairs",
        "Note: ",
        "dropped 1: no verdict",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("seen_prompts", "prompts, 3 of 40 in the fit: not tested on these;"),
        ("held_out_unknown", "prompts, not known to be new to the fit;"),
    ],
)
def test_prompts_of_the_fit_are_counted_below_the_title(shown, reward_examination, code, words):
    figures = {"n_seen": 3, "n_prompts": 40}
    said = RewardNote(code=code, sentence="-", figures=figures)
    found = dataclasses.replace(reward_examination, is_held_out=False, notes=(said,))

    assert words in " ".join(shown(found).split())
    assert "none of them in the fit" in " ".join(shown(reward_examination).split())


@pytest.mark.parametrize(
    ("n_seen", "words"), [(3, "partly not tested: share of"), (40, "\nnot tested: share of")]
)
def test_error_rates_on_prompts_of_the_fit_are_no_test(shown, reward_examination, n_seen, words):
    figures = {"n_seen": n_seen, "n_prompts": 40}
    said = RewardNote(code="seen_prompts", sentence="-", figures=figures)
    found = dataclasses.replace(reward_examination, is_held_out=False, notes=(said,))

    text = shown(found)

    assert words in text
    assert "error rate: share of comparisons" not in text
    assert "error rate: share of comparisons" in shown(reward_examination)


def test_a_rate_stands_with_its_interval(shown, reward_examination):
    rate = reward_examination.error_rates[0].rate

    text = shown(reward_examination, width=120)

    low, high = (f"{x:.2f}".removeprefix("0") for x in (rate.low, rate.high))
    value = f"{rate.value:.3f}".removeprefix("0")
    assert f"{value} [{low}, {high}]" in text


def test_signals_stand_side_by_side_and_one_alone_is_the_reward(shown, reward_examination):
    beside = [line for line in shown(reward_examination, width=120).splitlines() if "vs" in line]
    rows = tuple(row for row in reward_examination.error_rates if row.signal == "total")
    alone = dataclasses.replace(reward_examination, error_rates=rows)

    assert beside[0].split()[2:] == ["base", "base", "+", "rules", "rules", "pairs"]
    heads = [line for line in shown(alone, width=120).splitlines() if "vs" in line]
    assert heads[0].split() == ["behavior", "vs", "reward", "pairs"]


def test_features_are_ranked_by_what_they_do_and_details_show_all(shown, reward_examination):
    rows = [row for row in reward_examination.drives if row.behavior == "refuse"]
    top = max(rows, key=lambda row: row.share)

    lines = shown(reward_examination, width=120).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("what drives refuse"))
    more = shown(reward_examination, width=120, details=True)

    assert lines[start + 3].startswith(top.feature)
    assert f"8 of {len(rows)} features" in lines[start]
    assert all(row.feature.removeprefix("refuse.") in more for row in rows)


def test_hostile_names_neither_style_nor_move_the_cursor(shown, reward_examination):
    name = "[red]x[/red]\x1b[2J"
    rows = tuple(dataclasses.replace(row, behavior=name) for row in reward_examination.error_rates)
    reward = dict(reward_examination.reward) | {"name": name}

    text = shown(dataclasses.replace(reward_examination, error_rates=rows, reward=reward))

    assert "\x1b" not in text
    assert "[red]x" in text


def test_an_examination_of_a_policy_alone_says_so(shown, reward_examination):
    found = RewardExamination(
        reward={"name": "mine"},
        n_items=0,
        n_prompts=0,
        n_comparisons=0,
        is_held_out=False,
        policy=dataclasses.replace(reward_examination.policy, step_calls=math.nan),
    )

    text = shown(found)

    assert "examined without comparisons" in text
    assert "error rate:" not in text
    assert "calls per step" in text


def test_an_end_that_rounds_to_one_keeps_its_digits(shown, reward_examination):
    rates = tuple(
        dataclasses.replace(
            row, rate=dataclasses.replace(row.rate, value=0.99, low=0.5, high=0.997)
        )
        for row in reward_examination.error_rates
    )

    text = shown(dataclasses.replace(reward_examination, error_rates=rates), width=120)

    assert ".990 [.50, 1.00]" in text
