"""What is said of a training run and a sample: against their figures."""

import shlex
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from made_training_run import PROPOSITIONS, made_run
from reporting.made_certificates import made_certificates
from reporting.recorded_alarms import bad_run
from rewards.training.recorded_runs import parts_of, rows_in
from view_reading import Reading
from voirdire.errors import InputError, NoDataError
from voirdire.reporting import html_page
from voirdire.reporting.pages.training import sample_view, training_view
from voirdire.reporting.pages.view import Cards, Lines
from voirdire.rewards import read_training_run, sample_training_run


def read(run, language="en", **options):
    return Reading(training_view(run, **options), language)


def lines_of(run):
    return {block.name: block for block in read(run).blocks if isinstance(block, Lines)}


def mean(values):
    return float(np.nanmean(np.array(list(values), dtype=float)))


# What happened


def test_the_lead_has_the_numbers_of_the_run():
    run = made_run(40)

    found = read(run)

    first, last = run.steps[:10], run.steps[-10:]
    start, end = (mean(step.reward_mean for step in steps) for steps in (first, last))
    share = sum(step.n_missing for step in run.steps) / (40 * 32)
    assert (
        f"The mean reward is {start:.2f} over the first 10 steps and {end:.2f} over the last."
    ).replace("-", "−") in found.lead
    assert f"{100 * share:.1f}% of all completions got no reward." in found.lead
    assert found.lead.startswith("4 alarms began, at step 0, 10, 20 and 30.")
    assert f"{40 * 32:,} completions in 40 steps" in found.say(found.view.meta)


def test_a_run_without_a_single_reward_is_told_as_that():
    found = read(made_run(12, gone=range(12), alarms=False))

    assert "No completion has a reward." in found.lead
    assert found.todo[0].startswith("Mend the calls of the judge, and begin the training again.")


@pytest.mark.parametrize(
    ("states", "n"), [(("passed",), 0), (("passed", "failed", "none"), 2), (("other_judge",), 3)]
)
def test_what_pays_without_a_certificate_is_named(states, n):
    run = made_run(12, certificates=made_certificates(PROPOSITIONS, states=states))

    lead = read(run).lead

    words = f"no valid certificate for {n} of the 3 propositions that count: "
    assert (words in lead) == (n > 0)
    assert n < 2 or "inability_to_comply and judgement." in lead


def test_every_alarm_is_in_the_table_and_every_kind_has_advice():
    run = made_run(40)

    found = read(run)

    assert [tuple(row.values()) for row in found.table("column.alarm")] == [
        ("0", "31% of the rewards are missing"),
        ("10", "responses have a mean length of 97, 41 before"),
        ("20", "93% of the groups have rewards that are all equal"),
        ("30", "34% of the responses are nonsense, 2% before"),
    ]
    advice = [found.say(todo) for _, todo in found.view.cautions]
    assert found.notes[1] == "responses have a mean length of 97, 41 before (step 10)"
    assert ["voirdire sample runs/first -o sample" in words for words in advice] == [
        False, True, True, True,
    ]  # fmt: skip


def test_the_command_can_be_pasted_into_a_shell():
    folder = "runs/it's first; rm -rf"

    [todo] = read(made_run(folder=folder)).todo

    command = todo[todo.index("voirdire sample") :].split(" -n 60")[0]
    assert shlex.split(command) == ["voirdire", "sample", folder]
    assert "voirdire sample ./-odd -n 60" in read(made_run(), source="-odd").todo[0]


# Lines


def test_the_lines_have_the_figures_of_the_steps():
    run = made_run(40)
    steps = run.steps

    lines = lines_of(run)

    reward, rule, base, alarms = lines["reward"].series
    assert reward.points == tuple((step.step, step.reward_mean) for step in steps)
    assert reward.ends[3] == pytest.approx(
        (steps[3].reward_mean - steps[3].reward_sd, steps[3].reward_mean + steps[3].reward_sd)
    )
    assert rule.points[7] == (7, steps[7].rule_mean)
    assert base.points[7] == (7, steps[7].base_mean)
    assert [x for x, _ in alarms.points] == [0, 10, 20, 30]
    [length] = lines["length"].series
    assert length.points[-1] == (39, steps[-1].length_mean)
    [missing] = lines["missing"].series
    assert missing.points[5] == (5, steps[5].missing_share)
    shares = steps[11].class_shares["comply"]
    assert {series.points[11][1] for series in lines["classes-1"].series} == {*shares.values()}


def test_gate_and_cap_have_lines_where_they_did_something():
    steps = made_run(4, alarms=False).steps
    steps = [replace(step, gated_share=0.9 - 0.3 * k) for k, step in enumerate(steps)]

    assert "guards" not in lines_of(made_run(4))
    floored, capped = lines_of(made_run(steps=tuple(steps)))["guards"].series
    assert [y for _, y in floored.points] == pytest.approx([0.9, 0.6, 0.3, 0.0])
    assert {y for _, y in capped.points} == {0.0}


def test_steps_that_were_lost_are_told():
    assert "No completions are recorded of steps 13–20:" in read(made_run(gaps=((12, 21),))).lead


def test_propositions_that_moved_most_come_first():
    found, run = lines_of(made_run())["propositions"], made_run()

    speaker = read(run)
    moves = [speaker.say(series.name) for series in found.series]
    assert moves[:2] == [
        "apology: .12 → .88",
        "inability_to_comply: .76 → .24",
    ]  # moved by .76, .51


def test_many_steps_are_thinned_and_it_is_said():
    run = made_run(1_000, alarms=False)
    lines = lines_of(run)["missing"]

    assert len(lines.series[0].points) == 200
    assert lines.series[0].points[1][0] == 7  # of steps 5 to 9
    assert lines.series[0].points[1][1] == mean(x.missing_share for x in run.steps[5:10])
    assert read(run).say(lines.caption).endswith("Each point is the mean of 5 steps.")


# What paid, what could not be read, arguments


def test_of_a_cascade_it_is_told_how_much_came_to_whom():
    told = ({"quick": 0.9, "asked": 0.1}, {"quick": 0.4})
    steps = made_run(2, alarms=False).steps
    steps = [replace(step, n=n, answered_by=x) for step, n, x in zip(steps, (10, 40), told,
                                                                     strict=True)]  # fmt: skip

    settings = training_view(made_run(steps=tuple(steps))).settings

    # (9 + 16) and 1 of 50 completions
    assert settings["answered_by"] == {"quick": "50%", "asked": "2%"}
    assert "answered_by" not in training_view(made_run(2)).settings


def test_a_language_that_no_page_speaks_is_refused():
    with pytest.raises(InputError, match="`language` must be"):
        html_page(made_run(2), language="fr")


def test_a_run_without_steps_is_refused():
    with pytest.raises(NoDataError, match="`run` must hold at least one step, got none in 'runs/"):
        html_page(made_run(steps=()))


# Completions


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_training_run(bad_run(tmp_path_factory.mktemp("bad") / "run"))


def cards_of(run):
    """Give the cards of the highest, then of the lowest rewards."""
    return [each.cards for each in read(run, texts=True).blocks if isinstance(each, Cards)]


def test_the_twenty_highest_and_lowest_are_shown(run):
    rewards = {row["item"]: row["reward"] for row in rows_in(run.folder)}
    known = sorted(reward for reward in rewards.values() if reward is not None)

    ends = cards_of(run)

    speaker = read(run)
    shown = [[dict(map(speaker.say, row[:2]) for row in card.rows) for card in cards]
             for cards in ends]  # fmt: skip
    assert [[rewards[row["Item"]] for row in rows] for rows in shown] == [
        known[::-1][:20],
        known[:20],
    ]
    assert any(row.get("Why it is nonsense") == "the same words come over and over"
               for row in shown[0])  # fmt: skip


def test_a_response_that_is_repeated_to_a_prompt_is_shown_once(run, tmp_path):
    folder = tmp_path / "run"
    (folder / "completions").mkdir(parents=True)
    (folder / "run.json").write_bytes((run.folder / "run.json").read_bytes())
    for part in parts_of(run.folder):
        rows = pl.read_parquet(part).with_columns(response=pl.lit("sorry"))
        rows.write_parquet(folder / "completions" / part.name)

    highest, _ = cards_of(read_training_run(folder))

    prompts = [card.texts[0].text for card in highest]
    assert len(prompts) == len(set(prompts)) == 5


def test_no_text_is_on_the_page_unless_it_is_asked_for(run):
    plain, whole = (html_page(run, source="runs/bad", texts=x) for x in (False, True))

    assert "how is it done" not in plain
    assert "<script" not in plain
    assert "--texts</code> shows the 20 completions with the highest rewards" in plain
    assert "&lt;script&gt;alert(1)" in whole
    assert whole.count("<script>") == 1  # the filter's, which the page's policy names


def test_completions_that_are_gone_are_an_error_of_the_run(run, tmp_path):
    with pytest.raises(InputError, match=r"run\.json"):
        html_page(replace(run, folder=tmp_path / "gone"), texts=True)


# A sample


def test_a_sample_names_its_files_and_ends_with_the_command(run, tmp_path):
    sample = sample_training_run(run, tmp_path / "sample", n=8, seed=1, n_annotators=2)

    found = Reading(sample_view(sample))

    assert {row["column.stratum"]: row["column.drawn"]
            for row in found.table("column.drawn")} == {
        name: str(row["n_drawn"]) for name, row in sample.strata.items()
    }  # fmt: skip
    assert all(path in found.todo[0] for path in sample.sheets)
    assert found.todo[-1] == sample.command
    assert Path(sample.verdicts).exists()
