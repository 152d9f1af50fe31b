"""What must hold of questions beyond their form: ids, what each kind needs, languages."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from voirdire._types import Language, RubricKind
from voirdire._validation import shorten
from voirdire.rubrics.names import RESERVED_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.rubrics.findings import Findings, Path
    from voirdire.rubrics.form import QuestionForm

__all__ = ["check_questions"]

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


def check_questions(forms: Forms, findings: Findings) -> None:
    """Note everything that is wrong between and within questions."""
    _check_ids(forms, findings)
    for position, form in enumerate(forms):
        if form is not None:
            path = ("questions", position)
            _check_keys(form, findings, path)
            _check_labels(form, findings, path)
            _check_scale(form, findings, path)
            _check_examples(form, findings, path)
    _check_languages(forms, findings)


def _check_ids(forms: Forms, findings: Findings) -> None:
    first: dict[str, int] = {}
    for position, form in enumerate(forms):
        if form is None:
            continue
        path = ("questions", position, "id")
        if form.id in RESERVED_WORDS:
            findings.add(path, f"`id` must not be a word of expressions, got {form.id!r}. Rename.")
        elif form.id in first:
            line = findings.place(("questions", first[form.id], "id")).line
            message = f"`id` must be unique, got {form.id!r} again (first on line {line})."
            findings.add(path, message)
        first.setdefault(form.id, position)


def _check_keys(form: QuestionForm, findings: Findings, path: Path) -> None:
    needed, possible = _NEEDED.get(form.kind, ()), _POSSIBLE.get(form.kind, ())
    for key in _SPECIAL:
        given = getattr(form, key) is not None
        if key in needed and not given:
            findings.add(path, f"a {form.kind} question must have the key `{key}`. Add it.")
        elif given and key not in (*needed, *possible):
            kinds = [kind for kind in get_args(RubricKind) if key in _keys_of(kind)]
            message = f"`{key}` is for {' and '.join(kinds)} questions, this one is {form.kind}."
            findings.add((*path, key), message, at_key=True)


def _keys_of(kind: RubricKind) -> tuple[str, ...]:
    return (*_NEEDED.get(kind, ()), *_POSSIBLE.get(kind, ()))


def _check_labels(form: QuestionForm, findings: Findings, path: Path) -> None:
    if form.labels is None or form.kind not in ("choice", "multilabel"):
        return
    place = (*path, "labels")
    if isinstance(form.labels, list):
        seen: set[str] = set()
        for position, label in enumerate(form.labels):
            if label in seen:
                message = f"an entry of `labels` must be unique, got {shorten(label)!r} again."
                findings.add((*place, position), message)
            seen.add(label)
    if form.kind == "choice" and len(form.labels) == 1:
        findings.add(place, "`labels` of a choice must be at least two, got one. Add another.")


def _check_scale(form: QuestionForm, findings: Findings, path: Path) -> None:
    if form.kind != "scale" or form.minimum is None or form.maximum is None:
        return
    if not form.minimum < form.maximum:
        message = f"`maximum` must be more than `minimum` {form.minimum:g}, got {form.maximum:g}."
        findings.add((*path, "maximum"), message)
        return
    for level in form.levels or {}:
        if not form.minimum <= level <= form.maximum:
            message = (
                f"a key of `levels` must lie in [{form.minimum:g}, {form.maximum:g}], the scale, "
                f"got {level:g}."
            )
            findings.add((*path, "levels", level), message, at_key=True)


def _check_examples(form: QuestionForm, findings: Findings, path: Path) -> None:
    """One response cannot be an example of both."""
    for language, examples in (form.no_examples or {}).items():
        opposite = frozenset((form.yes_examples or {}).get(language, ()))
        for position, example in enumerate(examples):
            if example in opposite:
                message = (
                    "an example must stand under `yes_examples` or `no_examples`, got "
                    f"{shorten(example, width=40)!r} under both."
                )
                findings.add((*path, "no_examples", language, position), message)


def _check_languages(forms: Forms, findings: Findings) -> None:
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
                    findings.add(place, message)
            for language in (x for x in texts if x not in common):
                message = (
                    f"{language!r} must be a language of every question, got it in some. "
                    "Translate the others, or delete it."
                )
                findings.add((*place, language), message, at_key=True)


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
