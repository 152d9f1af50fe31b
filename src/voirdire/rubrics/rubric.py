"""The records of a rubric: questions, the behaviors that prompts deserve, completion classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from voirdire._messages import shorten
from voirdire._types import ClassRule, DemandWord, Language, RubricKind
from voirdire.documents import content_digest, did_you_mean, is_name
from voirdire.errors import InputError
from voirdire.records import Rule  # noqa: TC001  # what reads the JSON looks at the types

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from voirdire.rubrics.logic import RubricLogic

RUBRIC_SCHEMA = "voirdire.rubric/1"

Text = Mapping[Language, str]
"""The same text in one or both languages; never empty."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about an item; a boolean one is a proposition.

    Attributes
    ----------
    id : str
        Lower-case letters, digits and underscores.
    kind : {"boolean", "choice", "multilabel", "scale", "text", "pairwise"}
        What it asks for.
    text : mapping of language to str
        The question, in English (``en``), Chinese (``zh``) or both.
    yes_examples, no_examples : mapping of language to tuple of str
        Responses for which a proposition is true, and false.
    labels : mapping of str to mapping
        For `choice` and `multilabel` each label with its definition by language, in order; a
        definition is empty where there is none. ``A``, ``B`` and ``tie`` for `pairwise`. Empty
        for other kinds.
    minimum, maximum : float or None
        Ends of a `scale`.
    levels : mapping of float to mapping
        What points of a `scale` mean, by language.
    rule : Rule or None
        The code that answers a proposition in place of a judge.
    """

    id: str
    kind: RubricKind
    text: Text
    yes_examples: Mapping[Language, tuple[str, ...]] = field(default_factory=dict)
    no_examples: Mapping[Language, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[str, Text] = field(default_factory=dict)
    minimum: float | None = None
    maximum: float | None = None
    levels: Mapping[float, Text] = field(default_factory=dict)
    rule: Rule | None = None

    @property
    def number_names(self) -> tuple[str, ...]:
        """The names of its answers as numbers in [0, 1].

        A scale is one number, under its id; a choice one for each label, as ``question=label``.
        Answers of other kinds are no numbers: ().
        """
        if self.kind == "choice":
            return tuple(f"{self.id}={label}" for label in self.labels)
        return (self.id,) if self.kind == "scale" else ()

    def to_numbers(
        self, answers: Sequence[Any], *, probabilities: Sequence[float] | None = None
    ) -> NDArray[np.float64]:
        """Convert answers to numbers in [0, 1], a column for each of `number_names`.

        A scale goes from 0 at its minimum to 1 at its maximum. The label that answers a
        choice gets 1, or its probability where it has one, and the other labels share the rest. An
        answer None is missing: nan.
        """
        import numpy as np

        numbers = np.full((len(answers), len(self.number_names)), np.nan)
        for row, answer in enumerate(answers):
            if answer is None:
                continue
            if self.kind == "scale":
                low, high = self.minimum or 0.0, self.maximum or 0.0
                try:
                    value = float(answer)
                except (TypeError, ValueError):
                    value = float("nan")
                if not low <= value <= high:
                    msg = f"`{self.id}` must be in [{low:g}, {high:g}], got {shorten(answer)!r}."
                    raise InputError(msg)
                numbers[row, 0] = (value - low) / (high - low)
                continue
            labels = list(self.labels)
            if answer not in labels:
                shown = ", ".join(repr(shorten(label)) for label in labels)
                msg = f"`{self.id}` must be one of {shown}, got {shorten(answer)!r}."
                raise InputError(msg)
            probability = 1.0 if probabilities is None else float(probabilities[row])
            probability = 1.0 if np.isnan(probability) else probability
            numbers[row] = (1.0 - probability) / (len(labels) - 1)
            numbers[row, labels.index(answer)] = probability
        return numbers


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The demand of a behavior on one proposition.

    Attributes
    ----------
    word : str
        `required`, `desired`, `allowed`, `undesired`, `unacceptable`, `illogical`, `disallowed`.
    demanded : bool or None
        The state that meets the demand: true for `required` and `desired`, false for
        ``required false``, ``desired false`` and the four negative words; None for `allowed`.
    core : bool
        Whether it is a required one that must not be missed.
    """

    word: DemandWord
    demanded: bool | None
    core: bool = False


@dataclass(frozen=True, kw_only=True)
class CompletionClass:
    """A degree of how well a response follows its behavior, and its condition.

    Attributes
    ----------
    name : str
        Such as `ideal`.
    when : str
        A boolean expression over propositions, named expressions and groups of demands, or
        ``otherwise``: everything that no class before it takes.
    """

    name: str
    when: str


@dataclass(frozen=True, kw_only=True)
class Behavior:
    """The response that a kind of prompt deserves.

    Attributes
    ----------
    id : str
        Such as ``hard_refuse``.
    description : mapping of language to str
        What it is; may be empty.
    demands : mapping of str to Demand
        By proposition, in the order of the file. A proposition that is not here is not a feature.
    classes : tuple of CompletionClass
        In order of precedence: an item is of the first class whose condition holds.
    """

    id: str
    description: Text = field(default_factory=dict)
    demands: Mapping[str, Demand]
    classes: tuple[CompletionClass, ...]

    @property
    def propositions(self) -> tuple[str, ...]:
        """The propositions that it has a demand on."""
        return tuple(self.demands)

    @property
    def features(self) -> tuple[str, ...]:
        """The features of a reward: its propositions, then its classes as ``behavior.class``."""
        return (*self.demands, *(f"{self.id}.{row.name}" for row in self.classes))


@dataclass(frozen=True, kw_only=True)
class Rubric:
    """A versioned set of questions, with behaviors where it is used for rewards.

    Attributes
    ----------
    name, version : str
        Which rubric it is. The version is the author's; `content_hash` is what counts.
    description : mapping of language to str
        What it is for.
    questions : tuple of Question
        In order, ids unique.
    expressions : mapping of str to str
        Named boolean expressions over propositions and other named expressions.
    behaviors : tuple of Behavior
        Empty where the rubric is not used for rewards.
    class_rule : {"exact", "product"}
        How completion classes get their probabilities.
    threshold : float or None
        In (0, 1): a proposition is true from this probability on, declared beforehand. Without one
        the judge says, or else it is 1/2.
    of_item : bool
        Whether its one proposition is asked of every criterion that an item brings.
    reasons : bool
        Whether a language model gives a sentence of reason before each answer.
    source : str
        The file it came from, for messages; not part of its content.
    """

    name: str
    version: str
    description: Text = field(default_factory=dict)
    questions: tuple[Question, ...]
    expressions: Mapping[str, str] = field(default_factory=dict)
    behaviors: tuple[Behavior, ...] = ()
    class_rule: ClassRule = "exact"
    threshold: float | None = None
    of_item: bool = False
    reasons: bool = False
    source: str = field(default="<memory>", compare=False)

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` and 64 hexadecimal digits over the canonical JSON of its content.

        Files that differ in formatting, comments or the order of keys have the same hash. Any other
        character changes it, and so does the order of questions, labels or classes.
        """
        return content_digest(rubric_document(self))

    @cached_property
    def logic(self) -> RubricLogic:
        """Its expressions and classes, each parsed and compiled once."""
        from voirdire.rubrics.logic import RubricLogic

        return RubricLogic(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the values that are computed from the fields."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that every question is in."""
        return tuple(
            language
            for language in get_args(Language)
            if all(language in row.text for row in self.questions)
        )

    @property
    def propositions(self) -> tuple[str, ...]:
        """Ids of the boolean questions, in order."""
        return tuple(row.id for row in self.questions if row.kind == "boolean")

    @property
    def unused_propositions(self) -> tuple[str, ...]:
        """Propositions that no behavior, class or expression names; () without behaviors."""
        if not self.behaviors:
            return ()
        texts = [*self.expressions.values()]
        texts += [each.when for row in self.behaviors for each in row.classes]
        names = {word for text in texts for word in re.findall(r"\w+", text)}
        names.update(name for row in self.behaviors for name in row.demands)
        return tuple(name for name in self.propositions if name not in names)

    def question(self, question_id: str) -> Question:
        """Find a question by its id; an `InputError` if there is none."""
        for row in self.questions:
            if row.id == question_id:
                return row
        msg = f"`question` must be in rubric {self.name!r}, got {shorten(question_id)!r}."
        raise InputError(msg)

    def behavior(self, behavior_id: str) -> Behavior:
        """Find a behavior by its id; an `InputError` if there is none."""
        for row in self.behaviors:
            if row.id == behavior_id:
                return row
        names = ", ".join(repr(row.id) for row in self.behaviors) or "none"
        msg = f"`behavior` must be in rubric {self.name!r} ({names}), got {shorten(behavior_id)!r}."
        raise InputError(msg)


def name_of_file(path: str, *, otherwise: str) -> str:
    """Make the name of a rubric from that of a file; `otherwise` where no character can stay."""
    name = re.sub(r"[^\w.-]+", "-", PurePath(path).stem).strip("-_.")[:100]
    return name if is_name(name) else otherwise


DEFAULT_CLASSES = tuple(
    CompletionClass(name=name, when=when)
    for name, when in {
        "disallowed": "any(disallowed)",
        "illogical": "any(illogical)",
        "unacceptable": "any(core unmet) or count(required unmet) >= 2 or any(unacceptable)",
        "less_good": "any(required unmet) or any(desired unmet) or any(undesired)",
        "ideal": "otherwise",
    }.items()
)
"""In order of precedence, which makes them exclusive; the last makes them exhaustive."""


def default_classes(when: str | None = None) -> tuple[CompletionClass, ...]:
    """Make the five classes, with `unacceptable` widened by a condition."""
    if when is None:
        return DEFAULT_CLASSES
    return tuple(
        replace(row, when=f"{row.when} or ({when})") if row.name == "unacceptable" else row
        for row in DEFAULT_CLASSES
    )


DEMAND_WORDS: tuple[DemandWord, ...] = get_args(DemandWord)
_POSITIVE = ("required", "desired")


def parse_demand(text: str) -> Demand:
    """Read a demand: one of the seven words, perhaps after ``core`` or before ``false``.

    Examples
    --------
    >>> parse_demand("required false")
    Demand(word='required', demanded=False, core=False)
    """
    words = text.split()
    core = words[:1] == ["core"]
    rest = words[core:]
    negated = rest[1:] == ["false"]
    if not rest or rest[0] not in DEMAND_WORDS or (len(rest) > 1 and not negated):
        wrong = next((word for word in rest if word not in DEMAND_WORDS), text)
        msg = (
            f"must be one of `{'`, `'.join(DEMAND_WORDS)}`, `core` before or `false` after where "
            f"it fits, got {shorten(wrong)!r}.{did_you_mean(wrong, DEMAND_WORDS)}"
        )
        raise InputError(msg)
    word = rest[0]
    if core and word != "required":
        msg = f"must have `core` before `required` only, got {shorten(text)!r}."
        raise InputError(msg)
    if negated and word not in _POSITIVE:
        msg = f"must have `false` after `required` and `desired` only, got {shorten(text)!r}."
        raise InputError(msg)
    if word == "allowed":
        return Demand(word=word, demanded=None)
    return Demand(word=word, demanded=word in _POSITIVE and not negated, core=core)


def write_demand(demand: Demand) -> str:
    """Write a demand as `parse_demand` reads it."""
    core = "core " if demand.core else ""
    negated = " false" if demand.word in _POSITIVE and demand.demanded is False else ""
    return f"{core}{demand.word}{negated}"


def rubric_document(rubric: Rubric) -> dict[str, Any]:
    """Convert the content of a rubric to dicts, lists, text, numbers and None.

    Questions, labels and classes are lists, since their order has a meaning. Behaviors, demands and
    named expressions are mappings by name.
    """
    return {
        **({"of_item": True} if rubric.of_item else {}),
        **({"reasons": True} if rubric.reasons else {}),
        "schema": RUBRIC_SCHEMA,
        "name": rubric.name,
        "version": rubric.version,
        "description": dict(rubric.description),
        "class_rule": rubric.class_rule,
        "threshold": _normalize_number(0.5 if rubric.threshold is None else rubric.threshold),
        "questions": [question_document(row) for row in rubric.questions],
        "expressions": dict(rubric.expressions),
        "behaviors": {
            row.id: {
                "description": dict(row.description),
                "demands": {name: write_demand(demand) for name, demand in row.demands.items()},
                "classes": [{"name": each.name, "when": each.when} for each in row.classes],
            }
            for row in rubric.behaviors
        },
    }


def question_document(row: Question) -> dict[str, Any]:
    """Convert the content of a question, as `rubric_document` does."""
    return {
        "id": row.id,
        "kind": row.kind,
        "text": dict(row.text),
        "yes_examples": {name: list(texts) for name, texts in row.yes_examples.items()},
        "no_examples": {name: list(texts) for name, texts in row.no_examples.items()},
        "labels": [{"label": name, "text": dict(text)} for name, text in row.labels.items()],
        "minimum": None if row.minimum is None else _normalize_number(row.minimum),
        "maximum": None if row.maximum is None else _normalize_number(row.maximum),
        "levels": [
            {"level": _normalize_number(level), "text": dict(text)}
            for level, text in sorted(row.levels.items())
        ],
        **({} if row.rule is None else {"rule": msgspec.to_builtins(row.rule)}),
    }


def _normalize_number(value: float) -> float:
    """Write equal numbers equally: 1 as 1.0, and -0.0 as 0.0."""
    return float(value) + 0.0
