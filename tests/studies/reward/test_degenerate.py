"""Nonsense beside real responses: what outranks them is caught, and nothing else is."""

import csv
import dataclasses

import pytest

from studies.reward.small_reward import items_of, judged_of
from voirdire import judge as judge_items
from voirdire import load_rubric
from voirdire.errors import InputError
from voirdire.judging import ScriptedJudge
from voirdire.rewards import reward_of_weights
from voirdire.studies import examine_reward

SAFETY = load_rubric("safety")
PROMPTS = (
    ("How do I bake bread?", ("Step 1: mix. Step 2: bake it for an hour.", "No idea.")),
    ("Is rye healthy?", ("Step 1: I'm sorry to say that it depends. Step 2: eat.", "Who knows.")),
)
ROWS = [
    {"prompt": prompt, "response": text, "behavior": "comply", "label": label}
    for prompt, texts in PROMPTS
    for text, label in zip(texts, ("ideal", "unacceptable"), strict=True)
]


def _answer(item):
    """Find an apology in sorry and in a question, and an answer where a response begins so."""
    said = dict.fromkeys(SAFETY.propositions, 0.0)
    said["apology"] = float("sorry" in item.response or "?" in item.response)
    said["fully_complies"] = float(item.response.startswith("Step 1"))
    return list(said.values())


JUDGE = ScriptedJudge(questions=SAFETY.propositions, answer=_answer)


def _reward(**comply):
    return reward_of_weights({"comply": comply}, rubric=SAFETY, judge=None)


def _examined(reward, rows=ROWS, *, judge=JUDGE, **settings):
    return examine_reward(reward, rows, judge=judge, **{"n_resamples": 0} | settings)


def _by_kind(found):
    return {row.kind: row for row in found.degenerate}


def _codes(found):
    return {row.code for row in found.notes}


def test_a_reward_that_pays_for_apologies_on_a_comply_prompt_is_caught():
    # Real rewards: 1 and 0 on the first prompt; 3 + 1 and 0 on the second, whose best response
    # apologises too. The prompt gets 3: more than 1, less than 4, and more than either median,
    # 1/2 and 2.
    found = _examined(_reward(apology=3.0, fully_complies=1.0))

    row = _by_kind(found)["echoed_prompt"]
    assert (row.behavior, row.n_prompts) == ("comply", 2)
    assert (row.mean_reward, row.mean_best, row.mean_median) == (3.0, 2.5, 1.25)
    assert (row.share_above_best, row.share_above_median) == (0.5, 1.0)
    [example] = row.examples
    assert (example.reward, example.best_reward) == (3.0, 1.0)
    assert example.prompt == "How do I bake bread?"
    assert example.response == "How do I bake bread?"
    assert example.best_response == PROMPTS[0][1][0]
    told = next(one for one in found.notes if one.code == "degenerate_outranks")
    assert "comply: the prompt itself (50% of 2)" in told.sentence
    assert "gets 3.00, and the best real response 1.00" in told.sentence
    assert "comply:echoed_prompt 50%" in told.figures["cases"]
    assert [one.kind for one in found.degenerate if one.share_above_best] == ["echoed_prompt"]


def test_a_reward_that_pays_for_answers_is_not():
    found = _examined(_reward(apology=-1.0, fully_complies=3.0))

    rows = _by_kind(found)
    # What is 3 of a real response stays 3 where its first sentence is repeated or stays first:
    # that ties. An empty response and the prompt get 0, which is no more than the median 3/2.
    assert {row.share_above_best for row in rows.values()} == {0.0}
    assert (rows["empty"].mean_reward, rows["empty"].share_above_median) == (0.0, 0.0)
    assert rows["echoed_prompt"].share_above_median == 0.0
    assert all(not row.examples for row in rows.values())
    assert not {"degenerate_outranks", "degenerate_not_judged"} & _codes(found)


def test_the_texts_are_in_the_language_of_the_prompt():
    rows = [
        {"prompt": "怎么烤面包？", "response": text, "behavior": "comply", "label": label}
        for text, label in (("先和面，再烤一个小时就好了。", "ideal"), ("不知道。", "unacceptable"))
    ]
    asked = []
    judge = ScriptedJudge(
        questions=SAFETY.propositions, answer=lambda item: asked.append(item) or _answer(item)
    )

    _examined(_reward(apology=1.0), rows, judge=judge)

    said = {item.id.partition("+")[2]: item.response for item in asked}
    assert said["echoed_prompt"] == "怎么烤面包？"
    assert said["empty"] == ""
    assert sorted(said["shuffled_words"]) == sorted("先和面，再烤一个小时就好了。")


@pytest.mark.edges
@pytest.mark.parametrize("n_degenerate", [0, 1, 50])
def test_so_many_prompts_are_drawn_by_the_seed(n_degenerate):
    rows = [row | {"prompt": f"{row['prompt']} {k}"} for k in range(6) for row in ROWS]

    def drawn(seed):
        found = _examined(_reward(apology=3.0), rows, n_degenerate=n_degenerate, seed=seed)
        counts = {row.n_prompts for row in found.degenerate if row.kind == "empty"}
        return counts, [row.examples for row in found.degenerate]

    counts, examples = drawn(0)
    assert counts == ({min(n_degenerate, 12)} if n_degenerate else set())
    assert drawn(0) == (counts, examples)
    if n_degenerate == 1:
        assert any(drawn(seed)[1] != examples for seed in range(1, 9))
    with pytest.raises(InputError, match="`n_degenerate` must be"):
        _examined(_reward(apology=1.0), n_degenerate=-1)


def test_with_stored_verdicts_of_a_judge_that_is_away_it_is_said_that_nobody_looked(rubric):
    rows = [
        {"prompt": "a", "behavior": "comply", "label": label, "p": p}
        for label, p in (("ideal", [0, 0, 1, 0]), ("unacceptable", [0, 1, 0, 0]))
    ]
    reward = reward_of_weights({"comply": {"helps": 1}}, rubric=rubric, judge=None)
    verdicts = judged_of(rows, rubric.propositions)

    found = examine_reward(reward, items_of(rows), verdicts=verdicts, n_resamples=0)

    assert found.degenerate == ()
    assert "degenerate_not_judged" in _codes(found)
    quiet = examine_reward(reward, items_of(rows), verdicts=verdicts, n_resamples=0, n_degenerate=0)
    assert "degenerate_not_judged" not in _codes(quiet)


def test_stored_verdicts_of_the_local_judge_let_it_be_asked_again():
    reward = reward_of_weights({"comply": {"apology": 3, "fully_complies": 1}}, rubric=SAFETY)
    rows = [row | {"id": f"r{k}"} for k, row in enumerate(ROWS)]
    verdicts = judge_items(rows, rubric=SAFETY, judge="local")

    stored = examine_reward(reward, rows, verdicts=verdicts, n_resamples=0)
    other = dataclasses.replace(verdicts, probabilities=verdicts.probabilities / 2)
    of_another = examine_reward(reward, rows, verdicts=other, n_resamples=0)

    assert stored.degenerate == examine_reward(reward, rows, n_resamples=0).degenerate
    assert of_another.degenerate == ()
    assert "degenerate_not_judged" in _codes(of_another)


@pytest.mark.ci
def test_on_prompts_of_xstest_empty_responses_are_caught_and_a_sane_reward_pays_none(shared_dir):
    rows = []
    for model in ("gpt4", "mistralinstruct"):
        path = shared_dir / "data" / "xstest" / f"xstest_v2_completions_{model}_gpteval.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows += [
                {"prompt": row["prompt"], "response": row["completion"], "behavior": "comply"}
                for row in csv.DictReader(file)
                if not row["type"].startswith("contrast")
            ]
    weights = {
        "pays for nonsense": {"illogical_continuation": 3},
        "sane": {"fully_complies": 3, "illogical_continuation": -3, "inability_to_comply": -2},
    }

    found = {
        name: _by_kind(_examined(_local(comply), rows, judge=None))
        for name, comply in weights.items()
    }

    bad, sane = found["pays for nonsense"], found["sane"]
    assert bad["empty"].n_prompts == 50
    assert bad["empty"].share_above_best > 0.9
    assert sane["empty"].share_above_best == 0.0


def _local(comply):
    return reward_of_weights({"comply": comply}, rubric=SAFETY)
