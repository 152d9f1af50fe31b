"""Criteria as a reward: one score through files, folders, trainers and the server."""

import asyncio
import json
import pickle
import random

import polars as pl
import pytest

import voirdire
from voirdire.adapters import reward_function
from voirdire.adapters.openrlhf import OpenRlhfReward
from voirdire.adapters.trl import TrlReward
from voirdire.adapters.verl import close_rewards, compute_score_sync
from voirdire.errors import InputError
from voirdire.judging import LlmJudge, judge_file
from voirdire.models import Capabilities
from voirdire.records import Criterion, Item, Reply
from voirdire.rewards import (
    LiveReward,
    Turn,
    load_reward,
    read_training_run,
    reward_of_criteria,
    score_criteria,
    score_file,
    score_folder,
    score_run,
)
from voirdire.studies import examine_reward
from web.in_process import begun

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.errors.UncertifiedWarning")


class Model:
    """A model whose answer about a criterion depends on that and on the response alone."""

    name, settings, capabilities = "model", {}, Capabilities()

    def __init__(self, *, refuses="never", seed=0):
        self.n_calls, self.refuses, self.seed = 0, refuses, seed

    async def reply(self, request):
        self.n_calls += 1
        asked, shown = request.messages[0].content, request.messages[-1].content
        if self.refuses in shown + asked:
            return Reply(text="I will not.", model="m")
        number = shown.partition("pill ")[2].partition(".")[0]
        said = {}
        for key in json.loads(request.schema)["properties"]:
            text = asked.partition(f'"{key}": ')[2].partition("\n")[2].partition("\n")[0]
            text = text.partition(': "')[2].removesuffix('"')
            said[key] = chance_of(text, number, seed=self.seed)
        return Reply(text=json.dumps(said), model="m")

    async def close(self):
        pass


def chance_of(text, number, *, seed=0):
    return round(random.Random(f"{seed}/{text}/{number}").random(), 3)


def judge_of(**about):
    return LlmJudge(model=Model(**about), probability="stated", concurrency=4)


def made_rows(n_items=6):
    rng = random.Random(1)
    return [
        {
            "id": f"r{i}", "prompt": f"How much of {i % 2}?", "response": f"Take pill {i}.",
            "criteria": [
                {"criterion": f"Says fact {i % 2}-{k}", "points": rng.choice([5, 3, 1]),
                 "tags": ["tone" if k else "facts"]}
                for k in range(3)
            ] + [{"criterion": "Sells drugs", "points": -14, "tags": ["facts"]}],
        }
        for i in range(n_items)
    ]  # fmt: skip


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def made(tmp_path):
    """Give rows, the reward of them, and what their scores are by `score_criteria`."""
    rows = made_rows()
    path = write(tmp_path / "items.jsonl", rows)
    reward = reward_of_criteria(path, judge=judge_of())
    verdicts = tmp_path / "v.parquet"
    judge_file(path, verdicts, judge=judge_of(), rubric="criteria", store=False)
    score_criteria(path, tmp_path / "s.parquet", verdicts=verdicts)
    scores = pl.read_parquet(tmp_path / "s.parquet")
    return rows, reward, scores["expected_score"].to_list()


def turns_of(rows):
    names = ("prompt", "response", "criteria")
    return [Turn(**{name: row[name] for name in names}) for row in rows]


async def scored_live(reward, judge, turns):
    live = LiveReward(reward, judge=judge)
    await live.start()
    found = [await live.turn_rewards(turns), await live.turn_rewards(turns)]
    await live.close()
    return found


def test_files_folders_and_trainers_give_the_same_score(tmp_path, made):
    rows, reward, expected = made
    judge, items = judge_of(), tmp_path / "items.jsonl"
    reward.save(tmp_path / "r.json")
    loaded = load_reward(tmp_path / "r.json")
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.jsonl", rows)

    stored = {"reward": loaded, "verdicts": tmp_path / "v.parquet"}
    by_verdicts = score_file(items, tmp_path / "f.parquet", **stored)
    score_file(items, tmp_path / "g.parquet", reward=loaded, judge=judge, store=tmp_path / "s.db")
    score_folder(tmp_path / "in", tmp_path / "out", **stored)
    [part] = (tmp_path / "out").glob("*.parquet")
    live = asyncio.run(scored_live(loaded, judge, turns_of(rows)))
    plain = reward_function(loaded, judge=judge)
    by_function = plain(
        [row["prompt"] for row in rows],
        [row["response"] for row in rows],
        criteria=[row["criteria"] for row in rows],
    )
    plain.close()
    openrlhf = OpenRlhfReward(loaded, judge=judge, missing_reward=0.0)
    asked = [row["prompt"] for row in rows]
    by_openrlhf = openrlhf(
        [row["prompt"] + row["response"] for row in rows],
        asked,
        [json.dumps({"criteria": row["criteria"]}) for row in rows],
    )
    openrlhf.close()
    about = {"reward": str(tmp_path / "r.json"), "judge": judge, "missing_reward": 0.0}
    by_verl = [
        compute_score_sync(
            solution_str=row["response"],
            extra_info={"prompt": row["prompt"], "rubrics": row["criteria"]},
            **about,
        )
        for row in rows
    ]
    close_rewards()

    assert loaded.content_hash == reward.content_hash
    assert by_verdicts.n_scored == len(rows)
    for path in (tmp_path / "f.parquet", tmp_path / "g.parquet", part):
        assert pl.read_parquet(path)["reward"].to_list() == pytest.approx(expected)
    assert [found.rewards for found in live] == [pytest.approx(expected)] * 2
    assert live[1].n_remembered == len(rows)
    assert by_function == pytest.approx(expected)
    assert by_openrlhf["rewards"] == pytest.approx(expected)
    assert [row["score"] for row in by_verl] == pytest.approx(expected)
    assert set(by_verl[0]) == {"score", "missing", "rule_reward", "base_reward", "reward_mask",
                               "no_prompt"}  # fmt: skip


def test_trl_gets_the_same_score_and_the_record_has_every_tag_at_every_step(tmp_path, made):
    rows, reward, expected = made
    seen = []
    trained = TrlReward(reward, judge=judge_of(refuses="pill 1."), record=tmp_path / "run")

    class State:
        global_step = 0

    async def ask():
        for step in range(3):
            State.global_step = step
            columns = {"log_metric": lambda name, value: seen.append(name)}
            given = {name: [row[name] for row in rows] for name in ("criteria",)}
            rewards.append(
                await trained(
                    prompts=[row["prompt"] for row in rows],
                    completions=[row["response"] for row in rows],
                    trainer_state=State,
                    **columns,
                    **given,
                )
            )

    rewards = []
    asyncio.run(ask())
    trained.close()
    run = read_training_run(tmp_path / "run")

    right = [None if place == 1 else value for place, value in enumerate(expected)]
    assert rewards == [pytest.approx(right)] * 3
    assert run.propositions == ("score", "tag:facts", "tag:tone")
    assert [set(step.proposition_rates) for step in run.steps] == [set(run.propositions)] * 3
    mean = sum(x for x in right if x is not None) / 5
    assert run.steps[0].proposition_rates["score"] == pytest.approx(mean)
    assert run.steps[0].reward_mean == pytest.approx(mean)
    assert min(expected) < 0  # below 0 it stays what it is
    assert [step.n_missing for step in run.steps] == [1, 1, 1]
    names = {name.partition("/")[2] for name in seen}
    assert {"proposition/score", "proposition/tag:facts", "proposition/tag:tone"} <= names
    again = score_run(tmp_path / "run", tmp_path / "again.parquet", reward=reward,
                      judge=judge_of(), store=tmp_path / "replies.db")  # fmt: skip
    assert again.n_scored == 18
    assert sorted(pl.read_parquet(tmp_path / "again.parquet")["reward"].to_list()) == (
        pytest.approx(sorted(expected * 3))
    )


def test_the_server_gives_the_same_score(made):
    rows, reward, expected = made

    async def ask():
        async with begun(judge_of(), reward=reward) as app:
            told = [{x: row[x] for x in ("id", "prompt", "response", "criteria")} for row in rows]
            told.append({"response": "Take pill 9."})
            answer = await app.post(told, verdicts=True)
            return answer.json, await app.figures()

    answer, figures = asyncio.run(ask())

    assert answer["rewards"] == [*map(pytest.approx, expected), None]
    assert answer["missing"] == [None] * 6 + ["failed verdict: no criteria"]
    assert answer["probabilities"]["propositions"] == ["score", "tag:facts", "tag:tone"]
    assert figures["voirdire_rewards_missing_total", "failed_verdict"] == 1


def test_an_item_that_lacks_an_answer_on_a_paying_criterion_has_no_reward(tmp_path):
    filler = [{"text": f"part {n}", "points": 0} for n in range(49)]
    rows = [
        {"id": name, "prompt": "?", "response": "x", "criteria": [
            {"text": "one", "points": 1}, *filler, {"text": "lost", "points": points}]}
        for name, points in (("pays", 1), ("watched", 0))
    ]  # fmt: skip
    path = write(tmp_path / "a.jsonl", rows)
    reward = reward_of_criteria(path, judge=judge_of())

    found = reward.score(rows, judge=judge_of(refuses='"lost"'), store=tmp_path / "s.db")

    assert str(found.rewards[0]) == "nan"
    assert found.missing["pays"].startswith("failed verdict: ")
    assert found.rewards[1] == pytest.approx(chance_of("one", ""))


def test_equal_criteria_in_another_order_keep_their_own_answers(tmp_path):
    texts = [f"Says fact {k}" for k in range(5)]
    items = [
        Item(id=name, prompt=(), response="pill 1.",
             criteria=tuple(Criterion(text=text) for text in order))
        for name, order in (("a", texts), ("b", texts[::-1]), ("c", texts[2:] + texts[:2]))
    ]  # fmt: skip
    judge = judge_of()
    reward = reward_of_criteria(write(tmp_path / "a.jsonl", [{"criteria": texts}]), judge=judge)

    async def ask():
        live = LiveReward(reward, judge=judge)
        await live.start()
        found = [(await live.judge.ask(items)).judged for _ in range(2)]
        await live.close()
        return found

    verdicts = [*asyncio.run(ask()), voirdire.judge(items, judge=judge, rubric="criteria")]

    assert judge.model.n_calls == 2  # one live, one in the run
    for each in verdicts:
        chances = dict(zip(each.items, each.probability("is_met").tolist(), strict=True))
        assert chances == {
            f"{item.id}:{row.key}": chance_of(row.text, "1")
            for item in items
            for row in item.criteria
        }


def test_signs_are_settled_before_training_and_watched_in_it(tmp_path):
    avoids = {"criterion": "Avoids naming a dose", "points": -5}
    good = {"criterion": "Asks for the weight", "points": 5}
    path = write(tmp_path / "a.jsonl", [{"criteria": [good, avoids]}])
    with pytest.raises(InputError, match="must say what negative points mean"):
        reward_of_criteria(path, judge=judge_of())
    said = reward_of_criteria(path, judge=judge_of(), negative="met_is_good")
    silent = reward_of_criteria(write(tmp_path / "b.jsonl", [{"criteria": [good]}]),
                                judge=judge_of())  # fmt: skip
    rows = [{"id": "1", "prompt": "?", "response": "x", "criteria": [good, avoids]}]

    p = [chance_of(row["criterion"], "") for row in (good, avoids)]
    assert said.score(rows, judge=judge_of(), store=False).rewards[0] == pytest.approx(sum(p) / 2)
    assert "says what is avoided" in silent.score(rows, judge=judge_of(), store=False).missing["1"]


def test_criteria_that_cannot_be_read_are_a_missing_reward(made):
    _, reward, _ = made
    told = ["Says when", [{"points": 3}], [], None, [{"text": "a", "points": 0}], [object()]]
    turns = [Turn(response="x", prompt="?", criteria=each) for each in told]

    found = asyncio.run(scored_live(reward, judge_of(), turns))[0]

    assert found.rewards == [None] * len(told)
    assert set(found.scores.missing.values()) == {
        "failed verdict: the criteria cannot be read", "failed verdict: no criteria",
        "no positive points",
    }  # fmt: skip


def test_the_reward_pays_nothing_else_and_tells_its_form(tmp_path, made):
    _, reward, _ = made
    reward.save(tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["criteria"] == {"negative": None, "must": None, "clip": False,
                                "tags": ["facts", "tone"]}  # fmt: skip
    told["behaviors"]["criteria"]["weights"]["score"] = 2.0
    (tmp_path / "r.json").write_text(json.dumps(told))

    with pytest.raises(InputError, match="which pays the score by criteria"):
        load_reward(tmp_path / "r.json")
    with pytest.raises(InputError, match="one language model"):
        reward_of_criteria(tmp_path / "items.jsonl", judge="local")
    assert pickle.loads(pickle.dumps(reward)).content_hash == reward.content_hash


def test_the_reward_is_examined_on_comparisons_like_any_other(tmp_path, made):
    rows, reward, expected = made
    pairs = [(0, 2), (4, 2), (1, 3)]
    better = [
        rows[a] | {"id": f"{a}-{b}", "chosen": rows[a]["response"], "rejected": rows[b]["response"]}
        for a, b in pairs
    ]
    for row in better:
        del row["response"]

    found = examine_reward(reward, better, judge=judge_of(), bench=better, store=False,
                           n_resamples=0, n_nonsense=2)  # fmt: skip

    wrong = sum(expected[a] < expected[b] for a, b in pairs) / 3
    assert found.n_comparisons == 3
    assert found.error_rates[0].rate.value == pytest.approx(wrong)
    assert found.bench[0].accuracy.value == pytest.approx(1 - wrong)
    assert [(row.feature, row.weight, row.share) for row in found.drives] == [("score", 1.0, 1.0)]
    assert {"templates"} <= {row.kind for row in found.nonsense}
    assert "nonsense_without_search" in {note.code for note in found.notes}
