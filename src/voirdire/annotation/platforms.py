"""Writes a rubric and its items for other places to label: Label Studio and Argilla.

Their exports are read by `voirdire.io.read_labels`, with the names of questions, labels and items
that stand here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Language
    from voirdire.records import Item
    from voirdire.rubrics import Question, Rubric

_YES_NO = {"yes": "", "no": ""}
_MOST_STARS = 10


def label_studio_project(
    rubric: Rubric, items: Sequence[Item], *, language: Language = "en"
) -> tuple[str, list[dict[str, Any]]]:
    """Write a rubric as a labelling configuration, and items as tasks.

    Parameters
    ----------
    rubric : Rubric
        What is asked.
    items : sequence of Item
        What is labelled; a criterion of an item is a task of its own.
    language : {"en", "zh"}, optional
        Of the questions.

    Returns
    -------
    str, list of dict
        The configuration in XML, and the tasks for JSON.
    """
    view = Element("View")
    SubElement(view, "Paragraphs", name="conversation", value="$conversation", layout="dialogue",
               nameKey="role", textKey="content")  # fmt: skip
    shown, tasks = _list_tasks(rubric, items)
    for name in shown:
        SubElement(view, "Header", value=name.capitalize())
        SubElement(view, "Text", name=name, value=f"${name}")
    for question in rubric.questions:
        SubElement(view, "Header", value=_ask(question, language))
        about = {"name": question.id, "toName": "response"}
        labels = _labels_of(question, language)
        if labels:
            choice = "multiple" if question.kind == "multilabel" else "single"
            required = str(question.kind != "multilabel").lower()  # nothing may apply
            control = SubElement(view, "Choices", about, choice=choice, required=required)
            for label, definition in labels.items():
                hint = {"hint": definition} if definition else {}
                SubElement(control, "Choice", {"value": label} | hint)
        elif question.kind == "scale":
            ends = {"min": f"{question.minimum:g}", "max": f"{question.maximum:g}"}
            SubElement(view, "Number", about | ends, required="true")
        else:
            SubElement(view, "TextArea", about, required="true", maxSubmissions="1", rows="3")
    indent(view)
    return tostring(view, encoding="unicode") + "\n", [{"data": task} for task in tasks]


def argilla_dataset(
    rubric: Rubric,
    items: Sequence[Item],
    *,
    name: str,
    per_item: int = 3,
    language: Language = "en",
) -> dict[str, Any]:
    """Write a rubric and items as the files of a data set that Argilla reads from a folder.

    Parameters
    ----------
    rubric : Rubric
        What is asked; a scale has whole steps from 0 to 10.
    items : sequence of Item
        What is labelled; a criterion of an item is a record of its own.
    name : str
        Of the data set.
    per_item : int, optional
        How many people label each item.
    language : {"en", "zh"}, optional
        Of the questions.

    Returns
    -------
    dict of str to object
        By path in the folder what its JSON holds: ``.argilla/dataset.json``,
        ``.argilla/settings.json`` and ``records.json``.

    Raises
    ------
    InputError
        If a scale has other steps.
    """
    shown, tasks = _list_tasks(rubric, items)
    fields = [_field("conversation", "chat"), *(_field(name, "text") for name in shown)]
    distribution = {"strategy": "overlap", "min_submitted": per_item}
    settings = {
        "guidelines": rubric.description.get(language) or None,
        "questions": [_question(question, language) for question in rubric.questions],
        "fields": fields,
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": distribution,
    }
    records = [
        {"id": task.pop("id"), "fields": task, "metadata": {}, "suggestions": {}, "responses": {},
         "vectors": {}, "status": "pending"}
        for task in tasks
    ]  # fmt: skip
    dataset = {"name": name, "status": "draft", "allow_extra_metadata": True,
               "distribution": distribution}  # fmt: skip
    return {
        ".argilla/dataset.json": dataset,
        ".argilla/settings.json": settings,
        "records.json": records,
    }


def _list_tasks(rubric: Rubric, items: Sequence[Item]) -> tuple[list[str], list[dict[str, Any]]]:
    """List the texts beside the conversation that a task has, and the tasks."""
    shown = ["response"]
    shown += ["other"] if any(item.other is not None for item in items) else []
    shown += ["criterion"] if rubric.of_item else []
    tasks = []
    for item in items:
        texts = {"response": item.response, "other": item.other or ""}
        criteria = {f"{item.id}:{row.key}": row.text for row in item.criteria}
        for name, criterion in criteria.items() if rubric.of_item else [(item.id, "")]:
            conversation = [{"role": row.role, "content": row.content} for row in item.prompt]
            own = texts | {"criterion": criterion}
            told = {key: own[key] for key in shown}
            tasks.append({"id": name, "conversation": conversation, **told})
    return shown, tasks


def _ask(question: Question, language: Language) -> str:
    return question.text.get(language) or next(iter(question.text.values()))


def _labels_of(question: Question, language: Language) -> dict[str, str]:
    """Give the labels of a question with their definitions; none of a scale or a text."""
    if question.kind == "boolean":
        return _YES_NO
    return {label: text.get(language, "") for label, text in question.labels.items()}


def _field(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "title": name.capitalize(), "required": True, "type": kind,
            "settings": {"type": kind, "use_markdown": False}}  # fmt: skip


def _question(question: Question, language: Language) -> dict[str, Any]:
    labels = _labels_of(question, language)
    options: list[dict[str, Any]] = [
        {"value": label, "text": label, "description": definition or None}
        for label, definition in labels.items()
    ]
    kind = "multi_label_selection" if question.kind == "multilabel" else "label_selection"
    settings: dict[str, Any] = {"type": kind, "options": options, "visible_options": None}
    if question.kind == "multilabel":
        settings["options_order"] = "natural"
    elif question.kind == "scale":
        low, high = question.minimum or 0.0, question.maximum or 0.0
        if not (low.is_integer() and high.is_integer() and 0 <= low < high <= _MOST_STARS):
            msg = (
                f"question {shorten(question.id)!r} must be a scale of whole steps from 0 to 10 "
                f"for Argilla, got {low:g} to {high:g}. Take Label Studio."
            )
            raise InputError(msg)
        steps = range(int(low), int(high) + 1)
        settings = {"type": "rating", "options": [{"value": step} for step in steps]}
    elif question.kind == "text":
        settings = {"type": "text", "use_markdown": False}
    return {
        "name": question.id,
        "title": shorten(_ask(question, language), width=500),
        "description": None,
        "required": question.kind != "multilabel",
        "type": settings["type"],
        "settings": settings,
    }
