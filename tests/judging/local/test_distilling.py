"""Judges made from labels, on texts whose truth is known."""

import json
import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, matthews_corrcoef, roc_auc_score

from voirdire.errors import InputError
from voirdire.judging import JudgeCard, TrainingData, distill_judge
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


def made_judge(items, labels, **settings):
    return distill_judge(items, labels, questions=QUESTIONS, name="made", n_folds=3, **settings)


@pytest.fixture(scope="module")
def judge():
    return made_judge(*made_items(n=60))


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
def test_figures_of_a_small_set_are_those_of_items_that_it_never_saw():
    check_figures(n_items=240, tolerance=0.12)


@pytest.mark.ci
def test_figures_of_a_large_set_are_those_of_items_that_it_never_saw():
    check_figures(n_items=4_001, tolerance=0.05)


def check_figures(*, n_items, tolerance):
    """Compare the card with scikit-learn on fresh items of one kind; a fifth are mislabelled."""
    items, labels = mislabelled(n_items, seed=0)
    fresh, truths = mislabelled(3_000, seed=1)

    judge = distill_judge(items, labels, questions=("apology", "asks"))

    for column, question in enumerate(judge.questions):
        truth, figures = truths[:, column] > 0, judge.card.of(question)
        p = judge.probabilities(fresh)[:, column]
        said, share = p >= figures.threshold, labels[:, column].mean()
        found = [figures.auc, figures.mcc, figures.brier, figures.accuracy]
        assert found == pytest.approx(
            [
                roc_auc_score(truth, p),
                matthews_corrcoef(truth, said),
                brier_score_loss(truth, p),
                (said == truth).mean(),
            ],
            abs=tolerance,
        )
        assert figures.auc_low < figures.auc < figures.auc_high
        assert figures.sensitivity == pytest.approx(said[truth].mean(), abs=tolerance)
        assert figures.specificity == pytest.approx((~said[~truth]).mean(), abs=tolerance)
        # what follows from the labels alone, and from the other figures
        assert (figures.n_items, figures.n_positives) == (n_items, labels[:, column].sum())
        assert figures.baseline_brier == pytest.approx(share * (1 - share), abs=1e-4)
        assert figures.baseline_accuracy == pytest.approx(max(share, 1 - share), abs=1e-4)
        assert figures.accuracy == pytest.approx(
            share * figures.sensitivity + (1 - share) * figures.specificity, abs=1e-3
        )


def mislabelled(n_items, *, seed):
    items, labels = made_items(n_items, seed=seed)
    wrong = np.random.default_rng(100 + seed).random((n_items, 2)) < 0.2
    return items, np.where(wrong, 1 - labels[:, :2], labels[:, :2])


CUED = ("repeats", "early", "asks_often", "lists", "calls", "empty")


def cued_items(n_items=240):
    """Make items whose labels follow from form, place and overlap, and not from single words."""
    rng = np.random.default_rng(0)
    items, labels = [], []
    for index in range(n_items):
        repeats, early, often, lists, calls = rng.random(5) < 0.4
        names = ["".join(rng.choice(list("bdfgklmnprstaeiou"), 8)) for _ in range(6)]
        filler = [str(noun) for noun in rng.choice(NOUNS, 50)]
        filler.insert(2 if early else 47, "sorry")
        parts = [" ".join(filler), *(names[:3] if repeats else names[3:])]
        parts += ["really?"] * (5 if often else 1)
        lines = "\n".join(f"- {noun}" for noun in rng.choice(NOUNS, 4)) if lists else "- end"
        number = str(rng.integers(10_000, 99_999) if calls else rng.integers(10, 99))
        text = f"{' '.join(parts)} {number}\n{lines}"
        empty = rng.random() < 0.15
        prompt = (Message(role="user", content=" ".join(names[:3])),)
        items.append(Item(id=str(index), prompt=prompt, response="" if empty else text))
        told = [row and not empty for row in (repeats, early, often, lists, calls)]
        labels.append([*told, empty])
    return items, np.array(labels, dtype=float)


@pytest.mark.ci
def test_form_place_and_overlap_are_learned_where_no_word_tells():
    items, labels = cued_items()

    judge = distill_judge(items, labels, questions=CUED, n_folds=3)

    assert judge.card.trusted == CUED
    assert {name: judge.card.of(name).auc > 0.9 for name in CUED} == dict.fromkeys(CUED, True)


def test_labels_without_any_meaning_are_not_trusted():
    items, _ = made_items()
    noise = np.random.default_rng(3).random((len(items), 1)) < 0.4

    judge = distill_judge(items, noise, questions=["noise"], n_folds=4)

    assert judge.card.untrusted == ("noise",)
    assert judge.card.of("noise").auc < 0.7


def test_probabilities_of_a_card_were_calibrated_without_the_items_they_are_of():
    items, _ = made_items(n=60)
    noise = np.random.default_rng(3).random((len(items), 1)) < 0.4

    figures = distill_judge(items, noise, questions=["noise"], n_folds=15).card.of("noise")

    # Of labels without any meaning, a share of the *other* items is never a better guess than
    # their own share; calibrators of the four items of a fold would come to .18.
    assert figures.baseline_brier == pytest.approx(noise.mean() * (1 - noise.mean()), abs=1e-4)
    assert figures.brier >= figures.baseline_brier


@pytest.mark.ci
def test_the_same_labels_give_the_same_judge_and_others_another(judge):
    items, labels = made_items(n=60)
    flipped = labels.copy()
    flipped[0, 0] = 1 - flipped[0, 0]

    again, other = made_judge(items, labels), made_judge(items, flipped)

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


def test_a_question_whose_labels_are_all_in_one_group_gets_about_one_half_without_them():
    items, labels = made_items(n=60)
    labels[2:, 2], labels[:2, 2] = np.nan, 1

    judge = made_judge(items, labels)

    assert judge.card.doubts("never") == ("only 2 positives",)
    assert judge.card.of("never").brier == pytest.approx(0.25)
    assert judge.probabilities(items)[:, 2] == pytest.approx(5 / 6)  # (2 + 1/2) / (2 + 1)


def test_soft_labels_are_learned_as_probabilities():
    items, labels = made_items()
    soft = np.where(labels[:, :1] > 0, 0.9, 0.1)

    judge = distill_judge(items, soft, questions=["apology"])

    found = judge.probabilities(items)[:, 0]
    assert found[labels[:, 0] > 0].mean() == pytest.approx(0.9, abs=0.06)
    assert found[labels[:, 0] == 0].mean() == pytest.approx(0.1, abs=0.06)


@pytest.mark.ci
@pytest.mark.parametrize("method", ["platt", "temperature"])
def test_every_calibrator_gives_probabilities_and_another_fingerprint(judge, method):
    items, labels = made_items(n=60)

    made = made_judge(items, labels, calibrator=method)

    found = made.probabilities(items)
    assert ((found >= 0) & (found <= 1)).all()
    assert (made.fingerprint == judge.fingerprint) == (method == "platt")


def judge_with_extra_positives():
    """200 items of one set, and 80 of another, all true, that only informs."""
    items, labels = made_items(n=200)
    extra = [Item(id=f"x{index}", response=f"Sorry about the {noun} {index}.")
             for index, noun in enumerate(NOUNS * 8)]  # fmt: skip
    told = TrainingData(name="extra", n_items=0, informs_only=True, calibrates=False, licence="MIT")
    return distill_judge(
        [*items, *extra],
        np.vstack([labels[:, :1], np.ones((80, 1))]),
        questions=["apology"],
        sources=["own"] * 200 + ["extra"] * 80,
        about=[told],
    )


@pytest.mark.ci
def test_sets_that_neither_count_nor_calibrate_do_not_move_the_base_rate():
    judge = judge_with_extra_positives()

    plain = judge.probabilities([Item(id="n", response="river bottle. Noted. window summer.")])
    assert plain[0, 0] < 0.2
    assert [(row.name, row.n_items, row.informs_only) for row in judge.card.data] == [
        ("own", 200, False),
        ("extra", 80, True),
    ]
    assert judge.card.of("apology").data == "own"
    assert judge.card.of("apology", data="extra").n_positives == 80
    assert "extra: 80 items; informs only; MIT" in judge.card.to_markdown()


@pytest.mark.parametrize(("calibrates", "share"), [(True, 0.5), (False, 0.3)])
def test_sets_that_calibrate_count_alike_whatever_their_size(calibrates, share):
    # Texts that tell nothing: 160 of which 3 in 10 are true, and 40 of which 7 in 10 are. What is
    # left is the mean of the shares, or the share of the one set that calibrates.
    rng = np.random.default_rng(0)
    items = [Item(id=str(n), response=" ".join(rng.choice(NOUNS, 5))) for n in range(200)]
    labels = [[n % 10 < (3 if n < 160 else 7)] for n in range(200)]

    judge = distill_judge(
        items,
        labels,
        questions=["chance"],
        sources=["large"] * 160 + ["small"] * 40,
        about=[TrainingData(name="small", n_items=0, calibrates=calibrates)],
        n_folds=3,
    )

    assert judge.probabilities(items).mean() == pytest.approx(share, abs=0.05)


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


@pytest.mark.edges
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [[0.0], [1.0]]}, "`labels` must have one row per item"),
        ({"labels": "labels"}, "`labels` must be truth values or probabilities"),
        ({"labels": np.full((120, 3), 2.0)}, r"`labels` must be in \[0, 1\] or nan, got 2.0"),
        ({"labels": np.full((120, 3), np.nan)}, "got none for 'apology'"),
        ({"questions": ("a", "a", "b")}, "`questions` must be unique"),
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
