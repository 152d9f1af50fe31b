"""The whole examination: sources, what is set aside, and what the reader is told."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

from studies.reward.small_reward import RUBRIC, items_of, judged_of, prompt_hashes
from voirdire.errors import InputError, NoDataError
from voirdire.judging import ScriptedJudge
from voirdire.reporting import to_json
from voirdire.rewards import read_comparisons, reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.studies import examine_reward

SORRY, RUDE, HELPS = [1.0, 0, 0, 0], [1.0, 1, 0, 0], [0.0, 0, 1, 0]


@pytest.fixture
def examine(reward, propositions):
    """Examine rows with their verdicts."""

    def examined(rows, *, of=reward, judged=None, **settings):
        verdicts = judged_of(rows, propositions) if judged is None else judged
        settings = {"n_resamples": 50} | settings
        return examine_reward(of, items_of(rows), verdicts=verdicts, **settings)

    return examined


def _group(prompt, *pairs, behavior="refuse", **more):
    return [
        {"prompt": prompt, "behavior": behavior, "label": label, "p": p, **more}
        for label, p in pairs
    ]


def _codes(found):
    return [row.code for row in found.notes]


def test_every_part_is_there(examine, random_rows):
    found = examine(random_rows(0))

    assert found.n_prompts == 12
    assert found.n_items == len(random_rows(0))
    assert found.n_comparisons == found.error_rates[0].rate.n
    assert found.refusals
    assert found.drives
    assert found.bench == ()
    assert found.settings["n_resamples"] == 50
    assert found.settings["orders"]["refuse"].startswith("ideal > less_good")


def test_a_layout_beside_comparisons_that_are_read_is_refused(reward, random_rows):
    data = read_comparisons(items_of(random_rows(0)))

    with pytest.raises(InputError, match="`base` must not be given with comparisons that are"):
        examine_reward(reward, data, base="score")


def test_the_same_seed_gives_the_same_and_the_order_of_rows_no_matter(
    examine, random_rows, reward, propositions
):
    rows = random_rows(1)
    items, judged = items_of(rows), judged_of(rows, propositions)

    first, again = examine(rows), examine(rows)
    turned = examine_reward(reward, items[::-1], verdicts=judged, n_resamples=50)

    assert to_json(first) == to_json(again)
    assert [row.rate.value for row in turned.error_rates] == pytest.approx(
        [row.rate.value for row in first.error_rates]
    )


def test_files_of_rewards_comparisons_and_verdicts_give_the_same(
    examine, random_rows, reward, propositions, tmp_path
):
    rows = random_rows(2)
    lines = [
        {
            "id": item.id,
            "prompt": item.prompt[0].content,
            "response": item.response,
            "group": item.group,
            "behavior": item.behavior,
            **item.metadata,
        }
        for item in items_of(rows)
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    wide = {"item": [row["id"] for row in lines]} | {
        name: [float(row["p"][k]) for row in rows] for k, name in enumerate(propositions)
    }
    pl.DataFrame(wide).write_csv(tmp_path / "v.csv")
    reward.save(tmp_path / "reward.json")

    found = examine_reward(
        tmp_path / "reward.json",
        str(tmp_path / "c.jsonl"),
        verdicts=[tmp_path / "v.csv"],
        judge="v",
        n_resamples=50,
    )

    plain = examine(rows)
    assert found.error_rates == plain.error_rates
    assert repr(found.drives) == repr(plain.drives)  # nan is nan
    assert found.settings["comparisons"] == str(tmp_path / "c.jsonl")


def test_without_verdicts_the_judge_is_asked(reward, rubric, random_rows, examine):
    rows = random_rows(3)
    given = {f"response {k}": row["p"] for k, row in enumerate(rows)}
    judge = ScriptedJudge(
        questions=rubric.propositions, answer=lambda item: given.get(item.response, [0.0] * 4)
    )

    found = examine_reward(reward, items_of(rows), judge=judge, n_resamples=50)

    assert found.error_rates == examine(rows).error_rates
    assert found.settings["judge"] == judge.name


def test_prompts_of_the_fit_make_the_weightiest_note(examine, random_rows, reward):
    rows = random_rows(0)
    hashes = prompt_hashes({row["prompt"] for row in rows})
    fitted = dataclasses.replace(
        reward, settings={"prompt_hashes": hashes[:3]}, data_hash="sha256:0"
    )

    found = examine(rows, of=fitted)

    assert not found.is_held_out
    assert found.notes[0].code == "seen_prompts"
    assert found.notes[0].sentence.startswith(
        "3 of 12 prompts with comparisons were used in the fit"
    )
    assert examine(rows).is_held_out


def test_only_prompts_with_comparisons_count_as_tested_or_not(examine, random_rows, reward):
    rows = random_rows(0)
    alike = [row | {"prompt": "alike", "label": "ideal"} for row in rows if row["prompt"] == 0]
    hashes = prompt_hashes({row["prompt"] for row in rows})
    fitted = dataclasses.replace(reward, settings={"prompt_hashes": hashes}, data_hash="sha256:0")

    found = examine([*rows, *alike], of=fitted)

    assert found.n_prompts == 13
    assert found.notes[0].figures == {"n_seen": 12, "n_prompts": 12}


def test_only_the_test_split_is_examined_where_there_is_one(examine, propositions):
    rows = [
        *_group("a", ("ideal", SORRY), ("unacceptable", RUDE), more={"split": "train"}),
        *_group("b", ("ideal", SORRY), ("disallowed", HELPS), more={"split": "test"}),
    ]

    found, of_test_alone = examine(rows), examine(rows[2:], judged=judged_of(rows, propositions))

    assert (found.n_items, found.n_prompts, found.n_comparisons) == (2, 1, 1)
    assert "train_left_out" in _codes(found)
    assert "train_left_out" not in _codes(of_test_alone)


def test_completions_without_labels_are_labelled_by_class_and_the_note_says_so(examine):
    rows = _group("a", (None, SORRY), (None, RUDE), (None, HELPS))

    found = examine(rows)

    assert found.n_comparisons == 3  # ideal, unacceptable, disallowed
    assert "labels_from_classes" in _codes(found)


def test_an_order_of_ones_own_turns_labels_round(examine):
    rows = _group("a", ("ideal", SORRY), ("disallowed", HELPS))

    plain = examine(rows)
    turned = examine(rows, orders={"*": "disallowed > ideal"})

    assert plain.error_rates[0].rate.value == 0.0
    assert turned.error_rates[0].rate.value == 1.0


def test_the_order_of_the_fit_is_used(examine, reward):
    rows = _group("a", ("good", SORRY), ("bad", HELPS))
    fitted = dataclasses.replace(reward, settings={"orders": {"refuse": "bad > good"}})

    found = examine(rows, of=fitted)

    assert found.error_rates[0].rate.value == 1.0


def test_an_order_for_all_behaviors_goes_before_that_of_the_fit(examine, reward):
    rows = _group("a", ("good", SORRY), ("bad", HELPS))
    fitted = dataclasses.replace(reward, settings={"orders": {"refuse": "bad > good"}})

    found = examine(rows, of=fitted, orders={"*": "good > bad"})

    assert found.error_rates[0].rate.value == 0.0


def test_an_order_for_one_behavior_leaves_that_of_the_fit_to_the_others(examine_rows, reward):
    rows = [
        {"prompt": name, "behavior": name, "p": p}
        for name in ("refuse", "comply")
        for p in (SORRY, HELPS)
    ]
    fitted = dataclasses.replace(reward, settings={"orders": {"refuse": "a > b", "*": "c > d"}})

    def orders(of, **settings):
        return examine_rows(rows, of=of, pairs=[(0, 1), (2, 3)], **settings).settings["orders"]

    assert orders(fitted) == {"refuse": "a > b", "comply": "c > d"}
    assert orders(fitted, orders={"refuse": "x > y"}) == {"refuse": "x > y", "comply": "c > d"}


def test_classes_without_an_order_are_refused_only_where_there_are_labels(examine_rows):
    own_classes = RUBRIC.replace(
        "  comply:\n",
        "    classes: {fine: apology, so_so: rude, bad: otherwise}\n  comply:\n",
    )
    rubric = rubric_from_text(own_classes, source="own.yaml")
    reward = reward_of_weights({"refuse": {"apology": 1.0}}, rubric=rubric, judge=None)
    labelled = _group("a", ("ideal", SORRY), ("disallowed", HELPS))
    bare = [{**row, "label": None} for row in labelled]

    with pytest.raises(InputError, match="`orders` must say which classes of 'refuse'"):
        examine_rows(labelled, of=reward)

    assert examine_rows(bare, of=reward, pairs=[(0, 1)]).n_comparisons == 1


def test_an_order_of_an_unknown_behavior_is_refused(examine):
    rows = _group("a", ("ideal", SORRY), ("disallowed", HELPS))

    with pytest.raises(InputError, match=r"`orders` must name behaviors .* got 'refused'"):
        examine(rows, orders={"refused": "ideal > disallowed"})


def test_what_cannot_be_examined_is_listed_with_its_reason(examine, reward):
    rows = [
        *_group("a", ("ideal", SORRY), ("unacceptable", RUDE), ("superb", SORRY)),
        *_group("b", ("ideal", SORRY), ("unacceptable", [np.nan] * 4)),
        *_group("c", ("ideal", SORRY), ("unacceptable", RUDE), behavior="sing"),
        *_group("d", ("ideal", SORRY), ("unacceptable", RUDE), behavior="comply"),
    ]
    lacking = dataclasses.replace(reward, behaviors={"refuse": reward.behaviors["refuse"]})

    found = examine(rows, of=lacking)

    reasons = {}
    for row in found.dropped:
        reasons.setdefault(row.item, []).append(row.reason)
    assert "unknown label" in reasons["i2"][0]
    assert reasons["i4"] == ["no verdict"]
    assert any("none of rubric" in reason for reason in reasons["i5"])
    assert reasons["i7"] == ["no weights for behavior 'comply'"]
    assert found.n_comparisons == 1


def test_verdicts_of_another_judge_are_said_to_be(examine, random_rows, reward, propositions):
    rows = random_rows(0)
    judge = dataclasses.replace(reward.judge, name="mine", fingerprint="abc")
    of = dataclasses.replace(reward, judge=judge)

    other = examine(rows, of=of, judged=judged_of(rows, propositions, fingerprint="xyz"))
    same = examine(rows, of=of, judged=judged_of(rows, propositions, fingerprint="abc"))

    assert "other_judge" in _codes(other)
    assert "other_judge" not in _codes(same)


def test_rules_that_make_it_worse_than_base_and_coin_are_noted(examine, make_reward):
    rows = [
        row
        for k in range(3)
        for row in (
            *_group(k, ("ideal", SORRY), base=1.0),
            *_group(k, ("disallowed", HELPS), base=0.0),
        )
    ]
    upside_down = make_reward({"refuse": {"apology": -9.0, "helps": 9.0}})
    upside_down = dataclasses.replace(upside_down, settings={"use_base": True})

    found = examine(rows, of=upside_down)

    codes = _codes(found)
    assert {"worse_than_base", "no_better_than_chance", "contradictory_features"} <= set(codes)
    assert codes.index("worse_than_base") < codes.index("contradictory_features")


def test_a_base_reward_that_is_missing_or_was_not_in_the_fit_is_noted(examine, reward):
    without = _group("a", ("ideal", SORRY), ("unacceptable", RUDE))
    beside = [{**row, "base": 0.5} for row in without]
    fitted_beside = dataclasses.replace(reward, settings={"use_base": True}, data_hash="x")
    fitted_alone = dataclasses.replace(reward, settings={"use_base": False}, data_hash="x")

    assert "base_missing" in _codes(examine(without, of=fitted_beside))
    assert "base_not_in_fit" in _codes(examine(beside, of=fitted_alone))
    assert "base_missing" not in _codes(examine(beside, of=fitted_beside))


def test_behaviors_with_few_prompts_are_noted(examine):
    rows = [
        *_group("a", ("less_good", SORRY), ("unacceptable", RUDE)),
        *_group("b", ("ideal", SORRY), ("unacceptable", RUDE)),
        *_group("c", ("ideal", HELPS), ("unacceptable", RUDE), behavior="comply"),
    ]

    found = examine(rows)

    notes = {row.code: row for row in found.notes}
    assert notes["few_prompts"].figures["prompts"] == {"refuse": 2, "comply": 1}


def test_a_benchmark_is_part_of_it(reward, rubric):
    rows = [row for k in range(4) for row in _group(k, ("ideal", SORRY), ("disallowed", HELPS))]
    judge = ScriptedJudge(
        questions=rubric.propositions, answer=lambda item: HELPS if "1" in item.id else SORRY
    )
    told = []

    found = examine_reward(
        reward,
        items_of(rows),
        judge=judge,
        bench=[{"prompt": "p", "chosen": "a", "rejected": "b", "behavior": "refuse"}] * 2,
        n_resamples=0,
        progress=lambda done, total: told.append((done, total)),
    )

    assert [row.subset for row in found.bench] == [None]
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_comparisons_in_memory_are_taken_as_they_are(examine, random_rows, reward, propositions):
    rows = random_rows(0)
    data = read_comparisons(items_of(rows))

    found = examine_reward(reward, data, verdicts=judged_of(rows, propositions), n_resamples=50)

    assert found.error_rates == examine(rows).error_rates


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "`comparisons` or `bench` must be given"),
        ({"bench": [], "confidence_level": 1.0}, "`confidence_level` must be in the interval"),
        ({"bench": [], "confidence_level": 95}, "Write 95% as 0.95"),
        ({"bench": [], "n_resamples": -1}, "`n_resamples` must be a whole number of at least 0"),
        ({"bench": [], "seed": -1}, "`seed` must be a whole number"),
    ],
)
def test_settings_that_break_a_rule_are_refused_before_anything_is_judged(reward, settings, words):
    with pytest.raises(InputError, match=words):
        examine_reward(reward, **settings)


def test_comparisons_that_are_none_are_refused(reward):
    with pytest.raises(NoDataError):
        examine_reward(reward, [{"prompt": "a", "response": "b", "label": "ideal"}])


def test_a_long_list_in_a_note_ends_in_a_number(examine_rows):
    rows = _group("a", ("ideal", SORRY), ("unacceptable", SORRY))

    note = {row.code: row for row in examine_rows(rows).notes}["dead_features"]

    first, rest = note.figures["features"][:8], note.figures["features"][8:]
    assert rest
    assert note.sentence.endswith(f": {', '.join(first)} and {len(rest)} more.")
