"""What a person's browser gets and may send, and what nobody without a link can."""

import hmac
import json
import re
import time

import pytest

from annotation.asked import HOST, Client, row
from annotation.studies_made import ALL_KINDS, make_items, start
from voirdire.annotation import AnnotationApp, open_study, serve_study
from voirdire.errors import InputError
from voirdire.records import Criterion, Message
from voirdire.rubrics import load_rubric, rubric_to_yaml
from voirdire.store import open_annotations

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
PAIRS = """\
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: {en: "Which is better?"}}
"""


@pytest.fixture
def store(tmp_path):
    with open_annotations(tmp_path / "study.db") as opened:
        yield opened


def enter(store, *args, name="ana", public_url=None, **more):
    study, links = start(store, *args, **more)
    client = Client(AnnotationApp(store, study, public_url=public_url))
    client.enter(links[name])
    return client, study, links


def test_a_link_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(store):
    client, _, links = enter(store)

    status, cookie = client.enter(links["ben"])

    assert status == 200
    assert {"HttpOnly", "SameSite=strict", "Path=/label"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert client.enter("wrong")[0] == client.enter("")[0] == 401
    assert client.ask("GET", "/label/tasks")[0] == 401
    behind = Client(AnnotationApp(store, open_study(store), public_url="https://x.org"))
    _, headers, _ = behind.ask("POST", "/in", {"secret": links["ben"]}, origin="https://x.org")
    assert "Secure" in headers["set-cookie"]


def test_secrets_are_compared_in_constant_time(store, monkeypatch):
    study, links = start(store)
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(b) or a == b)

    study.find_seat(links["ana"])

    assert len(compared) == len(study.seats) == 4


def test_what_is_sent_is_stored_once_and_only_that_is_said_to_be_saved(store):
    client, study, _ = enter(store)
    first, second = client.tasks()["tasks"][:2]
    good, bad = row(first, True), row(second, "maybe")

    assert client.send(good, bad) == {"saved": [good["uuid"]], "refused": [bad["uuid"]]}
    assert client.send(good)["saved"] == [good["uuid"]]
    undo = row(first, None, action="undo")
    assert client.send(undo, good)["saved"] == [undo["uuid"], good["uuid"]]

    assert [each.action for each in store.answers(study.key)] == ["answer", "undo"]
    assert client.tasks()["open"] == 41
    assert open_study(store).states == study.states


@pytest.mark.edges
@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("polite", [True, False, None], ["true", 1, [True], {}]),
        ("tone", ["warm", None], ["hot", True, 1, ["warm"]]),
        ("parts", [[], ["joke", "advice"]], ["joke", ["x"], ["joke", "joke"], [1], [["joke"]]]),
        ("quality", [1, 2.5, 5], [0, 6, "3", True, 10**400]),
        ("why", ["because"], ["", " ", 3, "x" * 20_001]),
        ("unknown", [], [None]),
    ],
)
def test_an_answer_is_one_that_its_question_takes(store, question, right, wrong):
    client, _, _ = enter(store, 2, rubric=ALL_KINDS)
    task = client.tasks()["tasks"][0]

    found = [len(client.send(row(task, value, question))["saved"]) for value in right + wrong[:3]]
    last = client.ask("POST", "/label/answers", [row(task, wrong[-1], question)])

    assert found == [1] * len(right) + [0] * len(wrong[:3])
    assert b'"saved":[]' in last[2] or last[0] == 400


def test_rows_of_other_seats_tasks_and_of_no_form_are_refused(store):
    client, study, links = enter(store)
    theirs = Client(client.app)
    theirs.enter(links["ben"])
    task = theirs.tasks()["tasks"][0]

    assert client.send(row(task, True))["saved"] == []
    own = client.tasks()["tasks"][0]
    odd = [row(own, 1, "", action="flag"), row(own, "x" * 2_001, action="note")]
    odd += [row(own, True, action="undo")]
    assert client.send(*odd)["saved"] == []
    for change in ({"uuid": "x"}, {"action": "delete"}, {"seconds": -1.0}):
        assert client.ask("POST", "/label/answers", [row(own, True) | change])[0] == 400
    deep = json.dumps([row(own, 1)]).replace('"value": 1', f'"value": {"[" * 9_999}{"]" * 9_999}')
    for body in (
        b"",
        b"{",
        b'[{"uuid": 1}]',
        deep.encode(),
        json.dumps([row(own, True)] * 51).encode(),
    ):
        assert client.ask("POST", "/label/answers", body)[0] == 400
    assert client.ask("POST", "/label/answers", b"[" + b" " * (2 << 20) + b"]")[0] == 413
    assert study.states == {}


def test_a_browser_gets_no_ids_points_or_words_of_anybody_else(store):
    criteria = (Criterion(text="It greets.", points=7.25, id="secret-c", tags=("secret-tag",)),)
    items = make_items(5, criteria=criteria, group="secret-group", metadata={"judge": "secret-x"})
    client, _, links = enter(store, items=items, rubric=rubric_to_yaml(load_rubric("criteria")))
    theirs = Client(client.app)
    theirs.enter(links["ben"])
    task = theirs.tasks()["tasks"][0]
    note = row(task, "secret-note", criteria[0].key, action="note")
    assert len(theirs.send(row(task, True, criteria[0].key), note)["saved"]) == 2

    pages = [client.ask("GET", path)[2] for path in ("/label", "/label/tasks", "/label/guide")]

    text = b"".join(pages).decode()
    assert "It greets." in text
    for word in ("secret", "7.25", "item-0", "ben", *links.values()):
        assert word not in text, word
    assert all(each["answers"] == {} for each in client.tasks()["tasks"])


def test_items_and_labels_full_of_script_are_text(store):
    hostile = json.dumps(SCRIPT)
    rubric = f"""\
schema: voirdire.rubric/1
name: hostile
version: "1"
questions:
  - {{id: tone, kind: choice, text: {{en: {hostile}}}, labels: [{hostile}, b]}}
"""
    items = make_items(1, metadata={"sensitive": SCRIPT})
    client, _, _ = enter(store, items=items, rubric=rubric)

    for path in ("/label", "/label/guide", f"/label?lang={SCRIPT}", f"/{SCRIPT}"):
        status, headers, body = client.ask("GET", path)
        assert status in (200, 404)
        assert b"<script>alert" not in body
        assert b"<img" not in body
        policy = headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
    assert client.ask("GET", "/label/tasks")[1]["content-type"] == "application/json"


def test_a_request_of_another_site_or_name_is_refused(store):
    client, study, links = enter(store)
    task = client.tasks()["tasks"][0]
    sent = [row(task, True)]
    others = [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"content_type": "text/plain"},
        {"host": "evil.example", "origin": "http://evil.example"},
    ]

    assert [client.ask("POST", "/label/answers", sent, **x)[0] for x in others] == [403] * 5
    assert client.ask("GET", "/label/tasks", host="evil.example")[0] == 403
    assert client.ask("POST", "/in", {"secret": links["ana"]}, origin="https://e.org")[0] == 403
    assert study.states == {}


@pytest.mark.edges
@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/study.py", "/static//etc/passwd", "/x"],
)
def test_no_file_is_read_but_those_of_the_page(store, path):
    client, _, _ = enter(store)

    assert client.ask("GET", path)[0] == 404
    assert client.ask("GET", "/static/annotate.js")[0] == 200


def test_images_come_from_where_the_items_say_and_nowhere_else(store):
    names = ("https://pictures.example/1.png", "https://例え.example/2.png", "https://[::1/3.png")
    images = (*names, "data:image/png;base64,AAAA")
    prompt = (Message(role="user", content="Look: [image]", images=images),)
    items = make_items(1)
    items[0] = type(items[0])(id="i", prompt=prompt, response="A cat.")
    client, _, _ = enter(store, items=items)

    policy = client.ask("GET", "/label")[1]["content-security-policy"]

    assert re.search(
        r"img-src 'self' data: https://pictures\.example https://xn--r8jz45g\.example;", policy
    )
    assert client.tasks()["tasks"][0]["messages"] == [["user", "Look: [image]", list(images)]]


def test_right_answers_of_practice_are_read_from_a_cell_and_checked(store):
    cells = {"right": '{"polite": false}', "no": "false", "empty": ""}
    items = [type(make_items(1)[0])(id=k, response=k, metadata={"practice": x})
             for k, x in cells.items()]  # fmt: skip

    client, study, _ = enter(store, items=items)

    assert (study.practice, set(study.order)) == (["right"], {"no", "empty"})
    assert client.tasks()["tasks"][0]["practice"]["right"] == {"polite": False}
    for wrong in ("yes", True, {"rude": True}, {"polite": 1}):
        item = type(items[0])(id="wrong", response="", metadata={"practice": wrong})
        with pytest.raises(InputError, match="`practice` must hold right answers by question"):
            study.add_items([item])


def test_the_sides_of_a_pair_change_and_votes_are_kept_as_the_file_has_them(store):
    items = make_items(40)
    items = [type(x)(id=x.id, prompt=x.prompt, response="first", other="second") for x in items]
    client, study, _ = enter(store, items=items, rubric=PAIRS)
    tasks = client.tasks()["tasks"]

    for task in tasks:
        value = "AB"[task["responses"].index("first")]
        assert len(client.send(row(task, value, "better"))["saved"]) == 1

    assert {task["responses"][0] for task in tasks} == {"first", "second"}
    assert set(study.labels()["label"]) == {"A"}
    assert all(x["responses"]["AB".index(x["answers"]["better"])] == "first"
               for x in client.tasks("?from=0")["tasks"])  # fmt: skip


def test_practice_comes_first_with_the_right_answer_and_counts_for_nothing(store):
    items = make_items(3)
    about = {"practice": {"polite": False}, "feedback": "It is rude."}
    items.append(type(items[0])(id="try", response="Go!", metadata=about))
    client, study, _ = enter(store, items=items)
    task = client.tasks()["tasks"][0]

    client.send(row(task, True))

    assert task["practice"] == {"right": {"polite": False}, "why": "It is rude."}
    assert [x["practice"] for x in client.tasks()["tasks"][1:]] == [None] * 3
    assert len(study.labels()) == 0


def test_whoever_is_revoked_gets_nothing_more_and_further_items_come(store, monkeypatch):
    client, study, _ = enter(store)
    other = open_study(store)
    other.revoke("ana")
    other.add_items(make_items(42)[40:])

    later = time.monotonic() + 2
    monkeypatch.setattr(time, "monotonic", lambda: later)

    assert client.ask("GET", "/label/tasks")[0] == 401
    assert len(study.order) == 42


def test_a_page_speaks_the_browsers_language(store):
    client, _, _ = enter(store)

    _, _, page = client.ask("GET", "/label", accept_language="zh-CN,zh;q=0.9")

    assert 'lang="zh-Hans"' in page.decode()
    assert "有礼貌" not in client.ask("GET", "/label/guide?lang=en")[2].decode()
    assert "有礼貌" in client.ask("GET", "/label/guide", accept_language="zh")[2].decode()


def test_a_server_beyond_this_machine_needs_its_public_address(store):
    study, _ = start(store)

    with pytest.raises(InputError, match="`host` must be this machine alone without `public_url`"):
        serve_study(store, study, host="0.0.0.0")
    for url in ("http://label.example.org", "https://x.org/path", "label.example.org"):
        with pytest.raises(InputError, match="`public_url` must be like https"):
            serve_study(store, study, public_url=url)
    client = Client(AnnotationApp(store, study, public_url="https://label.example.org"))
    assert client.ask("GET", "/", host="label.example.org")[0] == 200
    assert client.ask("GET", "/", host="other.example.org")[0] == 403
    assert HOST.startswith("127.0.0.1")


# The coordinator ------------------------------------------------------------------------------


def split_study(store, tmp_path):
    """Start a study of 12 items that is labelled whole, with a judge; ana differs on two items."""
    study, links = start(store, 12)
    judge = "item,question,rater,label\n" + "".join(
        f"{item},polite,gpt-secret,true\n" for item in study.order
    )
    (tmp_path / "judge.csv").write_text(judge)
    app = AnnotationApp(store, study, judges=[tmp_path / "judge.csv"])
    clients = {}
    for name in ("ana", "ben", "chi"):
        clients[name] = Client(app)
        clients[name].enter(links[name])
        keys = study.task_keys(study.seat_named(name).number)
        for key, task in keys.items():
            value = not (name == "ana" and task.item in study.order[:2])
            sent = row({"key": key}, value)
            assert clients[name].send(sent)["saved"] == [sent["uuid"]]
    clients[""] = Client(app)
    clients[""].enter(links[""])
    return study, clients


def test_the_coordinator_alone_sees_how_the_study_goes(store, tmp_path):
    _, clients = split_study(store, tmp_path)

    status, headers, page = clients[""].ask("GET", "/study")
    stop = json.loads(clients[""].ask("GET", "/study/stop.json?codes")[2])
    table = clients[""].ask("GET", "/study/labels.csv")[2].decode()

    assert status == 200
    assert "gpt-secret" in page.decode()
    assert "12 of 12 items closed" in re.sub(r"<[^>]+>", "", page.decode())
    assert "script-src 'self'" in headers["content-security-policy"]
    assert b"<script" not in page
    assert [each["plan"]["annotators"] for each in stop["judges"]] == [["P1", "P2", "P3"]]
    assert table.count("\n") == 1 + 36
    for path in ("/study", "/study/stop.json", "/study/labels.csv", "/study/label/tasks"):
        for name in ("ana", "nobody"):
            client = clients.get(name) or Client(clients[""].app)
            assert client.ask("GET", path)[0] == 401, (path, name)
        cookie = clients["ana"].cookie.replace("voirdire_annotator", "voirdire_coordinator")
        assert Client(clients[""].app, cookie=cookie).ask("GET", path)[0] == 401
    assert clients[""].ask("GET", "/label/tasks")[0] == 401


def test_the_coordinators_page_has_every_answer_that_is_stored_when_it_is_opened(store):
    study, links = start(store, 12)
    app = AnnotationApp(store, study)
    ana, coordinator = Client(app), Client(app)
    ana.enter(links["ana"])
    coordinator.enter(links[""])

    tables = []
    for task in ana.tasks()["tasks"][:2]:
        ana.send(row(task, True))
        page = coordinator.ask("GET", "/study")[2].decode()
        tables.append(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))

    assert [re.search(r"ana (\d+) (\d+)", text).groups() for text in tables] == [
        ("1", "12"),
        ("2", "12"),
    ]


def test_the_coordinator_settles_split_items_and_the_answers_are_gold(store, tmp_path):
    study, clients = split_study(store, tmp_path)
    tasks = json.loads(clients[""].ask("GET", "/study/label/tasks")[2])
    before = study.labels()

    sent = [row(task, False) for task in tasks["tasks"]]
    answer = json.loads(clients[""].ask("POST", "/study/label/answers", sent)[2])

    assert tasks["total"] == 2
    assert answer["refused"] == []
    gold = open_study(store).gold()
    assert sorted(gold["item"]) == sorted(study.order[:2])
    assert gold["label"].to_list() == ["false", "false"]
    assert open_study(store).labels().equals(before)
    elsewhere = [row({"key": key}, True) for key in study.task_keys(0)]
    refused = json.loads(clients[""].ask("POST", "/study/label/answers", elsewhere[:3])[2])
    assert refused["saved"] == []
