"""Watches judges while people label: whether one may stop, and how the study may go on.

Everything that the test depends on is fixed in a `WatchPlan` before the first label. A stop is kept
with the labels that it rests on, so that anyone can repeat it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from voirdire import stats
from voirdire._messages import list_names, shorten
from voirdire._types import EpsilonMode, QuestionKind  # noqa: TC001  # a file is read by these types
from voirdire.documents import hash_content, read_document
from voirdire.errors import InputError
from voirdire.io.cells import label_text
from voirdire.stats.results import make_caution
from voirdire.studies.examination import choose_alignment
from voirdire.studies.label_matrix import ties_half

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voirdire.io import LabelTable
    from voirdire.rubrics import Question
    from voirdire.stats import AnytimeResult, Caution, Forecast
    from voirdire.studies.whole_study import Examination

STOP_SCHEMA = "voirdire.stop/1"

_FEWEST_FORECAST = 20
_HOPELESS = 0.05
"""Units from which there is a forecast, and the share of continuations below which one may stop."""

_NO_STOP = (msgspec.ValidationError, LookupError, TypeError, ValueError, ArithmeticError)
"""What a stop that somebody has written by hand may end in."""

_MOST_POINTS = 21
"""Of a scale whose every whole number is a constant answer; of a longer one eleven points are."""


Label: TypeAlias = bool | float | str | frozenset[str] | None


@dataclass(frozen=True, kw_only=True)
class WatchPlan:
    """What is fixed before the first label of a question.

    Attributes
    ----------
    question, kind : str
        Name and kind of the question; a text has no such test.
    constants : tuple
        The answers that a judge must beat when given always.
    annotators : tuple of str
        Who was planned, whether or not they label.
    n_items : int
        Items of the whole study.
    epsilon : float
        The margin ε, in (0, 1).
    epsilon_mode : {"additive", "multiplicative"}
        How it is taken off.
    """

    question: str
    kind: QuestionKind
    constants: tuple[Label, ...]
    annotators: tuple[str, ...]
    n_items: int
    epsilon: float = 0.2
    epsilon_mode: EpsilonMode = "additive"

    @classmethod
    def of(cls, question: Question, **plan: Any) -> WatchPlan:
        """Make the plan of a rubric's question: its constant answers are those that it allows.

        Of a multi-label question these are the empty set and each label alone; of a scale its
        points.

        Parameters
        ----------
        question : Question
            Of any kind but text.
        **plan
            `annotators`, `n_items`, `epsilon` and `epsilon_mode`.

        Returns
        -------
        WatchPlan
        """
        constants: tuple[Label, ...] = tuple(question.labels)
        if question.kind == "boolean":
            constants = (True, False)
        elif question.kind == "multilabel":
            constants = (frozenset(), *(frozenset([label]) for label in question.labels))
        elif question.kind == "scale":
            low, high = question.minimum or 0.0, question.maximum or 0.0
            is_whole = low.is_integer() and high.is_integer() and high - low < _MOST_POINTS
            points = np.arange(low, high + 1) if is_whole else np.linspace(low, high, 11)
            constants = tuple(points.tolist())
        elif question.kind == "text":
            msg = f"`question` must have labels or a scale, got the text {question.id!r}."
            raise InputError(msg)
        return cls(question=question.id, kind=question.kind, constants=constants, **plan)

    @property
    def alignment(self) -> str:
        """How close two labels are."""
        return choose_alignment(self.kind)


@dataclass(frozen=True, kw_only=True)
class WatchedJudge:
    """What the closed items of a study say of one judge and question.

    Attributes
    ----------
    judge : str
        Which judge.
    plan : WatchPlan
        What was fixed.
    labels : dict of str to dict of str to label
        For each closed item, in the order of the bets, the annotators' labels as it closed.
    answers : dict of str to label or None
        The judge's; None where it failed.
    clusters : dict of str to str
        The cluster of each item of the study; empty where items are independent.
    result : AnytimeResult or None
        The bets; None before the first item.
    forecast : Forecast or None
        None before 20 items, once the judge passed, and at the end.
    because : Caution
        What to do, in a sentence.
    held : Caution or None
        That the people alone would do, and a constant answer holds the judge up.
    """

    judge: str
    plan: WatchPlan
    labels: dict[str, dict[str, Any]] = field(repr=False, metadata={"key": None})
    answers: dict[str, Any] = field(repr=False, metadata={"key": None})
    clusters: dict[str, str] = field(default_factory=dict, repr=False, metadata={"key": None})
    result: AnytimeResult | None = None
    forecast: Forecast | None = None
    because: Caution
    held: Caution | None = None

    @property
    def question(self) -> str:
        """Which question."""
        return self.plan.question

    @property
    def shown(self) -> tuple[str, ...]:
        """The annotators within ε, as of the stop."""
        return tuple(self.plan.annotators[n] for n in self.result.shown) if self.result else ()


def watch_judge(
    judge: str,
    plan: WatchPlan,
    *,
    labels: Mapping[str, Mapping[str, Any]],
    answers: Mapping[str, Any],
    clusters: Mapping[str, str] | None = None,
) -> WatchedJudge:
    """Examine a judge on the closed items of a study, with a right to stop at any.

    Parameters
    ----------
    judge : str
        Its name.
    plan : WatchPlan
        What was fixed before the first label.
    labels : mapping of str to mapping of str to label
        For each closed item the annotators' labels as they stood when it closed, in the order that
        was drawn before; None, or none, is "can't tell". Labels have the form of their kind: bool,
        str, float, or a set of str.
    answers : mapping of str to label or None
        The judge's answers by item; None where it failed, which loses the item.
    clusters : mapping of str to str, optional
        The cluster of every item of the study. One is bet on once all of its items are closed.

    Returns
    -------
    WatchedJudge
    """
    groups = dict(clusters or {})
    items = list(labels)
    if groups:
        n_left = Counter(groups.values())
        ready = [item for item in items if item in groups]
        n_left.subtract(groups[item] for item in ready)
        ends = {groups[item]: place for place, item in enumerate(ready)}
        items = [item for item in ready if n_left[groups[item]] == 0]
        items.sort(key=lambda item: ends[groups[item]])
    watched = WatchedJudge(
        judge=judge,
        because=make_caution("watch_none"),
        plan=plan,
        labels={item: dict(labels[item]) for item in items},
        answers={item: answers[item] for item in items if item in answers},
        clusters=groups,
    )
    if not items:
        return watched
    arrays = _make_arrays(watched)
    sizes = Counter(groups.values())
    n_planned = len(sizes) or plan.n_items
    n_units = len({groups[item] for item in items}) if groups else len(items)
    if groups:
        arrays["clusters"] = np.unique([groups[item] for item in items], return_inverse=True)[1]
        arrays["largest_cluster"] = max(sizes.values())
    result = stats.anytime_test(**arrays)
    forecast = None
    if not result.passed and _FEWEST_FORECAST <= n_units < n_planned:
        forecast = stats.forecast_anytime(n_planned=n_planned, **arrays)
    because = _explain(plan, result, forecast, n_units=n_units, n_planned=n_planned)
    held = None
    if result.is_held_by_constant:
        constant = label_text(plan.constants[result.constant])
        held = make_caution("watch_held", constant=constant)
    return replace(watched, result=result, forecast=forecast, because=because, held=held)


def _make_arrays(watched: WatchedJudge) -> dict[str, Any]:
    """Make the arguments of the test of the labels, in codes or numbers."""
    plan, rows = watched.plan, watched.labels.items()
    people = [[row.get(name) for name in plan.annotators] for _, row in rows]
    answers = [watched.answers.get(item) for item, _ in rows]
    failed = [item in watched.answers and watched.answers[item] is None for item, _ in rows]
    arrays: dict[str, Any] = {
        "alignment": plan.alignment,
        "epsilon": plan.epsilon,
        "epsilon_mode": plan.epsilon_mode,
        "failed": np.array(failed)[:, np.newaxis],
    }
    if plan.kind == "scale":
        numbers = [[np.nan if x is None else float(x) for x in row] for row in [*people, answers]]
        return arrays | {
            "humans": np.array(numbers[:-1]),
            "judge": np.array(numbers[-1]),
            "constants": np.array(plan.constants, dtype=float),
        }
    code_of: dict[Any, int] = {label: code for code, label in enumerate(plan.constants)}
    codes = [
        [-1 if x is None else code_of.setdefault(x, len(code_of)) for x in row]
        for row in [*people, answers]
    ]
    if plan.kind == "multilabel":
        labels = sorted(frozenset().union(*code_of))
        arrays["label_sets"] = np.array([[x in each for x in labels] for each in code_of])
    else:
        arrays["n_codes"] = len(code_of)
    if plan.kind == "pairwise":
        arrays |= {"alignment": ties_half, "values": [*code_of]}
    return arrays | {
        "humans": np.array(codes[:-1]),
        "judge": np.array(codes[-1]),
        "constants": np.arange(len(plan.constants)),
    }


def _explain(
    plan: WatchPlan,
    result: AnytimeResult,
    forecast: Forecast | None,
    *,
    n_units: int,
    n_planned: int,
) -> Caution:
    """Say whether one may stop, and what is to come."""
    figures: dict[str, Any] = {
        "epsilon": plan.epsilon,
        "n_needed": result.n_needed,
        "n_people": result.n_annotators,
        "n_closed": n_units,
        "n_planned": n_planned,
    }
    if result.stopped_at is not None:
        return make_caution("watch_stop", **figures, stopped_at=result.stopped_at)
    if n_units >= n_planned:
        return make_caution("watch_end", **figures)
    if forecast is None:
        return make_caution("watch_early", **figures, n_first=_FEWEST_FORECAST)
    if forecast.share_passing < _HOPELESS or forecast.more_items is None:
        return make_caution("watch_hopeless", **figures)
    fewest, more, most = forecast.more_items
    share = min(round(20 * forecast.share_passing) / 20, 0.95)
    figures |= {"share": share, "n_fewest": fewest, "n_more": more, "n_most": most}
    return make_caution("watch_more", **figures)


# The stop -------------------------------------------------------------------------------------


class _Item(msgspec.Struct):
    item: str
    labels: dict[str, Label]
    answer: Label | msgspec.UnsetType = msgspec.UNSET


class _Stop(msgspec.Struct):
    """What a judge passed or did not pass by, as a file has it."""

    judge: str
    plan: WatchPlan
    items: list[_Item]
    clusters: dict[str, str]
    stopped_at: int | None


def list_stops(watched: Sequence[WatchedJudge]) -> list[dict[str, Any]]:
    """Write each judge with the labels that it was watched on."""
    stops = []
    for each in watched:
        rows = [
            _Item(item, labels, each.answers.get(item, msgspec.UNSET))
            for item, labels in each.labels.items()
        ]
        stopped_at = each.result.stopped_at if each.result else None
        stops.append(_Stop(each.judge, each.plan, rows, each.clusters, stopped_at))
    plain: list[dict[str, Any]] = msgspec.to_builtins(stops, order="deterministic")
    return plain


def stop_record(watched: Sequence[WatchedJudge]) -> dict[str, Any]:
    """Make the certificate of a stop: each judge with the labels that it was watched on.

    Parameters
    ----------
    watched : sequence of WatchedJudge
        All judges and questions, as they stood when labelling stopped.

    Returns
    -------
    dict
        For a file of JSON that `read_stop` reads.
    """
    content = {"schema": STOP_SCHEMA, "judges": list_stops(watched)}
    return content | {"content_hash": hash_content(content)}


def read_stop(path: str | Path) -> tuple[WatchedJudge, ...]:
    """Read the certificate of a stop, and bet again on its labels.

    Parameters
    ----------
    path : path
        The JSON of a `stop_record`.

    Returns
    -------
    tuple of WatchedJudge

    Raises
    ------
    InputError
        If the file is none, was changed, or its labels give other figures.
    """
    document = read_document(path, what="the certificate of a stop", layout="json")
    content = dict(document.get(()))
    if content.get("schema") != STOP_SCHEMA:
        msg = "must be what `voirdire annotate export` writes of a stop, and is not."
        raise document.error_at(("schema",), msg)
    if content.pop("content_hash", None) != hash_content(content):
        msg = "must be as it was written, and was changed after the stop. Export the study again."
        raise document.error_at(("content_hash",), msg)
    if not content.get("judges"):
        raise document.error_at(("judges",), "must list the judges that were watched, got none.")
    return watch_again(Path(path).name, content["judges"])


def watch_again(name: str, rows: Any) -> tuple[WatchedJudge, ...]:
    """Bet again on what `list_stops` wrote of each judge; `name` is the file's."""
    try:
        kept = msgspec.convert(rows, list[_Stop])
        stop = tuple(
            watch_judge(
                each.judge,
                each.plan,
                labels={row.item: row.labels for row in each.items},
                answers={x.item: x.answer for x in each.items if x.answer is not msgspec.UNSET},
                clusters=each.clusters,
            )
            for each in kept
        )
    except _NO_STOP as error:
        msg = f"{name}: a stop must be as `voirdire annotate export` writes it, got another form"
        raise InputError(f"{msg} ({shorten(error)}). Export the study again.") from error
    for each, watched in zip(kept, stop, strict=True):
        if each.stopped_at != (watched.result.stopped_at if watched.result else None):
            msg = f"{name}: its labels of {shorten(each.judge)!r} stop elsewhere than it says."
            raise InputError(msg)
    return stop


def apply_stop(
    examination: Examination,
    stop: Sequence[WatchedJudge],
    *,
    humans: LabelTable,
    judges: LabelTable,
) -> Examination:
    """Let a watched stop decide: the test of a fixed number of items then only describes.

    Who could stop at any item cannot also take the fixed test's pass: together they would err too
    often.

    Parameters
    ----------
    examination : Examination
        What was found on the labels.
    stop : sequence of WatchedJudge
        As `read_stop` gives it; empty where nobody was watched.
    humans, judges : LabelTable
        The labels of the examination.

    Returns
    -------
    Examination
        With the outcome of each watched judge from its stop, and a caution where labels of people
        were changed after they counted.

    Raises
    ------
    InputError
        If no result is of a watched judge, question, ε and alignment, or one is of its judge and
        question at another; if a judge's answers are
        not those of the stop; or if a person of the stop is missing.
    """
    if not stop:
        return examination
    decided = {}
    for each in stop:
        plan, name = each.plan, f"{shorten(each.judge)!r} on {shorten(each.question)!r}"
        own = {
            place: row
            for place, row in enumerate(examination.results)
            if (row.question, row.judge) == (plan.question, each.judge)
        }
        margin = plan.alignment, plan.epsilon, plan.epsilon_mode
        same = {k: x for k, x in own.items() if (x.alignment, x.epsilon, x.epsilon_mode) == margin}
        if not same:
            continue
        if same != own:  # the fixed test would decide there
            msg = (
                f"{name} was watched at ε = {plan.epsilon:g} by {plan.alignment}: with a stop it "
                "must be examined so alone. Leave out the other `--epsilon` and `--alignment`."
            )
            raise InputError(msg)
        answers = [(each.judge, item, answer) for item, answer in each.answers.items()]
        if others := _list_changed(plan.question, judges, answers):
            msg = (
                f"`judges` must hold the answers of the stop, got {len(others)} others by {name}, "
                f"the first about {shorten(others[0])!r}. A changed judge begins a new study."
            )
            raise InputError(msg)
        labels = [
            (who, item, label)
            for item, row in each.labels.items()
            for who, label in row.items()
            if label is not None
        ]
        if lost := [who for who, _, _ in labels if who not in humans.raters]:
            msg = (
                f"`humans` must be the people of the stop, got none {shorten(lost[0])!r} but "
                f"{list_names(humans.raters)}. Export labels and stop together."
            )
            raise InputError(msg)
        n_changed = len(_list_changed(plan.question, humans, labels))
        changed = make_caution("stop_changed", n_changed=n_changed)
        has_passed = each.result is not None and each.result.passed
        code = "stop_shown" if has_passed else "stop_not_shown"
        figures = each.because.figures | {"judge": each.judge}
        for place, row in same.items():
            decided[place] = replace(
                row,
                outcome="passed" if has_passed else "failed",
                finding="passed" if has_passed else "not_shown",
                passed=has_passed,
                because=replace(each.because, code=code, figures=figures),
                cautions=(*row.cautions, *([changed] if n_changed else [])),
            )
    if not decided:
        known = dict.fromkeys(f"{each.judge} at ε = {each.plan.epsilon:g}" for each in stop)
        listing = list_names([*known])
        msg = f"the stop is of {listing or 'no judge'}, and none of them is examined so."
        raise InputError(f"{msg} Name its ε with `--epsilon`, and its judges.")
    results = [decided.get(place, row) for place, row in enumerate(examination.results)]
    return replace(examination, results=tuple(results))


def _list_changed(
    question: str, table: LabelTable, labels: Iterable[tuple[str, str, Label]]
) -> list[str]:
    """List the items whose labels by somebody are not those any more."""
    part = table.of_questions([question])
    now = {
        (part.rater.value(row), part.item.value(row)): part.label.value(row)
        for row in range(len(part))
    }
    return [item for who, item, label in labels if now.get((who, item)) != label]
