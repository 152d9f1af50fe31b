"""The YAML form ``voirdire.rubric/1``: its keys, their values, and how these fit together.

The pydantic models check single values, the functions below them how the values fit together. A
question that cannot be read hides no problem of the others, nor of the behaviors.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from voirdire._messages import shorten
from voirdire._types import ClassRule, Language, RubricKind
from voirdire.documents import Filled, Form, Line, Name, Number, rule_error
from voirdire.errors import InputError
from voirdire.rubrics.expressions import RESERVED_WORDS, is_identifier
from voirdire.rubrics.logic import find_key_errors
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
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from voirdire.documents import Document
    from voirdire.documents import Path as PathInFile
    from voirdire.errors import LogicError

__all__ = [
    "MOST_BEHAVIORS",
    "MOST_EXPRESSIONS",
    "Identifier",
    "raise_logic_errors",
    "read_rubric_form",
]

LABEL_FORMS = ("labels in a list", "labels in a mapping")
"""Names of the two forms of labels; pydantic puts them into the place of an error."""

# Far more than people write: the check of a hostile file must not take minutes.
MOST_QUESTIONS = 2_000
MOST_EXPRESSIONS = 1_000
MOST_BEHAVIORS = 100

_PAIRWISE_LABELS = ("A", "B", "tie")


def _check_identifier(word: str) -> str:
    if not is_identifier(word):
        raise rule_error(
            "be lower-case letters, digits and underscores, a letter first, at most 100"
        )
    return word


def _join_lines(value: Any) -> Any:
    """Take ``true`` as an expression; line breaks and more spaces are formatting."""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(value.split()) if isinstance(value, str) else value


def _add_language(value: Any) -> Any:
    """Take a text, or list of texts, without a language as English."""
    return {"en": value} if isinstance(value, str | list) else value


def _name_label_form(value: Any) -> str | None:
    if isinstance(value, list | dict):
        return LABEL_FORMS[isinstance(value, dict)]
    return None


Identifier = Annotated[str, AfterValidator(_check_identifier)]
Expression = Annotated[Filled, BeforeValidator(_join_lines)]
Text: TypeAlias = Annotated[
    dict[Language, Filled], Field(min_length=1), BeforeValidator(_add_language)
]
Texts: TypeAlias = Annotated[
    dict[Language, Annotated[list[Filled], Field(min_length=1), AfterValidator(tuple)]],
    Field(min_length=1),
    BeforeValidator(_add_language),
]
Labels: TypeAlias = Annotated[
    Annotated[list[Line], Field(min_length=1), Tag(LABEL_FORMS[0])]
    | Annotated[dict[Line, Text | None], Field(min_length=1), Tag(LABEL_FORMS[1])],
    Discriminator(
        _name_label_form,
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
    n_questions = len(rows) if isinstance(rows, list) else 0
    names = [str(name) for name in named] if isinstance(named, dict) else []
    questions, behaviors = dict[int, QuestionForm](), dict[str, BehaviorForm]()
    for place in range(n_questions):
        question = document.read(QuestionForm, ("questions", place), what="a question")
        if question is not None:
            questions[place] = question
    for name in names:
        behavior = document.read(BehaviorForm, ("behaviors", name), what="a behavior")
        if behavior is not None:
            behaviors[name] = behavior
    kinds: dict[str, RubricKind | None] = {
        str(document.get(("questions", place, "id"))): (
            questions[place].kind if place in questions else None
        )
        for place in reversed(range(n_questions))  # the first of an id counts
    }
    _check_questions(questions, document)
    demands = {name: form.demands for name, form in behaviors.items()}
    for where, message in find_key_errors(kinds, expressions=expressions, demands=demands):
        document.add(where, message, at_key=True)
    rubric_behaviors = tuple(
        _read_behavior(name, form, document, class_rule=class_rule)
        for name, form in behaviors.items()
    )
    if document.is_wrong or whole is None:
        raise document.error()
    rubric = Rubric(
        name=whole.name,
        version=whole.version,
        description=whole.description or {},
        questions=tuple(_read_question(form) for form in questions.values()),
        expressions=expressions,
        behaviors=rubric_behaviors,
        class_rule=class_rule,
        threshold=whole.threshold,
        source=document.source,
    )
    extra_conditions = {
        name: form.unacceptable_when
        for name, form in behaviors.items()
        if form.unacceptable_when is not None
    }

    def find_place(where: tuple[str, ...]) -> PathInFile:
        is_extra = where[2:] == ("classes", "unacceptable") and where[1] in extra_conditions
        return (*where[:2], "unacceptable_when") if is_extra else where

    raise_logic_errors(document, rubric.logic.find_errors(extra_conditions), find_place)
    return rubric


def raise_logic_errors(
    document: Document,
    errors: Iterable[LogicError],
    find_place: Callable[[tuple[str, ...]], PathInFile],
) -> None:
    """Raise all errors of a rubric's logic; `find_place` maps a place in it to one in the file."""
    for error in errors:
        path = find_place(error.where)
        is_text = document.has(path) and not isinstance(document.get(path), dict | list)
        document.add(path, str(error), at_key=not is_text)
    document.raise_problems()


def _read_question(form: QuestionForm) -> Question:
    values = {key: value for key, value in form if value is not None}
    labels = _PAIRWISE_LABELS if form.kind == "pairwise" else form.labels or ()
    texts = labels if isinstance(labels, dict) else {}
    values["labels"] = {label: texts.get(label) or {} for label in labels}
    return Question(**values)


def _read_behavior(
    name: str, form: BehaviorForm, document: Document, *, class_rule: ClassRule
) -> Behavior:
    """Read a behavior, and add what is wrong with its demands and its classes to the problems."""
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
    classes = tuple(
        CompletionClass(name=each, when=when) for each, when in (form.classes or {}).items()
    )
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


def _check_questions(forms: Mapping[int, QuestionForm], document: Document) -> None:
    """Add what is wrong within and between questions to the problems."""
    first: dict[str, int] = {}
    for position, form in forms.items():
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
    """Check that labels differ, and that no example stands under both answers."""
    labels = list(form.labels or ()) if form.kind in ("choice", "multilabel") else []
    earlier: set[str] = set()
    for position, label in enumerate(labels):
        if label in earlier:
            message = f"an entry of `labels` must be unique, got {shorten(label)!r} again."
            document.add((*path, "labels", position), message)
        earlier.add(label)
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


def _check_languages(forms: Mapping[int, QuestionForm], document: Document) -> None:
    """Check that every question is in the languages that at least half of them are in."""
    counts = Counter(language for form in forms.values() for language in form.text)
    common = [x for x in get_args(Language) if counts[x] and 2 * counts[x] >= len(forms)]
    for position, form in forms.items():
        for path, texts in _list_translations(form):
            place = ("questions", position, *path)
            for language in (x for x in common if x not in texts):
                # Examples may be missing in a language; questions and labels may not.
                if path[0] not in ("yes_examples", "no_examples"):
                    message = f"`{path[0]}` must be in {language!r} as other questions are. Add it."
                    document.add(place, message)
            for language in (x for x in texts if x not in common):
                message = (
                    f"{language!r} must be a language of every question, got it in some. "
                    "Translate the others, or delete it."
                )
                document.add((*place, language), message, at_key=True)


def _list_translations(form: QuestionForm) -> Iterator[tuple[PathInFile, Mapping[Any, object]]]:
    """Yield the place and the languages of each text of a question."""
    yield ("text",), form.text
    labels = form.labels if isinstance(form.labels, dict) else {}
    yield from ((("labels", name), text) for name, text in labels.items() if text)
    yield from ((("levels", level), text) for level, text in (form.levels or {}).items())
    for key in ("yes_examples", "no_examples"):
        if getattr(form, key):
            yield (key,), getattr(form, key)
