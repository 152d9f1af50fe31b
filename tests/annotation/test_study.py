"""A study in its store: answers, links, people who come and go, and the table that is read."""

import msgspec
import pytest

from annotation.studies_made import ALL_KINDS, YES_NO, make_items, start
from voirdire.annotation import COORDINATOR, open_study, start_study
from voirdire.errors import InputError
from voirdire.io import read_labels
from voirdire.records import Criterion
from voirdire.rubrics import load_rubric, rubric_from_text
from voirdire.store import Answer, open_annotations


@pytest.fixture
def store(tmp_path):
    with open_annotations(tmp_path / "study.db") as opened:
        yield opened


def put(store, study, rows):
    made = [Answer(uuid=f"u{len(study.states)}-{k}", **row) for k, row in enumerate(rows)]
    store.insert([(study.key, row) for row in made])
    for row in made:
        study.apply(row)
    return made


def answer(seat, item, value, question="polite", **more):
    return {"seat": seat, "item": item, "question": question, "value": value, **more}


def test_a_row_that_is_sent_again_is_there_once_and_an_undo_is_a_row(store):
    study, _ = start(store)
    rows = put(store, study, [answer(0, "item-1", True)])
    store.insert([(study.key, row) for row in rows])
    put(store, study, [answer(0, "item-1", None, action="undo"), answer(0, "item-2", False)])

    again = open_study(store)

    assert [row.action for row in store.answers(study.key)] == ["answer", "undo", "answer"]
    assert again.states == study.states
    assert again.labels().select("item", "annotator", "label").rows() == [
        ("item-2", "ana", "false")
    ]


def test_a_link_opens_its_own_seat_until_it_is_revoked_or_renewed(store, tmp_path):
    study, links = start(store)

    assert {name: study.find_seat(secret).name for name, secret in links.items()} == {
        name: name for name in ("", "ana", "ben", "chi")
    }
    assert study.find_seat("x") is None
    other = study.renew_link("ana")
    study.revoke("ben")
    assert [study.find_seat(secret) for secret in (links["ana"], links["ben"])] == [None, None]
    assert study.find_seat(other).name == "ana"
    stored = (tmp_path / "study.db").read_bytes()
    assert not any(secret.encode() in stored for secret in [other, *links.values()])


def test_a_study_goes_on_with_further_people_and_items_under_the_same_rubric(store):
    study, _ = start(store, 40)
    order = study.order

    same, links = start(store, 50, annotators=("ana", "dan"))

    assert same.key == study.key
    assert list(links) == ["dan"]
    assert same.order[:40] == order
    assert sorted(same.order[40:]) == [f"item-{k}" for k in range(40, 50)]
    assert len(same.tasks(same.seat_named("dan").number)) >= 50
    with pytest.raises(InputError, match="must have the text that people are labelling"):
        start(store, items=make_items(1, other="another"))
    with pytest.raises(InputError, match=r"`per_item` must stay as it was .* None, got 2"):
        start(store, per_item=2)


def test_guidelines_are_replaced_where_a_study_goes_on_with_others(store):
    rubric, items = rubric_from_text(YES_NO), make_items(2)
    about = {"rubric": rubric, "items": items, "annotators": ["ana"]}

    texts = [start_study(store, **about, guidelines=x)[0].guidelines for x in ("one", "", "two")]

    assert texts == ["one", "one", "two"]
    assert open_study(store).guidelines == "two"


def test_where_few_label_each_item_whoever_comes_later_gets_what_nobody_has_begun(store):
    study, _ = start(store, 100, annotators=("a", "b", "c", "d"), per_item=2)
    put(store, study, [answer(0, study.order[14], True)])

    study.add_person("late")
    study.revoke("a")

    late = study.seat_named("late")
    assert late.since == 30
    places = [k for k, people in enumerate(study.people) if late.number in people]
    assert 30 <= min(places) < 40
    assert all(0 not in people for people in study.people[34:])


def test_whoever_is_revoked_again_changes_nothing_for_the_others(store):
    study, _ = start(store, 100, annotators=("a", "b", "c", "d"), per_item=2)
    study.revoke("a")
    people = list(study.people)
    put(store, study, [answer(1, study.order[50], True)])

    study.revoke("a")

    assert study.people == people
    with pytest.raises(InputError, match="must not have left, got 'a', whose items went to the o"):
        study.renew_link("a")


def test_whoever_left_by_mistake_goes_on_by_a_new_link_where_everybody_labels_everything(store):
    study, links = start(store, 40)
    put(store, study, [answer(0, study.order[0], True)])
    study.revoke("ben")

    secret = study.renew_link("ben")

    assert study.find_seat(links["ben"]) is None
    assert study.find_seat(secret).name == "ben"
    assert [people for people in study.people if 1 not in people] == []
    assert len(study.tasks(1)) == 41


def test_what_a_table_could_not_hold_begins_no_study(store):
    with pytest.raises(InputError, match="name must be a short text and no formula, got '=ben'"):
        start(store, annotators=("ana", "=ben"))
    odd = type(make_items(1)[0])(id="-x", response="")
    with pytest.raises(InputError, match="ids of items must not begin like a formula, got '-x'"):
        start(store, items=[odd])
    signs = ALL_KINDS.replace("warm, plain", '"+", plain')
    with pytest.raises(InputError, match=r"labels must not begin like a formula, got '\+'"):
        start(store, rubric=signs)

    assert store.studies() == []


def test_the_closed_prefix_ends_before_the_first_item_that_somebody_owes(store):
    study, _ = start(store)
    for item in (*study.order[:3], study.order[5]):
        put(store, study, [answer(seat, item, True) for seat in (0, 1)])
    put(store, study, [answer(2, item, None) for item in (*study.order[:2], study.order[5])])

    assert study.closed_prefix() == study.order[:2]
    study.revoke("chi")
    assert study.closed_prefix() == study.order[:3]
    put(store, study, [answer(0, study.order[0], None, action="undo")])
    assert study.closed[study.order[0]] == {"polite": [True, True, None]}
    again = open_study(store)
    assert (again.closed, again.closed_prefix()) == (study.closed, study.closed_prefix())


def test_labels_of_all_kinds_are_read_back_by_the_reader_of_labels(store, tmp_path):
    study, _ = start(store, 3, rubric=ALL_KINDS)
    values = {"polite": True, "tone": "warm", "parts": ["advice", "joke"], "quality": 4}
    values |= {"why": "It, well,\n“helps”."}
    put(store, study, [answer(0, "item-0", value, name) for name, value in values.items()])
    put(store, study, [answer(0, "item-1", [], "parts"), answer(1, "item-1", None, "tone")])
    put(store, study, [answer(1, "item-0", "warm", "tone")])
    path = tmp_path / "labels.csv"
    study.labels().write_csv(path)

    expected = {**values, "polite": "true"}
    for name, value in expected.items():
        kind = study.rubric.question(name).kind
        table = read_labels(path, role="annotator", question=name, kind=kind)
        rows = dict(table.frame.filter(rater="ana").select("item", "label").iter_rows())
        assert rows["item-0"] == value, name
    table = read_labels(path, role="annotator", question="tone", kind="choice")
    assert [row.reason for row in table.dropped] == ["can't tell"]


def test_somebody_known_from_a_file_is_added_like_anybody_and_keeps_the_labels(store, tmp_path):
    study, _ = start(store, 5)
    path = tmp_path / "old.csv"
    path.write_text("item,annotator,label\nitem-0,dan,true\n")
    study.take_labels([path])
    with pytest.raises(InputError, match="of whom a file has labels"):
        study.renew_link("dan")

    secret = study.add_person("dan")

    seat = study.find_seat(secret)
    assert (seat.name, seat.role) == ("dan", "annotator")
    done = [study.is_done(seat.number, task) for task in study.tasks(seat.number)]
    assert (len(done), done.count(True)) == (5, 1)
    assert list(start(store, 5, annotators=("ana", "ben", "chi", "dan"))[1]) == []


def test_whoever_leaves_says_how_many_items_nobody_gets(store):
    study, _ = start(store, 60, per_item=2)
    tasks = study.tasks(0)
    put(store, study, [answer(0, task.item, True) for task in tasks if not task.turn])

    n_short = study.revoke("ben")

    owed = [k for k, people in enumerate(study.people) if 1 in people]
    assert n_short == len(owed) > 0
    assert study.revoke("ana") == 0


def test_codes_stand_for_names_and_leave_notes_out(store):
    study, _ = start(store)
    note = answer(1, "item-0", "as Ana said", action="note")
    put(store, study, [answer(1, "item-0", True), note])

    assert study.labels()["note"].to_list() == ["as Ana said"]
    columns = study.labels(codes=True).columns
    assert study.labels(codes=True)["annotator"].to_list() == ["P2"]
    assert columns == ["item", "annotator", "question", "label", "seconds", "flag"]


def test_the_coordinators_labels_are_gold_and_nobodys(store):
    study, _ = start(store)
    put(store, study, [answer(COORDINATOR, "item-0", True)])

    assert len(study.labels()) == 0
    assert study.gold().select("item", "label").rows() == [("item-0", "true")]


def test_labels_that_exist_are_taken_in_once_and_not_asked_again(store, tmp_path):
    study, _ = start(store, 3)
    path = tmp_path / "old.csv"
    path.write_text("item,annotator,label\nitem-0,ana,true\nitem-0,old,false\nitem-1,old,true\n")

    assert [study.take_labels([path]) for _ in range(2)] == [(3, []), (0, [])]

    assert study.labels().select("item", "annotator", "label").sort("annotator", "item").rows() == [
        ("item-0", "ana", "true"),
        ("item-0", "old", "false"),
        ("item-1", "old", "true"),
    ]
    assert study.is_done(0, study.task_keys(0)[next(
        key for key, task in study.task_keys(0).items() if task.item == "item-0")])  # fmt: skip
    assert all(study.seat_named("old").number not in people for people in study.people)


def test_a_label_that_is_corrected_in_its_file_counts_as_it_is_now(store, tmp_path):
    study, _ = start(store, 3)
    path = tmp_path / "old.csv"

    def take(label):
        path.write_text(f"item,annotator,label\nitem-0,ana,{label}\n")
        n, _ = open_study(store).take_labels([path])
        return n, open_study(store).labels()["label"].to_list()

    assert [take(x) for x in ("true", "false", "false", "true")] == [
        (1, ["true"]),
        (1, ["false"]),
        (0, ["false"]),
        (1, ["true"]),
    ]
    again = open_study(store)
    put(store, again, [answer(0, "item-0", False)])
    assert take("true") == (0, ["false"])  # the file says what it said; the person changed it since
    path.write_text("item,annotator,label\nitem-0,ana,true\n")
    _, dropped = open_study(store).take_labels([path])
    assert dropped[0].reason == "it was answered on the page, which stands"
    assert len(store.answers(study.key)) == 4


def test_labels_of_one_of_several_questions_say_of_which(store, tmp_path):
    study, _ = start(store, 3, rubric=ALL_KINDS)
    path = tmp_path / "old.csv"
    path.write_text("item,annotator,label\nitem-0,ana,true\n")

    with pytest.raises(InputError, match="got no column `question`"):
        study.take_labels([path])
    path.write_text("item,annotator,polite,tone\nitem-0,ana,true,warm\n")
    assert study.take_labels([path]) == (2, [])
    assert study.labels().select("question", "label").rows() == [
        ("polite", "true"),
        ("tone", "warm"),
    ]


def test_labels_that_exist_are_of_the_study_and_by_people_who_saw_no_judge(store, tmp_path):
    study, _ = start(store, 3, rubric=ALL_KINDS)
    path = tmp_path / "old.csv"

    path.write_text("item,annotator,question,label\nitem-0,ana,tone,warm\nitem-1,ana,tone,hot\n")
    n, dropped = study.take_labels([path])
    assert (n, [row.value for row in dropped]) == (1, ["hot"])
    for bad in ("item-9,ana,tone,warm,", "item-1,ana,tone,warm,gpt"):
        path.write_text(f"item,annotator,question,label,seen_judge\n{bad}\n")
        with pytest.raises(InputError, match="labels must be of items of the study, by people who"):
            study.take_labels([path])
    path.write_text("item,annotator,question,label\nitem-0,ana,other,warm\n")
    with pytest.raises(InputError, match="must hold the question asked for"):
        study.take_labels([path])
    assert len(study.labels()) == 1


def test_criteria_of_an_item_are_named_as_verdicts_name_them(store):
    criteria = (Criterion(text="It greets.", points=2), Criterion(text="It lies.", points=-3))
    study, _ = start_study(
        store,
        rubric=load_rubric("criteria"),
        items=make_items(2, criteria=criteria),
        annotators=["ana"],
    )
    put(store, study, [answer(0, "item-0", True, criteria[0].key)])

    [row] = study.labels().select("item", "question", "label", "cluster").rows()
    assert row == (f"item-0:{criteria[0].key}", "is_met", "true", "item-0")


def test_a_larger_cluster_than_the_study_began_with_is_refused(store):
    study, _ = start(store, 20)
    late = make_items(23)[20:]

    with pytest.raises(InputError, match="at most as large as those before, 1, got 'c' with 3"):
        study.add_items([msgspec.structs.replace(item, cluster="c") for item in late])
    assert study.add_items(late) == 3
