"""The table for a paper: LaTeX and Markdown."""

import dataclasses
import itertools
import re

import pytest

from examined_reward import examined_reward
from voirdire.errors import InputError
from voirdire.reporting import paper_table


@pytest.fixture(scope="module")
def reward_examination():
    """Give an examination with every part."""
    return examined_reward()


def test_markdown_has_a_line_per_case_with_as_many_cells(reward_examination):
    lines = paper_table(reward_examination, written_as="markdown").splitlines()

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

    line = paper_table(reward_examination, written_as="markdown").splitlines()[2]

    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["all", "all comparisons", f"{rates['base'].n:,}"]
    for cell, signal in zip(cells[3:], ("base", "total", "rules"), strict=True):
        numbers = [float(number) for number in re.findall(r"[\d.]+", cell)]
        rate = rates[signal]
        assert numbers == pytest.approx([rate.value, rate.low, rate.high], abs=5e-4)


def test_latex_is_whole_and_escaped(reward_examination):
    reward = dict(reward_examination.reward) | {"name": r"50% & a_b \input{x}"}

    text = paper_table(dataclasses.replace(reward_examination, reward=reward))

    assert text.startswith(r"% needs \usepackage{booktabs}")
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"50\% \& a\_b \textbackslash{}input\{x\}" in text
    widths = {line.count(" & ") for line in text.splitlines() if line.endswith(r"\\")}
    assert widths == {5}
    assert r"less\_good" in text


def test_a_name_breaks_no_markdown_table(reward_examination):
    rows = tuple(
        dataclasses.replace(row, behavior="a|b<i>") for row in reward_examination.error_rates
    )

    text = paper_table(
        dataclasses.replace(reward_examination, error_rates=rows), written_as="markdown"
    )

    assert r"a\|b\<i\>" in text


def test_without_base_rewards_there_is_one_column(reward_examination):
    only = {
        name: tuple(row for row in getattr(reward_examination, name) if row.signal == "total")
        for name in ("error_rates", "near_ideal", "refusals", "bench")
    }

    text = paper_table(dataclasses.replace(reward_examination, **only), written_as="markdown")

    assert text.splitlines()[0] == "| Behavior | Case | n | Reward |"


def test_the_caption_says_what_the_figures_rest_on(reward_examination):
    held = paper_table(reward_examination, written_as="markdown")
    seen = paper_table(
        dataclasses.replace(reward_examination, is_held_out=False), written_as="markdown"
    )

    assert f"{reward_examination.n_prompts:,} held-out prompts" in held
    assert "prompts that may be those of the fit" in seen
    assert "95% intervals from resampling prompts" in held


def test_other_forms_are_refused(reward_examination):
    with pytest.raises(InputError, match="`written_as` must be one of 'latex', 'markdown'"):
        paper_table(reward_examination, written_as="html")


def test_the_rows_of_a_behavior_stand_together(reward_examination):
    lines = paper_table(reward_examination).splitlines()

    body = [line for line in lines[lines.index(r"\midrule") + 1 :] if " & " in line]
    names = [line.split(" & ")[0] for line in body]
    changes = sum(one != two for one, two in itertools.pairwise(names))
    assert changes == len(set(names)) - 1
    assert lines.count(r"\midrule") == len(set(names))
    assert names[0] == "all"
    assert names[-1] == "benchmark"
