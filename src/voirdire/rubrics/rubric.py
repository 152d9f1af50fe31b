"""What a rubric is: questions, the behaviors that prompts deserve, and completion classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from voirdire._types import ClassRule, DemandWord, Language, RubricKind
from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from voirdire.rubrics.logic.rubric_logic import RubricLogic

__all__ = ["RUBRIC_SCHEMA", "Behavior", "CompletionClass", "Demand", "Question", "Rubric"]

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


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a behavior says of one proposition.

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
    """How well a response follows its behavior, and when that is so.

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
        """The propositions that it says something of."""
        return tuple(self.demands)

    @property
    def features(self) -> tuple[str, ...]:
        """What a reward may weigh: its propositions, then its classes as ``behavior.class``."""
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
    threshold : float
        In (0, 1): a proposition is true from this probability on. Declared beforehand.
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
    threshold: float = 0.5
    source: str = field(default="<memory>", compare=False)

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` and 64 hexadecimal digits over everything that it says."""
        from voirdire.rubrics.hashing import hash_rubric

        return hash_rubric(self)

    @cached_property
    def logic(self) -> RubricLogic:
        """What its expressions and classes compile to; each is compiled once."""
        from voirdire.rubrics.logic.rubric_logic import RubricLogic

        return RubricLogic(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the rest."""
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
        known = ", ".join(repr(row.id) for row in self.behaviors) or "none"
        msg = f"`behavior` must be in rubric {self.name!r} ({known}), got {shorten(behavior_id)!r}."
        raise InputError(msg)
