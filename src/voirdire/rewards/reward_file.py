"""Read the file of a reward: JSON with the rubric inside, checked against its own hashes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, FiniteFloat

from voirdire._messages import shorten
from voirdire._types import Judged, Orientation  # noqa: TC001  # pydantic reads the annotations
from voirdire.documents import (
    Document,
    Form,
    read_document,
)
from voirdire.errors import InputError
from voirdire.records.items import SCORE
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.certification import check_certified, make_certificate, suggest_schema
from voirdire.rewards.criteria import CRITERIA, CriteriaRule, Negative
from voirdire.rewards.features import group_vetoes, list_weighed_features
from voirdire.rewards.guards import BehaviorGuard, GateSettings
from voirdire.rewards.model import (
    ANY_REWARD,
    REWARD_SCHEMA,
    BehaviorReward,
    RewardModel,
)
from voirdire.rewards.reward_judge import RewardJudge
from voirdire.rubrics import built_in_rubrics, load_rubric, rubric_from_text

if TYPE_CHECKING:
    from voirdire.rubrics import Rubric

_BUILT_IN = "built-in "
_ELSEWHERE = ("//", "\\\\")
"""Beginnings of file names on other machines. A reward may come from a stranger, and opening such a
name would tell the stranger's machine who asks."""


class _RubricForm(Form):
    name: str
    version: str
    content_hash: str
    source: str
    text: str


class _JudgeForm(Form):
    name: str
    fingerprint: str
    threshold: float | dict[str, float]
    judged: Judged
    made_by: dict[str, Any]


class _GuardForm(Form):
    floor: FiniteFloat | None
    wants_answer: bool
    short_cap: FiniteFloat | None
    topic_cap: FiniteFloat | None
    foreign_cap: FiniteFloat | None
    cap: FiniteFloat | None
    refusal_offset: FiniteFloat | None


class _GateForm(Form):
    fingerprint: str
    threshold: FiniteFloat


class _CriteriaForm(Form):
    negative: Negative | None
    must: str | None
    clip: bool
    tags: list[str]


class _BehaviorForm(Form):
    weights: dict[str, float]
    mean: float | None
    standard_deviation: float | None
    mean_ideal: float | None
    figures: dict[str, Any]
    veto: list[str] = Field(default_factory=list)
    guard: _GuardForm | None = None


class _Form(Form):
    """The form of a reward in a file."""

    schema_: Annotated[str, Field(alias="schema")]
    name: str
    created: str
    versions: dict[str, str]
    rubric: _RubricForm
    orientation: Orientation
    judge: _JudgeForm
    behaviors: dict[str, _BehaviorForm]
    settings: dict[str, Any]
    data_hash: str
    certificates: list[dict[str, Any]]
    gate: _GateForm | None = None
    criteria: _CriteriaForm | None = None
    content_hash: str


def load_reward(
    path: str | Path, *, rubric: Rubric | str | Path | None = None, require_certified: bool = False
) -> RewardModel:
    """Load a reward from its file.

    Parameters
    ----------
    path : str or path
        A JSON file that `RewardModel.save` or `voirdire fit` wrote; at most 64 MiB.
    rubric : Rubric, str or path, optional
        The rubric that it must belong to. By default the one that it was made from, where that is
        still found: the built-in one, or the file. The reward uses its own copy in any case.
    require_certified : bool, optional
        Refuse a reward that pays for a proposition without a valid certificate.

    Returns
    -------
    RewardModel
        Ready to score.

    Raises
    ------
    InputError
        If the file is no reward, of a newer form, damaged or changed; if the rubric is another one
        by now; if a certificate is required and lacks.

    Warns
    -----
    UncertifiedWarning
        If it pays for propositions without a valid certificate, and none is required.

    Notes
    -----
    The hashes show that a file was changed, not who wrote it: a reward, and the certificates in
    it, may be a stranger's. Nothing in a file is run. The judge that it names is asked only by
    ``judge="own"``, unless it is the one that ships with voirdire.
    """
    document = read_document(path, what="a reward", layout="json")
    model = read_reward_document(document, rubric=rubric)
    check_certified(model, required=require_certified, stacklevel=3)
    return model


def read_reward_document(
    document: Document, *, rubric: Rubric | str | Path | None = None
) -> RewardModel:
    """Read a reward from the document of a file or a server, without checking its certificates."""
    schema = document.get(("schema",))
    if schema != REWARD_SCHEMA:
        message = (
            "must be a reward that `voirdire fit` wrote, got another JSON object, without the "
            f"schema {REWARD_SCHEMA!r}.{suggest_schema(document.value)}"
        )
        if isinstance(schema, str) and schema.startswith(ANY_REWARD):
            message = (
                f"must be a reward of the form {REWARD_SCHEMA!r}, got {shorten(schema)!r}. "
                "A newer voirdire wrote it: upgrade, or fit again."
            )
        raise document.error_at(("schema",), message)
    form = document.read_or_raise(_Form)
    saved_rubric = rubric_from_text(form.rubric.text, source=f"{document.source}, its rubric")
    if saved_rubric.content_hash != form.rubric.content_hash:
        message = (
            "its rubric must be as it was written, got one that was changed: "
            f"{shorten(form.rubric.content_hash, width=19)!r} is now "
            f"{shorten(saved_rubric.content_hash, width=19)!r}. Fit again."
        )
        raise document.error_at(("rubric", "content_hash"), message)
    # messages and the next file name the source
    saved_rubric = replace(saved_rubric, source=form.rubric.source)
    try:
        threshold = threshold_from_cell(form.judge.threshold)
    except ValueError as error:
        message = f"judge.threshold {error}, got {form.judge.threshold!r}."
        raise document.error_at(("judge", "threshold"), message) from error
    fields = {name: value for name, value in form if name not in ("schema_", "content_hash")}
    fields |= {
        "rubric": saved_rubric,
        "gate": None if form.gate is None else GateSettings(**dict(form.gate)),
        "criteria": form.criteria
        and CriteriaRule(**dict(form.criteria) | {"tags": tuple(form.criteria.tags)}),
        "judge": RewardJudge(**dict(form.judge) | {"threshold": threshold}),
        "behaviors": {
            name: _read_behavior(name, row, form, saved_rubric, document)
            for name, row in form.behaviors.items()
        },
        "certificates": tuple(
            make_certificate(document, ("certificates", place), what=f"certificate {place + 1}")
            for place in range(len(form.certificates))
        ),
    }
    model = RewardModel(**fields)
    if form.content_hash != model.content_hash:
        message = (
            "must be a reward as it was written, got one that was changed: its content_hash is "
            f"{shorten(form.content_hash, width=19)!r}, its content gives "
            f"{shorten(model.content_hash, width=19)!r}. Fit again, or give weights by hand."
        )
        raise document.error_at(("content_hash",), message)
    _check_rubric(saved_rubric, given=rubric, source=shorten(document.source, width=200))
    return model


def _read_behavior(
    name: str, form: _BehaviorForm, whole: _Form, rubric: Rubric, document: Document
) -> BehaviorReward:
    path = ("behaviors", name)
    if whole.criteria is not None:
        if (name, form.weights) != (CRITERIA, {SCORE: 1.0}):
            message = f"behaviors must be {CRITERIA!r} alone, which pays the score by criteria."
            raise document.error_at(path, message)
        return BehaviorReward(behavior=name, weights=form.weights, figures=form.figures)
    features = list_weighed_features(rubric, name, form.weights, orientation=whole.orientation)
    try:
        vetoes = group_vetoes(form.veto, rubric, [name])[name]
    except InputError as error:
        message = f"behaviors.{shorten(name)}.veto must be of its rubric: {error}"
        raise document.error_at((*path, "veto"), message) from error
    expected = replace(features, vetoes=vetoes).names
    if differing := sorted(set(form.weights) ^ set(expected)):
        message = (
            f"behaviors.{shorten(name)}.weights must have a weight for every feature of its rubric "
            f"and for no other, got a difference in {shorten(differing[0])!r}."
        )
        raise document.error_at((*path, "weights", differing[0]), message)
    means = (form.mean, form.standard_deviation, form.mean_ideal)
    mean, deviation, mean_ideal = (math.nan if value is None else value for value in means)
    return BehaviorReward(
        behavior=name,
        weights={feature: form.weights[feature] for feature in expected},
        mean=mean,
        standard_deviation=deviation,
        mean_ideal=mean_ideal,
        vetoes=vetoes,
        figures=form.figures,
        guard=None if form.guard is None else BehaviorGuard(**dict(form.guard)),
    )


def _check_rubric(own: Rubric, *, given: Rubric | str | Path | None, source: str) -> None:
    """Refuse a reward whose rubric differs from the given one, or from the one it was read from.

    A source that is missing, on another machine, no rubric, or of another name is ignored.
    """
    other = load_rubric(given) if given is not None else _find_rubric(own)
    if other is None or other.content_hash == own.content_hash:
        return
    descriptions = [
        f"{shorten(row.name)!r} version {shorten(row.version)!r} "
        f"({shorten(row.content_hash, width=19)})"
        for row in (own, other)
    ]
    msg = (
        f"{source}: was made for rubric {descriptions[0]}, got {descriptions[1]}"
        f"{'' if given is not None else f' in {shorten(own.source)}'}. "
        "Fit again with that rubric, or go back to the one that the reward was made for."
    )
    raise InputError(msg)


def _find_rubric(own: Rubric) -> Rubric | None:
    """Read the built-in rubric, or the file, that the rubric of a reward was read from."""
    name = own.source.removeprefix(_BUILT_IN)
    if own.source.startswith(_BUILT_IN):
        return load_rubric(name) if name in built_in_rubrics() else None
    if name.startswith(_ELSEWHERE):
        return None
    try:
        # reading a pipe would block; a missing file is no error
        rubric = load_rubric(Path(name)) if Path(name).is_file() else None
    except (InputError, OSError, ValueError):
        return None
    return rubric if rubric is not None and rubric.name == own.name else None
