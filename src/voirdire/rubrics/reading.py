"""Rubrics from their built-in names, from files and from text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import did_you_mean, document_from_text, file_exists, read_document
from voirdire.errors import InputError
from voirdire.rubrics.form import (
    BehaviorForm,
    QuestionForm,
    RubricForm,
    check_class_form,
    check_expression_names,
    check_questions,
    read_demands,
)
from voirdire.rubrics.rbr_layout import WHAT, add_logic_errors, is_rbr_layout, rubric_of_layout
from voirdire.rubrics.rubric import (
    DEFAULT_CLASSES,
    Behavior,
    CompletionClass,
    Question,
    Rubric,
    default_classes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from voirdire._types import ClassRule, RubricKind
    from voirdire.documents import Document
    from voirdire.documents import Path as PathInFile
    from voirdire.rubrics.rubric import Text

__all__ = ["built_in_rubrics", "built_in_text", "load_rubric", "rubric_from_text"]

_PAIRWISE_LABELS = ("A", "B", "tie")


def built_in_rubrics() -> tuple[str, ...]:
    """Name the rubrics that ship with voirdire.

    Returns
    -------
    tuple of str
        Names that `load_rubric` takes, in alphabetical order.

    Examples
    --------
    >>> "safety" in built_in_rubrics()
    True
    """
    return tuple(sorted(_files()))


def built_in_text(name: str) -> str:
    """Read the YAML of a built-in rubric, comments and all."""
    return _files()[name].read_text(encoding="utf-8")


@cache
def _files() -> dict[str, Traversable]:
    folder = files("voirdire") / "data" / "rubrics"
    return {
        file.name.removesuffix(".yaml"): file
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    }


def load_rubric(name_or_path: Rubric | str | Path) -> Rubric:
    """Load a built-in rubric or one from a YAML file.

    Parameters
    ----------
    name_or_path : Rubric, str or path
        A rubric, which is returned as it is; a name of `built_in_rubrics`; or a file: in the form
        ``voirdire.rubric/1``, or in the layout of the authors of rule-based rewards, which is told
        by its keys and read as `rubric_from_rbr_layout` does. A built-in name wins over a file of
        that name; write ``./safety`` for the file.

    Returns
    -------
    Rubric
        Checked: every name is known, every class can be reached by the logic.

    Raises
    ------
    RubricError
        If the file breaks a rule; the message begins with file, line and column, and `problems`
        has all of them.
    InputError
        If there is no such built-in rubric and no such file.

    Examples
    --------
    >>> rubric = load_rubric("safety")
    >>> len(rubric.propositions)
    21
    >>> [behavior.id for behavior in rubric.behaviors]
    ['hard_refuse', 'soft_refuse', 'comply']
    """
    if isinstance(name_or_path, Rubric):
        return name_or_path
    known = built_in_rubrics()
    if isinstance(name_or_path, str) and name_or_path in known:
        return _built_in(name_or_path)
    if not file_exists(name_or_path):
        name = str(name_or_path)
        msg = (
            f"a rubric must be a file that exists or one of {', '.join(known)}, got "
            f"{shorten(name)!r}.{did_you_mean(name, known) or ' Check the path.'}"
        )
        raise InputError(msg)
    return _rubric_of(read_document(name_or_path, what=WHAT))


@cache
def _built_in(name: str) -> Rubric:
    return rubric_from_text(built_in_text(name), source=f"built-in {name}")


def rubric_from_text(text: str | bytes, *, source: str = "<text>") -> Rubric:
    """Read a rubric from YAML text.

    Parameters
    ----------
    text : str or bytes
        A whole file, as `load_rubric` reads it.
    source : str, optional
        What errors call it.

    Returns
    -------
    Rubric
        The same as `load_rubric` gives.

    Raises
    ------
    RubricError
        If it breaks a rule.

    Examples
    --------
    >>> rubric = rubric_from_text('''
    ... schema: voirdire.rubric/1
    ... name: politeness
    ... version: "1"
    ... questions:
    ...   - id: thanks
    ...     kind: boolean
    ...     text: Does the response thank the user?
    ... ''')
    >>> rubric.question("thanks").text["en"]
    'Does the response thank the user?'
    """
    return _rubric_of(document_from_text(text, source=source, what=WHAT))


def _rubric_of(document: Document) -> Rubric:
    return rubric_of_layout(document) if is_rbr_layout(document) else _rubric_of_form(document)


def _rubric_of_form(document: Document) -> Rubric:
    """Read a rubric, or raise a `RubricError` with everything that is wrong with it.

    What can be checked is checked even where something else is wrong: one question that cannot be
    read hides neither the others nor the behaviors.
    """
    whole = document.read(RubricForm)
    questions = _question_forms(document)
    check_questions(questions, document)
    kinds = _kinds(questions, document)
    expressions = None if whole is None else whole.expressions
    check_expression_names(expressions or {}, document, questions=kinds)
    forms = _behavior_forms(document)
    class_rule = "exact" if whole is None else whole.class_rule
    behaviors = _behaviors(forms, document, questions=kinds, class_rule=class_rule)
    if document.is_wrong or whole is None:
        raise document.error()
    rubric = Rubric(
        name=whole.name,
        version=whole.version,
        description=whole.description or {},
        questions=tuple(_question(form) for form in questions if form is not None),
        expressions=expressions or {},
        behaviors=behaviors,
        class_rule=whole.class_rule,
        threshold=None if whole.threshold is None else float(whole.threshold),
        source=document.source,
    )
    _check_logic(rubric, forms, document)
    return rubric


def _check_logic(rubric: Rubric, forms: Mapping[str, BehaviorForm], document: Document) -> None:
    """Check all conditions; one that widens a default class first alone, for its own columns."""

    def place_of(where: tuple[str, ...]) -> PathInFile:
        match where:
            case ("behaviors", name, "classes", "unacceptable") if forms[name].unacceptable_when:
                return ("behaviors", name, "unacceptable_when")
        return where

    alone = tuple(_as_written(row, forms[row.id]) for row in rubric.behaviors)
    rounds = [rubric.behaviors] if alone == rubric.behaviors else [alone, rubric.behaviors]
    for behaviors in rounds:
        checked = rubric if behaviors is rubric.behaviors else replace(rubric, behaviors=behaviors)
        add_logic_errors(document, checked, place_of=place_of)
        document.raise_problems()


def _as_written(row: Behavior, form: BehaviorForm) -> Behavior:
    """Let a condition that widens a default class be a class by itself."""
    if form.unacceptable_when is None:
        return row
    own = CompletionClass(name="unacceptable", when=form.unacceptable_when)
    return replace(row, classes=(own, DEFAULT_CLASSES[-1]))


def _behaviors(
    forms: Mapping[str, BehaviorForm],
    document: Document,
    *,
    questions: dict[str, RubricKind | None],
    class_rule: ClassRule,
) -> tuple[Behavior, ...]:
    behaviors = []
    for name, form in forms.items():
        check_class_form(name, form, document, class_rule=class_rule)
        demands = read_demands(name, form, document, questions=questions)
        description = form.description or {}
        behaviors.append(
            Behavior(id=name, description=description, demands=demands, classes=_classes(form))
        )
    return tuple(behaviors)


def _question_forms(document: Document) -> list[QuestionForm | None]:
    rows = document.get(("questions",))
    if not isinstance(rows, list):
        return []  # the form of the whole file has said so
    return [
        document.read(QuestionForm, ("questions", place), what="a question")
        for place in range(len(rows))
    ]


def _behavior_forms(document: Document) -> dict[str, BehaviorForm]:
    rows = document.get(("behaviors",))
    found = {}
    for name in rows if isinstance(rows, dict) else ():
        form = document.read(BehaviorForm, ("behaviors", str(name)), what="a behavior")
        if form is not None:
            found[str(name)] = form
    return found


def _kinds(forms: list[QuestionForm | None], document: Document) -> dict[str, RubricKind | None]:
    """Tell the kind of every question, also of those whose form is wrong but that have an id."""
    kinds: dict[str, RubricKind | None] = {}
    for position, form in enumerate(forms):
        named = document.get(("questions", position, "id"))
        if form is not None:
            kinds.setdefault(form.id, form.kind)
        elif isinstance(named, str):
            kinds.setdefault(named, None)
    return kinds


def _classes(form: BehaviorForm) -> tuple[CompletionClass, ...]:
    if form.classes is None:
        return default_classes(form.unacceptable_when)
    return tuple(CompletionClass(name=name, when=when) for name, when in form.classes.items())


def _question(form: QuestionForm) -> Question:
    return Question(
        id=form.id,
        kind=form.kind,
        text=form.text,
        yes_examples={name: tuple(rows) for name, rows in (form.yes_examples or {}).items()},
        no_examples={name: tuple(rows) for name, rows in (form.no_examples or {}).items()},
        labels=_labels(form),
        minimum=None if form.minimum is None else float(form.minimum),
        maximum=None if form.maximum is None else float(form.maximum),
        levels={float(level): text for level, text in (form.levels or {}).items()},
    )


def _labels(form: QuestionForm) -> dict[str, Text]:
    if form.kind == "pairwise":
        return {label: {} for label in _PAIRWISE_LABELS}
    if isinstance(form.labels, list):
        return {label: {} for label in form.labels}
    return {label: text or {} for label, text in (form.labels or {}).items()}
