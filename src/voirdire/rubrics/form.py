"""The YAML form ``voirdire.rubric/1``: its keys, what they hold, and what must fit together.

The pydantic models say what can be said of one value; the functions below them check the rest.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from voirdire._types import ClassRule, Language, RubricKind
from voirdire._validation import shorten
from voirdire.documents import Filled, Form, Line, Name, Number, did_you_mean, rule_error
from voirdire.errors import InputError
from voirdire.rubrics.logic.parsing import RESERVED_WORDS, is_identifier
from voirdire.rubrics.rubric import parse_demand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from voirdire.documents import Document, Path
    from voirdire.rubrics.rubric import Demand

__all__ = [
    "MOST_BEHAVIORS",
    "MOST_EXPRESSIONS",
    "BehaviorForm",
    "Identifier",
    "QuestionForm",
    "RubricForm",
    "check_class_form",
    "check_expression_names",
    "check_questions",
    "read_demands",
]

LABEL_FORMS = ("labels in a list", "labels in a mapping")
"""Names of the two ways to write labels; pydantic puts them into the place of an error."""

_IDENTIFIER_RULE = "be lower-case letters, digits and underscores, a letter first, at most 100"
# Far more than people write; checking the logic of a hostile file must not take minutes.
MOST_QUESTIONS = 2_000
MOST_EXPRESSIONS = 1_000
MOST_BEHAVIORS = 100


def _identifier(word: str) -> str:
    if not is_identifier(word):
        raise rule_error(_IDENTIFIER_RULE)
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
    dict[Language, Annotated[list[Filled], Field(min_length=1)]],
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


Forms: TypeAlias = "Sequence[QuestionForm | None]"
"""The questions in order; None for one whose form is wrong."""

_NEEDED: dict[RubricKind, tuple[str, ...]] = {
    "choice": ("labels",),
    "multilabel": ("labels",),
    "scale": ("minimum", "maximum"),
}
_POSSIBLE: dict[RubricKind, tuple[str, ...]] = {
    "boolean": ("yes_examples", "no_examples"),
    "scale": ("levels",),
}
_SPECIAL = ("labels", "minimum", "maximum", "levels", "yes_examples", "no_examples")


def check_questions(forms: Forms, document: Document) -> None:
    """Note everything that is wrong between and within questions."""
    _check_ids(forms, document)
    for position, form in enumerate(forms):
        if form is not None:
            path = ("questions", position)
            _check_keys(form, document, path)
            _check_labels(form, document, path)
            _check_scale(form, document, path)
            _check_examples(form, document, path)
    _check_languages(forms, document)


def _check_ids(forms: Forms, document: Document) -> None:
    first: dict[str, int] = {}
    for position, form in enumerate(forms):
        if form is None:
            continue
        path = ("questions", position, "id")
        if form.id in RESERVED_WORDS:
            document.add(path, f"`id` must not be a word of expressions, got {form.id!r}. Rename.")
        elif form.id in first:
            line = document.line(("questions", first[form.id], "id"))
            message = f"`id` must be unique, got {form.id!r} again (first on line {line})."
            document.add(path, message)
        first.setdefault(form.id, position)


def _check_keys(form: QuestionForm, document: Document, path: Path) -> None:
    needed, possible = _NEEDED.get(form.kind, ()), _POSSIBLE.get(form.kind, ())
    for key in _SPECIAL:
        given = getattr(form, key) is not None
        if key in needed and not given:
            document.add(path, f"a {form.kind} question must have the key `{key}`. Add it.")
        elif given and key not in (*needed, *possible):
            kinds = [kind for kind in get_args(RubricKind) if key in _keys_of(kind)]
            message = f"`{key}` is for {' and '.join(kinds)} questions, this one is {form.kind}."
            document.add((*path, key), message, at_key=True)


def _keys_of(kind: RubricKind) -> tuple[str, ...]:
    return (*_NEEDED.get(kind, ()), *_POSSIBLE.get(kind, ()))


def _check_labels(form: QuestionForm, document: Document, path: Path) -> None:
    if form.labels is None or form.kind not in ("choice", "multilabel"):
        return
    place = (*path, "labels")
    if isinstance(form.labels, list):
        seen: set[str] = set()
        for position, label in enumerate(form.labels):
            if label in seen:
                message = f"an entry of `labels` must be unique, got {shorten(label)!r} again."
                document.add((*place, position), message)
            seen.add(label)
    if form.kind == "choice" and len(form.labels) == 1:
        document.add(place, "`labels` of a choice must be at least two, got one. Add another.")


def _check_scale(form: QuestionForm, document: Document, path: Path) -> None:
    if form.kind != "scale" or form.minimum is None or form.maximum is None:
        return
    if not form.minimum < form.maximum:
        message = f"`maximum` must be more than `minimum` {form.minimum:g}, got {form.maximum:g}."
        document.add((*path, "maximum"), message)
        return
    for level in form.levels or {}:
        if not form.minimum <= level <= form.maximum:
            message = (
                f"a key of `levels` must lie in [{form.minimum:g}, {form.maximum:g}], the scale, "
                f"got {level:g}."
            )
            document.add((*path, "levels", level), message, at_key=True)


def _check_examples(form: QuestionForm, document: Document, path: Path) -> None:
    """One response cannot be an example of both."""
    for language, examples in (form.no_examples or {}).items():
        opposite = frozenset((form.yes_examples or {}).get(language, ()))
        for position, example in enumerate(examples):
            if example in opposite:
                message = (
                    "an example must stand under `yes_examples` or `no_examples`, got "
                    f"{shorten(example, width=40)!r} under both."
                )
                document.add((*path, "no_examples", language, position), message)


def _check_languages(forms: Forms, document: Document) -> None:
    """Every question is in the same languages; blame the fewer ones."""
    valid = [form for form in forms if form is not None]
    spoken = Counter(language for form in valid for language in form.text)
    common = [x for x in get_args(Language) if 2 * spoken[x] >= len(valid) and spoken[x]]
    for position, form in enumerate(forms):
        if form is None:
            continue
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


def _translated(form: QuestionForm) -> Iterator[tuple[Path, Mapping[Any, object]]]:
    """Yield everything of a question that is in languages, with where it stands."""
    yield ("text",), form.text
    if isinstance(form.labels, dict):
        yield from ((("labels", name), text) for name, text in form.labels.items() if text)
    yield from ((("levels", level), text) for level, text in (form.levels or {}).items())
    if form.yes_examples:
        yield ("yes_examples",), form.yes_examples
    if form.no_examples:
        yield ("no_examples",), form.no_examples


def check_expression_names(
    names: Iterable[str], document: Document, *, questions: Mapping[str, RubricKind | None]
) -> None:
    """Note expressions that are called as a word of expressions or as a question."""
    for name in names:
        path = ("expressions", name)
        if name in RESERVED_WORDS:
            message = f"a key of `expressions` must not be a word of theirs, got {name!r}. Rename."
            document.add(path, message, at_key=True)
        elif name in questions:
            message = f"a key of `expressions` must not be a question, got {name!r}. Rename it."
            document.add(path, message, at_key=True)


def read_demands(
    behavior: str,
    form: BehaviorForm,
    document: Document,
    *,
    questions: Mapping[str, RubricKind | None],
) -> dict[str, Demand]:
    """Read the demands of a behavior, and note what is wrong with them.

    A question whose form is wrong has no kind.
    """
    demands = {}
    for name, text in form.demands.items():
        path = ("behaviors", behavior, "demands", name)
        kind = questions.get(name, "boolean")
        if name not in questions:
            hint = did_you_mean(name, questions)
            message = f"a key of `demands` must be a question, got {shorten(name)!r}.{hint}"
            document.add(path, message, at_key=True)
        elif kind not in ("boolean", None):
            message = f"a key of `demands` must be a boolean question, got {name!r}, a {kind} one."
            document.add(path, message, at_key=True)
        try:
            demands[name] = parse_demand(text)
        except InputError as error:
            document.add(path, f"`demands.{shorten(name, width=40)}` {error}")
    return demands


def check_class_form(
    behavior: str, form: BehaviorForm, document: Document, *, class_rule: ClassRule
) -> None:
    """Note classes that are said twice, or not at all where the rule needs them."""
    path = ("behaviors", behavior)
    if form.classes is not None and form.unacceptable_when is not None:
        message = "`unacceptable_when` must stand without `classes`: it adds to the default ones."
        document.add((*path, "unacceptable_when"), message, at_key=True)
    if class_rule == "product" and form.classes is None:
        message = "a behavior must have the key `classes` where `class_rule` is product. Add it."
        document.add(path, message, at_key=True)
