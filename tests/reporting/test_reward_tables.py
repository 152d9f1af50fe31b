"""The examination of a reward on a terminal."""

import dataclasses
import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from examined_reward import examined_reward
from voirdire.reporting import RewardExaminationTables
from voirdire.studies import RewardNote


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


def test_everything_fits_eighty_columns(shown, reward_examination):
    text = shown(reward_examination)

    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= 80


def test_a_page_of_a_terminal_says_what_matters(shown, reward_examination):
    text = shown(reward_examination)
    whole = dataclasses.replace(reward_examination, bench=())

    assert len(shown(whole).splitlines()) <= 35
    for words in (
        "reward examined on 197 comparisons between 159 completions of 40 prompts",
        "the reward ranks 37.6% of 197 comparisons the wrong way",
        "Share of n comparisons that each reward ranks the wrong way, with 95% intervals",
        "refuse: helps and ideal make up 64% of the spread.",
        "Base + rules is right on 100% of 9 pairs",
        "note: Base and rules together err more often",
        "4 more notes and every table are in --details",
        "Next: Read the comparisons",
        "set aside: no verdict (",
    ):
        assert words in " ".join(text.split())


def test_details_have_every_table_of_the_page(shown, reward_examination):
    text = " ".join(shown(reward_examination, width=160, details=True).split())

    for words in (
        "What drives the reward",
        "How often it ranks the wrong way",
        "False and missed refusals",
        "Nonsense beside real responses",
        "the prompt itself 1.50 1.25 .50 65% 100% 20",
        "More notes: 4",
    ):
        assert words in text
    assert "--details" not in text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("seen_prompts", "On prompts that the fit has seen, the reward ranks"),
        ("held_out_unknown", "On prompts that the fit may have seen, the reward ranks"),
    ],
)
def test_figures_on_prompts_of_the_fit_are_no_test(shown, reward_examination, code, words):
    note = RewardNote(code=code, sentence="3 of the 40 prompts were in the fit.", figures={})
    found = dataclasses.replace(reward_examination, is_held_out=False, notes=(note,))

    text = " ".join(shown(found).split())

    assert words in text
    assert "note: 3 of the 40 prompts were in the fit." in text
    assert "On prompts outside of the fit" in " ".join(shown(reward_examination).split())


def test_a_rate_stands_with_its_interval(shown, reward_examination):
    rate = next(
        row.rate
        for row in reward_examination.error_rates
        if (row.behavior, row.signal, row.against) == (None, "total", "all")
    )

    text = shown(reward_examination)

    assert f"{rate.value:.1%} ({100 * rate.low:.0f}–{rate.high:.0%})" in text


def test_signals_stand_side_by_side_and_one_alone_is_the_rules(shown, reward_examination):
    only = {
        name: tuple(row for row in getattr(reward_examination, name) if row.signal == "total")
        for name in ("error_rates", "refusals", "bench")
    }

    beside = next(line for line in shown(reward_examination).splitlines() if "Behavior" in line)
    alone = shown(dataclasses.replace(reward_examination, **only))

    assert beside.split()[1:] == ["Base", "reward", "Base", "+", "rules", "Rules", "alone", "n"]
    heads = next(line for line in alone.splitlines() if "Behavior" in line)
    assert heads.split() == ["Behavior", "Rules", "alone", "n"]


def test_features_are_ranked_by_what_they_do_and_details_show_all(shown, reward_examination):
    rows = [row for row in reward_examination.drives if row.behavior == "refuse"]
    top = max(rows, key=lambda row: row.share)

    lines = shown(reward_examination, width=120, details=True).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("Feature"))

    assert lines[start + 2].startswith(top.feature)
    names = [row.feature.removeprefix("refuse.") for row in rows]
    assert all(any(line.startswith(name) for line in lines[start:]) for name in names)


def test_hostile_names_neither_style_nor_move_the_cursor(shown, reward_examination):
    name = "[red]x[/red]\x1b[2J"
    rows = tuple(dataclasses.replace(row, behavior=name) for row in reward_examination.error_rates)
    reward = dict(reward_examination.reward) | {"name": name}

    text = shown(dataclasses.replace(reward_examination, error_rates=rows, reward=reward))

    assert "\x1b" not in text
    assert "[red]x" in text


def test_an_end_that_is_near_one_is_not_rounded_to_it(shown, reward_examination):
    rates = tuple(
        dataclasses.replace(
            row, rate=dataclasses.replace(row.rate, value=0.99, low=0.5, high=0.9996)
        )
        for row in reward_examination.error_rates
    )

    text = shown(dataclasses.replace(reward_examination, error_rates=rates), width=120)

    assert "99.0% (50–>99%)" in text
