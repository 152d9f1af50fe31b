"""What the demonstration prints about its reward."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from voirdire.cli.demo_reward_tables import print_reward, said_of_certificates, said_of_nonsense
from voirdire.cli.demo_steps import judge_responses, prepare_folder, reward_responses


@pytest.fixture(scope="module")
def reward(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    prepare_folder(folder)
    judge_responses(folder)
    return reward_responses(folder)


def printed(reward, capsys, monkeypatch, width):
    """Print to a terminal of some width; give the lines with single spaces."""
    monkeypatch.setenv("COLUMNS", str(width))
    print_reward(reward)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    return [" ".join(line.split()) for line in lines]


@pytest.mark.ci
def test_a_wide_terminal_shows_the_intervals_of_weights(reward, capsys, monkeypatch):
    lines = printed(reward, capsys, monkeypatch, 100)

    assert "behavior share weight 95% interval does most its judge" in lines
    assert not [line for line in lines if "…" in line]


def test_a_narrow_terminal_shows_everything_else_whole(reward, capsys, monkeypatch):
    lines = printed(reward, capsys, monkeypatch, 80)

    assert "behavior share weight does most its judge" in lines
    assert "behavior comparisons base alone base + rules not tested" in lines
    assert not [line for line in lines if "…" in line]


@pytest.mark.parametrize("width", [40, 60, 79])
def test_no_figure_is_cut_in_a_terminal_that_is_narrower(reward, capsys, monkeypatch, width):
    narrow = " ".join(printed(reward, capsys, monkeypatch, width))

    usual = " ".join(printed(reward, capsys, monkeypatch, 80))
    figure = re.compile(r"-?\d[\d.]*%?")
    assert "…" not in narrow
    assert Counter(figure.findall(narrow)) == Counter(figure.findall(usual))


def test_each_behavior_has_its_three_strongest_features(reward, capsys, monkeypatch):
    lines = printed(reward, capsys, monkeypatch, 100)

    after = lines[lines.index("behavior share weight 95% interval does most its judge") + 2 :]
    names = [line.split()[0] for line in after if line]
    assert names == ["hard_refuse"] * 3 + ["soft_refuse"] * 3 + ["comply"] * 3
    shares = [int(line.split()[1].rstrip("%")) for line in after if line]
    assert all(shares[k : k + 3] == sorted(shares[k : k + 3], reverse=True) for k in (0, 3, 6))


def test_a_label_that_a_behavior_has_not_is_a_dash(reward, capsys, monkeypatch):
    means = {key: one for key, one in reward.means.items() if key != ("comply", "illogical")}

    lines = printed(replace(reward, means=means), capsys, monkeypatch, 100)

    [header] = [line for line in lines if line.startswith("behavior ideal")]
    assert header == "behavior ideal less_good unacceptable illogical disallowed"
    [row] = [line for line in lines if line.startswith("comply") and "–" in line]
    assert row.split(" – ")[0].count("(") == 3


def test_without_certificates_every_proposition_is_said_to_lack_one(reward):
    bare = replace(reward.fit, model=replace(reward.fit.model, certificates=()))

    said = said_of_certificates(replace(reward, fit=bare))

    assert said.startswith("On 21 of the 21 propositions that it pays for")
    assert said_of_certificates(reward).startswith("On 16 of the 21 propositions")


def test_it_says_which_nonsense_outranks_the_best_real_responses(reward):
    rows = {(row.behavior, row.kind): row for row in reward.examination.degenerate}

    assert rows["comply", "empty"].share_above_best > 0.5
    assert rows["comply", "echoed_prompt"].share_above_best > 0.5
    assert "empty: it gets more on 5 of 6 prompts of comply" in said_of_nonsense(reward)
    assert "degenerate_outranks" in {row.code for row in reward.examination.notes}
