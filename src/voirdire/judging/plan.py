"""Plans a run of judging: the judge, the rubric, and the thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from voirdire._messages import shorten
from voirdire._types import Judged, Threshold
from voirdire._validation import check_choice, check_fraction
from voirdire.documents import hash_content
from voirdire.errors import InputError
from voirdire.judging.bound import BoundCascade, BoundJudge, BoundJury, EngineJudge, JudgingPlan
from voirdire.judging.cascade import DEFAULT, CascadeJudge, read_bounds
from voirdire.judging.judges_file import is_judges_file, open_judges
from voirdire.judging.jury import JuryJudge
from voirdire.judging.local.judge import BUNDLED
from voirdire.judging.model_settings import LlmJudge, ModelSettings
from voirdire.judging.port import Answerer, Judge
from voirdire.records.thresholds import USUAL_THRESHOLD, select_threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = [
    "ask_in_process",
    "asks_a_model",
    "check_behavior",
    "is_cascade",
    "is_jury",
    "needs_engine",
    "plan_judging",
    "refuse_kinds",
]

_MOST_NAMED = 10


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
    questions = _load_rubric(rubric)
    answering = _load_judge(judge, questions, judged=judged, settings=settings or {})
    limit = _threshold(threshold, answering, questions)
    questions, left_out = (
        _drop_unused(answering, questions) if whole else _select_answered(answering, questions)
    )
    limit = select_threshold(limit, questions.propositions)
    if asks_a_model(answering):
        _check_calibration(answering, threshold=limit, judged=judged)
    return JudgingPlan(
        judge=answering,
        rubric=questions,
        threshold=limit,
        judged=judged,
        fingerprint=_hash_plan(answering, rubric=questions, threshold=limit, judged=judged),
        columns=_columns(answering, questions),
        notes=(
            *left_out,
            *_list_member_notes(answering),
            *_note_unasked(answering, questions),
            *_note_reworded(answering, questions),
            *_note_uncalibrated(answering, questions),
        ),
    )


def _threshold(given: Threshold | None, judge: Answerer, rubric: Rubric) -> Threshold:
    """Return the caller's threshold, else the rubric's, else the judge's."""
    found = rubric.threshold if given is None else given
    if found is None:
        return getattr(judge, "thresholds", USUAL_THRESHOLD)
    if not isinstance(found, Mapping):
        return check_fraction("threshold", found)
    for name, value in found.items():
        check_fraction("threshold", value)
        if name not in rubric.propositions:
            msg = (
                f"`threshold` must name propositions of rubric {shorten(rubric.name)!r}, got "
                f"{shorten(name)!r}. Leave it out."
            )
            raise InputError(msg)
    return found


def asks_a_model(judge: Answerer) -> TypeGuard[BoundJudge]:
    """Return whether the judge is a language model, which answers every kind of question."""
    return isinstance(judge, BoundJudge)


def is_cascade(judge: Answerer) -> TypeGuard[BoundCascade]:
    """Return whether the judge is a cascade."""
    return isinstance(judge, BoundCascade)


def is_jury(judge: Answerer) -> TypeGuard[BoundJury]:
    """Return whether the judge is a jury."""
    return isinstance(judge, BoundJury)


def needs_engine(judge: Answerer) -> TypeGuard[EngineJudge]:
    """Return whether the judge makes calls, so that it needs an engine."""
    return isinstance(judge, EngineJudge)


def check_behavior(behavior: str | None, rubric: Rubric) -> None:
    """Refuse a behavior that the rubric does not have."""
    if behavior is not None and rubric.behaviors:
        rubric.behavior(behavior)


def _load_rubric(rubric: Rubric | str | Path) -> Rubric:
    if not isinstance(rubric, str | Path):
        return rubric
    from voirdire.rubrics import load_rubric

    return load_rubric(rubric)


def _load_judge(
    judge: Any, rubric: Rubric, *, judged: Judged, settings: Mapping[str, Any]
) -> Answerer:
    given = judge
    if isinstance(judge, str | Path):
        judges: Any = open_judges(judge, ModelSettings(**settings))
        if len(judges) > 1:
            msg = (
                f"`judge` must be one judge, got {len(judges)} in {shorten(judge)!r}. A file of "
                "several judges goes to `judge_file_with_several`, or on the command line to "
                "`voirdire judge`; a jury makes one judge of several: `schema: voirdire.jury/1`."
            )
            raise InputError(msg)
        (judge,) = judges
    for name in settings:
        if judge is given or (is_judges_file(given) and name != "max_cost"):
            msg = (
                f"`{name}` must come with the name of a model as `judge`, got it beside "
                f"{shorten(given)}. Leave it out."
            )
            raise InputError(msg)
    if isinstance(judge, str | Path):
        from voirdire.judging.local import load_local_judge

        _check_file(judge)
        judge = load_local_judge(judge)
    if isinstance(judge, CascadeJudge):
        return _bind_cascade(judge, rubric)
    if isinstance(judge, JuryJudge):
        return _bind_jury(judge, rubric, judged)
    if isinstance(judge, LlmJudge):
        return BoundJudge(judge=judge, rubric=rubric)
    if not isinstance(judge, Judge):
        msg = (
            "`judge` must have a name, questions, a fingerprint, a source and a method "
            f'`probabilities`, got {type(judge).__name__}. Name a model, a file, or "local".'
        )
        raise InputError(msg)
    return judge


def _bind_jury(jury: JuryJudge, rubric: Rubric, judged: Judged) -> BoundJury:
    """Bind every judge of a jury to a rubric, and check that they suit each other."""
    members = tuple(plan_judging(judge, rubric, judged=judged) for judge in jury.judges)
    names = [plan.judge.name for plan in members]
    again = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if again is not None:
        msg = (
            f"`judges` of a jury must have different names, got {shorten(again)!r} twice. Give "
            "each a `name`."
        )
        raise InputError(msg)
    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    for plan in members:
        if others and not asks_a_model(plan.judge):
            msg = (
                f"`judges` of a jury must be language models for {shorten(others[0])!r}, which is "
                f"not boolean, got {shorten(plan.judge.name)!r}. Leave the judge or the question "
                "out."
            )
            raise InputError(msg)
    return BoundJury(jury=jury, rubric=rubric, members=members)


def _check_first(first: Judge | str | Path) -> Judge | str | Path:
    """Refuse a file that does not exist, with a message about `first`."""
    if isinstance(first, str | Path) and str(first) != BUNDLED and not Path(first).is_file():
        msg = (
            f"`first` must be {BUNDLED!r} or a file that `voirdire distill` wrote, got "
            f"{shorten(str(first), width=200)!r}, which is no file. Correct the path; in a "
            "cascade's file it is taken from the folder of that file."
        )
        raise InputError(msg)
    return first


def _bind_cascade(cascade: CascadeJudge, rubric: Rubric) -> BoundCascade:
    """Bind a cascade to a rubric, and check that they suit each other."""
    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    if others:
        msg = (
            f"`rubric` must ask boolean questions only for a cascade, got {shorten(rubric.name)!r} "
            f"with {shorten(others[0])!r}. Ask the language model alone, or leave the question out."
        )
        raise InputError(msg)
    first = plan_judging(_check_first(cascade.first), rubric)
    if isinstance(first.judge, BoundJudge):
        msg = (
            f"`first` must be a judge in process, got {shorten(first.judge.name)!r}, which asks a "
            "language model. Put that one in `then`."
        )
        raise InputError(msg)
    bound = BoundCascade(judge=cascade.then, rubric=rubric, cascade=cascade, first=first)
    named = {*(cascade.propositions or ()), *read_bounds(cascade.unsure)} - {DEFAULT}
    unknown = sorted(named - set(rubric.propositions))
    if unknown:
        msg = (
            f"`unsure` and `propositions` must name propositions of rubric "
            f"{shorten(rubric.name)!r}, got {shorten(unknown[0])!r}. Correct the name."
        )
        raise InputError(msg)
    return bound


def _check_calibration(judge: BoundJudge, *, threshold: Threshold, judged: Judged) -> None:
    """Refuse a calibration that was fitted to verdicts of another judge, rubric or prompt."""
    known = judge.judge.known_calibration
    if known is None:
        return
    raw = BoundJudge(judge=replace(judge.judge, calibration=None), rubric=judge.rubric)
    # compare without the threshold, which may have changed: probabilities do not depend on it
    fitted = select_threshold(known.threshold, judge.rubric.propositions)
    own, same = (
        _hash_plan(raw, rubric=judge.rubric, threshold=each, judged=judged)
        for each in (threshold, fitted)
    )
    if known.fingerprint not in (own, same):
        msg = (
            "`calibration` must be fitted to verdicts of this judge with this rubric and these "
            f"settings, got that of {shorten(known.judge)!r} "
            f"({shorten(known.fingerprint, width=19)}) for {shorten(judge.judge.name)!r} with "
            f"rubric {shorten(judge.rubric.name)!r} ({shorten(own, width=19)}). Fit it to verdicts "
            "of this one: `voirdire examine --gold GOLD --judges VERDICTS --calibration FILE`."
        )
        raise InputError(msg)


def _check_file(judge: str | Path) -> None:
    """Refuse a name that is neither a judge of ours nor a model, and say what to do."""
    if str(judge) == BUNDLED or Path(judge).exists():
        return
    from voirdire.models.known_providers import PROVIDERS

    msg = (
        "`judge` must be 'local', a file that `voirdire distill` wrote, a YAML file of a cascade "
        f"or a jury, or a language model, got {shorten(judge)!r}, which is no file. A model is "
        f"written provider/name, with one of: {', '.join(PROVIDERS)}, native; or with `base_url`."
    )
    raise InputError(msg)


def _select_answered(judge: Answerer, rubric: Rubric) -> tuple[Rubric, tuple[str, ...]]:
    """Leave out the questions that the judge does not answer, and the classes, which need all."""
    lacking = _list_unanswered(judge, rubric.propositions)
    if not lacking or len(lacking) == len(rubric.propositions):
        return rubric, ()
    answered = tuple(row for row in rubric.questions if row.id not in lacking)
    classes = " and the completion classes" * bool(rubric.behaviors)
    names = _list_names(lacking)
    note = f"not asked, since {shorten(judge.name)!r} does not answer it: {names}{classes}"
    return replace(rubric, questions=answered, expressions={}, behaviors=()), (note,)


def _drop_unused(judge: Answerer, rubric: Rubric) -> tuple[Rubric, tuple[str, ...]]:
    """Leave out questions that the judge does not answer and no behavior uses."""
    idle = _list_unanswered(judge, rubric.unused_propositions)
    if not idle:
        return rubric, ()
    asked = tuple(row for row in rubric.questions if row.id not in idle)
    who = shorten(judge.name)
    note = (
        f"not asked, since {who!r} does not answer it and no behavior uses it: {_list_names(idle)}"
    )
    return replace(rubric, questions=asked), (note,)


def _columns(judge: Answerer, rubric: Rubric) -> tuple[int, ...]:
    asked = rubric.propositions
    if not asked and not needs_engine(judge):
        refuse_kinds(rubric)
    if lacking := _list_unanswered(judge, asked):
        msg = (
            f"`judge` must answer every proposition of rubric {shorten(rubric.name)!r}, got "
            f"{shorten(judge.name)!r} without {_list_names(lacking)}. Take them out of the rubric, "
            "or make a judge from labels with `voirdire distill`."
        )
        raise InputError(msg)
    places = {name: place for place, name in enumerate(judge.questions)}
    return tuple(places[name] for name in asked)


def _list_unanswered(judge: Answerer, names: Sequence[str]) -> list[str]:
    """List the propositions that a judge does not answer."""
    return [name for name in names if name not in judge.questions]


def refuse_kinds(rubric: Rubric) -> NoReturn:
    """Raise an error where the rubric has no boolean question."""
    kinds = ", ".join(dict.fromkeys(row.kind for row in rubric.questions)) or "none"
    msg = (
        f"`rubric` must ask boolean questions, got {shorten(rubric.name)!r} with questions of kind "
        f"{kinds}. A local judge answers propositions only; a language model answers every kind."
    )
    raise InputError(msg)


def _list_member_notes(judge: Answerer) -> tuple[str, ...]:
    """Collect the notes of the judges in a cascade or jury."""
    return judge.notes if needs_engine(judge) else ()


def _note_unasked(judge: Answerer, rubric: Rubric) -> list[str]:
    others = [row.id for row in rubric.questions if row.kind != "boolean"]
    if not others or needs_engine(judge):
        return []
    return [f"not asked, since they are not boolean: {_list_names(others)}"]


def _note_reworded(judge: Answerer, rubric: Rubric) -> list[str]:
    """Write a note on the questions whose text differs from the one that the judge was made for."""
    known = getattr(judge, "question_texts", None) or {}
    changed = [
        row.id
        for row in rubric.questions
        if row.id in known and dict(known[row.id]) != dict(row.text)
    ]
    if not changed:
        return []
    return [f"the judge was made for another wording of: {_list_names(changed)}"]


def _note_uncalibrated(judge: Answerer, rubric: Rubric) -> list[str]:
    """Write a note on the propositions that a calibration does not cover."""
    if not asks_a_model(judge) or (known := judge.judge.known_calibration) is None:
        return []
    lacking = [name for name in rubric.propositions if name not in known.questions]
    return [f"not calibrated: {_list_names(lacking)}"] if lacking else []


def _list_names(names: list[str]) -> str:
    shown = ", ".join(repr(shorten(name)) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def ask_in_process(items: Sequence[Item], plan: JudgingPlan) -> NDArray[np.float64]:
    """Ask the judge, check that its answers are in [0, 1], and return the rubric's columns."""
    if not isinstance(plan.judge, Judge):
        msg = "a language model is asked by an engine"
        raise TypeError(msg)
    given = np.asarray(plan.judge.probabilities(items), dtype=np.float64)
    expected = (len(items), len(plan.judge.questions))
    if given.shape != expected:
        msg = f"`judge` must give probabilities of shape {expected}, got {given.shape}."
        raise InputError(msg)
    found = given[:, list(plan.columns)]
    if not (np.isnan(found) | ((found >= 0) & (found <= 1))).all():
        msg = f"`judge` must give probabilities in [0, 1], got {np.nanmin(found)!r} to "
        raise InputError(f"{msg}{np.nanmax(found)!r} from {shorten(plan.judge.name)!r}.")
    return found


def _hash_plan(judge: Answerer, *, rubric: Rubric, threshold: Threshold, judged: Judged) -> str:
    """``sha256:`` and 64 digits over judge, rubric, threshold, what is judged and class rule."""
    return hash_content(
        {
            "judge": judge.fingerprint,
            "rubric": rubric.content_hash,
            "threshold": threshold,
            "judged": judged,
            "class_rule": rubric.class_rule,
        }
    )
