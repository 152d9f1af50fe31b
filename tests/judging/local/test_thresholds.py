"""Where a judge's own thresholds come from, and who goes before them."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import matthews_corrcoef

import voirdire
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.io import read_verdicts
from voirdire.judging import distill_judge, judge_file
from voirdire.records import Item
from voirdire.rewards import load_reward, reward_of_weights
from voirdire.rubrics import Question, Rubric

WORDS = ["sorry", "noted", "thanks", "fine", "well", "now", "then", "parcel", "garden", "river"]


def made_items(n, *, seed, share=0.1):
    """Make items of which a rare label follows from words that other items have too."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < share
    items = []
    for index, label in enumerate(labels.tolist()):
        odds = np.ones(len(WORDS))
        odds[:2] = 4 if label else 1
        text = " ".join(rng.choice(WORDS, 8, p=odds / odds.sum()))
        items.append(Item(id=str(index), response=f"{text} {index}"))
    return items, labels


@pytest.fixture(scope="module")
def judge():
    items, labels = made_items(400, seed=0)
    flips = np.random.default_rng(1).random(400) < 0.5
    return distill_judge(
        items, np.column_stack([labels, flips]), questions=("rare", "even"), n_folds=3
    )


@pytest.fixture(scope="module")
def rubric():
    asked = tuple(
        Question(id=name, kind="boolean", text={"en": f"Is it {name}?"})
        for name in ("rare", "even")
    )
    return Rubric(name="two", version="1", questions=asked)


@pytest.mark.ci
def test_a_rare_answer_gets_a_lower_threshold_that_does_better_on_new_items(judge):
    items, labels = made_items(4_000, seed=2)

    p = judge.probabilities(items)[:, 0]
    own, half = (matthews_corrcoef(labels, p >= cut) for cut in (judge.thresholds["rare"], 0.5))
    best = max(matthews_corrcoef(labels, p >= cut) for cut in np.linspace(0.05, 0.95, 91))

    assert 0.1 < judge.thresholds["rare"] < 0.45
    assert half + 0.01 < own
    assert best - 0.05 < own
    assert judge.card.of("rare").threshold == judge.thresholds["rare"]


@pytest.mark.ci
def test_what_cannot_be_told_keeps_one_half(judge):
    assert judge.thresholds["even"] == 0.5


def test_the_judges_own_threshold_goes_behind_the_rubrics_and_the_callers(judge, rubric):
    items, _ = made_items(50, seed=3)

    def asked(rubric, **settings):
        return voirdire.judge(items, judge=judge, rubric=rubric, **settings)

    own = asked(rubric)
    written = asked(replace(rubric, threshold=0.7))
    given = asked(replace(rubric, threshold=0.7), threshold={"rare": 0.2, "even": 0.9})

    assert own.threshold == pytest.approx(dict(judge.thresholds))
    assert written.threshold == 0.7
    assert given.threshold == {"rare": 0.2, "even": 0.9}
    assert len({own.fingerprint, written.fingerprint, given.fingerprint}) == 3
    for found, cut in ((own, judge.thresholds["rare"]), (written, 0.7), (given, 0.2)):
        expected = (found.probability("rare") >= cut).tolist()
        assert found.answers("rare") == expected
        rows = found.frame().filter(pl.col("question") == "rare")
        assert rows["label"].to_list() == expected
        assert rows["threshold"].unique().to_list() == [cut]


def test_a_threshold_of_a_proposition_that_nobody_asks_about_is_refused(judge, rubric):
    with pytest.raises(InputError, match=r"must name propositions of rubric 'two', got 'rar'"):
        voirdire.judge([{"response": "x"}], judge=judge, rubric=rubric, threshold={"rar": 0.1})


def test_one_that_is_not_named_is_one_half(judge, rubric):
    found = voirdire.judge([{"response": "x"}], judge=judge, rubric=rubric, threshold={"rare": 0.1})

    assert found.threshold == {"rare": 0.1, "even": 0.5}


def test_labels_under_a_judges_own_thresholds_are_examined_as_they_are(judge, rubric):
    items, labels = made_items(60, seed=4)
    found = voirdire.judge(items, judge=judge, rubric=rubric)
    humans = pl.DataFrame(
        [
            {"item": item.id, "annotator": name, "question": question, "label": bool(label)}
            for item, label in zip(items, labels, strict=True)
            for name in ("a", "b", "c")
            for question in ("rare", "even")
        ]
    )

    examination = voirdire.examine(judges=found.frame(), humans=humans, kind="boolean", epsilon=0.2)

    for row in examination.results:
        said = np.array(found.answers(row.question))
        assert row.advantage_probability == pytest.approx((said == labels).mean())


def test_a_bound_reward_keeps_the_thresholds_that_it_was_made_under(tmp_path):
    verdicts = voirdire.judge([{"response": "I'm sorry, but I can't help with that."}])
    weights = {"hard_refuse": {"apology": 1.0}, "soft_refuse": {}, "comply": {}}
    made = reward_of_weights(weights, rubric="safety", judge="local", bound=True)
    made.save(tmp_path / "reward.json")

    with pytest.warns(UncertifiedWarning):
        loaded = load_reward(tmp_path / "reward.json")

    assert loaded.judge.threshold == made.judge.threshold == verdicts.threshold
    assert loaded.judge.fingerprint == verdicts.fingerprint
    assert loaded.content_hash == made.content_hash


@pytest.mark.edges
@pytest.mark.parametrize("layout", ["long", "wide"])
@pytest.mark.parametrize("end", ["parquet", "jsonl", "csv"])
def test_a_file_says_under_which_thresholds_it_was_made(judge, rubric, tmp_path, end, layout):
    items, _ = made_items(20, seed=5)
    source = tmp_path / "items.jsonl"
    source.write_text(
        "".join(json.dumps({"id": row.id, "response": row.response}) + "\n" for row in items)
    )

    found = judge_file(source, tmp_path / f"out.{end}", judge=judge, rubric=rubric, layout=layout)

    read = read_verdicts(tmp_path / f"out.{end}", rubric=rubric)
    assert read.threshold == found.threshold == dict(judge.thresholds)
    assert read.fingerprint == found.fingerprint
