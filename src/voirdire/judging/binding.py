"""Binds a judge to the questions of one rubric, and to all else that verdicts depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from voirdire._messages import list_names, shorten
from voirdire._types import Judged, Threshold
from voirdire._validation import check_choice, check_fraction
from voirdire.documents import hash_content
from voirdire.errors import InputError
from voirdire.judging.call_plan import CallPlan, plan_calls, plan_criteria
from voirdire.judging.cascade import DEFAULT, CascadeJudge, read_bounds
from voirdire.judging.judges_file import is_judges_file, open_judges
from voirdire.judging.jury import JuryJudge
from voirdire.judging.local.judge import BUNDLED
from voirdire.judging.model_settings import LlmJudge, ModelSettings
from voirdire.judging.port import Answerer, Judge
from voirdire.judging.prompts import PROMPT_VERSION
from voirdire.judging.reading import READING_VERSION
from voirdire.models.providers import PROVIDERS
from voirdire.records import Failure
from voirdire.records.thresholds import USUAL_THRESHOLD, get_thresholds, select_threshold
from voirdire.rubrics.rubric import question_document
from voirdire.rubrics.rules import apply_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import ProbabilitySource
    from voirdire.io.declared import ItemLayout, ItemReading
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item
    from voirdire.rubrics import Rubric
    from voirdire.stats import Calibrator

# What is bound ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class JudgingPlan:
    """Everything that verdicts depend on besides the items.

    Attributes
    ----------
    judge : Judge
        The judge.
    rubric : Rubric
        The rubric.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on; one number, or one for each.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged.
    fingerprint : str
        Hash of all of this.
    columns : tuple of int
        Columns of the judge's answers to the propositions of the rubric.
    notes : tuple of str
        Notes for the reader of the verdicts.
    """

    judge: Answerer
    rubric: Rubric
    threshold: Threshold
    judged: Judged
    fingerprint: str
    columns: tuple[int, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def asks_about_pairs(self) -> bool:
        """Whether a row with a chosen and a rejected response is one item with both."""
        return any(row.kind == "pairwise" for row in self.rubric.questions)

    @property
    def sees_images(self) -> bool:
        """Whether items may hold images."""
        return bool(getattr(self.judge, "sees_images", False))

    def reading(self, layout: ItemLayout) -> ItemReading:
        """Return how the items of a file are read for this plan."""
        return layout.reading(
            judged=self.judged,
            pairs=self.asks_about_pairs,
            images=self.sees_images,
            criteria=self.rubric.of_item,
        )


@dataclass(frozen=True, kw_only=True)
class EngineJudge:
    """A judge with the questions of one rubric that an engine asks, since it makes calls.

    Attributes
    ----------
    rubric : Rubric
        What is asked.
    name : str
        Its name in verdicts.
    source : str
        Where the probabilities come from.
    asked : dict of str to object
        All settings that its answers depend on, besides questions and item.
    fingerprint : str
        Hash of everything that its answers depend on, except class logic and threshold.
    is_remote : bool
        Whether its model is on a server, so that replies are stored by default.
    sees_images : bool
        Whether it can be asked about images.
    notes : tuple of str
        Notes for the reader of its verdicts.
    """

    rubric: Rubric
    name: str
    source: ProbabilitySource
    asked: dict[str, Any]
    fingerprint: str
    is_remote: bool
    sees_images: bool
    notes: tuple[str, ...] = ()

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the propositions."""
        return self.rubric.propositions


@dataclass(frozen=True, kw_only=True)
class BoundJudge(EngineJudge):
    """A language model with the questions of one rubric.

    Attributes
    ----------
    judge : LlmJudge
        The judge with its settings.
    reply_fingerprint : str
        Hash of everything that a reply depends on besides the item.
    described : dict of str to object
        Description of the judge in a store of replies.
    """

    judge: LlmJudge
    reply_fingerprint: str
    described: dict[str, Any]

    @cached_property
    def calibrators(self) -> tuple[tuple[int, Calibrator], ...]:
        """Calibrators by the place of their question."""
        known = self.judge.known_calibration
        rows = {} if known is None else known.questions
        return tuple(
            (place, rows[question.id].calibrator)
            for place, question in enumerate(self.rubric.questions)
            if question.id in rows
        )

    @cached_property
    def calls(self) -> CallPlan:
        """The calls about every item; of criteria, those about one."""
        return plan_calls(self.judge, self.rubric)

    def calibrators_of(self, n_asked: int) -> tuple[tuple[int, Calibrator], ...]:
        """Calibrators by the place of their question; of criteria all have one."""
        if not self.rubric.of_item:
            return self.calibrators
        return tuple((place, each) for place in range(n_asked) for _, each in self.calibrators)

    def needs_calls(self, item: Item) -> bool:
        """Whether anything about an item is not answered by a rule."""
        asked = item.criteria if self.rubric.of_item else self.rubric.questions
        return any(row.rule is None for row in asked)

    def calls_of(self, item: Item) -> CallPlan:
        """Return the calls about an item."""
        if not self.rubric.of_item:
            return self.calls
        return plan_criteria(self.judge, self.rubric, item.criteria)


_BY_RULE = -1
"""In place of the column of a judge's answers."""


@dataclass(frozen=True)
class _Rules:
    """The judge of a rubric whose questions all have rules."""

    rubric: Rubric
    name: str = "rules"
    source: ProbabilitySource = "rule"
    questions: tuple[str, ...] = ()
    fingerprint: str = "rules"  # the plan's holds the rubric, and that the rules

    def probabilities(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Answer no question: the rules do."""
        return np.empty((len(items), 0))


@dataclass(frozen=True, kw_only=True)
class BoundCascade(BoundJudge):
    """A cascade with the questions of one rubric.

    Calls and replies are those of the language model alone, so that both share stored replies.

    Attributes
    ----------
    cascade : CascadeJudge
        The judge with its settings.
    first : JudgingPlan
        The first judge, with the same rubric.
    then : BoundJudge
        The language model alone.
    unsure : dict of str to list of float
        Low and high, between which the first judge is unsure, by proposition that decides.
    """

    cascade: CascadeJudge
    first: JudgingPlan
    then: BoundJudge
    unsure: dict[str, list[float]]

    @property
    def answerers(self) -> tuple[str, str]:
        """Names of the first judge and of the language model in verdicts."""
        first, then = self.first.judge.name, self.then.name
        return (first, then) if first != then else (f"{first} (first)", f"{then} (then)")

    @property
    def sources(self) -> dict[str, ProbabilitySource]:
        """Source of the probabilities of each of the two judges."""
        first, then = self.answerers
        return {first: self.first.judge.source, then: self.then.source}

    def goes_on(self, answers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which items go to the second judge, by the first judge's answers: (n_items,).

        Those with a probability strictly between its bounds, or without one (nan).
        """
        pairs = [self.unsure.get(name, (np.nan, np.nan)) for name in self.questions]
        low, high = np.array(pairs, dtype=np.float64).reshape(len(pairs), 2).T
        is_between = (answers > low) & (answers < high)
        return np.asarray((is_between | np.isnan(answers)).any(axis=1))


@dataclass(frozen=True, kw_only=True)
class BoundJury(EngineJudge):
    """A jury with the questions of one rubric.

    Attributes
    ----------
    jury : JuryJudge
        The judge with its settings.
    members : tuple of JudgingPlan
        Its judges, with the same rubric.
    yes_from : list of list of float
        Thresholds of yes, by judge and proposition.
    """

    jury: JuryJudge
    members: tuple[JudgingPlan, ...]
    yes_from: list[list[float]]


# Binding ---------------------------------------------------------------------------------------


def plan_judging(
    judge: JudgeLike,
    rubric: Rubric | str | Path,
    *,
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    whole: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> JudgingPlan:
    """Load judge and rubric where they are named, and check that they suit each other.

    Questions that the judge does not answer are left out, unless `whole` is set. `settings` are
    fields of `ModelSettings`, for a language model that is named.
    """
    check_choice("judged", judged, Judged)
    if isinstance(rubric, str | Path):
        from voirdire.rubrics import load_rubric

        rubric = load_rubric(rubric)
    answering = _bind_judge(_open_judge(judge, settings or {}), rubric, judged=judged)
    limit = _choose_threshold(threshold, answering, rubric)
    rubric, notes = _leave_out(answering, rubric, whole=whole)
    limit = select_threshold(limit, rubric.propositions)
    if isinstance(answering, BoundJudge):
        _check_calibration(answering, threshold=limit, judged=judged)
    return JudgingPlan(
        judge=answering,
        rubric=rubric,
        threshold=limit,
        judged=judged,
        fingerprint=_hash_plan(answering, rubric=rubric, threshold=limit, judged=judged),
        columns=_find_columns(answering, rubric),
        notes=(*notes, *_note_differences(answering, rubric)),
    )


def _open_judge(judge: Any, settings: Mapping[str, Any]) -> Any:
    """Open a judge that is named, a model with these settings."""
    opened = judge
    if isinstance(judge, str | Path):
        opened, *more = open_judges(judge, ModelSettings(**settings))
        if more:
            msg = f"`judge` must be one judge, got {len(more) + 1} in {_quote(judge)}. They go to"
            raise InputError(f"{msg} `judge_file_with_several`, `voirdire judge`, or onto a jury.")
    for name in settings:
        if opened is judge or (is_judges_file(judge) and name != "max_cost"):
            msg = f"`{name}` must come with the name of a model as `judge`, got it beside"
            raise InputError(f"{msg} {shorten(judge)}. Leave it out.")
    if not isinstance(opened, str | Path):
        return opened
    if str(opened) != BUNDLED and not Path(opened).exists():
        msg = "`judge` must be 'local', a file that `voirdire distill` wrote, a YAML file of judges"
        way = f"A model is provider/name, with one of: {', '.join(PROVIDERS)}, native."
        raise InputError(f"{msg}, or a model, got {_quote(opened)}, which is no file. {way}")
    from voirdire.judging.local import load_local_judge

    return load_local_judge(opened)


def _bind_judge(judge: Any, rubric: Rubric, *, judged: Judged) -> Answerer:
    if isinstance(judge, LlmJudge):
        return bind_model(judge, rubric)
    if all(row.rule is not None for row in rubric.questions):
        return _Rules(rubric)
    if rubric.of_item:  # the others answer one list of questions for all items
        msg = f"`judge` must be one language model for rubric {_quote(rubric.name)}, got"
        raise InputError(
            f"{msg} {_quote(getattr(judge, 'name', '') or type(judge).__name__)}. Name one, or "
            "'rules' where every criterion has a rule in code."
        )
    if isinstance(judge, CascadeJudge):
        return _bind_cascade(judge, rubric)
    if isinstance(judge, JuryJudge):
        return _bind_jury(judge, rubric, judged=judged)
    if not isinstance(judge, Judge):
        msg = "`judge` must have a name, questions, a fingerprint, a source and `probabilities`"
        way = 'Name a model, a file, or "local".'
        raise InputError(f"{msg}, got {type(judge).__name__}. {way}")
    return judge


def bind_model(judge: LlmJudge, rubric: Rubric) -> BoundJudge:
    """Bind a language model to a rubric."""
    if rubric.reasons and judge.probability == "decision":
        msg = f"`rubric` must not ask a decision model for `reasons`, got {_quote(rubric.name)}."
        raise InputError(f"{msg} Ask a language model, or leave them out.")
    known = judge.known_calibration
    calibration = {} if known is None else {"calibration": known.content_hash}
    asking = judge.asking
    replies = reply_fingerprint(asking, rubric)
    content = calibration | {
        "replies": replies,
        "questions": [question_document(row) for row in rubric.questions],
        "reading": READING_VERSION,
        "n_samples": judge.n_samples if judge.probability == "vote" else None,
        # of removed settings, so that fingerprints do not change
        "n_orders": 1 if judge.mode == "joint" else None,
        "route": False,
    }
    if not judge.both_orders:
        content["both_orders"] = False
    return BoundJudge(
        rubric=rubric,
        name=judge.name,
        source=judge.probability,
        asked={"name": judge.chat_model.name, **asking, "prompt": PROMPT_VERSION} | calibration,
        fingerprint=hash_content(content),
        is_remote=bool(getattr(judge.chat_model, "is_remote", False)),
        sees_images=judge.chat_model.capabilities.images,
        judge=judge,
        reply_fingerprint=replies,
        described={"name": judge.name, "asking": asking},
    )


def _bind_cascade(cascade: CascadeJudge, rubric: Rubric) -> BoundCascade:
    """Bind a cascade to a rubric, and check that they suit each other."""
    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    if others:
        msg = f"`rubric` must ask boolean questions only for a cascade, got {_quote(rubric.name)}"
        raise InputError(f"{msg} with {_quote(others[0])}. Ask the language model alone.")
    first, then = plan_judging(cascade.first, rubric), bind_model(cascade.then, rubric)
    pairs, decisive = read_bounds(cascade.unsure), cascade.propositions
    unknown = sorted({*(decisive or ()), *pairs} - {DEFAULT} - {*rubric.propositions})
    if unknown:
        msg = f"`unsure` and `propositions` must name propositions of rubric {_quote(rubric.name)}"
        raise InputError(f"{msg}, got {_quote(unknown[0])}. Correct the name.")
    unsure = {
        name: list(pairs.get(name, pairs[DEFAULT]))
        for name in rubric.propositions
        if decisive is None or name in decisive
    }
    one = {"name": first.judge.name, "fingerprint": first.judge.fingerprint}
    prints = {"first": one["fingerprint"], "then": then.fingerprint, "unsure": unsure}
    own: dict[str, Any] = {
        "name": cascade.name or f"{first.judge.name}+{then.name}",
        "source": "cascade",
        "asked": {**then.asked, "first": one, "unsure": unsure},
        "fingerprint": hash_content(prints),
        "sees_images": first.sees_images and then.sees_images,
        "notes": (*first.notes, *note_distrust(first.judge)),
    }
    return BoundCascade(**vars(then) | own, cascade=cascade, first=first, then=then, unsure=unsure)


def _bind_jury(jury: JuryJudge, rubric: Rubric, *, judged: Judged) -> BoundJury:
    """Bind every judge of a jury to a rubric, and check that they suit each other."""
    members = tuple(plan_judging(judge, rubric, judged=judged) for judge in jury.judges)
    names = [plan.judge.name for plan in members]
    again = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if again is not None:
        msg = f"`judges` of a jury must have different names, got {_quote(again)} twice."
        raise InputError(f"{msg} Give each a `name`.")
    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    local = [plan.judge.name for plan in members if not isinstance(plan.judge, BoundJudge)]
    if others and local:
        msg = f"`judges` of a jury must be language models for {_quote(others[0])}, which is not"
        raise InputError(f"{msg} boolean, got {_quote(local[0])}. Leave it out.")
    yes_from = [get_thresholds(plan.threshold, rubric.propositions).tolist() for plan in members]
    prints = [plan.judge.fingerprint for plan in members]
    settings = {"combine": jury.combine, "shares": jury.shares}
    thresholds = yes_from if jury.combine == "majority" else None
    rows = [{"name": plan.judge.name, "fingerprint": plan.judge.fingerprint} for plan in members]
    notes = [note for plan in members for note in (*plan.notes, *note_distrust(plan.judge))]
    return BoundJury(
        rubric=rubric,
        name=jury.name or " & ".join(names),
        source="jury",
        asked={**settings, "judges": rows},
        fingerprint=hash_content({**settings, "judges": prints, "thresholds": thresholds}),
        is_remote=any(getattr(plan.judge, "is_remote", False) for plan in members),
        sees_images=all(plan.sees_images for plan in members),
        notes=tuple(dict.fromkeys(notes)),
        jury=jury,
        members=members,
        yes_from=yes_from,
    )


def reply_fingerprint(asking: Mapping[str, Any], rubric: Rubric) -> str:
    """Hash everything that a reply depends on besides the item: the key of the store.

    The number of samples is left out, since each sample has a call of its own. So are the questions
    where each has a call of its own, since the call's name identifies the question. Completion
    classes, threshold and reader are left out as well, so that a change of them does not lose
    replies that are paid for.
    """
    documents = [question_document(row) for row in rubric.questions if row.rule is None]
    questions = None if asking.get("mode") == "single" else documents
    reasons = {"reasons": True} if rubric.reasons else {}
    told = {"asking": asking, "prompt": PROMPT_VERSION, "questions": questions}
    return hash_content(told | reasons)


def _hash_plan(judge: Answerer, *, rubric: Rubric, threshold: Threshold, judged: Judged) -> str:
    """``sha256:`` and 64 digits over judge, rubric, threshold, what is judged and class rule."""
    of_rubric = {"rubric": rubric.content_hash, "class_rule": rubric.class_rule}
    own = {"judge": judge.fingerprint, "threshold": threshold, "judged": judged}
    return hash_content(of_rubric | own)


# What suits each other -------------------------------------------------------------------------


def check_behavior(behavior: str | None, rubric: Rubric) -> None:
    """Refuse a behavior that the rubric does not have."""
    if behavior is not None and rubric.behaviors:
        rubric.behavior(behavior)


def _choose_threshold(given: Threshold | None, judge: Answerer, rubric: Rubric) -> Threshold:
    """Return the caller's threshold, else the rubric's, else the judge's."""
    limit = rubric.threshold if given is None else given
    if limit is None:
        return getattr(judge, "thresholds", USUAL_THRESHOLD)
    if not isinstance(limit, Mapping):
        return check_fraction("threshold", limit)
    for name, value in limit.items():
        check_fraction("threshold", value)
        if name not in rubric.propositions:
            msg = f"`threshold` must name propositions of rubric {_quote(rubric.name)}, got"
            raise InputError(f"{msg} {_quote(name)}. Leave it out.")
    return limit


def _check_calibration(judge: BoundJudge, *, threshold: Threshold, judged: Judged) -> None:
    """Refuse a calibration that was fitted to verdicts of another judge, rubric or prompt."""
    known = judge.judge.known_calibration
    if known is None:
        return
    raw = bind_model(replace(judge.judge, calibration=None), judge.rubric)
    # compare without the threshold, which may have changed: probabilities do not depend on it
    fitted = select_threshold(known.threshold, judge.rubric.propositions)
    own, same = (
        _hash_plan(raw, rubric=judge.rubric, threshold=each, judged=judged)
        for each in (threshold, fitted)
    )
    if known.fingerprint not in (own, same):
        theirs = f"that of {_quote(known.judge)} ({shorten(known.fingerprint, width=19)})"
        ours = f"{_quote(judge.name)} with rubric {_quote(judge.rubric.name)}"
        msg = "`calibration` must be fitted to verdicts of this judge with this rubric and settings"
        way = "Fit it anew: `voirdire examine --gold GOLD --judges VERDICTS --calibration FILE`."
        raise InputError(f"{msg}, got {theirs} for {ours} ({shorten(own, width=19)}). {way}")


def _leave_out(judge: Answerer, rubric: Rubric, *, whole: bool) -> tuple[Rubric, tuple[str, ...]]:
    """Leave out questions that the judge does not answer: of a whole rubric those without a use."""
    optional: Sequence[str] = rubric.unused_propositions if whole else rubric.propositions
    optional = [name for name in optional if rubric.question(name).rule is None]
    lacking = [name for name in optional if name not in judge.questions]
    if not lacking or (not whole and len(lacking) == len(optional)):
        return rubric, ()
    asked = tuple(row for row in rubric.questions if row.id not in lacking)
    note = f"not asked, since {_quote(judge.name)} does not answer it"
    if whole:
        rubric = replace(rubric, questions=asked)
        return rubric, (f"{note} and no behavior uses it: {_list_names(lacking)}",)
    classes = " and the completion classes" * bool(rubric.behaviors)  # which need all questions
    rubric = replace(rubric, questions=asked, expressions={}, behaviors=())
    return rubric, (f"{note}: {_list_names(lacking)}{classes}",)


def _find_columns(judge: Answerer, rubric: Rubric) -> tuple[int, ...]:
    asked = rubric.propositions
    if not asked and not isinstance(judge, EngineJudge):
        refuse_kinds(rubric)
    places = {name: place for place, name in enumerate(judge.questions)}
    places |= dict.fromkeys((row.id for row in rubric.questions if row.rule is not None), _BY_RULE)
    if lacking := [name for name in asked if name not in places]:
        msg = f"`judge` must answer every proposition of rubric {_quote(rubric.name)}, got"
        way = "Take them out of the rubric, or make a judge from labels with `voirdire distill`."
        raise InputError(f"{msg} {_quote(judge.name)} without {_list_names(lacking)}. {way}")
    return tuple(places[name] for name in asked)


def refuse_kinds(rubric: Rubric) -> NoReturn:
    """Raise an error where the rubric has no boolean question."""
    kinds = ", ".join(dict.fromkeys(row.kind for row in rubric.questions)) or "none"
    msg = f"`rubric` must ask boolean questions, got {_quote(rubric.name)} with questions of kind"
    raise InputError(f"{msg} {kinds}. A local judge answers propositions only.")


def _note_differences(judge: Answerer, rubric: Rubric) -> list[str]:
    """Write notes on questions that are not asked, asked in other words, or not calibrated."""
    notes = list(judge.notes) if isinstance(judge, EngineJudge) else []
    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    if others and not isinstance(judge, EngineJudge):
        notes.append(f"not asked, since they are not boolean: {_list_names(others)}")
    texts = getattr(judge, "question_texts", None) or {}
    reworded = [
        row.id for row in rubric.questions if dict(texts.get(row.id, row.text)) != dict(row.text)
    ]
    if reworded:
        notes.append(f"the judge was made for another wording of: {_list_names(reworded)}")
    known = judge.judge.known_calibration if isinstance(judge, BoundJudge) else None
    raw = [] if known is None else [q for q in rubric.propositions if q not in known.questions]
    return [*notes, f"not calibrated: {_list_names(raw)}"] if raw else notes


def note_distrust(judge: Answerer) -> tuple[str, ...]:
    """Return a note on the propositions that a judge's own card does not trust, if any."""
    names = ", ".join(getattr(getattr(judge, "card", None), "untrusted", ()))
    note = f"by its own card {_quote(judge.name)} should not be trusted on: {names}"
    return (note,) if names else ()


def _list_names(names: Sequence[str]) -> str:
    return list_names([_quote(name) for name in names])


def _quote(name: object) -> str:
    return repr(shorten(str(name), width=200))


def ask_in_process(items: Sequence[Item], plan: JudgingPlan) -> NDArray[np.float64]:
    """Ask the judge, check that its answers are in [0, 1], and return the rubric's columns."""
    judge = cast("Judge", plan.judge)
    answers = np.asarray(judge.probabilities(items), dtype=np.float64)
    expected = (len(items), len(judge.questions))
    if answers.shape != expected:
        msg = f"`judge` must give probabilities of shape {expected}, got {answers.shape}."
        raise InputError(msg)
    answers = take_columns(answers, items, plan)
    if not (np.isnan(answers) | ((answers >= 0) & (answers <= 1))).all():
        msg = f"`judge` must give probabilities in [0, 1], got {np.nanmin(answers)!r} to "
        raise InputError(f"{msg}{np.nanmax(answers)!r} from {_quote(judge.name)}.")
    return answers


def take_columns(
    answers: NDArray[np.float64], items: Sequence[Item], plan: JudgingPlan
) -> NDArray[np.float64]:
    """Return the columns of the rubric's propositions; those with a rule are answered by it."""
    taken = np.full((len(items), len(plan.columns)), np.nan)
    for column, place in enumerate(plan.columns):
        rule = plan.rubric.question(plan.rubric.propositions[column]).rule
        if rule is None:
            taken[:, column] = answers[:, place]
        else:
            found = [apply_rule(rule, item) for item in items]
            taken[:, column] = [np.nan if isinstance(x, Failure) else x for x in found]
    return taken
