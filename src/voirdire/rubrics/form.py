"""The YAML form ``voirdire.rubric/1``: its keys, what they hold, and what must fit together.

The pydantic models say what can be said of one value; the functions below them check the rest.
What can be checked is checked even where something else is wrong: one question that cannot be read
hides neither the others nor the behaviors.
"""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from voirdire._types import ClassRule, Language, RubricKind
from voirdire._validation import shorten
from voirdire.documents import Filled, Form, Line, Name, Number, rule_error
from voirdire.errors import InputError
from voirdire.rubrics.expressions import RESERVED_WORDS, is_identifier
from voirdire.rubrics.logic import logic_errors, wrong_keys
from voirdire.rubrics.rubric import (
    RUBRIC_SCHEMA,
    Behavior,
    CompletionClass,
    Question,
    Rubric,
    default_classes,
    parse_demand,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voirdire.documents import Document
    from voirdire.documents import Path as PathInFile

__all__ = [
    "MOST_BEHAVIORS",
    "MOST_EXPRESSIONS",
    "Identifier",
    "add_logic_errors",
    "read_rubric_form",
]

LABEL_FORMS = ("labels in a list", "labels in a mapping")
"""Names of the two ways to write labels; pydantic puts them into the place of an error."""

# Far more than people write; checking the logic of a hostile file must not take minutes.
MOST_QUESTIONS = 2_000
MOST_EXPRESSIONS = 1_000
MOST_BEHAVIORS = 100

_PAIRWISE_LABELS = ("A", "B", "tie")


def _identifier(word: str) -> str:
    if not is_identifier(word):
        raise rule_error(
            "be lower-case letters, digits and underscores, a letter first, at most 100"
        )
    return word


def _expression(value: Any) -> Any:
    """Let ``true`` be an expression, and let lines and spaces be formatting."""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(value.split()) if isinstance(value, str) else value


def _in_english(value: Any) -> Any:
    """Let a bare text, or list of texts, be the English one."""
    return {"en": value} if isinstance(value, str | list) else value


def _label_form(value: Any) -> str | None:
    if isinstance(value, list | dict):
        return LABEL_FORMS[isinstance(value, dict)]
    return None


Identifier = Annotated[str, AfterValidator(_identifier)]
Expression = Annotated[Filled, BeforeValidator(_expression)]
Text: TypeAlias = Annotated[
    dict[Language, Filled], Field(min_length=1), BeforeValidator(_in_english)
]
Texts: TypeAlias = Annotated[
    dict[Language, Annotated[list[Filled], Field(min_length=1), AfterValidator(tuple)]],
    Field(min_length=1),
    BeforeValidator(_in_english),
]
Labels: TypeAlias = Annotated[
    Annotated[list[Line], Field(min_length=1), Tag(LABEL_FORMS[0])]
    | Annotated[dict[Line, Text | None], Field(min_length=1), Tag(LABEL_FORMS[1])],
    Discriminator(
        _label_form,
        custom_error_type="rule",
        custom_error_message="be a list of words, or a mapping of words to definitions",
    ),
]


class QuestionForm(Form):
    """One entry of `questions`."""

    alternatives: ClassVar = frozenset(LABEL_FORMS)

    id: Identifier
    kind: RubricKind
    text: Text
    yes_examples: Texts | None = None
    no_examples: Texts | None = None
    labels: Labels | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    levels: Annotated[dict[Number, Text], Field(min_length=1)] | None = None


class BehaviorForm(Form):
    """One entry of `behaviors`."""

    description: Text | None = None
    demands: Annotated[dict[str, str], Field(min_length=1)]
    unacceptable_when: Expression | None = None
    classes: Annotated[dict[Identifier, Expression], Field(min_length=1)] | None = None


class RubricForm(Form):
    """The whole file; each question and behavior is read by its own form."""

    schema_: Annotated[Literal["voirdire.rubric/1"], Field(alias="schema")]
    name: Name
    version: Line
    description: Text | None = None
    class_rule: ClassRule = "exact"
    threshold: Annotated[Number, Field(gt=0, lt=1)] | None = None
    questions: Annotated[list[Any], Field(min_length=1, max_length=MOST_QUESTIONS)]
    expressions: (
        Annotated[dict[Identifier, Expression], Field(max_length=MOST_EXPRESSIONS)] | None
    ) = None
    behaviors: (
        Annotated[dict[Identifier, Any], Field(min_length=1, max_length=MOST_BEHAVIORS)] | None
    ) = None


def read_rubric_form(document: Document) -> Rubric:
    """Read a rubric, or raise a `RubricError` with everything that is wrong with it."""
    schema = document.get(("schema",))
    if isinstance(schema, str) and re.match(r"voirdire\.(?!rubric/)", schema):
        message = f"`schema` of a rubric must be {RUBRIC_SCHEMA}, got {shorten(schema)!r}."
        raise document.error_at(("schema",), f"{message} This is another kind of file.")
    whole = document.read(RubricForm)
    class_rule = "exact" if whole is None else whole.class_rule
    expressions = {} if whole is None else whole.expressions or {}
    rows, named = document.get(("questions",)), document.get(("behaviors",))
    questions = [
        document.read(QuestionForm, ("questions", place), what="a question")
        for place in range(len(rows) if isinstance(rows, list) else 0)
    ]
    forms = {
        str(name): document.read(BehaviorForm, ("behaviors", str(name)), what="a behavior")
        for name in (named if isinstance(named, dict) else ())
    }
    kinds: dict[str, RubricKind | None] = {
        str(document.get(("questions", place, "id"))): None if form is None else form.kind
        for place, form in reversed([*enumerate(questions)])
    }
    _check_questions(questions, document)
    demands = {name: form.demands for name, form in forms.items() if form is not None}
    for where, message in wrong_keys(kinds, expressions=expressions, demands=demands):
        document.add(where, message, at_key=True)
    behaviors = tuple(
        _read_behavior(name, form, document, class_rule=class_rule)
        for name, form in forms.items()
        if form is not None
    )
    if document.is_wrong or whole is None:
        raise document.error()
    rubric = Rubric(
        name=whole.name,
        version=whole.version,
        description=whole.description or {},
        questions=tuple(_read_question(form) for form in questions if form is not None),
        expressions=expressions,
        behaviors=behaviors,
        class_rule=class_rule,
        threshold=whole.threshold,
        source=document.source,
    )
    widened = {
        name: form.unacceptable_when
        for name, form in forms.items()
        if form is not None and form.unacceptable_when is not None
    }

    def place_of(where: tuple[str, ...]) -> PathInFile:
        is_widened = where[2:] == ("classes", "unacceptable") and where[1] in widened
        return (*where[:2], "unacceptable_when") if is_widened else where

    add_logic_errors(document, rubric, widened=widened, place_of=place_of)
    return rubric


def add_logic_errors(
    document: Document,
    rubric: Rubric,
    *,
    widened: Mapping[str, str] = MappingProxyType({}),
    place_of: Callable[[tuple[str, ...]], PathInFile],
) -> None:
    """Raise what is wrong with the expressions of a rubric, or else with its behaviors.

    `widened` is as for `logic_errors`; `place_of` gives the place in the file for a place in the
    rubric that was read from it.
    """
    for error in logic_errors(rubric, widened=widened):
        path = place_of(error.where)
        stands_there = document.has(path) and not isinstance(document.get(path), dict | list)
        document.add(path, str(error), at_key=not stands_there)
    document.raise_problems()


def _read_question(form: QuestionForm) -> Question:
    given = {key: value for key, value in form if value is not None}
    labels = _PAIRWISE_LABELS if form.kind == "pairwise" else form.labels or ()
    texts = labels if isinstance(labels, dict) else {}
    given["labels"] = {label: texts.get(label) or {} for label in labels}
    return Question(**given)


def _read_behavior(
    name: str, form: BehaviorForm, document: Document, *, class_rule: ClassRule
) -> Behavior:
    """Read a behavior, and note what is wrong with its demands and its classes."""
    path = ("behaviors", name)
    demands = {}
    for question, text in form.demands.items():
        try:
            demands[question] = parse_demand(text)
        except InputError as error:
            message = f"`demands.{shorten(question, width=40)}` {error}"
            document.add((*path, "demands", question), message)
    if form.classes is not None and form.unacceptable_when is not None:
        message = "`unacceptable_when` must stand without `classes`: it adds to the default ones."
        document.add((*path, "unacceptable_when"), message, at_key=True)
    if class_rule == "product" and form.classes is None:
        message = "a behavior must have the key `classes` where `class_rule` is product. Add it."
        document.add(path, message, at_key=True)
    own = (form.classes or {}).items()
    classes = tuple(CompletionClass(name=each, when=when) for each, when in own)
    return Behavior(
        id=name,
        description=form.description or {},
        demands=demands,
        classes=classes or default_classes(form.unacceptable_when),
    )


_NEEDED: dict[RubricKind, tuple[str, ...]] = {
    "choice": ("labels",),
    "multilabel": ("labels",),
    "scale": ("minimum", "maximum"),
}
_POSSIBLE: dict[RubricKind, tuple[str, ...]] = _NEEDED | {
    "boolean": ("yes_examples", "no_examples"),
    "scale": ("minimum", "maximum", "levels"),
}
_SPECIAL = ("labels", "minimum", "maximum", "levels", "yes_examples", "no_examples")


def _check_questions(forms: Sequence[QuestionForm | None], document: Document) -> None:
    """Note everything that is wrong within and between questions that can be read."""
    first: dict[str, int] = {}
    for position, form in enumerate(forms):
        if form is None:
            continue
        path = ("questions", position)
        if form.id in RESERVED_WORDS:
            rule = f"`id` must not be a word of expressions, got {form.id!r}. Rename."
            document.add((*path, "id"), rule)
        elif form.id in first:
            line = document.line(("questions", first[form.id], "id"))
            rule = f"`id` must be unique, got {form.id!r} again (first on line {line})."
            document.add((*path, "id"), rule)
        first.setdefault(form.id, position)
        _check_keys(form, document, path)
        _check_answers(form, document, path)
        _check_scale(form, document, path)
    _check_languages(forms, document)


def _check_keys(form: QuestionForm, document: Document, path: PathInFile) -> None:
    for key in _SPECIAL:
        is_given = getattr(form, key) is not None
        if not is_given and key in _NEEDED.get(form.kind, ()):
            document.add(path, f"a {form.kind} question must have the key `{key}`. Add it.")
        elif is_given and key not in _POSSIBLE.get(form.kind, ()):
            kinds = [kind for kind in get_args(RubricKind) if key in _POSSIBLE.get(kind, ())]
            message = f"`{key}` is for {' and '.join(kinds)} questions, this one is {form.kind}."
            document.add((*path, key), message, at_key=True)


def _check_answers(form: QuestionForm, document: Document, path: PathInFile) -> None:
    """Labels differ, and one response cannot be an example of both."""
    labels = list(form.labels or ()) if form.kind in ("choice", "multilabel") else []
    seen: set[str] = set()
    for position, label in enumerate(labels):
        if label in seen:
            message = f"an entry of `labels` must be unique, got {shorten(label)!r} again."
            document.add((*path, "labels", position), message)
        seen.add(label)
    if form.kind == "choice" and len(labels) == 1:
        message = "`labels` of a choice must be at least two, got one. Add another."
        document.add((*path, "labels"), message)
    for language, examples in (form.no_examples or {}).items():
        opposite = frozenset((form.yes_examples or {}).get(language, ()))
        for position, example in enumerate(examples):
            if example in opposite:
                message = (
                    "an example must stand under `yes_examples` or `no_examples`, got "
                    f"{shorten(example, width=40)!r} under both."
                )
                document.add((*path, "no_examples", language, position), message)


def _check_scale(form: QuestionForm, document: Document, path: PathInFile) -> None:
    low, high = form.minimum, form.maximum
    if form.kind != "scale" or low is None or high is None:
        return
    if not low < high:
        message = f"`maximum` must be more than `minimum` {low:g}, got {high:g}."
        document.add((*path, "maximum"), message)
        return
    for level in form.levels or {}:
        if not low <= level <= high:
            rule = f"must lie in [{low:g}, {high:g}], the scale, got {level:g}."
            document.add((*path, "levels", level), f"a key of `levels` {rule}", at_key=True)


def _check_languages(forms: Sequence[QuestionForm | None], document: Document) -> None:
    """Every question is in the same languages; blame the fewer ones."""
    valid = [(position, form) for position, form in enumerate(forms) if form is not None]
    spoken = Counter(language for _, form in valid for language in form.text)
    common = [x for x in get_args(Language) if 2 * spoken[x] >= len(valid) and spoken[x]]
    for position, form in valid:
        for path, texts in _translated(form):
            place = ("questions", position, *path)
            for language in (x for x in common if x not in texts):
                # Examples may be missing in a language; what is asked may not.
                if path[0] not in ("yes_examples", "no_examples"):
                    message = f"`{path[0]}` must be in {language!r} as other questions are. Add it."
                    document.add(place, message)
            for language in (x for x in texts if x not in common):
                message = (
                    f"{language!r} must be a language of every question, got it in some. "
                    "Translate the others, or delete it."
                )
                document.add((*place, language), message, at_key=True)


def _translated(form: QuestionForm) -> Iterator[tuple[PathInFile, Mapping[Any, object]]]:
    """Yield everything of a question that is in languages, with where it stands."""
    yield ("text",), form.text
    labels = form.labels if isinstance(form.labels, dict) else {}
    yield from ((("labels", name), text) for name, text in labels.items() if text)
    yield from ((("levels", level), text) for level, text in (form.levels or {}).items())
    for key in ("yes_examples", "no_examples"):
        if getattr(form, key):
            yield (key,), getattr(form, key)
