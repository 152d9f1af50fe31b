"""Watching a judge while people label: the stop, its certificate, and what splits people."""

import itertools
import json
import math
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

from voirdire import studies
from voirdire.documents import hash_content
from voirdire.errors import InputError
from voirdire.io import read_labels
from voirdire.rubrics import Question
from voirdire.stats import anytime_test

PEOPLE = ("ana", "ben", "chi")


def make_question(kind="boolean", labels=(), low=None, high=None):
    texts = {label: {} for label in labels}
    return Question(
        id="fair", kind=kind, text={"en": "Fair?"}, labels=texts, minimum=low, maximum=high
    )


def label_items(n, *, seed=0, error=0.1, judge_error=0.1):
    """Draw a truth, three people who err, and a judge who errs."""
    rng = np.random.default_rng(seed)
    labels, answers = {}, {}
    for number in range(n):
        truth = bool(rng.random() < 0.5)
        labels[f"i{number:03}"] = {who: truth ^ bool(rng.random() < error) for who in PEOPLE}
        answers[f"i{number:03}"] = truth ^ bool(rng.random() < judge_error)
    return labels, answers


def plan_for(question, n_items=120, **settings):
    return studies.WatchPlan.of(question, annotators=PEOPLE, n_items=n_items, **settings)


@pytest.mark.parametrize(
    ("question", "constants"),
    [
        (make_question(), (True, False)),
        (make_question("choice", "xy"), ("x", "y")),
        (make_question("pairwise", ("A", "B", "tie")), ("A", "B", "tie")),
        (make_question("multilabel", "xy"), (frozenset(), frozenset("x"), frozenset("y"))),
        (make_question("scale", low=1.0, high=4.0), (1.0, 2.0, 3.0, 4.0)),
        (make_question("scale", low=0.0, high=100.0), tuple(float(x) for x in range(0, 101, 10))),
    ],
    ids=lambda x: x.kind if isinstance(x, Question) else "",
)
def test_a_plan_fixes_every_constant_answer_that_a_question_allows(question, constants):
    assert plan_for(question).constants == constants


def test_a_text_cannot_be_watched():
    with pytest.raises(InputError, match="must have labels or a scale"):
        plan_for(make_question("text"))


def test_the_bets_are_those_of_the_test_on_codes():
    labels, answers = label_items(60)

    found = studies.watch_judge("m", plan_for(make_question()), labels=labels, answers=answers)

    humans = [[not row[who] for who in PEOPLE] for row in labels.values()]  # true is code 0
    judge = [not answers[item] for item in labels]
    expected = anytime_test(np.array(judge, int), np.array(humans, int), constants=[0, 1])
    assert found.result == expected
    assert found.because.code == "watch_stop"
    assert found.because.figures["stopped_at"] == expected.stopped_at
    assert found.shown == tuple(PEOPLE[n] for n in expected.shown)


def test_labels_of_other_kinds_are_bet_on_as_their_kind_compares_them():
    labels, answers = label_items(60)
    asked = {
        "choice": (make_question("choice", "xy"), {True: "x", False: "y"}),
        "scale": (make_question("scale", low=0.0, high=1.0), {True: 1.0, False: 0.0}),
        "pairwise": (make_question("pairwise", ("A", "B", "tie")), {True: "A", False: "B"}),
        "multilabel": (
            make_question("multilabel", "x"),
            {True: frozenset("x"), False: frozenset()},
        ),
    }
    boolean = studies.watch_judge("m", plan_for(make_question()), labels=labels, answers=answers)

    for kind, (question, words) in asked.items():
        own = {item: {who: words[x] for who, x in row.items()} for item, row in labels.items()}
        said = {item: words[x] for item, x in answers.items()}
        found = studies.watch_judge("m", plan_for(question), labels=own, answers=said)
        assert found.result.wealth == pytest.approx(boolean.result.wealth), kind
        assert found.result.stopped_at == boolean.result.stopped_at, kind


def test_a_failure_loses_its_item_and_an_unsaid_label_does_not_count():
    labels, answers = label_items(30)
    plan = plan_for(make_question())
    failed = studies.watch_judge("m", plan, labels=labels, answers=answers | {"i003": None})
    unseen = studies.watch_judge(
        "m", plan, labels=labels, answers={k: x for k, x in answers.items() if k != "i003"}
    )
    mute = {item: row | {"ana": None} for item, row in labels.items()}

    assert failed.result.combined_wealth < unseen.result.combined_wealth
    assert studies.watch_judge("m", plan, labels=mute, answers=answers).result.wealth[0] == 1.0


def test_a_cluster_counts_once_all_of_its_items_are_closed():
    labels, answers = label_items(10)
    clusters = {item: f"c{number % 4}" for number, item in enumerate(labels)}  # 3, 3, 2, 2 items
    plan = plan_for(make_question(), n_items=10)
    closed = dict(itertools.islice(labels.items(), 7))  # i0 to i6: c2 alone has all of its items

    found = studies.watch_judge("m", plan, labels=closed, answers=answers, clusters=clusters)

    assert list(found.labels) == ["i002", "i006"]
    assert found.result.n_items == 2


def test_what_is_said_follows_the_forecast_and_the_end():
    question = make_question()
    labels, answers = label_items(120, judge_error=0.45, seed=2)

    def watch(n, n_items=120):
        closed = dict(itertools.islice(labels.items(), n))
        return studies.watch_judge("m", plan_for(question, n_items), labels=closed, answers=answers)

    assert watch(0).because.code == "watch_none"
    assert watch(19).because.code == "watch_early"
    assert watch(100).because.code == "watch_hopeless"
    assert watch(120).because.code == "watch_end"
    assert watch(40, n_items=40).because.code == "watch_end"
    good = studies.watch_judge("m", plan_for(question), labels=dict(itertools.islice(
        label_items(20)[0].items(), 20)), answers=label_items(20)[1])  # fmt: skip
    figures = good.because.figures
    assert good.because.code == "watch_more"
    assert figures["n_fewest"] <= figures["n_more"] <= figures["n_most"] <= 100
    assert 0.05 <= figures["share"] <= 0.95


def test_a_constant_that_holds_the_judge_up_is_named():
    rng = np.random.default_rng(0)
    labels = {f"i{n}": {who: bool(rng.random() < 0.03) for who in PEOPLE} for n in range(100)}

    found = studies.watch_judge(
        "m", plan_for(make_question()), labels=labels, answers=dict.fromkeys(labels, False)
    )

    assert not found.result.passed
    assert found.held.figures == {"constant": "false"}


# The stop -------------------------------------------------------------------------------------


def watch_and_write(path, *, n=60, judge_error=0.1):
    labels, answers = label_items(n, judge_error=judge_error)
    found = studies.watch_judge("m", plan_for(make_question()), labels=labels, answers=answers)
    path.write_text(json.dumps(studies.stop_record([found])))
    return labels, answers, found


def write_files(folder, labels, answers):
    rows = [
        {"item": item, "question": "fair", "rater": who, "label": label}
        for item, row in labels.items()
        for who, label in row.items()
    ]
    pl.DataFrame(rows).write_csv(folder / "people.csv")
    made = [{"item": item, "question": "fair", "rater": "m", "label": x}
            for item, x in answers.items()]  # fmt: skip
    pl.DataFrame(made).write_csv(folder / "judge.csv")


def read_files(folder):
    people = read_labels(folder / "people.csv", role="annotator", kind="boolean")
    return people, read_labels(folder / "judge.csv", role="judge", kind="boolean")


def test_the_certificate_of_a_stop_is_bet_on_again_when_it_is_read(tmp_path):
    _, _, found = watch_and_write(tmp_path / "stop.json")

    assert studies.read_stop(tmp_path / "stop.json") == (found,)


def test_a_certificate_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "stop.json"
    watch_and_write(path)
    content = json.loads(path.read_text())
    content["judges"][0]["items"][3]["labels"]["ana"] ^= True
    path.write_text(json.dumps(content))

    with pytest.raises(InputError, match="changed after the stop"):
        studies.read_stop(path)
    path.write_text("[1]")
    with pytest.raises(InputError, match="stop"):
        studies.read_stop(path)


def parts_of(value, path=()):
    """List the places of a document, the innermost last."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else ()  # fmt: skip
    return [path, *(each for key, x in inner for each in parts_of(x, (*path, key)))]


def test_a_certificate_that_was_written_by_hand_is_our_error_whatever_it_holds(tmp_path):
    path = tmp_path / "stop.json"
    watch_and_write(path, n=3)
    text = path.read_text()
    places = [each for each in parts_of(json.loads(text)) if each[:1] == ("judges",)]

    for *outer, last in places:
        for odd in (None, "x", -1, 1e308, [], {}, [[]]):
            content = json.loads(text)
            del content["content_hash"]
            inner = content
            for key in outer:
                inner = inner[key]
            inner[last] = odd
            path.write_text(json.dumps(content | {"content_hash": hash_content(content)}))
            with suppress(InputError):  # another error fails here
                studies.read_stop(path)
    empty = {"schema": content["schema"], "judges": []}
    path.write_text(json.dumps(empty | {"content_hash": hash_content(empty)}))
    with pytest.raises(InputError, match="must list the judges that were watched, got none"):
        studies.read_stop(path)


def test_labels_that_changed_after_the_stop_are_counted_and_a_changed_judge_is_refused(tmp_path):
    labels, answers, found = watch_and_write(tmp_path / "stop.json")
    now = {item: dict(row) for item, row in labels.items()}
    now["i001"]["ana"] ^= True
    write_files(tmp_path, now, answers)
    people, judge = read_files(tmp_path)
    examined = studies.examine(judges=judge, humans=people)

    [row] = studies.apply_stop(examined, [found], humans=people, judges=judge).results
    assert [x.figures for x in row.cautions if x.code == "stop_changed"] == [{"n_changed": 1}]

    write_files(tmp_path, labels, answers | {"i005": not answers["i005"]})
    judge = read_files(tmp_path)[1]
    with pytest.raises(InputError, match="got 1 others by 'm' on 'fair', the first about 'i005'"):
        studies.apply_stop(examined, [found], humans=people, judges=judge)


def test_a_stop_at_another_margin_decides_nothing(tmp_path):
    labels, answers, found = watch_and_write(tmp_path / "stop.json")
    write_files(tmp_path, labels, answers)
    people, judge = read_files(tmp_path)
    examined = studies.examine(judges=judge, humans=people, plan=studies.TestPlan(epsilon=0.1))

    with pytest.raises(InputError, match="none of them is examined so"):
        studies.apply_stop(examined, [found], humans=people, judges=judge)


def test_beside_a_stop_no_other_margin_is_left_to_the_fixed_test(tmp_path):
    labels, answers, found = watch_and_write(tmp_path / "stop.json")
    write_files(tmp_path, labels, answers)
    people, judge = read_files(tmp_path)
    plan = studies.TestPlan(epsilon=(0.1, 0.2))
    examined = studies.examine(judges=judge, humans=people, plan=plan)

    with pytest.raises(InputError, match="with a stop it must be examined so alone"):
        studies.apply_stop(examined, [found], humans=people, judges=judge)


def test_a_stop_of_other_people_is_refused(tmp_path):
    labels, answers, found = watch_and_write(tmp_path / "stop.json")
    coded = {item: {f"P{who}": x for who, x in row.items()} for item, row in labels.items()}
    write_files(tmp_path, coded, answers)
    people, judge = read_files(tmp_path)
    examined = studies.examine(judges=judge, humans=people)

    with pytest.raises(InputError, match="must be the people of the stop, got none 'ana'"):
        studies.apply_stop(examined, [found], humans=people, judges=judge)


# People ---------------------------------------------------------------------------------------


def answer_rows(labels, *, notes=None, at=0.0):
    return [
        {
            "item": item,
            "question": "fair",
            "annotator": who,
            "label": None if label is None else str(label).lower(),
            "note": (notes or {}).get((item, who)),
            "at": at + 20.0 * number + column,
            "is_repeat": False,
        }
        for number, (item, row) in enumerate(labels.items())
        for column, (who, label) in enumerate(row.items())
    ]


def test_people_are_compared_with_the_others_on_the_same_items():
    labels, _ = label_items(40)
    labels["i000"]["chi"] = None
    rows = answer_rows(labels)
    again = [row | {"is_repeat": True, "at": 900.0 + n} for n, row in enumerate(rows[:6])]
    again[0]["label"] = "other"

    found = studies.measure_labelling(
        pl.DataFrame(rows + again),
        items=pl.DataFrame({"item": list(labels), "response": "So it is."}),
        n_assigned=dict.fromkeys(PEOPLE, 50),
        n_done=dict.fromkeys(PEOPLE, 40),
        n_items=50,
        n_closed=40,
    )

    ana = found.people[0]
    same = []
    for row in labels.values():
        others = [row[who] for who in PEOPLE[1:] if row[who] is not None]
        same.append(sum(row["ana"] == x for x in others) / len(others))
    assert ana.agreement.estimate == pytest.approx(sum(same) / len(same))
    assert ana.agreement.low < ana.agreement.estimate < ana.agreement.high
    assert (ana.n_done, ana.n_assigned) == (40, 50)
    assert ana.own_repeats.estimate == 0.5  # two items again, one answer changed
    assert ana.minutes == pytest.approx((39 * 20 + 120 + 3) / 60)


def test_split_items_come_with_their_notes_and_what_they_have_in_common():
    labels = {f"i{n}": dict.fromkeys(PEOPLE, True) for n in range(30)}
    notes = {}
    for n in range(0, 30, 3):
        labels[f"i{n}"] = {"ana": False, "ben": True, "chi": True}
        notes[f"i{n}", "ana"] = "the sarcasm" if n % 2 else "这里有讽刺"
    items = pl.DataFrame(
        {
            "item": list(labels),
            "response": [f"text {n}" for n in range(30)],
            "topic": ["law" if n % 3 == 0 else "art" for n in range(30)],
            "top": [n % 2 for n in range(30)],  # a column's name, and that of a count
        }
    )

    found = studies.measure_labelling(
        pl.DataFrame(answer_rows(labels, notes=notes)),
        n_assigned=dict.fromkeys(PEOPLE, 30),
        n_done=dict.fromkeys(PEOPLE, 30),
        n_items=30,
        n_closed=30,
        items=items,
    )

    assert {row.item for row in found.split} == {f"i{n}" for n in range(0, 30, 3)}
    assert found.split[0].agreement == pytest.approx(2 / 3)
    assert found.split[0].notes == {"ana": notes[found.split[0].item, "ana"]}
    common = {(row.column, row.value): row for row in found.clauses}
    assert common["topic", "law"].n_split == common["topic", "law"].n_items == 10
    assert common["note", "sarcasm"].n_split == 5
    assert common["note", "讽刺"].labels == {"true": 10, "false": 5}
    assert common["note", "讽刺"].sentence == "Where '讽刺' matters, answer 'true'."
    assert ("topic", "art") not in common
    assert {row.column for row in found.clauses} == {"note", "topic"}


def test_nobody_has_answered_yet():
    found = studies.measure_labelling(
        pl.DataFrame(answer_rows({"i": {"ana": True}})).clear(),
        items=pl.DataFrame({"item": ["i"], "response": ["So it is."]}),
        n_assigned={"ana": 5},
        n_done={"ana": 0},
        n_items=5,
        n_closed=0,
    )

    assert found.people[0].n_done == 0
    assert math.isnan(found.people[0].agreement.estimate)
