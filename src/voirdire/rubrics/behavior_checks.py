"""What must hold of expressions and behaviors beyond their form: whom they name, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rubrics.demands import parse_demand
from voirdire.rubrics.names import RESERVED_WORDS, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from voirdire._types import ClassRule, RubricKind
    from voirdire.rubrics.findings import Findings
    from voirdire.rubrics.form import BehaviorForm
    from voirdire.rubrics.rubric import Demand

__all__ = ["check_class_form", "check_expression_names", "read_demands"]


def check_expression_names(
    names: Iterable[str], findings: Findings, *, questions: Mapping[str, RubricKind | None]
) -> None:
    """Note expressions that are called as a word of expressions or as a question."""
    for name in names:
        path = ("expressions", name)
        if name in RESERVED_WORDS:
            message = f"a key of `expressions` must not be a word of theirs, got {name!r}. Rename."
            findings.add(path, message, at_key=True)
        elif name in questions:
            message = f"a key of `expressions` must not be a question, got {name!r}. Rename it."
            findings.add(path, message, at_key=True)


def read_demands(
    behavior: str,
    form: BehaviorForm,
    findings: Findings,
    *,
    questions: Mapping[str, RubricKind | None],
) -> dict[str, Demand]:
    """Read the demands of a behavior, noting what is wrong with them.

    Parameters
    ----------
    behavior : str
        Its id.
    form : BehaviorForm
        What the file says of it.
    findings : Findings
        Gets what is wrong.
    questions : mapping of str to kind
        The kind of each question; None where its form is wrong.
    """
    demands = {}
    for name, text in form.demands.items():
        path = ("behaviors", behavior, "demands", name)
        kind = questions.get(name, "boolean")
        if name not in questions:
            hint = did_you_mean(name, questions)
            message = f"a key of `demands` must be a question, got {shorten(name)!r}.{hint}"
            findings.add(path, message, at_key=True)
        elif kind not in ("boolean", None):
            message = f"a key of `demands` must be a boolean question, got {name!r}, a {kind} one."
            findings.add(path, message, at_key=True)
        try:
            demands[name] = parse_demand(text)
        except InputError as error:
            findings.add(path, f"`demands.{shorten(name, width=40)}` {error}")
    return demands


def check_class_form(
    behavior: str, form: BehaviorForm, findings: Findings, *, class_rule: ClassRule
) -> None:
    """Note classes that are said twice, or not at all where the rule needs them."""
    path = ("behaviors", behavior)
    if form.classes is not None and form.unacceptable_when is not None:
        message = "`unacceptable_when` must stand without `classes`: it adds to the default ones."
        findings.add((*path, "unacceptable_when"), message, at_key=True)
    if class_rule == "product" and form.classes is None:
        message = "a behavior must have the key `classes` where `class_rule` is product. Add it."
        findings.add(path, message, at_key=True)
