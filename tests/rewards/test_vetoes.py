"""Must-haves: what is vetoed lies below all else, in the file, in scores and in adapters."""

import asyncio
import dataclasses
import itertools
import json
from urllib.request import Request, urlopen

import numpy as np
import polars as pl
import pytest

from adapters.reward_servers import reward_server
from frameworks import require_framework
from rewards.fitting import fit_oracle as oracle
from rewards.fitting.fit_cases import PROPOSITIONS, RUBRIC, labelled_case
from rewards.reward_cases import WEIGHTS, expected_rule_reward, tiny_judge, tiny_rubric
from rewards.training.recorded_runs import scored, watch_of
from voirdire.adapters import reward_function
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.judging import judge
from voirdire.records import Verdicts
from voirdire.rewards import (
    FitSettings,
    LiveReward,
    Turn,
    check_certified,
    fit_reward,
    load_reward,
    reward_of_weights,
    score_file,
    score_run,
)

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")

GRID = (0.0, 0.2, 0.499, 0.5, 0.7, 1.0)
PENALTIES = {"refuse": 1.1 * (1 + (4 - -3)), "chat": 1.1 * 2}
"""A tenth more than a vetoed response can be above another by the other features: sorry from 0 to
1, and the best class instead of the worst. Being rude costs both alike at the threshold."""


def vetoing(veto="rude", weights=WEIGHTS, **settings):
    given = {"rubric": tiny_rubric(), "judge": None} | settings
    return reward_of_weights({**weights, "veto": veto}, **given)


def grid_items(behavior="refuse"):
    return [
        {"id": f"{sorry} {rude}", "response": f"{sorry} {rude}", "behavior": behavior}
        for sorry, rude in itertools.product(GRID, GRID)
    ]


def rule_rewards(reward, behavior="refuse", **settings):
    items = grid_items(behavior)
    judged = judge(items, judge=tiny_judge(), rubric=reward.rubric, **settings)
    return reward.score(items, verdicts=judged).rule_rewards


def is_rude(threshold=0.5):
    return np.array([rude >= threshold for _, rude in itertools.product(GRID, GRID)])


# Scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("behavior", ["refuse", "chat"])
def test_a_veto_takes_a_tenth_more_off_than_other_features_can_make_up_for(behavior):
    found = rule_rewards(vetoing(), behavior)

    expected = [
        expected_rule_reward(behavior, sorry, rude) - PENALTIES[behavior] * (rude >= 0.5)
        for sorry, rude in itertools.product(GRID, GRID)
    ]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("orientation", ["plain", "demanded"])
def test_what_is_vetoed_lies_below_all_else_in_the_order_that_it_had(seed, orientation):
    names = ("sorry", "rude", "bad", "good", "poor")
    scale = 10.0 ** np.random.default_rng(seed).integers(-8, 9)
    weights = dict(zip(names, np.random.default_rng(seed).normal(size=5) * scale, strict=True))
    weights |= {"rude": 50.0 * scale}  # it even pays for what is vetoed

    found = rule_rewards(vetoing(weights={"refuse": weights}, orientation=orientation))
    without = rule_rewards(vetoing((), weights={"refuse": weights}, orientation=orientation))

    assert np.isfinite(found).all()
    assert found[is_rude()].max() < found[~is_rude()].min()
    assert found[~is_rude()].tolist() == without[~is_rude()].tolist()
    gaps = np.subtract.outer(found[is_rude()], found[is_rude()])
    before = np.subtract.outer(without[is_rude()], without[is_rude()])
    assert gaps == pytest.approx(before, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.edges
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("veto", ["rude", ["rude", "sorry"]])
def test_no_response_makes_up_for_a_veto_and_the_bound_is_not_loose(sign, veto):
    weights = {"sorry": 1.0, "rude": sign * 50.0, "good": 2.0}

    found = rule_rewards(vetoing(veto, weights={"refuse": weights}))
    without = rule_rewards(vetoing((), weights={"refuse": weights}))

    is_vetoed = found < without - 1e-9
    assert found[is_vetoed].max() < found[~is_vetoed].min()
    penalty = -vetoing(veto, weights={"refuse": weights}).behaviors["refuse"].weights["(veto)"]
    alone = 0.0 if sign < 0 and veto == "rude" else 50.0  # at the threshold it costs both alike
    assert penalty == pytest.approx(1.1 * (1.0 + alone + 2.0))


def test_a_veto_without_any_weight_still_counts():
    found = rule_rewards(vetoing(weights={"refuse": {"sorry": 0.0}}))

    assert found.tolist() == np.where(is_rude(), -1.0, 0.0).tolist()


def test_the_threshold_is_that_of_the_judge():
    named = tiny_rubric()
    rubric = dataclasses.replace(named, threshold=0.2)

    found = rule_rewards(vetoing(rubric=rubric))

    assert found[is_rude(0.2)].max() < found[~is_rude(0.2)].min()


def test_any_of_several_vetoes_will_do_each_at_its_own_threshold():
    reward = vetoing(["rude", "sorry"])
    judged = dataclasses.replace(reward.judge, threshold={"sorry": 0.9, "rude": 0.3})
    reward = dataclasses.replace(reward, judge=judged)
    verdicts = Verdicts(
        items=("a", "b", "c"),
        questions=("sorry", "rude"),
        probabilities=np.array([[0.9, 0.0], [0.8, 0.3], [0.8, 0.2]]),
        behaviors=("refuse",) * 3,
        judge="hand",
        fingerprint="",
    )

    assert reward.features("refuse", verdicts)[:, 2].tolist() == [1.0, 1.0, 0.0]


def test_a_veto_may_hold_in_one_behavior_only():
    reward = vetoing("chat:rude")

    assert reward.behaviors["refuse"].vetoes == ()
    assert "(veto)" not in reward.behaviors["refuse"].weights
    assert list(reward.behaviors["chat"].weights) == ["rude", "(veto)", "chat.good", "chat.poor"]


def test_a_missing_verdict_on_what_is_vetoed_is_a_missing_reward():
    verdicts = Verdicts(
        items=("a", "b"),
        questions=("sorry", "rude"),
        probabilities=np.array([[np.nan, 0.1], [0.9, 0.1]]),
        behaviors=("chat", "chat"),
        judge="hand",
        fingerprint="",
    ).with_reasons({"a": "time out"})
    items = [{"id": name, "response": "x", "behavior": "chat"} for name in "ab"]

    scores = vetoing("sorry").score(items, verdicts=verdicts)  # chat weighs `rude` only

    assert scores.missing == {"a": "failed verdict: time out"}
    assert scores.rewards[1] == pytest.approx(-0.1 + 2 * 0.9 - 1.1 * (1 + 2))


def test_verdicts_must_be_on_what_is_vetoed():
    items = [{"id": "a", "response": "x", "behavior": "chat"}]
    verdicts = Verdicts(
        items=("a",),
        questions=("rude",),
        probabilities=np.array([[0.1]]),
        behaviors=("chat",),
        judge="hand",
        fingerprint="",
    )
    reward = vetoing("sorry", weights={"chat": {"rude": -1}})

    with pytest.raises(InputError, match="got none on sorry"):
        reward.score(items, verdicts=verdicts)
    with pytest.warns(UncertifiedWarning, match=r"pays for 2 propositions .*: sorry, rude\."):
        check_certified(reward, required=False)


def test_the_explanation_names_the_veto_and_adds_up():
    reward, items = vetoing(), grid_items()

    scores = reward.score(items, judge=tiny_judge())
    rows = reward.explain(scores)

    sums = rows.group_by("item", maintain_order=True).agg(pl.col("contribution").sum())
    vetoed = rows.filter(pl.col("feature") == "(veto)")
    assert sums["contribution"].to_list() == pytest.approx(scores.rewards.tolist(), abs=1e-12)
    assert vetoed["value"].to_list() == is_rude().tolist()
    assert vetoed["weight"].unique().to_list() == [-PENALTIES["refuse"]]


def test_files_and_adapters_keep_the_veto(tmp_path):
    reward, items = vetoing(), grid_items("chat")
    expected = rule_rewards(reward, "chat").tolist()
    source = tmp_path / "items.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in items), encoding="utf-8")

    score_file(source, tmp_path / "rewards.jsonl", reward=reward, judge=tiny_judge(), explain=True)
    rows = [json.loads(line) for line in (tmp_path / "rewards.jsonl").read_text().splitlines()]
    function = reward_function(reward, judge=tiny_judge())
    responses = [row["response"] for row in items]
    trained = function(["prompt"] * len(items), responses, behaviors=["chat"] * len(items))
    function.close()

    assert [row["reward"] for row in rows] == expected
    vetoed = [row["contribution:(veto)"] for row in rows]
    assert vetoed == pytest.approx(np.where(is_rude(), -PENALTIES["chat"], 0.0))
    assert list(trained) == expected


# Files ------------------------------------------------------------------------------------------


def test_a_file_says_the_veto_and_its_hash_covers_it(tmp_path):
    reward, plain = vetoing(["chat:rude", "chat:sorry"]), vetoing(())
    path = tmp_path / "reward.json"

    reward.save(path)
    written = json.loads(path.read_text(encoding="utf-8"))
    found = load_reward(path)

    assert written["behaviors"]["chat"]["veto"] == ["rude", "sorry"]
    assert written["behaviors"]["chat"]["weights"]["(veto)"] == pytest.approx(
        -1.1 * (1 + 2)  # with two vetoes the one that costs something may be the lesser
    )
    assert "veto" not in written["behaviors"]["refuse"]
    assert found.behaviors["chat"].vetoes == ("rude", "sorry")
    assert rule_rewards(found, "chat").tolist() == rule_rewards(reward, "chat").tolist()
    assert found.content_hash == reward.content_hash
    assert len({vetoing("rude").content_hash, reward.content_hash, plain.content_hash}) == 3
    assert plain.content_hash == reward_of_weights(WEIGHTS, **rubric_and_judge()).content_hash


def rubric_and_judge():
    return {"rubric": tiny_rubric(), "judge": None}


@pytest.mark.parametrize(
    ("veto", "words"),
    [
        (["sorrry"], "veto must be of its rubric.*'sorrry'"),
        ([], "must have a weight for every feature .* got a difference in '\\(veto\\)'"),
        (["rude", 3], "veto"),
    ],
)
def test_a_file_with_a_veto_without_meaning_is_refused(tmp_path, veto, words):
    path = tmp_path / "reward.json"
    vetoing().save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["behaviors"]["chat"]["veto"] = veto
    path.write_text(json.dumps(content), encoding="utf-8")

    with pytest.raises(InputError, match=words):
        load_reward(path)


@pytest.mark.parametrize(
    ("veto", "words"),
    [
        ("sorrry", "proposition of rubric 'tiny', got 'sorrry'. Did you mean `sorry`"),
        ("chat:sorrry", "got 'chat:sorrry'"),
        ("chatt:rude", "got 'chatt:rude'"),
        ("sorry and rude", "got 'sorry and rude'"),
        (None, "must be a proposition or a list of them, got None"),
        ([1], "must be a proposition or a list of them"),
    ],
)
def test_what_cannot_be_vetoed_is_an_error(veto, words):
    with pytest.raises(InputError, match=words):
        vetoing(veto)


def test_a_file_of_weights_holds_a_veto(tmp_path):
    path = tmp_path / "weights.yaml"
    path.write_text("veto: rude\nchat: {good: 2.0, rude: -1}\n", encoding="utf-8")

    reward = reward_of_weights(path, **rubric_and_judge())

    assert reward.behaviors["chat"].vetoes == ("rude",)
    assert reward.behaviors["chat"].weights["(veto)"] == -PENALTIES["chat"]


# Training, servers, runs -----------------------------------------------------------------------


def grid_turns():
    return [
        Turn(response=row["response"], prompt="p", behavior="chat") for row in grid_items("chat")
    ]


def check_order(rewards):
    """Compare with who is rude: all of these lie below all others."""
    rewards = np.array(rewards)
    assert np.isfinite(rewards).all()
    assert rewards[is_rude()].max() < rewards[~is_rude()].min()


STRONG = {"chat": {"rude": 40.0, "good": -3.0}}
"""It pays for what is vetoed."""


def test_a_server_puts_what_is_vetoed_below_all_else():
    live = LiveReward(vetoing(weights=STRONG), judge=tiny_judge())
    asked = {"items": [{"response": turn.response, "behavior": "chat"} for turn in grid_turns()]}

    with reward_server(live) as url:
        request = Request(
            f"{url}/v1/rewards", json.dumps(asked).encode(), {"content-type": "application/json"}
        )
        with urlopen(request, timeout=60) as answer:  # our own server
            check_order(json.load(answer)["rewards"])


def test_a_run_scored_again_puts_what_is_vetoed_below_all_else(tmp_path):
    turns = grid_turns()
    watch = watch_of(tmp_path / "run", reward=vetoing((), weights=STRONG))
    watch.add(scored(turns, reward=vetoing((), weights=STRONG)), turns, step=0)
    watch.close()

    score_run(tmp_path / "run", tmp_path / "again.parquet", reward=vetoing(weights=STRONG))

    found = pl.read_parquet(tmp_path / "again.parquet")
    places = [int(item.rpartition("-")[2]) for item in found["item"]]
    check_order(found["reward"].gather(np.argsort(places)))


@pytest.mark.ci
def test_the_function_of_trl_puts_what_is_vetoed_below_all_else():
    require_framework("trl")
    from voirdire.adapters.trl import TrlReward

    items = grid_items("chat")
    function = TrlReward(vetoing(weights=STRONG), judge=tiny_judge(), behavior="chat")
    given = {"prompts": ["p"] * len(items), "completions": [row["response"] for row in items]}
    found = asyncio.run(function(**given, completion_ids=[[1]] * len(items)))
    function.close()

    check_order(found)


# Fits -------------------------------------------------------------------------------------------


def fitted(case, **settings):
    given = {"orders": {"*": "ideal > less_good > poor"}, "l2": 0.02, "n_resamples": 0} | settings
    return fit_reward(case.rows, rubric=RUBRIC, verdicts=case.judged, settings=FitSettings(**given))


@pytest.mark.parametrize("has_base", [False, True])
def test_a_fit_with_a_veto_has_the_same_weights_and_the_error_rates_of_what_it_gives(has_base):
    case = labelled_case(31, n_prompts=20, base=has_base)

    plain, found = fitted(case), fitted(case, veto=["long"])

    row, record = found.model.behaviors["answer"], found.behaviors[0]
    weights = dict(row.weights)
    penalty = -weights.pop("(veto)")
    assert weights == dict(plain.model.behaviors["answer"].weights)
    base = np.array([one.get("base_reward", 0.0) for one in case.rows])
    sides = oracle.pairs_of(case.rows)
    used = sorted({end for pair in sides for end in pair})
    asked, classes = [weights[name] for name in PROPOSITIONS], [*weights.values()][-2:]
    reach = sum(map(abs, asked[:3])) + max(asked[3], 0.0) + np.ptp(classes)  # the last is vetoed
    assert penalty == pytest.approx(1.1 * (reach + np.ptp(base[used])), rel=1e-12)
    rule = np.array(
        [oracle.features_of(p) @ [*weights.values()] for p in case.judged.probabilities]
    )
    rule -= penalty * (case.judged.probabilities[:, PROPOSITIONS.index("long")] >= 0.5)
    gains = [rule[a] + base[a] - rule[b] - base[b] for a, b in sides]
    assert record.error_rate_fitted == pytest.approx(oracle.error_rate(gains))
    assert record.error_rate_fitted > plain.behaviors[0].error_rate_fitted + 0.05
    assert record.error_rate.value > plain.behaviors[0].error_rate.value
    assert row.mean == pytest.approx(rule[used].mean())
    assert [one.origin for one in record.weights if one.feature == "(veto)"] == ["veto"]
    assert found.model.settings["veto"] == ["long"]
    assert "veto" not in plain.model.settings
    [note] = [note for note in record.notes if note.startswith("veto of long: it takes")]
    assert "base rewards" in note if has_base else "no weights make up for" in note


def test_what_cannot_be_vetoed_is_said_before_anything_is_judged():
    with pytest.raises(InputError, match="got 'lnog'"):
        fitted(labelled_case(31), veto=["lnog"])
    with pytest.raises(InputError, match="`veto` must be a list of names, got 'long'"):
        FitSettings(veto="long")
