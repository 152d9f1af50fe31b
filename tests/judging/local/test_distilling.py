"""Judges made from labels, on texts whose truth is known."""

import json
import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, matthews_corrcoef, roc_auc_score

from voirdire.errors import InputError
from voirdire.judging import JudgeCard, TrainingData, distill_judge
from voirdire.judging.local.calibrating import held_out_probabilities
from voirdire.judging.local.fitting import fit_weights
from voirdire.judging.local.training_input import make_training_set
from voirdire.records import Item, Message

NOUNS = [
    *("parcel", "garden", "letter", "ticket", "engine"),
    *("kitchen", "river", "bottle", "window", "summer"),
]
QUESTIONS = ("apology", "asks", "never")


def made_items(n=120, seed=0):
    """Make items and labels: apology and question are in the text, one label never holds."""
    rng = np.random.default_rng(seed)
    items, labels = [], []
    for index in range(n):
        sorry, asks = rng.random(2) < 0.4
        nouns = rng.choice(NOUNS, 6)
        text = " ".join(nouns[:3]) + (". Sorry for that. " if sorry else ". Noted. ")
        text += " ".join(nouns[3:]) + ("?" if asks else ".")
        prompt = (Message(role="user", content=f"{nouns[0]} {index // 2} {rng.random()}"),)
        items.append(Item(id=str(index), prompt=prompt, response=text, group=f"g{index // 2}"))
        labels.append([sorry, asks, False])
    return items, np.array(labels, dtype=float)


@pytest.fixture(scope="module")
def judge():
    items, labels = made_items()
    return distill_judge(items, labels, questions=QUESTIONS, name="made")


@pytest.mark.ci
def test_a_judge_learns_what_the_texts_hold(judge):
    items, labels = made_items(n=60, seed=1)

    probabilities = judge.probabilities(items)

    assert ((probabilities[:, :2] >= 0.5) == labels[:, :2]).mean() > 0.97
    assert probabilities[:, 2].max() < 0.05
    assert judge.name == "made"
    assert judge.source == "classifier"
    assert judge.questions == QUESTIONS


def test_the_card_trusts_what_was_learned_and_not_what_never_held(judge):
    assert judge.card.trusted == ("apology", "asks")
    assert judge.card.untrusted == ("never",)
    figures = judge.card.of("never")
    assert figures.reason == "only 0 positives"
    assert math.isnan(figures.auc)
    assert figures.baseline_accuracy == 1
    assert "- `never`: only 0 positives" in judge.card.to_markdown()


@pytest.mark.ci
def test_the_figures_are_those_of_scikit_learn_on_held_out_scores(judge):
    items, labels = made_items()
    training = make_training_set(
        items, labels, questions=QUESTIONS, groups=None, weights=None, sources=None, about=()
    )
    scores = fit_weights(training, n_folds=5, seed=0, progress=None).scores
    held_out = held_out_probabilities(scores, training, method="platt", n_folds=5, seed=2)

    for column, question in enumerate(QUESTIONS[:2]):
        truth, p = labels[:, column] > 0, held_out[:, column]
        figures = judge.card.of(question)
        said = p >= 0.5
        assert figures.auc == pytest.approx(roc_auc_score(truth, scores[:, column]), abs=1e-4)
        assert figures.mcc == pytest.approx(matthews_corrcoef(truth, said), abs=1e-4)
        assert figures.brier == pytest.approx(brier_score_loss(truth, p), abs=1e-4)
        assert figures.sensitivity == pytest.approx(said[truth].mean(), abs=1e-4)
        assert figures.specificity == pytest.approx((~said[~truth]).mean(), abs=1e-4)
        assert figures.accuracy == pytest.approx((said == truth).mean(), abs=1e-4)
        assert figures.baseline_brier == pytest.approx(truth.mean() * (1 - truth.mean()), abs=1e-4)
        assert (figures.n_items, figures.n_positives) == (120, int(truth.sum()))


def test_labels_without_any_meaning_are_not_trusted():
    items, _ = made_items()
    noise = np.random.default_rng(3).random((len(items), 1)) < 0.4

    judge = distill_judge(items, noise, questions=["noise"], n_folds=4)

    assert judge.card.untrusted == ("noise",)
    assert judge.card.of("noise").auc < 0.7


@pytest.mark.ci
def test_the_same_labels_give_the_same_judge_and_others_another(judge):
    items, labels = made_items()
    flipped = labels.copy()
    flipped[0, 0] = 1 - flipped[0, 0]

    again = distill_judge(items, labels, questions=QUESTIONS, name="made")
    other = distill_judge(items, flipped, questions=QUESTIONS, name="made")

    assert again.fingerprint == judge.fingerprint
    assert again.card == judge.card
    assert other.fingerprint != judge.fingerprint


@pytest.mark.ci
def test_missing_labels_are_left_out_and_counted():
    items, labels = made_items()
    labels[::3, 0] = np.nan

    judge = distill_judge(items, labels, questions=QUESTIONS)

    assert judge.card.of("apology").n_items == 80
    assert judge.card.of("asks").n_items == 120
    assert judge.card.of("apology").auc > 0.95


def test_soft_labels_are_learned_as_probabilities():
    items, labels = made_items()
    soft = np.where(labels[:, :1] > 0, 0.9, 0.1)

    judge = distill_judge(items, soft, questions=["apology"])

    found = judge.probabilities(items)[:, 0]
    assert found[labels[:, 0] > 0].mean() == pytest.approx(0.9, abs=0.06)
    assert found[labels[:, 0] == 0].mean() == pytest.approx(0.1, abs=0.06)


@pytest.mark.ci
@pytest.mark.parametrize("method", ["platt", "temperature", "isotonic"])
def test_every_calibrator_gives_probabilities_and_another_fingerprint(judge, method):
    items, labels = made_items()

    made = distill_judge(items, labels, questions=QUESTIONS, calibrator=method, name="made")

    found = made.probabilities(items)
    assert ((found >= 0) & (found <= 1)).all()
    assert (made.fingerprint == judge.fingerprint) == (method == "platt")


def judge_with_extra_positives(*, calibrates):
    """200 items of one set, and 80 of another, all true, that only informs."""
    items, labels = made_items(n=200)
    extra = [Item(id=f"x{index}", response=f"Sorry about the {noun} {index}.")
             for index, noun in enumerate(NOUNS * 8)]  # fmt: skip
    told = TrainingData(
        name="extra", n_items=0, informs_only=True, calibrates=calibrates, licence="MIT"
    )
    return distill_judge(
        [*items, *extra],
        np.vstack([labels[:, :1], np.ones((80, 1))]),
        questions=["apology"],
        sources=["own"] * 200 + ["extra"] * 80,
        about=[told],
    )


@pytest.mark.ci
def test_sets_that_neither_count_nor_calibrate_do_not_move_the_base_rate():
    judge = judge_with_extra_positives(calibrates=False)

    plain = judge.probabilities([Item(id="n", response="river bottle. Noted. window summer.")])
    assert plain[0, 0] < 0.2
    assert [(row.name, row.n_items, row.informs_only) for row in judge.card.data] == [
        ("own", 200, False),
        ("extra", 80, True),
    ]
    assert judge.card.of("apology").data == "own"
    assert judge.card.of("apology", data="extra").n_positives == 80
    assert "extra: 80 items; informs only; MIT" in judge.card.to_markdown()


@pytest.mark.ci
def test_a_set_that_calibrates_moves_the_base_rate():
    sorry = Item(id="s", response="Sorry about the window 3.")

    quiet = judge_with_extra_positives(calibrates=False).probabilities([sorry])
    loud = judge_with_extra_positives(calibrates=True).probabilities([sorry])

    assert loud[0, 0] > quiet[0, 0]


def test_chinese_is_learned_from_its_characters():
    rng = np.random.default_rng(0)
    things = ["天气", "包裹", "花园", "车票", "厨房", "河流", "窗户", "夏天"]
    items, labels = [], []
    for index in range(80):
        sorry = rng.random() < 0.5
        text = "".join(rng.choice(things, 4)) + ("，万分惭愧。" if sorry else "，已经记下。")
        items.append(Item(id=str(index), response=text))
        labels.append([sorry])

    judge = distill_judge(items, labels, questions=["ashamed"])

    assert judge.card.languages == ("zh",)
    found = judge.probabilities([Item(id="a", response="夏天河流，万分惭愧。"),
                                 Item(id="b", response="夏天河流，已经记下。")])  # fmt: skip
    assert found[0, 0] > 0.8 > 0.2 > found[1, 0]


@pytest.mark.ci
def test_many_items_take_the_way_of_large_sets(monkeypatch, judge):
    monkeypatch.setattr("voirdire.judging.local.fitting.MOST_PAIRED", 50)
    items, labels = made_items()
    labels[:5, 0] = 0.7  # Five soft labels, true or not: at most 5 of 46 positives look wrong.

    large = distill_judge(items, labels, questions=QUESTIONS)

    assert large.card.of("apology").auc > 0.9
    found = large.probabilities(items)
    assert ((found[5:, :2] >= 0.5) == labels[5:, :2]).mean() > 0.95
    assert large.card.untrusted == ("never",)


def test_beyond_a_number_of_items_nothing_is_chosen(monkeypatch):
    monkeypatch.setattr("voirdire.judging.local.fitting.MOST_CHOOSING", 50)
    items, labels = made_items()

    judge = distill_judge(items, labels, questions=QUESTIONS)

    assert set(judge.card.features.values()) == {"all"}
    assert judge.card.of("apology").auc > 0.95


def test_progress_counts_the_folds():
    items, labels = made_items(n=60)
    seen = []

    distill_judge(
        items, labels, questions=QUESTIONS, n_folds=3,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip

    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_card_reads_back_from_its_json(judge):
    text = json.dumps(judge.card.to_dict(), allow_nan=False)

    again = JudgeCard.from_dict(json.loads(text))

    assert again.to_dict() == judge.card.to_dict()
    assert again.trusted == judge.card.trusted


@pytest.mark.parametrize("broken", [{}, {"schema": "voirdire.judge-card/9"}, []])
def test_a_broken_card_is_an_error(broken):
    with pytest.raises(InputError, match=r"voirdire\.judge-card/1"):
        JudgeCard.from_dict(broken)


def test_a_question_without_figures_is_an_error(judge):
    with pytest.raises(InputError, match="`question` must have figures on the card, got 'other'"):
        judge.card.of("other")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [[0.0], [1.0]]}, "`labels` must have one row per item"),
        ({"labels": "labels"}, "`labels` must be truth values or probabilities"),
        ({"labels": np.full((120, 3), 2.0)}, r"`labels` must be in \[0, 1\] or nan, got 2.0"),
        ({"labels": np.full((120, 3), np.nan)}, "got none of 'apology'"),
        ({"questions": ("a", "a", "b")}, "`questions` must be different from each other"),
        ({"groups": [1]}, "`groups` must have one entry per item, got 1 for 120"),
        ({"sources": ["x"]}, "`sources` must have one entry per item"),
        ({"groups": ["one"] * 120}, "`groups` must be at least as many as folds"),
        ({"weights": np.zeros(120)}, "`weights` must be 120 finite numbers above 0"),
        ({"n_folds": 2}, "`n_folds` must be a whole number of at least 3"),
        ({"calibrator": "beta"}, "`calibrator` must be one of 'platt'"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(change, message):
    items, labels = made_items()
    given = {"labels": labels, "questions": QUESTIONS, **change}

    with pytest.raises(InputError, match=message):
        distill_judge(items, **given)
