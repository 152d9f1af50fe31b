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


def test_its_reward_likes_no_nonsense_that_its_judge_can_tell_from_sense(reward):
    above = {
        (row.behavior, row.kind): round(row.share_above_best * row.n_prompts)
        for row in reward.examination.degenerate
        if row.share_above_best
    }

    # The judge counts words: in whatever order they stand, they are the best response to it.
    assert above == {("comply", "shuffled_words"): 1}
    said = " ".join(said_of_nonsense(reward).split())
    assert "shuffled words: it gets more than the best real response on 1 of 6 prompts" in said
    assert "does not read their order" in said


def test_it_says_of_other_nonsense_what_training_would_do(reward):
    rows = tuple(
        replace(row, share_above_best=1.0 if row.kind == "empty" else 0.0)
        for row in reward.examination.degenerate
    )
    found = replace(reward, examination=replace(reward.examination, degenerate=rows))
    none = tuple(replace(row, share_above_best=0.0) for row in rows)
    clean = replace(reward, examination=replace(reward.examination, degenerate=none))

    assert "empty: it gets more than the best real response on 6 of 6" in said_of_nonsense(found)
    assert said_of_nonsense(found).endswith("Training would find that.")
    assert said_of_nonsense(clean).endswith("none of it gets more than the best real response.")
