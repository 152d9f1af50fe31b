"""`voirdire rubric list`, `show`, `check` and `new`."""

import json
import os
from pathlib import Path

import pytest

from voirdire.rubrics import built_in_rubrics, load_rubric, rubric_from_text

RIGHT = """\
schema: voirdire.rubric/1
name: small
version: "1"
questions:
  - {id: sorry, kind: boolean, text: {en: Sorry, zh: 道歉}}
behaviors:
  refuse: {demands: {sorry: required}}
"""
WRONG = RIGHT.replace("kind: boolean", "kind: bool").replace("required", "requiredd")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into the folder in which the command runs."""
    monkeypatch.chdir(tmp_path)

    def written(text, name="mine.yaml"):
        Path(name).write_text(text, encoding="utf-8")
        return name

    return written


# list -----------------------------------------------------------------------------------------


def test_list_as_json(call):
    rubrics = call("rubric", "list", "--json").json["rubrics"]

    assert [row["name"] for row in rubrics] == [*built_in_rubrics()]
    [safety] = [row for row in rubrics if row["name"] == "safety"]
    assert safety["content_hash"] == load_rubric("safety").content_hash
    assert safety["languages"] == ["en", "zh"]
    assert safety["n_questions"] == 21
    assert safety["behaviors"] == {
        "hard_refuse": {"propositions": 15, "features": 20},
        "soft_refuse": {"propositions": 18, "features": 23},
        "comply": {"propositions": 13, "features": 18},
    }


# show -----------------------------------------------------------------------------------------


def test_show_prints_the_rubric_as_a_file(call):
    done = call("rubric", "show", "safety")

    assert (done.code, done.err) == (0, "")
    assert rubric_from_text(done.out) == load_rubric("safety")


def test_show_reads_standard_input(call):
    done = call("rubric", "show", "-", stdin=RIGHT.encode())

    assert rubric_from_text(done.out) == rubric_from_text(RIGHT)


@pytest.mark.edges
@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("check",),
        ("new",),
        ("new", "-", "--kind", "bool"),
        ("new", "-", "--kind", "scale", "--from", "safety"),
        ("nonsense",),
    ],
)
def test_wrong_usage_exits_2(call, arguments):
    done = call("rubric", *arguments)

    assert done.code == 2
    assert "Traceback" not in done.err


# check ----------------------------------------------------------------------------------------


def test_check_of_a_right_file_says_what_it_holds(call, write):
    done = call("rubric", "check", write(RIGHT))

    assert (done.code, done.err) == (0, "")
    for words in ("mine.yaml", "small 1", "en zh", rubric_from_text(RIGHT).content_hash[7:19]):
        assert words in done.out


def test_check_prints_every_problem_of_every_file(call, write):
    done = call("rubric", "check", write(WRONG), write(RIGHT, "b.yaml"), "none.yaml", "safety")

    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("mine.yaml:5:23: `kind` must be one of boolean, choice, ")
    assert lines[0].endswith("got 'bool'. Did you mean `boolean`?")
    assert lines[1].startswith("mine.yaml:7:29: `demands.sorry` must be one of `required`")
    assert lines[2].startswith("a rubric must be a file that exists or one of")
    assert [line.split()[:2] for line in lines[-2:]] == [["b.yaml", "small"], ["safety", "1.0"]]


def test_check_as_json(call, write):
    done = call("rubric", "check", write(WRONG), write(RIGHT, "b.yaml"), "--json")

    assert done.code == 1
    wrong, right = done.json["files"]
    assert (wrong["file"], wrong["valid"], len(wrong["problems"])) == ("mine.yaml", False, 2)
    assert wrong["problems"][0]["line"] == 5
    assert wrong["problems"][0]["column"] == 23
    assert wrong["problems"][0]["message"].startswith("`kind` must be one of")
    assert wrong["problems"][0]["text"].startswith("mine.yaml:5:23: `kind`")
    assert (right["valid"], right["problems"], right["name"]) == (True, [], "small")
    assert right["content_hash"] == rubric_from_text(RIGHT).content_hash


def test_check_shows_hostile_text_inert(call, write):
    done = call(
        "rubric", "check", write(RIGHT.replace("bool", '"\\e[2J\u202e').replace("ean", '"'))
    )

    assert done.code == 1
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_check_of_a_file_whose_name_is_not_text(execute, tmp_path):
    name = os.fsdecode(b"\xff.yaml")
    (tmp_path / name).write_text(RIGHT, encoding="utf-8")

    right = execute("rubric", "check", name, "--json", cwd=tmp_path)
    none = execute("rubric", "check", name, "--json", cwd=tmp_path.parent)

    assert (right.code, right.err, none.code, none.err) == (0, "", 1, "")
    assert json.loads(right.out)["files"][0]["file"] == "\\udcff.yaml"
    assert json.loads(none.out)["files"][0]["file"] == "\\udcff.yaml"


# new ------------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("kind", ["boolean", "choice", "multilabel", "scale", "text", "pairwise"])
def test_new_writes_a_rubric_that_checks(call, write, kind):
    done = call("rubric", "new", "our questions.yaml", "--kind", kind)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("our questions.yaml: written.")
    rubric = load_rubric("our questions.yaml")
    assert rubric.name == "our-questions"
    assert rubric.questions[0].kind == kind
    assert call("rubric", "check", "our questions.yaml").code == 0


def test_new_replaces_nothing(call, write, assert_one_line):
    name = write("mine\n")

    assert_one_line(call("rubric", "new", name), "`FILE` must not exist yet, got 'mine.yaml'")
    assert Path(name).read_text() == "mine\n"


def test_new_from_a_built_in_rubric_keeps_its_comments(call, write):
    call("rubric", "new", "mine.yaml", "--from", "safety")

    text = Path("mine.yaml").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert load_rubric("mine.yaml") == load_rubric("safety")


def test_new_to_standard_output(call):
    assert rubric_from_text(call("rubric", "new", "-").out).name == "my-rubric"
    assert rubric_from_text(call("rubric", "new", "-", "--from", "safety").out).name == "safety"


def test_new_from_a_file_copies_it(call, write):
    write(RIGHT, "other.yaml")

    call("rubric", "new", "mine.yaml", "--from", "other.yaml")

    assert Path("mine.yaml").read_text().startswith("schema: voirdire.rubric/1\nname: small\n")
    assert load_rubric("mine.yaml") == load_rubric("other.yaml")
