"""Scale and choice questions as features: by hand, in fits, files, live and scored again."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from asked_models import Asked
from rewards.training.recorded_runs import scored, watch_of
from servers.reward_server import running
from voirdire.adapters import GuardedReward, reward_function
from voirdire.errors import InputError
from voirdire.judging import LlmJudge
from voirdire.rewards import (
    FitSettings,
    LiveReward,
    Turn,
    fit_reward,
    load_reward,
    read_training_run,
    reward_of_weights,
    sample_training_run,
    score_file,
    score_run,
)
from voirdire.rubrics import rubric_from_text
from voirdire.studies import examine_reward

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")

KINDS = rubric_from_text("""
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: rude, kind: boolean, text: "Is it rude?"}
  - {id: quality, kind: scale, text: "How good?", minimum: 1, maximum: 5}
  - {id: tone, kind: choice, text: "Which tone?", labels: [warm, cold, dry]}
  - {id: topics, kind: multilabel, text: "Which topics?", labels: [food, work]}
behaviors:
  chat:
    demands: {sorry: allowed, rude: undesired}
    classes: {good: not rude, poor: otherwise}
""")
WEIGHTS = {"chat": {"sorry": 1.0, "rude": -2.0, "quality": 3.0, "tone=warm": 0.5, "tone=dry": -1.0}}
ITEMS = {
    "a": (0.9, 0.1, 4, "warm"),
    "b": (0.2, 0.5, 1, "dry"),
    "c": (0.4, 0.0, 5, "cold"),
}
BY_HAND = {
    "a": 0.9 - 2 * 0.1 + 3 * 0.75 + 0.5,
    "b": 0.2 - 2 * 0.5 + 3 * 0.0 - 1.0,
    "c": 0.4 - 2 * 0.0 + 3 * 1.0,
}
"""A scale from 1 to 5 gives (answer - 1) / 4; of a choice the label that is said gives 1."""


def reward_of(weights=WEIGHTS, **beside):
    return reward_of_weights({**weights, **beside}, rubric=KINDS, judge=None)


def items(names=ITEMS):
    return [{"id": n, "prompt": "p", "response": n, "behavior": "chat"} for n in names]


def long_table(answers=ITEMS):
    rows = []
    for name, (sorry, rude, quality, tone) in answers.items():
        rows += [
            {"item": name, "question": "sorry", "label": None, "probability": sorry},
            {"item": name, "question": "rude", "label": None, "probability": rude},
            {"item": name, "question": "quality", "label": quality, "probability": None},
            {"item": name, "question": "tone", "label": tone, "probability": None},
        ]
    for row in rows:
        row["label"] = None if row["label"] is None else str(row["label"])
    return pl.DataFrame(rows, infer_schema_length=None)


def wide_table(answers=ITEMS):
    return pl.DataFrame(
        [(name, *row) for name, row in answers.items()],
        schema=["item", "sorry", "rude", "quality", "tone"],
        orient="row",
    )


def model(answers=ITEMS):
    """Give a language model that answers every question about an item, called by its response."""

    def answer(shown):
        sorry, rude, quality, tone = answers[shown["response"]]
        said = {"sorry": sorry, "rude": rude, "quality": quality, "tone": tone}
        return said | {"topics": ["food"]}

    return LlmJudge(model=Asked(answer).model, probability="stated")


@pytest.mark.parametrize("table", [long_table, wide_table])
def test_the_reward_is_that_by_hand(table):
    scores = reward_of().score(items(), verdicts=table())

    assert scores.rewards.tolist() == pytest.approx(list(BY_HAND.values()), abs=1e-12)


@pytest.mark.edges
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("table", [long_table, wide_table])
def test_files_of_verdicts_give_the_same_and_contributions_add_up(tmp_path, ending, table):
    source, verdicts = tmp_path / "items.jsonl", tmp_path / f"verdicts.{ending}"
    source.write_text("".join(json.dumps(row) + "\n" for row in items()), encoding="utf-8")
    frame = table()
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](
        verdicts
    )

    score_file(source, tmp_path / "out.jsonl", reward=reward_of(), verdicts=verdicts, explain=True)

    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["reward"] for row in rows] == pytest.approx(list(BY_HAND.values()))
    assert [row["contribution:quality"] for row in rows] == pytest.approx([2.25, 0.0, 3.0])
    assert [row["contribution:tone=warm"] for row in rows] == [0.5, 0.0, 0.0]


def test_a_language_model_gives_the_same_in_memory_in_files_and_live(tmp_path):
    source = tmp_path / "items.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in items()), encoding="utf-8")
    reward = reward_of()

    in_memory = reward.score(items(), judge=model()).rewards.tolist()
    score_file(source, tmp_path / "out.jsonl", reward=reward, judge=model())
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    function = reward_function(reward, judge=model(), behavior="chat")
    live = function(["p"] * 3, list(ITEMS))
    function.close()

    assert in_memory == pytest.approx(list(BY_HAND.values()))
    assert [row["reward"] for row in rows] == in_memory
    assert list(live) == in_memory


def test_a_server_gives_the_same():
    reward = reward_of()
    turns = [Turn(response=name, prompt="p", behavior="chat") for name in ITEMS]

    with running(LiveReward(reward, judge=model())) as address:
        served = GuardedReward(address)
        found = served.scored(turns)
        served.close()

    assert found.rewards == pytest.approx(list(BY_HAND.values()), abs=1e-12)
    assert found.judged.questions == reward.columns
    values = found.judged.probabilities
    assert values[:, 2].tolist() == [0.75, 0.0, 1.0]  # (quality - 1) / 4
    assert values[:, 3:].tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]  # warm, dry, cold


def test_a_recorded_run_is_scored_bit_for_bit_and_under_other_weights(tmp_path):
    reward = reward_of()
    turns = [Turn(response=name, prompt="p", behavior="chat") for name in ITEMS]
    watch = watch_of(tmp_path / "run", reward=reward)
    watch.add(scored(turns, reward=reward, judge=model()), turns, step=0)
    watch.close()

    score_run(tmp_path / "run", tmp_path / "same.parquet", reward=reward)
    other = reward_of({"chat": {"quality": 2.0, "tone=cold": 1.0}})
    score_run(tmp_path / "run", tmp_path / "other.parquet", reward=other)

    same, changed = (pl.read_parquet(tmp_path / f"{n}.parquet") for n in ("same", "other"))
    assert sorted(same["reward"]) == pytest.approx(sorted(BY_HAND.values()))
    assert sorted(changed["reward"]) == [0.0, 1.5, 3.0]  # 2 (quality - 1) / 4, and 1 for cold


def test_a_run_has_alarms_for_further_features_that_pay(tmp_path):
    reward = reward_of()
    watch = watch_of(tmp_path / "run", reward=reward)
    for step in range(25):  # from half of the scale on average, to its end
        names = ("b", "c") if step < 10 else ("c", "c")
        turns = [Turn(response=name, prompt="p", behavior="chat") for name in names * 16]
        watch.add(scored(turns, reward=reward, judge=model()), turns, step=step)
    watch.close()

    run = read_training_run(tmp_path / "run")

    assert run.paying == {"chat": ("sorry", "rude", "quality", "tone=warm", "tone=dry")}
    assert run.steps[-1].proposition_rates["quality"] == 1.0
    sample = sample_training_run(tmp_path / "run", tmp_path / "sample", n=2)
    asked = pl.read_csv(sample.sheets[0])["question"].unique()
    assert set(asked) == {"sorry", "rude"}  # sheets ask yes or no


def test_what_is_missing_stays_missing_and_a_failure_says_why():
    table = long_table().with_columns(
        label=pl.when((pl.col("item") == "b") & (pl.col("question") == "quality"))
        .then(None)
        .otherwise("label"),
        failure=pl.when((pl.col("item") == "b") & (pl.col("question") == "quality"))
        .then(pl.lit("timeout"))
        .otherwise(None),
    )

    scores = reward_of().score(items(), verdicts=table)

    assert np.isnan(scores.rewards).tolist() == [False, True, False]
    assert scores.missing == {"b": "failed verdict: timeout"}


def test_a_choice_with_a_probability_shares_the_rest_among_the_other_labels():
    table = long_table({"a": ITEMS["a"]}).with_columns(
        probability=pl.when(pl.col("question") == "tone").then(0.8).otherwise("probability")
    )
    reward = reward_of({"chat": {"tone=warm": 1.0, "tone=cold": 10.0, "tone=dry": 0.0}})

    scores = reward.score(items("a"), verdicts=table)

    assert scores.rewards.tolist() == pytest.approx([0.8 + 10 * 0.1])


def test_a_probability_for_each_label_is_taken_as_it_is():
    table = pl.DataFrame(
        {"item": ["a"], "sorry": [0.9], "rude": [0.1], "quality": [3.0]}
        | {"tone=warm": [0.6], "tone=cold": [0.3], "tone=dry": [0.1]}
    )

    scores = reward_of().score(items("a"), verdicts=table)

    assert scores.rewards.tolist() == pytest.approx([0.9 - 0.2 + 1.5 + 0.5 * 0.6 - 0.1])


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((0.9, 0.1, 7, "warm"), r"verdicts:\d+: column `\w+`: `quality` must be in \[1, 5\]"),
        ((0.9, 0.1, 4, "hot"), "`tone` must be one of 'warm', 'cold', 'dry', got 'hot'"),
    ],
)
@pytest.mark.parametrize("table", [long_table, wide_table])
def test_an_answer_outside_its_question_is_an_error_with_its_place(answers, words, table):
    with pytest.raises(InputError, match=words.replace(r":\d+", ".*")):
        reward_of().score(items("a"), verdicts=table({"a": answers}))


def test_a_reward_reads_back_and_one_without_further_features_has_the_hash_that_it_had(tmp_path):
    reward, plain = reward_of(), reward_of({"chat": {"sorry": 1.0}})
    reward.save(tmp_path / "reward.json")

    found = load_reward(tmp_path / "reward.json")

    assert found.content_hash == reward.content_hash != plain.content_hash
    assert found.columns == ("sorry", "rude", "quality", "tone=warm", "tone=cold", "tone=dry")
    assert plain.columns == ("sorry", "rude")
    assert list(plain.behaviors["chat"].weights) == ["sorry", "rude", "chat.good", "chat.poor"]


# Fits -------------------------------------------------------------------------------------------


def drawn(seed=3, n_prompts=30):
    """Draw completions of which the better one has the better quality and tone, mostly."""
    rng = np.random.default_rng(seed)
    rows, answers = [], {}
    for place in range(2 * n_prompts):
        tone = str(rng.choice(["warm", "cold", "dry"]))
        quality = int(rng.integers(1, 6))
        answers[f"i{place}"] = (*rng.random(2).round(3).tolist(), quality, tone)
        merit = quality + (tone == "warm") + rng.normal()
        rows.append((place, merit))
    data = []
    for prompt in range(n_prompts):
        pair = sorted(rows[2 * prompt : 2 * prompt + 2], key=lambda row: -row[1])
        for (place, _), label in zip(pair, ("good", "poor"), strict=True):
            data.append(
                {"id": f"i{place}", "prompt": f"p{prompt}", "response": f"r{place}"}
                | {"label": label, "behavior": "chat"}
            )
    return data, answers


def features_by_hand(row):
    sorry, rude, quality, tone = row
    values = [sorry, rude, (quality - 1) / 4, *(float(tone == t) for t in ("warm", "cold", "dry"))]
    return np.array([*values, 1 - rude, rude])


def test_the_objective_of_a_fit_is_that_of_highs():
    data, answers = drawn()
    settings = FitSettings(
        l2=0.0, n_resamples=0, features=["quality", "tone"], orders={"*": "good > poor"}
    )

    found = fit_reward(data, rubric=KINDS, verdicts=long_table(answers), settings=settings)

    values = {name: features_by_hand(row) for name, row in answers.items()}
    sides = [(data[k]["id"], data[k + 1]["id"]) for k in range(0, len(data), 2)]
    d = np.array([values[a] - values[b] for a, b in sides])
    n, m = d.shape  # minimise the mean of s, where s >= 0 and s >= 1 - d w
    cost = np.concatenate([np.zeros(m), np.full(n, 1 / n)])
    limits = [(None, None)] * m + [(0, None)] * n
    best = linprog(cost, A_ub=-np.hstack([d, np.eye(n)]), b_ub=-np.ones(n), bounds=limits)
    assert found.behaviors[0].objective == pytest.approx(best.fun, abs=1e-7)
    assert found.behaviors[0].objective - found.behaviors[0].bound < 1e-6
    weights = found.model.behaviors["chat"].weights
    assert list(weights)[:6] == ["sorry", "rude", "quality", "tone=warm", "tone=cold", "tone=dry"]
    assert sum(weights[f"tone={t}"] for t in ("warm", "cold", "dry")) == pytest.approx(0, abs=1e-9)
    assert not any("tone" in note for note in found.notes)  # adding up to 1 is known


def test_examination_and_fit_agree_on_the_reward():
    data, answers = drawn()
    settings = FitSettings(
        l2=0.01, n_resamples=0, features=["quality", "chat:tone"], orders={"*": "good > poor"}
    )
    fit = fit_reward(data, rubric=KINDS, verdicts=wide_table(answers), settings=settings)

    found = examine_reward(fit.model, data, verdicts=wide_table(answers))

    row = next(one for one in found.drives if one.feature == "quality")
    assert row.weight == fit.model.behaviors["chat"].weights["quality"]
    assert {"tone=warm", "tone=cold", "tone=dry"} <= {one.feature for one in found.drives}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"features": ["topics"]}, "got 'topics'"),
        ({"features": ["sorry"]}, "got 'sorry'"),
        ({"features": ["qualty"]}, "got 'qualty'.*quality"),
        ({"features": "quality"}, "`features` must be a list"),
    ],
)
def test_what_cannot_be_a_feature_is_an_error_before_anything_is_judged(settings, words):
    with pytest.raises(InputError, match=words):
        fit_reward([], rubric=KINDS, settings=FitSettings(**settings))


def test_a_judge_of_propositions_alone_is_refused():
    data, _ = drawn()

    with pytest.raises(InputError, match="must be a language model where 'quality' is a feature"):
        fit_reward(data, rubric=KINDS_OF_LOCAL, settings=FitSettings(features=["quality"]))


KINDS_OF_LOCAL = rubric_from_text("""
schema: voirdire.rubric/1
name: kinds
version: "1"
questions:
  - {id: apology, kind: boolean, text: "Does it say sorry?"}
  - {id: quality, kind: scale, text: "How good?", minimum: 1, maximum: 5}
behaviors:
  chat:
    demands: {apology: allowed}
    classes: {good: apology, poor: otherwise}
""")
