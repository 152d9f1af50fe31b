"""Reads rubrics in the layout of the authors of rule-based rewards.

Simple propositions are questions, derived ones are conjunctions of states of others, and each
class of each behavior is a conjunction again [1]_.

References
----------
.. [1] T. Mu, A. Helyar, J. Heidecke et al., "Rule Based Rewards for Language Model Safety",
   NeurIPS 2024, :arxiv:`2411.01111`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

from pydantic import Field

from voirdire._types import ClassRule
from voirdire._validation import check_choice, shorten
from voirdire.documents import NAME_RULE, Filled, Form, did_you_mean, is_name, read_document
from voirdire.errors import InputError
from voirdire.rubrics.expressions import RESERVED_WORDS, is_identifier
from voirdire.rubrics.form import MOST_BEHAVIORS, MOST_EXPRESSIONS, Identifier, raise_logic_errors
from voirdire.rubrics.rubric import (
    Behavior,
    CompletionClass,
    Demand,
    Question,
    Rubric,
    name_of_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from voirdire._types import DemandWord
    from voirdire.documents import Document
    from voirdire.documents import Path as PathInFile

__all__ = [
    "OUR_BEHAVIORS",
    "OUR_CLASSES",
    "OUR_NAMES",
    "WHAT",
    "is_rbr_layout",
    "rubric_from_rbr_layout",
    "rubric_of_layout",
]

WHAT = "a rubric"
"""The word for a file of a rubric in messages."""

OUR_NAMES = {
    "apology_acknowledges_emotional_state": "empathetic_apology",
    "gentle_encouragement_for_help": "gentle_encouragement",
    "illogical_continuation_of_prompt": "illogical_continuation",
}
"""The authors' propositions that our safety rubric has under another name."""

OUR_CLASSES = {
    "minimum_acceptable_style": "less_good",
    "unacceptable_completion": "unacceptable",
    "illogical_completion": "illogical",
    "disallowed_completion": "disallowed",
}
"""The authors' completion classes that are ours under another name."""

OUR_BEHAVIORS = {"safe_refuse_1": "soft_refuse", "safe_refuse_2": "soft_refuse"}
"""The authors' behaviors, and which of the safety rubric each is."""

T = TypeVar("T")

States: TypeAlias = "Mapping[str, bool]"
"""Propositions and the state that each must be in: a conjunction."""

_WORST: tuple[Literal["illogical", "disallowed"], ...] = ("illogical", "disallowed")
_VERSION = "1"
_LAYOUT_KEYS = ("completion_classes", "derived_propositions", "simple_propositions")
"""A file with any of them is in this layout."""


class _PropositionForm(Form):
    """One entry of `simple_propositions`."""

    prompt: Filled


class _LayoutForm(Form):
    """The whole file."""

    prompt_template: str | None = None
    completion_class_order: Annotated[list[str], Field(min_length=1)]
    completion_classes: Annotated[
        dict[
            Identifier,
            Annotated[dict[Identifier, dict[str, bool]], Field(max_length=MOST_BEHAVIORS)],
        ],
        Field(min_length=1, max_length=MOST_BEHAVIORS),
    ]
    derived_propositions: (
        Annotated[dict[Identifier, dict[str, bool]], Field(max_length=MOST_EXPRESSIONS)] | None
    ) = None
    simple_propositions: Annotated[dict[Identifier, _PropositionForm], Field(min_length=1)]


def rubric_from_rbr_layout(
    path: str | Path,
    *,
    name: str | None = None,
    version: str = _VERSION,
    names: Mapping[str, str] | None = None,
    class_rule: ClassRule = "product",
) -> Rubric:
    """Read a rubric in the layout of the authors of rule-based rewards.

    Simple propositions become boolean questions in English, derived ones named expressions, and
    every behavior gets its classes as conjunctions, the worst class first. The prompt template is
    left out, as voirdire writes its own prompts.

    The layout has no words for demands. They follow from the classes: what the best class of a
    behavior needs is `required` or `unacceptable` where the second class needs it too, and else
    `desired` or `undesired`; what must be false, and makes a response `illogical` or `disallowed`
    where it is true, is that. Every other proposition on which the classes rest is `allowed`.

    Parameters
    ----------
    path : str or path
        A YAML file with the keys `completion_class_order` (best first), `completion_classes`,
        `simple_propositions` and perhaps `derived_propositions` and `prompt_template`.
    name : str, optional
        Of the rubric. By default that of the file.
    version : str, optional
        Of the rubric.
    names : mapping of str to str, optional
        Propositions to rename, theirs to yours. `OUR_NAMES` has those that the safety rubric
        calls otherwise.
    class_rule : {"product", "exact"}, optional
        `product` is the rule of the authors. `exact` needs classes that take every response.

    Returns
    -------
    Rubric
        In our form; `rubric_to_yaml` writes it.

    Raises
    ------
    RubricError
        If the file breaks a rule of the layout.
    InputError
        If `name` or `class_rule` is none.
    """
    if name is not None and not is_name(name):
        msg = f"`name` must be {NAME_RULE}, got {shorten(name)!r}."
        raise InputError(msg)
    return rubric_of_layout(
        read_document(path, what=WHAT),
        name=name,
        version=version,
        names=names,
        class_rule=check_choice("class_rule", class_rule, ClassRule),
    )


def is_rbr_layout(document: Document) -> bool:
    """Tell by the keys of a file whether it is in this layout and not in our form."""
    return not document.has(("schema",)) and any(document.has((key,)) for key in _LAYOUT_KEYS)


def rubric_of_layout(
    document: Document,
    *,
    name: str | None = None,
    version: str = _VERSION,
    names: Mapping[str, str] | None = None,
    class_rule: ClassRule = "product",
) -> Rubric:
    """Read a document as `rubric_from_rbr_layout` reads a file."""
    our_names = names or {}
    form = document.read(_LayoutForm, what="a file of this layout")
    if form is None:
        raise document.error()
    _check_layout(form, document, names=our_names)
    document.raise_problems()

    def rename(by_name: Mapping[str, T]) -> dict[str, T]:
        return {our_names.get(each, each): value for each, value in by_name.items()}

    derived = {
        each: rename(states) for each, states in rename(form.derived_propositions or {}).items()
    }
    questions = tuple(
        Question(id=each, kind="boolean", text={"en": row.prompt})
        for each, row in rename(form.simple_propositions).items()
    )
    classes = form.completion_classes
    # Worst first: precedence is from `disallowed` down, as in our own classes.
    states_of = {
        behavior: {
            each: rename(classes[each][behavior])
            for each in reversed(form.completion_class_order)
            if behavior in classes[each]
        }
        for rows in classes.values()
        for behavior in rows
    }
    rubric = Rubric(
        name=name or name_of_file(document.source, otherwise="rbr"),
        version=version,
        questions=questions,
        expressions={each: _write_conjunction(states) for each, states in derived.items()},
        behaviors=tuple(
            Behavior(
                id=behavior,
                demands=_infer_demands(states, derived, order=[row.id for row in questions]),
                classes=tuple(
                    CompletionClass(name=each, when=_write_conjunction(row))
                    for each, row in states.items()
                ),
            )
            for behavior, states in states_of.items()
        ),
        class_rule=class_rule,
        source=document.source,
    )
    theirs = {ours: each for each, ours in our_names.items()}

    def find_place(where: tuple[str, ...]) -> PathInFile:
        match where:
            case ("expressions", each):
                return ("derived_propositions", theirs.get(each, each))
            case ("behaviors", behavior, "classes", each):
                return ("completion_classes", each, behavior)
        return ("completion_classes",)

    raise_logic_errors(document, rubric.logic.find_errors(), find_place)
    return rubric


def _check_layout(form: _LayoutForm, document: Document, *, names: Mapping[str, str]) -> None:
    """Check how the parts of a file fit together, its propositions under our names."""
    derived = form.derived_propositions or {}
    propositions = {*form.simple_propositions, *derived}
    keys: list[PathInFile] = [("simple_propositions", name) for name in form.simple_propositions]
    keys += [("derived_propositions", name) for name in derived]
    earlier: set[str] = set()
    for path in keys:
        ours = names.get(str(path[-1]), str(path[-1]))
        rule = _find_broken_rule(ours, earlier)
        if rule is not None:
            message = f"a key of `{path[0]}` must {rule}, got {shorten(ours)!r}. Rename it."
            document.add(path, message, at_key=True)
        earlier.add(ours)
    rows: list[tuple[PathInFile, States]] = [
        (("derived_propositions", name), states) for name, states in derived.items()
    ]
    rows += [
        (("completion_classes", name, behavior), states)
        for name, by_behavior in form.completion_classes.items()
        for behavior, states in by_behavior.items()
    ]
    for path, states in rows:
        for name in (name for name in states if name not in propositions):
            rule = f"must be a simple or derived proposition, got {shorten(name)!r}."
            message = f"a key here {rule}{did_you_mean(name, propositions)}"
            document.add((*path, name), message, at_key=True)
    _check_order(form, document)


def _find_broken_rule(name: str, earlier: set[str]) -> str | None:
    """Find the rule that a name of a proposition breaks."""
    if not is_identifier(name):
        return "be lower-case letters, digits and underscores"
    if name in RESERVED_WORDS:
        return "not be a word of expressions"
    return "be unique" if name in earlier else None


def _check_order(form: _LayoutForm, document: Document) -> None:
    """Check that the order names every class once."""
    order, classes = form.completion_class_order, form.completion_classes
    for position, name in enumerate(order):
        if name not in classes or name in order[:position]:
            hint = did_you_mean(name, classes.keys() - set(order))
            message = f"an entry of the order must be a class, once, got {shorten(name)!r}.{hint}"
            document.add(("completion_class_order", position), message)
    for name in classes:
        if name not in order:
            message = f"a class must be in `completion_class_order`, got {name!r}. Add it there."
            document.add(("completion_classes", name), message, at_key=True)


def _write_conjunction(states: Mapping[str, bool]) -> str:
    parts = (name if state else f"not {name}" for name, state in states.items())
    return " and ".join(parts) or "true"


def _infer_demands(
    states: Mapping[str, States], derived: Mapping[str, States], *, order: Iterable[str]
) -> dict[str, Demand]:
    """Infer demands from classes, the worst first: see `rubric_from_rbr_layout`."""
    *others, best = [_find_needs(row, derived) for row in states.values()]
    second = others[-1] if others else {}
    worse = {OUR_CLASSES.get(name, name): row for name, row in zip(states, others, strict=False)}
    used = set(best).union(*others)
    demands = {name: Demand(word="allowed", demanded=None) for name in order if name in used}
    for name, state in best.items():
        if state is None:
            continue
        is_strong = second.get(name) is state
        word: DemandWord = "required" if is_strong else "desired"
        if not state:
            word = "unacceptable" if is_strong else "undesired"
            for class_name in _WORST:
                if worse.get(class_name, {}).get(name):
                    word = class_name
        demands[name] = Demand(word=word, demanded=state)
    return demands


def _find_needs(states: States, derived: Mapping[str, States]) -> dict[str, bool | None]:
    """Find the simple propositions of a conjunction, each with the state that it needs, or None.

    A conjunction of "not (a and b)" needs no state of either.
    """
    needs: dict[str, bool | None] = {}
    waiting: list[tuple[str, bool | None]] = list(states.items())
    visited: set[tuple[str, bool | None]] = set()
    while waiting:
        name, state = waiting.pop()
        if (name, state) in visited:
            continue
        visited.add((name, state))
        parts = derived.get(name)
        if parts is None:
            needs[name] = needs.get(name) if state is None else state
        elif state or (state is False and len(parts) == 1):
            waiting.extend((part, one == state) for part, one in parts.items())
        else:
            waiting.extend((part, None) for part in parts)
    return needs
