"""Labels in data frames as the mappings that labels in memory otherwise come in."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._validation import shorten
from voirdire.errors import DroppedRowsWarning, InputError
from voirdire.records import Failure

if TYPE_CHECKING:
    from voirdire._types import QuestionKind
    from voirdire.records import Dropped

__all__ = ["InMemory", "holds_frames", "read_frames"]

Labels: TypeAlias = Mapping[Any, Any]


@dataclass(frozen=True, kw_only=True)
class InMemory:
    """Everyone's labels as mappings.

    Attributes
    ----------
    judges, humans : mapping of str to mapping
        ``{rater: {item: label}}``.
    gold : mapping or None
        ``{item: label}``.
    dropped : tuple of Dropped
        What frames held that cannot be used.
    """

    judges: Mapping[str, Labels]
    humans: Mapping[str, Labels]
    gold: Labels | None
    dropped: tuple[Dropped, ...] = ()


def holds_frames(judges: Any, humans: Any, gold: Any) -> bool:
    """Tell whether anything given is something else than a mapping."""
    given = [humans, judges, *(judges.values() if isinstance(judges, Mapping) else ())]
    return not all(
        isinstance(each, Mapping) for each in [*given, *([] if gold is None else [gold])]
    )


def read_frames(judges: Any, humans: Any, gold: Any, *, kind: QuestionKind) -> InMemory:
    """Read what is a frame, and leave what is a mapping, with items named by text throughout.

    Parameters
    ----------
    judges : mapping or data frame
        ``{judge: labels}``, where labels are a mapping or a frame, or one frame of all judges. A
        frame of one named judge goes under its own name.
    humans, gold : mapping or data frame
        As `voirdire.alt_test` takes them.
    kind : str
        The declared kind of question.
    """
    dropped: list[Dropped] = []
    people = _raters(humans, "annotator", kind, dropped)
    if isinstance(judges, Mapping):
        machines: dict[str, Labels] = {}
        for name, given in judges.items():
            found = _one_judge(given, str(name), kind, dropped)
            twice = machines.keys() & found.keys()
            if twice:
                msg = f"`judges` must hold every judge once, got {twice.pop()!r} twice."
                raise InputError(msg)
            machines.update(found)
    else:
        machines = _raters(judges, "judge", kind, dropped)
    truth = None
    if gold is not None:
        truth = next(iter(_one_judge(gold, "gold", kind, dropped).values()))
    if dropped:
        msg = f"{len(dropped)} labels in data frames are dropped, the first: {dropped[0].reason}."
        warnings.warn(msg, DroppedRowsWarning, stacklevel=4)
    return InMemory(judges=machines, humans=people, gold=truth, dropped=tuple(dropped))


def _one_judge(
    given: Any, name: str, kind: QuestionKind, dropped: list[Dropped]
) -> dict[str, Labels]:
    if isinstance(given, Mapping):
        return {name: _by_text(given)}
    found = _read(given, "judge", kind, dropped, name=name)
    if len(found) != 1:
        msg = f"`judge` must hold one judge's labels, got {sorted(found)!r}. Pass it as `judges`."
        raise InputError(msg)
    return found


def _raters(
    given: Any, role: Literal["annotator", "judge"], kind: QuestionKind, dropped: list[Dropped]
) -> dict[str, Labels]:
    if not isinstance(given, Mapping):
        return _read(given, role, kind, dropped)
    return {str(rater): _by_text(labels) for rater, labels in given.items()}


def _by_text(labels: Any) -> Any:
    """Name items by text, as frames do; what is no mapping is refused where all are aligned."""
    if not isinstance(labels, Mapping):
        return labels
    named = {_item_text(item): label for item, label in labels.items()}
    if len(named) < len(labels):
        msg = f"item ids must stay apart as text, got {len(labels)} that make {len(named)} texts."
        raise InputError(msg)
    return named


def _item_text(item: Any) -> str:
    """Write an id as it is read from a frame: 3 and 3.0 are both "3"."""
    whole = isinstance(item, float) and item.is_integer()
    return str(int(item)) if whole else str(item)


def _read(
    frame: Any,
    role: Literal["annotator", "judge"],
    kind: QuestionKind,
    dropped: list[Dropped],
    *,
    name: str | None = None,
) -> dict[str, Labels]:
    from voirdire.io import table_from_frame

    source = "humans" if role == "annotator" else "judge"
    table = table_from_frame(frame, role=role, kind=kind, source_name=source, rater_name=name)
    dropped += table.dropped
    questions = table.frame["question"].unique(maintain_order=True).to_list()
    if len(questions) > 1:
        shown = ", ".join(repr(shorten(question)) for question in questions[:5])
        msg = f"`{source}` must hold one question, got {shown}. Filter, or use voirdire.examine."
        raise InputError(msg)
    found: dict[str, dict[str, Any]] = {}
    rows = table.frame.select("rater", "item", "label", "failure").iter_rows()
    for rater, item, label, failure in rows:
        answer = label if failure is None else Failure(reason=failure)
        if kind == "boolean" and isinstance(answer, str):
            answer = answer == "true"
        found.setdefault(str(rater), {})[item] = answer
    return dict(found)
