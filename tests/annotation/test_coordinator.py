"""What the coordinator sees of a study: people, closed items, and judges that are watched."""

import numpy as np
import polars as pl
import pytest

from annotation.studies_made import ALL_KINDS, YES_NO, make_items, start
from voirdire import studies
from voirdire.annotation import measure_study, open_study, read_judges, watch_study
from voirdire.errors import InputError, NoDataError
from voirdire.records import Criterion
from voirdire.rubrics import load_rubric, rubric_from_text
from voirdire.store import Answer, open_annotations

PEOPLE = ("ana", "ben", "chi")


@pytest.fixture
def store(tmp_path):
    with open_annotations(tmp_path / "study.db") as opened:
        yield opened


class Labeller:
    """Puts answers into a store, each later than the one before."""

    def __init__(self, store, study):
        self.store, self.study, self.at = store, study, 0.0

    def put(self, seat, item, value, *, question="polite", **more):
        self.at += 10.0
        made = {"seat": seat, "item": item, "question": question, "value": value, "at": self.at}
        row = Answer(uuid=f"u{self.at}", **made | more)
        self.store.insert([(self.study.key, row)])
        self.study.apply(row)


def label_all(store, study, *, n=None, error=0.1):
    """Have everybody answer the first items of the order; return the labels by item."""
    rng = np.random.default_rng(0)
    labeller = Labeller(store, study)
    labels = {}
    for item in study.order[:n]:
        truth = bool(rng.random() < 0.5)
        labels[item] = {}
        for seat, who in enumerate(PEOPLE):
            labels[item][who] = truth ^ bool(rng.random() < error)
            labeller.put(seat, item, labels[item][who])
    return labels, labeller


def test_judges_are_watched_on_the_closed_items_in_the_seeded_order(store, tmp_path):
    study, _ = start(store, 80)
    labels, _ = label_all(store, study, n=60)
    judge = {item: sum(row.values()) > 1 for item, row in labels.items()}
    rows = [{"item": item, "question": "polite", "m": x} for item, x in judge.items()]
    pl.DataFrame(rows).write_csv(tmp_path / "judge.csv")

    [found] = watch_study(study, read_judges(study, [tmp_path / "judge.csv"]))

    question = rubric_from_text(YES_NO).questions[0]
    plan = studies.WatchPlan.of(question, annotators=PEOPLE, n_items=80)
    assert found == studies.watch_judge("m", plan, labels=labels, answers=judge)
    assert found.result.passed


def test_an_item_counts_as_it_was_answered_when_it_closed(store):
    study, _ = start(store, 20)
    labels, labeller = label_all(store, study, n=12)
    first, second = study.order[:2]
    labeller.put(0, first, None, action="undo")  # after everybody had answered
    labeller.put(1, second, not labels[second]["ben"])
    labeller.put(2, study.order[12], True)  # two people are to come

    [found] = watch_study(study, {("polite", "m"): dict.fromkeys(study.order, True)})

    assert found.labels == labels
    assert study.closed_prefix() == study.order[:12]
    assert measure_study(study).n_closed == 12


def test_an_item_that_waits_for_somebody_who_left_is_closed(store):
    study, _ = start(store, 20)
    labeller = Labeller(store, study)
    for item in study.order[:3]:
        labeller.put(0, item, True)
        labeller.put(1, item, True)
    assert measure_study(study).n_closed == 0

    study.revoke("chi")

    assert measure_study(study).n_closed == 3
    [found] = watch_study(study, {("polite", "m"): dict.fromkeys(study.order, True)})
    assert found.labels[study.order[0]] == {"ana": True, "ben": True, "chi": None}
    assert found.plan.annotators == PEOPLE


def test_whoever_comes_later_is_no_seat_of_the_test(store):
    study, _ = start(store, 20)
    label_all(store, study, n=4)
    study.add_person("dan")

    [found] = watch_study(study, {("polite", "m"): dict.fromkeys(study.order, True)})

    assert found.plan.annotators == PEOPLE


def test_people_notes_and_repeats_are_measured_without_practice(store):
    practice = make_items(1, metadata={"practice": {"polite": True}})
    items = [*practice, *make_items(30)[1:]]
    study, _ = start(store, items=items)
    labels, labeller = label_all(store, study, n=10, error=0.0)
    item = study.order[0]
    labeller.put(0, practice[0].id, False)
    labeller.put(1, item, not labels[item]["ben"])
    labeller.put(1, item, "too short", action="note")
    labeller.put(0, item, labels[item]["ana"], turn=1)
    labeller.put(0, study.order[1], None, turn=1)

    found = measure_study(study)

    ana, ben, _ = found.people
    assert (ana.n_done, ana.n_assigned) == (10, 29)
    assert ana.own_repeats.estimate == 0.5
    assert ben.agreement.estimate == pytest.approx(9 / 10)
    assert [row.item for row in found.split] == [item]
    assert found.split[0].notes == {"ben": "too short"}
    assert found.split[0].text == study.items[item].response


def test_every_kind_of_question_is_watched_but_texts(store):
    study, _ = start(store, 30, rubric=ALL_KINDS)
    labeller = Labeller(store, study)
    said = {"polite": True, "tone": "warm", "parts": ["joke"], "quality": 4, "why": "so"}
    for item in study.order[:25]:
        for seat in range(3):
            for question, value in said.items():
                labeller.put(seat, item, value, question=question)
    forms = said | {"parts": frozenset(["joke"]), "quality": 4.0}
    answers = {(name, "m"): dict.fromkeys(study.order, forms[name]) for name in said}

    found = watch_study(study, answers)

    assert [row.question for row in found] == ["polite", "tone", "parts", "quality"]
    for row in found:
        assert row.labels[study.order[0]] == dict.fromkeys(PEOPLE, forms[row.question])
        assert row.result.combined_wealth > 1  # equal answers tie with everybody


def test_criteria_of_an_item_are_bet_on_together(store):
    criteria = tuple(Criterion(text=f"It says {k}.", points=1.0) for k in range(3))
    items = make_items(12, criteria=criteria)
    rubric = load_rubric("criteria")
    study, _ = start_with(store, rubric, items)
    labeller = Labeller(store, study)
    keys = list(study.asked[items[0].id])
    for item in study.order[:5]:
        for seat in range(3):
            for key in keys:
                labeller.put(seat, item, True, question=key)
    question = study.questions[0].id
    every = [f"{item}:{key}" for item in study.order for key in keys]

    [found] = watch_study(study, {(question, "m"): dict.fromkeys(every, True)})

    assert len(found.labels) == 15
    assert found.because.figures["n_closed"] == 5
    assert found.because.figures["n_planned"] == 12
    progress = measure_study(study)
    assert [(row.n_done, row.n_assigned) for row in progress.people] == [(5, 12)] * 3


def test_criteria_of_a_prompt_that_has_begun_get_no_further_item(store):
    about = {"criteria": (Criterion(text="It says so.", points=1.0),), "group": "prompt"}
    study, _ = start_with(store, load_rubric("criteria"), make_items(2, **about))

    with pytest.raises(InputError, match="got 'prompt' with 1"):
        study.add_items(make_items(3, **about))


def start_with(store, rubric, items):
    from voirdire.annotation import start_study

    return start_study(store, rubric=rubric, items=items, annotators=PEOPLE)


def test_the_margin_of_the_study_is_that_of_the_bets(store):
    study, _ = start(store, 20, epsilon=0.1, epsilon_mode="multiplicative")
    label_all(store, study, n=2)

    [found] = watch_study(open_study(store), {("polite", "m"): dict.fromkeys(study.order, True)})

    assert (found.plan.epsilon, found.plan.epsilon_mode) == (0.1, "multiplicative")


def test_a_judge_may_answer_some_of_the_questions(store, tmp_path):
    study, _ = start(store, 2, rubric=ALL_KINDS)
    (tmp_path / "judge.csv").write_text("item,question,rater,label\nitem-0,tone,m,warm\n")
    (tmp_path / "none.csv").write_text("item,question,rater,label\nitem-0,other,m,warm\n")

    assert read_judges(study, [tmp_path / "judge.csv"]) == {("tone", "m"): {"item-0": "warm"}}
    with pytest.raises(NoDataError, match="Ask for one of 'other'"):
        read_judges(study, [tmp_path / "none.csv"])


def test_a_judge_says_of_which_question_its_labels_are(store, tmp_path):
    study, _ = start(store, 2, rubric=YES_NO + YES_NO.partition("questions:\n")[2].replace(
        "id: polite", "id: kind"))  # fmt: skip
    path = tmp_path / "judge.csv"
    path.write_text("item,label\nitem-0,true\nitem-1,false\n")

    with pytest.raises(InputError, match="which of the questions polite, kind they answer, got no"):
        read_judges(study, [path])
    path.write_text("item,kind\nitem-0,true\nitem-1,false\n")
    assert read_judges(study, [path]) == {("kind", "judge"): {"item-0": True, "item-1": False}}


def test_two_files_of_a_judge_that_differ_are_refused(store, tmp_path):
    study, _ = start(store, 2)
    files = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for file, label in zip(files, ("true", "false"), strict=True):
        file.write_text(f"item,question,rater,label\nitem-0,polite,m,{label}\n")

    with pytest.raises(InputError, match="'m' must label an item once, got two labels of 'item-0'"):
        read_judges(study, files)
    assert len(read_judges(study, files[:1] * 2)) == 1


def test_a_judge_of_other_items_is_refused(store, tmp_path):
    study, _ = start(store, 20)
    (tmp_path / "judge.csv").write_text("item,question,rater,label\nzz,polite,m,true\n")

    with pytest.raises(NoDataError, match="got none of 'm' on 'polite': its first is 'zz'"):
        read_judges(study, [tmp_path / "judge.csv"])
