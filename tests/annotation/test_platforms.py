"""Rubrics and items for Label Studio and Argilla, and the way back by their exports."""

import json
from unittest import mock
from xml.etree import ElementTree as ET

import pytest

from annotation.studies_made import ALL_KINDS, make_items
from voirdire.annotation import argilla_dataset, label_studio_project
from voirdire.errors import InputError
from voirdire.io import read_labels
from voirdire.records import Criterion
from voirdire.rubrics import load_rubric, rubric_from_text

SAID = {
    "polite": ("yes", "boolean", "true"),
    "tone": ("warm", "choice", "warm"),
    "parts": (["joke"], "multilabel", ["joke"]),
    "quality": (4, "scale", 4.0),
    "why": ("It is short.", "text", "It is short."),
}
"""What a person answers, its kind, and the label that is read."""


def hostile():
    return make_items(2)[:1] + [
        item.__class__(id="x", response='<Text name="a"/> & "quotes"', prompt=item.prompt)
        for item in make_items(1)
    ]


def result_of(control, value):
    """Make the result of a control as Label Studio exports it."""
    kind = {"Choices": "choices", "Number": "number", "TextArea": "textarea"}[control.tag]
    key = "text" if kind == "textarea" else kind
    held = value if isinstance(value, list) or kind == "number" else [value]
    about = {"from_name": control.get("name"), "to_name": control.get("toName")}
    return about | {"type": kind, "value": {key: held}}


@pytest.mark.parametrize("question", list(SAID))
def test_labels_come_back_from_label_studio(question, tmp_path):
    config, tasks = label_studio_project(rubric_from_text(ALL_KINDS), make_items(3))
    view = ET.fromstring(config)
    controls = {each.get("name"): each for each in view if each.get("toName")}
    export = [
        task
        | {
            "id": number,
            "annotations": [
                {
                    "id": 10 * number + who,
                    "completed_by": who,
                    "result": [result_of(controls[name], row[0]) for name, row in SAID.items()],
                }
                for who in (1, 2)
            ],
        }
        for number, task in enumerate(tasks)
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))
    _, kind, label = SAID[question]

    found = read_labels(path, role="annotator", question=question, kind=kind).frame

    assert sorted(found["item"].unique()) == ["item-0", "item-1", "item-2"]
    assert len(found) == 6
    assert found["label"].to_list() == [label] * 6


@pytest.mark.parametrize("question", list(SAID))
def test_labels_come_back_from_argilla(question, tmp_path):
    files = argilla_dataset(rubric_from_text(ALL_KINDS), make_items(3), name="study")
    names = [row["name"] for row in files[".argilla/settings.json"]["questions"]]
    export = [
        record
        | {
            "responses": {
                name: [{"value": SAID[name][0], "user_id": who, "status": "submitted"}
                       for who in ("ana", "ben")]
                for name in names
            }
        }
        for record in files["records.json"]
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))
    _, kind, label = SAID[question]

    found = read_labels(path, role="annotator", question=question, kind=kind).frame

    assert sorted(found["item"].unique()) == ["item-0", "item-1", "item-2"]
    assert found["label"].to_list() == [label] * 6


def test_each_criterion_of_an_item_is_a_task_of_its_own():
    criteria = (Criterion(text="It rhymes.", points=2.0), Criterion(text="It lies.", points=-1.0))
    items = make_items(2, criteria=criteria)
    keys = [f"{item.id}:{each.key}" for item in items for each in criteria]

    config, tasks = label_studio_project(load_rubric("criteria"), items)
    files = argilla_dataset(load_rubric("criteria"), items, name="study")

    assert [task["data"]["id"] for task in tasks] == keys
    assert tasks[1]["data"]["criterion"] == "It lies."
    assert 'value="$criterion"' in config
    assert [record["id"] for record in files["records.json"]] == keys
    assert "points" not in json.dumps([tasks, files])


def test_texts_of_items_and_questions_are_text():
    config, tasks = label_studio_project(rubric_from_text(ALL_KINDS), hostile(), language="zh")

    view = ET.fromstring(config)
    assert "有礼貌吗？" in [each.get("value") for each in view.iter("Header")]
    assert tasks[1]["data"]["response"] == '<Text name="a"/> & "quotes"'


def test_a_scale_that_argilla_has_no_rating_for_is_refused():
    rubric = rubric_from_text(ALL_KINDS.replace("maximum: 5", "maximum: 100"))

    with pytest.raises(InputError, match="from 0 to 10 for Argilla, got 1 to 100"):
        argilla_dataset(rubric, make_items(1), name="study")


@pytest.mark.ci
def test_label_studio_takes_its_configuration_and_tasks():
    interface = pytest.importorskip("label_studio_sdk.label_interface")
    config, tasks = label_studio_project(rubric_from_text(ALL_KINDS), hostile())

    read = interface.LabelInterface(config)
    read.validate()

    assert all(read.validate_task(task) for task in tasks)


@pytest.mark.ci
def test_argilla_takes_its_data_set(tmp_path):
    argilla = pytest.importorskip("argilla")
    files = argilla_dataset(rubric_from_text(ALL_KINDS), hostile(), name="study")
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(files[".argilla/settings.json"]))

    with mock.patch("argilla.client.Argilla._get_default"):  # it would call a server
        settings = argilla.Settings.from_json(path)
        settings.validate()
        records = [argilla.Record.from_dict(row) for row in files["records.json"]]

    assert [row.name for row in settings.questions] == list(SAID)
    assert [record.id for record in records] == ["item-0", "x"]
