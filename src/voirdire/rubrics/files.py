"""Reads rubrics by a built-in name, by path or from text, and writes them as readable YAML.

The pydantic models of the form ``voirdire.rubric/1`` check single values, the functions below them
how the values fit together. A question that cannot be read hides no problem of the others, nor of
the behaviors.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

import yaml  # type: ignore[import-untyped]
from pydantic import AfterValidator, BeforeValidator, Field

from voirdire._messages import shorten
from voirdire._types import ClassRule, Language, RubricKind
from voirdire._validation import check_choice
from voirdire.documents import (
    Filled,
    Form,
    Line,
    Name,
    Number,
    did_you_mean,
    document_from_text,
    read_document,
    resolve_scalar,
    rule_error,
)
from voirdire.errors import InputError, LogicError
from voirdire.rubrics.expressions import RESERVED_WORDS, is_identifier, parse_expression
from voirdire.rubrics.logic import find_key_errors
from voirdire.rubrics.rubric import (
    DEFAULT_CLASSES,
    RUBRIC_SCHEMA,
    Behavior,
    CompletionClass,
    Question,
    Rubric,
    default_classes,
    parse_demand,
    question_document,
    write_demand,
)
from voirdire.rubrics.rules import read_rule, rule_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from voirdire.documents import Document
    from voirdire.documents import Path as PathInFile

_DATA = files("voirdire") / "data"
_WIDTH = 100


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
    return tuple(sorted(_list_files()))


def built_in_text(name: str) -> str:
    """Read the YAML of a built-in rubric with its comments."""
    return _list_files()[name].read_text(encoding="utf-8")


@cache
def _list_files() -> dict[str, Traversable]:
    return {
        file.name.removesuffix(".yaml"): file
        for file in (_DATA / "rubrics").iterdir()
        if file.name.endswith(".yaml")
    }


def load_rubric(name_or_path: Rubric | str | Path) -> Rubric:
    """Load a built-in rubric or one from a YAML file.

    Parameters
    ----------
    name_or_path : Rubric, str or path
        A rubric, which is returned as it is; a name of `built_in_rubrics`; or a file in the form
        ``voirdire.rubric/1``. A built-in name wins over a file of that name; write ``./safety``
        for the file.

    Returns
    -------
    Rubric
        Checked: every name is defined, and every case has a class.

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
    names = built_in_rubrics()
    if isinstance(name_or_path, str) and name_or_path in names:
        return _load_built_in(name_or_path)
    if not os.path.exists(name_or_path):  # noqa: PTH110  # a name may be too long for `Path`
        name = str(name_or_path)
        msg = (
            f"a rubric must be a file that exists or one of {', '.join(names)}, got "
            f"{shorten(name)!r}.{did_you_mean(name, names) or ' Check the path.'}"
        )
        raise InputError(msg)
    return read_rubric_form(read_document(name_or_path, what="a rubric"))


@cache
def _load_built_in(name: str) -> Rubric:
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
    return read_rubric_form(document_from_text(text, source=source, what="a rubric"))


def starter_rubric(kind: RubricKind, *, name: str) -> str:
    """Write the YAML of a small rubric that asks one kind of question, to be edited."""
    check_choice("kind", kind, RubricKind)
    whole = (_DATA / "starter_rubric.yaml").read_text(encoding="utf-8")
    head, *parts = whole.split("#### ")
    bodies = dict(part.split("\n", maxsplit=1) for part in parts)
    return head.replace("my-rubric", name) + bodies[kind]


# The form of a file ------------------------------------------------------------------------------

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


class QuestionForm(Form):
    """One entry of `questions`."""

    id: Identifier
    kind: RubricKind
    text: Text
    yes_examples: Texts | None = None
    no_examples: Texts | None = None
    labels: Annotated[list[Line], Field(min_length=1)] | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    levels: Annotated[dict[Number, Text], Field(min_length=1)] | None = None
    rule: Annotated[dict[str, Any], Field(min_length=1)] | None = None


class DefinedLabelsForm(QuestionForm):
    """One entry of `questions` whose labels are a mapping: each with its definition, or without."""

    labels: Annotated[dict[Line, Text | None], Field(min_length=1)]  # type: ignore[assignment]


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
    of_item: bool = False
    reasons: bool = False
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
    questions, behaviors = dict[int, QuestionForm](), dict[str, BehaviorForm]()
    kinds: dict[str, RubricKind | None] = {}
    for place in range(len(rows) if isinstance(rows, list) else 0):
        path: PathInFile = ("questions", place)
        has_definitions = isinstance(document.get((*path, "labels")), dict)
        form = DefinedLabelsForm if has_definitions else QuestionForm
        question = document.read(form, path, what="a question")
        name = str(document.get((*path, "id")))
        kinds.setdefault(name, None if question is None else question.kind)
        if question is not None:
            questions[place] = question
    for name in map(str, named if isinstance(named, dict) else ()):
        behavior = document.read(BehaviorForm, ("behaviors", name), what="a behavior")
        if behavior is not None:
            behaviors[name] = behavior
    _check_questions(questions, document)
    _check_of_item(whole, list(kinds.values()), document)
    demands = {name: row.demands for name, row in behaviors.items()}
    for where, message in find_key_errors(kinds, expressions=expressions, demands=demands):
        document.add(where, message, at_key=True)
    rubric_behaviors = tuple(
        _read_behavior(name, row, document, class_rule=class_rule)
        for name, row in behaviors.items()
    )
    if document.is_wrong or whole is None:
        raise document.error()
    rubric = Rubric(
        name=whole.name,
        version=whole.version,
        description=whole.description or {},
        questions=tuple(map(_read_question, questions.values())),
        expressions=expressions,
        behaviors=rubric_behaviors,
        class_rule=class_rule,
        threshold=whole.threshold,
        of_item=whole.of_item,
        reasons=whole.reasons,
        source=document.source,
    )
    conditions = {name: row.unacceptable_when for name, row in behaviors.items()}
    extra_conditions = {name: when for name, when in conditions.items() if when is not None}
    for error in rubric.logic.find_errors(extra_conditions):
        where = error.where
        if where[2:] == ("classes", "unacceptable") and where[1] in extra_conditions:
            where = (*where[:2], "unacceptable_when")
        is_text = document.has(where) and not isinstance(document.get(where), dict | list)
        document.add(where, str(error), at_key=not is_text)
    document.raise_problems()
    return rubric


def _read_question(form: QuestionForm) -> Question:
    values = {key: value for key, value in form if value is not None}
    labels: Any = _PAIRWISE_LABELS if form.kind == "pairwise" else form.labels or ()
    texts = labels if isinstance(labels, dict) else {}
    values["labels"] = {label: texts.get(label) or {} for label in labels}
    values["rule"] = None if form.rule is None else read_rule(form.rule)
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
    "boolean": ("yes_examples", "no_examples", "rule"),
    "scale": ("minimum", "maximum", "levels"),
}
_SPECIAL = ("labels", "minimum", "maximum", "levels", "yes_examples", "no_examples", "rule")


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
        try:
            _ = form.rule is None or read_rule(form.rule)
        except InputError as error:
            document.add((*path, "rule"), f"`rule` {error}")
    _check_languages(forms, document)


def _check_of_item(
    whole: RubricForm | None, kinds: list[RubricKind | None], document: Document
) -> None:
    is_one = kinds == ["boolean"] and whole is not None and not whole.behaviors
    is_one = is_one and document.get(("questions", 0, "rule")) is None
    if whole is not None and whole.of_item and not is_one:
        message = (
            "`of_item` must stand in a rubric of one boolean question without behaviors and rule."
        )
        document.add(("of_item",), message, at_key=True)


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
    labels: Any = form.labels if isinstance(form, DefinedLabelsForm) else {}
    yield from ((("labels", name), text) for name, text in labels.items() if text)
    yield from ((("levels", level), text) for level, text in (form.levels or {}).items())
    for key in ("yes_examples", "no_examples"):
        if getattr(form, key):
            yield (key,), getattr(form, key)


# Writing -----------------------------------------------------------------------------------------


def rubric_to_yaml(rubric: Rubric) -> str:
    """Write a rubric in the form ``voirdire.rubric/1``.

    Parameters
    ----------
    rubric : Rubric
        Any rubric.

    Returns
    -------
    str
        YAML that reads back to an equal rubric.

    Raises
    ------
    RubricError
        If the rubric was not read from a file and breaks a rule of the form.
    InputError
        If it holds a value that no file can hold, such as white space around a text.

    Examples
    --------
    >>> print(rubric_to_yaml(rubric_from_text('''
    ... {schema: voirdire.rubric/1, name: politeness, version: "1", questions: [
    ... {id: thanks, kind: boolean, text: "Does the response thank the user?"}]}
    ... ''')))
    schema: voirdire.rubric/1
    name: politeness
    version: "1"
    <BLANKLINE>
    questions:
      - id: thanks
        kind: boolean
        text: Does the response thank the user?
    <BLANKLINE>
    """
    head = {
        "schema": RUBRIC_SCHEMA,
        "name": rubric.name,
        "version": rubric.version,
        "description": _write_texts(rubric.description),
        "class_rule": None if rubric.class_rule == "exact" else rubric.class_rule,
        "threshold": rubric.threshold,
        "of_item": rubric.of_item or None,
        "reasons": rubric.reasons or None,
    }
    parts = [_dump({key: value for key, value in head.items() if value not in (None, {})})]
    parts += _dump_entries("questions", [[_write_question(row)] for row in rubric.questions])
    if rubric.expressions:
        parts.append(_dump({"expressions": dict(rubric.expressions)}))
    parts += _dump_entries(
        "behaviors", [{row.id: _write_behavior(row)} for row in rubric.behaviors]
    )
    text = "\n".join(parts)
    if rubric_from_text(text, source=f"rubric {rubric.name}") != rubric:
        msg = (
            f"`rubric` must be the same when its file is read, got {rubric.name!r}, which is "
            "another one then. Take white space off the ends of its texts."
        )
        raise InputError(msg)
    return text


def _write_question(row: Question) -> dict[str, Any]:
    fields = question_document(row)
    for key in ("text", "yes_examples", "no_examples"):
        fields[key] = _write_texts(fields[key])
    labels = {name: _write_texts(text) or None for name, text in row.labels.items()}
    fields["labels"] = labels if any(labels.values()) else list(labels)
    if row.kind == "pairwise":
        del fields["labels"]  # always the same
    if row.rule is not None:
        fields["rule"] = rule_document(row.rule)
    fields["levels"] = {level: _write_texts(text) for level, text in row.levels.items()}
    return {key: value for key, value in fields.items() if value not in (None, {}, [])}


def _write_behavior(row: Behavior) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if row.description:
        fields["description"] = _write_texts(row.description)
    fields["demands"] = {name: write_demand(demand) for name, demand in row.demands.items()}
    condition = _find_extra_condition(row)
    if condition is not None:
        fields["unacceptable_when"] = condition
    elif row.classes != DEFAULT_CLASSES:
        fields["classes"] = {each.name: each.when for each in row.classes}
    return fields


def _find_extra_condition(row: Behavior) -> str | None:
    """Find the condition that makes `default_classes` give the classes of a behavior."""
    for default, own in zip(DEFAULT_CLASSES, row.classes, strict=False):
        condition = own.when.removeprefix(f"{default.when} or (").removesuffix(")")
        if default != own and default_classes(condition) == row.classes:
            try:
                parse_expression(condition)  # `(a) or (b` only looks like one
            except LogicError:
                return None
            return condition
    return None


def _write_texts(texts: Mapping[Any, Any]) -> Any:
    """Write a text that is in English only without its language."""
    return texts["en"] if list(texts) == ["en"] else dict(texts)


def _dump_entries(key: str, entries: list[Any]) -> list[str]:
    """Write entries one by one, with an empty line between them."""
    texts = [_dump({key: entry}) for entry in entries]
    return [text if n == 0 else text.partition("\n")[2] for n, text in enumerate(texts)]


def _dump(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, allow_unicode=True, line_break="\n", sort_keys=False, width=_WIDTH
    )
    return text


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes lists indented below their key, and whole numbers without a point."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # PyYAML's signature
        super().increase_indent(flow, False)  # noqa: FBT003

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True

    def represent_number(self, value: float) -> yaml.Node:
        if value.is_integer() and abs(value) < 1e16:  # `repr` writes an exponent from here on
            return self.represent_int(int(value))
        return self.represent_float(value)

    def represent_text(self, text: str) -> yaml.Node:
        """Write quotes where a word without them is no text, and a block for several lines."""
        style = None if isinstance(resolve_scalar(text), str) else '"'
        return self.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else style
        )

    def represent_nothing(self, value: None) -> yaml.Node:  # noqa: ARG002  # PyYAML's signature
        return self.represent_scalar("tag:yaml.org,2002:null", "")


_Dumper.add_representer(float, _Dumper.represent_number)
_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(type(None), _Dumper.represent_nothing)
