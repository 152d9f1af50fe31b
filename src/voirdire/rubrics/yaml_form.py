"""From the nodes of a file in our own form to a rubric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from voirdire.rubrics.behavior_checks import (
    check_class_form,
    check_expression_names,
    read_demands,
)
from voirdire.rubrics.default_classes import DEFAULT_CLASSES, default_classes
from voirdire.rubrics.findings import Findings
from voirdire.rubrics.form import BehaviorForm, QuestionForm, RubricForm
from voirdire.rubrics.form_errors import read_form
from voirdire.rubrics.question_checks import check_questions
from voirdire.rubrics.rubric import Behavior, CompletionClass, Question, Rubric
from voirdire.rubrics.yaml_nodes import ListNode, MappingNode, ScalarNode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import ClassRule, RubricKind
    from voirdire.rubrics.findings import Path
    from voirdire.rubrics.rubric import Text
    from voirdire.rubrics.yaml_nodes import Node

__all__ = ["PAIRWISE_LABELS", "rubric_from_nodes"]

PAIRWISE_LABELS = ("A", "B", "tie")


def rubric_from_nodes(root: Node, *, source: str) -> Rubric:
    """Read a rubric, or raise a `RubricError` with everything that is wrong with it.

    What can be checked is checked even where something else is wrong: one question that cannot be
    read hides neither the others nor the behaviors.
    """
    findings = Findings(root, source=source)
    whole = read_form(RubricForm, findings, path=(), what="a rubric")
    questions = _question_forms(findings)
    check_questions(questions, findings)
    kinds = _kinds(questions, findings)
    expressions = None if whole is None else whole.expressions
    check_expression_names(expressions or {}, findings, questions=kinds)
    forms = _behavior_forms(findings)
    class_rule = "exact" if whole is None else whole.class_rule
    behaviors = _behaviors(forms, findings, questions=kinds, class_rule=class_rule)
    if findings.found or whole is None:
        raise findings.error()
    rubric = Rubric(
        name=whole.name,
        version=whole.version,
        description=whole.description or {},
        questions=tuple(_question(form) for form in questions if form is not None),
        expressions=expressions or {},
        behaviors=behaviors,
        class_rule=whole.class_rule,
        threshold=float(whole.threshold),
        source=source,
    )
    _check_logic(rubric, forms, findings)
    return rubric


def _check_logic(rubric: Rubric, forms: Mapping[str, BehaviorForm], findings: Findings) -> None:
    """Check all conditions; one that widens a default class first alone, for its own columns."""

    def place_of(where: tuple[str, ...]) -> Path:
        match where:
            case ("behaviors", name, "classes", "unacceptable") if forms[name].unacceptable_when:
                return ("behaviors", name, "unacceptable_when")
        return where

    alone = tuple(_as_written(row, forms[row.id]) for row in rubric.behaviors)
    rounds = [rubric.behaviors] if alone == rubric.behaviors else [alone, rubric.behaviors]
    for behaviors in rounds:
        findings.add_logic(replace(rubric, behaviors=behaviors), place_of=place_of)
        if findings.found:
            raise findings.error()


def _as_written(row: Behavior, form: BehaviorForm) -> Behavior:
    """Let a condition that widens a default class be a class by itself."""
    if form.unacceptable_when is None:
        return row
    own = CompletionClass(name="unacceptable", when=form.unacceptable_when)
    return replace(row, classes=(own, DEFAULT_CLASSES[-1]))


def _behaviors(
    forms: Mapping[str, BehaviorForm],
    findings: Findings,
    *,
    questions: dict[str, RubricKind | None],
    class_rule: ClassRule,
) -> tuple[Behavior, ...]:
    behaviors = []
    for name, form in forms.items():
        check_class_form(name, form, findings, class_rule=class_rule)
        demands = read_demands(name, form, findings, questions=questions)
        description = form.description or {}
        behaviors.append(
            Behavior(id=name, description=description, demands=demands, classes=_classes(form))
        )
    return tuple(behaviors)


def _question_forms(findings: Findings) -> list[QuestionForm | None]:
    node = findings.find(("questions",))
    if not isinstance(node, ListNode):
        return []  # the form of the whole file has said so
    return [
        read_form(QuestionForm, findings, path=("questions", position), what="a question")
        for position in range(len(node.items))
    ]


def _behavior_forms(findings: Findings) -> dict[str, BehaviorForm]:
    node = findings.find(("behaviors",))
    found = {}
    for name in node.pairs if isinstance(node, MappingNode) else ():
        form = read_form(BehaviorForm, findings, path=("behaviors", str(name)), what="a behavior")
        if form is not None:
            found[str(name)] = form
    return found


def _kinds(forms: list[QuestionForm | None], findings: Findings) -> dict[str, RubricKind | None]:
    """Tell the kind of every question, also of those whose form is wrong but that have an id."""
    kinds: dict[str, RubricKind | None] = {}
    for position, form in enumerate(forms):
        path: Path = ("questions", position, "id")
        named = findings.find(path)
        if form is not None:
            kinds.setdefault(form.id, form.kind)
        elif isinstance(named, ScalarNode) and isinstance(named.value, str):
            kinds.setdefault(named.value, None)
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
        return {label: {} for label in PAIRWISE_LABELS}
    if isinstance(form.labels, list):
        return {label: {} for label in form.labels}
    return {label: text or {} for label, text in (form.labels or {}).items()}
