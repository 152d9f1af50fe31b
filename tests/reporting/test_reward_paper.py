"""The table for a paper."""

import dataclasses
import itertools
import re

import pytest

from examined_reward import examined_reward
from voirdire.reporting import paper_table
from voirdire.studies import RewardNote


@pytest.fixture(scope="module")
def reward_examination():
    """Give an examination with every part."""
    return examined_reward()


def test_markdown_has_a_line_per_case_with_as_many_cells(reward_examination):
    lines = paper_table(reward_examination).splitlines()

    rows = [line for line in lines if line.startswith("|")]
    assert rows[0] == "| Behavior | Case | n | Base | Base + rules | Rules |"
    assert {line.count(" | ") for line in rows} == {5}
    cases = {(row.behavior, row.against) for row in reward_examination.error_rates}
    assert sum("all comparisons" in line or "against the best" in line for line in rows) == len(
        cases
    )


def test_figures_are_those_of_the_examination(reward_examination):
    rates = {
        row.signal: row.rate
        for row in reward_examination.error_rates
        if (row.behavior, row.against) == (None, "all")
    }

    line = paper_table(reward_examination).splitlines()[2]

    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["all", "all comparisons", f"{rates['base'].n:,}"]
    for cell, signal in zip(cells[3:], ("base", "total", "rules"), strict=True):
        numbers = [float(number) for number in re.findall(r"[\d.]+", cell)]
        rate = rates[signal]
        assert numbers == pytest.approx([rate.value, rate.low, rate.high], abs=5e-4)


def test_a_name_breaks_no_markdown_table(reward_examination):
    rows = tuple(
        dataclasses.replace(row, behavior="a|b<i>") for row in reward_examination.error_rates
    )

    text = paper_table(dataclasses.replace(reward_examination, error_rates=rows))

    assert r"a\|b\<i\>" in text


def test_without_base_rewards_there_is_one_column(reward_examination):
    only = {
        name: tuple(row for row in getattr(reward_examination, name) if row.signal == "total")
        for name in ("error_rates", "near_ideal", "refusals", "bench")
    }

    text = paper_table(dataclasses.replace(reward_examination, **only))

    assert text.splitlines()[0] == "| Behavior | Case | n | Reward |"


def test_a_benchmark_without_base_rewards_is_about_the_rules(reward_examination):
    pairs = tuple(row for row in reward_examination.bench if row.signal == "total")

    text = paper_table(dataclasses.replace(reward_examination, bench=pairs))

    line = next(row for row in text.splitlines() if row.startswith("| benchmark"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[3:5] == ["–", "–"]  # neither base nor base + rules
    assert cells[5].startswith(f"{pairs[0].accuracy.value:.3f}".removeprefix("0"))


def test_the_caption_says_what_the_figures_rest_on(reward_examination):
    held = paper_table(reward_examination)
    seen = paper_table(dataclasses.replace(reward_examination, is_held_out=False))

    assert f"{reward_examination.n_prompts:,} held-out prompts" in held
    assert "prompts that may be those of the fit" in seen
    assert "95% intervals from resampling prompts" in held


def test_prompts_of_the_fit_are_called_not_tested(reward_examination):
    seen = RewardNote(code="seen_prompts", sentence="-", figures={"n_seen": 3, "n_prompts": 9})

    text = paper_table(dataclasses.replace(reward_examination, is_held_out=False, notes=(seen,)))

    assert "prompts, not tested on 3 of them, which are of the fit" in text


def test_the_rows_of_a_behavior_stand_together(reward_examination):
    lines = paper_table(reward_examination).splitlines()

    names = [line.split(" | ")[0] for line in lines[2:] if line.startswith("|")]
    changes = sum(one != two for one, two in itertools.pairwise(names))
    assert changes == len(set(names)) - 1
    assert names[0] == "| all"
    assert names[-1] == "| benchmark"
