"""People label in a real browser, against a real server that is killed."""

import importlib
import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import polars as pl
import pytest

from annotation.studies_made import ALL_KINDS, YES_NO
from voirdire.store import open_annotations

VOIRDIRE = [sys.executable, "-c", "from voirdire.cli import run; run()"]
pytestmark = pytest.mark.ci


def call(*words):
    done = subprocess.run([*VOIRDIRE, *map(str, words)], capture_output=True, text=True, check=True)
    return done.stdout


def write_study(folder, n=40, rubric=YES_NO, **more):
    rows = [
        {"id": f"item-{k}", "prompt": f"Number {k}?", "response": "So it is."} for k in range(n)
    ]
    rows[0] |= more
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "rubric.yaml").write_text(rubric, encoding="utf-8")


class Server:
    """`voirdire annotate` on one port, which can be killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.links = {}
        self.process = None

    def start(self):
        about = [] if self.links else ["items.jsonl", "--rubric", "rubric.yaml"]
        about += [] if self.links else ["--annotators", "ana,ben,chi"]
        words = ["annotate", *about, "--store", "study.db", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*VOIRDIRE, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert "annotators, at http" in self.process.stderr.readline()
        while len(self.links) < 4:
            name, link = self.process.stdout.readline().split()
            self.links[name] = link

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()


@contextmanager
def serving(folder):
    server = Server(folder)
    server.start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()


class Person:
    """Somebody who says yes to even numbers and no to the others, but for one, by the keyboard."""

    def __init__(self, chromium, link, slip=-1, **settings):
        self.slip = slip
        self.context = chromium.new_context(**settings)
        self.page = self.context.new_page()
        self.saved, self.shown, self.problems = set(), {}, []
        self.page.on("response", self.note)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(link)
        self.page.wait_for_url("**/label")
        self.page.wait_for_selector("#answers button")

    def note(self, response):
        if response.url.endswith("/label/answers") and response.ok:
            self.saved.update(response.json()["saved"])

    def is_done(self):
        return self.page.locator("#panel").is_hidden()

    def label(self, n=100):
        for _ in range(n):
            if self.is_done():
                return
            number = int(re.search(r"Number (\d+)", self.page.inner_text("#item"))[1])
            self.shown[f"item-{number}"] = is_even = (number % 2 == 0) != (number == self.slip)
            self.page.keyboard.press("1" if is_even else "2")

    def wait_until_saved(self):
        self.page.wait_for_selector("#state.saved", timeout=30_000)


def test_whatever_is_shown_as_saved_is_there_once_though_the_net_and_the_server_fail(
    chromium, tmp_path
):
    write_study(tmp_path)
    with serving(tmp_path) as server:
        names = enumerate(("ana", "ben", "chi"))
        ana, ben, chi = (Person(chromium, server.links[name], slip) for slip, name in names)
        for person in (ana, ben, chi):
            person.label(10)
        ben.context.set_offline(True)
        ben.label(8)
        ben.page.wait_for_selector("#state.offline")
        assert "8" in ben.page.inner_text("#state")
        with ben.page.expect_event("dialog") as asked:  # it would not open again
            ben.page.evaluate("() => { setTimeout(() => location.reload()); }")
        asked.value.dismiss()
        assert asked.value.type == "beforeunload"
        chi.label(5)
        chi.page.reload()
        chi.page.wait_for_selector("#answers button")
        server.end(signal.SIGKILL)
        ana.label(5)
        ana.page.wait_for_selector("#state.offline")
        ben.context.set_offline(False)
        server.start()
        for person in (ana, ben, chi):
            person.wait_until_saved()
            for _ in range(100):
                person.label()
                if person.page.locator("#panel").is_hidden() and "41" not in person.page.inner_text(
                    "#left"
                ):
                    person.wait_until_saved()
                    break
            person.page.wait_for_function("document.querySelector('#left b').textContent === '0'")
        server.end(signal.SIGTERM)

    with open_annotations(tmp_path / "study.db") as store:
        [key] = store.studies()
        rows = store.answers(key)
    assert len({row.uuid for row in rows}) == len(rows) == 3 * 41
    assert {row.uuid for row in rows} >= ana.saved | ben.saved | chi.saved
    for seat, person in enumerate((ana, ben, chi)):
        said = {row.item: row.value for row in rows if row.seat == seat}
        assert said == person.shown
        assert len(said) == 40
        assert person.problems == []

    labels, verdicts = tmp_path / "labels.csv", tmp_path / "judge.csv"
    call("annotate", "export", "--store", tmp_path / "study.db", "-o", labels)
    judged = [(f"item-{k}", "polite", "true" if k % 2 == 0 else "false") for k in range(40)]
    pl.DataFrame(judged, schema=["item", "question", "label"], orient="row").write_csv(verdicts)
    told = call("examine", "--humans", labels, "--judges", verdicts, "--kind", "boolean", "--json")
    [found] = json.loads(told)["examinations"]
    assert (found["n_items"], found["n_annotators"], found["passed"]) == (40, 3, True)


def test_every_kind_is_answered_by_keys_and_taken_back(chromium, tmp_path):
    write_study(tmp_path, 2, ALL_KINDS, sensitive="Blood.")
    with serving(tmp_path) as server:
        person = Person(chromium, server.links["ana"])
        page = person.page
        for _ in range(2):
            if page.locator(".notice").is_visible():
                assert "Blood." in page.inner_text("#item")
                assert page.locator("#question").is_hidden()
                page.keyboard.press("1")
                page.keyboard.press("Enter")
            for key in ("2", "1", "1", "2", "Enter", "4"):
                page.keyboard.press(key)
            page.keyboard.type("Well, <b>so</b>.")
            page.keyboard.press("Control+Enter")
        person.wait_until_saved()
        assert page.locator("#panel").is_hidden()
        page.keyboard.press("ArrowLeft")
        assert page.locator("#draft").input_value() == "Well, <b>so</b>."
        page.keyboard.press("Escape")
        for key in ("ArrowLeft", "5", "u", "f", "n"):
            page.keyboard.press(key)
        page.keyboard.type("unclear")
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        person.wait_until_saved()
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()

    with open_annotations(tmp_path / "study.db") as store:
        rows = store.answers(store.studies()[0])
    last = {(row.item, row.question): row.value for row in rows if row.action == "answer"}
    values = [value for (_, name), value in last.items() if name == "parts"]
    assert values == [["advice", "joke"]] * 2
    assert {value for (_, name), value in last.items() if name == "quality"} == {4, None}
    assert {row.action for row in rows} == {"answer", "undo", "flag", "note"}
    assert {row.value for row in rows if row.action == "note"} == {"unclear"}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_screen(
    chromium, tmp_path, width, scheme
):
    axe = importlib.import_module("axe_playwright_python.sync_playwright").Axe()
    write_study(tmp_path, 3, ALL_KINDS)
    with serving(tmp_path) as server:
        size = {"width": width, "height": 844}
        person = Person(chromium, server.links["ana"], viewport=size, color_scheme=scheme)
        page = person.page
        for keys in ((), ("1",), ("1",), ("1", "Enter"), ("3",), ("?",)):
            for key in keys:
                page.keyboard.press(key)
            found = axe.run(page).response["violations"]
            serious = [x["id"] for x in found if x["impact"] in ("serious", "critical")]
            assert serious == []
            assert page.evaluate("document.documentElement.scrollWidth") == width
        settler = person.context.new_page()
        settler.goto(server.links["coordinator"])
        settler.wait_for_url("**/study")
        found = axe.run(settler).response["violations"]
        assert [x["id"] for x in found if x["impact"] in ("serious", "critical")] == []
        page.goto(page.url.replace("/label", "/label/guide"))
        assert [x for x in axe.run(page).response["violations"] if x["impact"] == "serious"] == []
        assert person.problems == []
