"""The file of a reward: JSON with the rubric inside, checked against its own hashes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from voirdire._types import Judged, Orientation  # noqa: TC001  # pydantic reads the annotations
from voirdire._validation import shorten
from voirdire.documents import Document, Form, read_document
from voirdire.errors import InputError
from voirdire.records.thresholds import threshold_from_cell
from voirdire.rewards.certificate_file import certificate_of, misspelt_schema
from voirdire.rewards.certification import check_certified
from voirdire.rewards.features import caps_by_behavior, feature_set, questions_of_numbers
from voirdire.rewards.model import BehaviorReward, RewardModel
from voirdire.rewards.reward_document import REWARD_SCHEMA, SCHEMA_SIGN, is_hash_of
from voirdire.rewards.reward_judge import RewardJudge
from voirdire.rewards.rubric_check import check_rubric
from voirdire.rewards.vetoes import veto_propositions
from voirdire.rubrics import rubric_from_text

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.rubrics import Rubric

__all__ = ["load_reward", "reward_of_document"]


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


class _BehaviorForm(Form):
    weights: dict[str, float]
    mean: float | None
    standard_deviation: float | None
    mean_ideal: float | None
    figures: dict[str, Any]
    veto: list[str] = Field(default_factory=list)
    caps: dict[str, float] = Field(default_factory=dict)


class _Form(Form):
    """A reward as it is written."""

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
    model = reward_of_document(document, rubric=rubric)
    check_certified(model, required=require_certified, stacklevel=3)
    return model


def reward_of_document(
    document: Document, *, rubric: Rubric | str | Path | None = None
) -> RewardModel:
    """Read a reward from what its file, or a server, says; its certificates are not looked at."""
    _check_schema(document)
    form = document.read_or_raise(_Form)
    source = shorten(document.source, width=200)
    own = _own_rubric(form.rubric, document)
    model = _model(form, own, document)
    if not is_hash_of(form.content_hash, model):
        message = (
            "must be a reward as it was written, got one that was changed: its content_hash is "
            f"{shorten(form.content_hash, width=19)!r}, its content gives "
            f"{shorten(model.content_hash, width=19)!r}. Fit again, or give weights by hand."
        )
        raise document.error_at(("content_hash",), message)
    check_rubric(own, given=rubric, written_from=form.rubric.source, source=source)
    return model


def _check_schema(document: Document) -> None:
    schema = document.get(("schema",))
    if schema == REWARD_SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith(f"{SCHEMA_SIGN}/"):
        message = (
            f"must be a reward of the form {REWARD_SCHEMA!r}, got {shorten(schema)!r}. "
            "A newer voirdire wrote it: upgrade, or fit again."
        )
    else:
        message = (
            "must be a reward that `voirdire fit` wrote, got another JSON object, without the "
            f"schema {REWARD_SCHEMA!r}.{misspelt_schema(document.value)}"
        )
    raise document.error_at(("schema",), message)


def _own_rubric(form: _RubricForm, document: Document) -> Rubric:
    """Read the rubric inside, and keep what it was read from, for messages and the next file."""
    found = rubric_from_text(form.text, source=f"{document.source}, its rubric")
    if found.content_hash != form.content_hash:
        message = (
            "its rubric must be as it was written, got one that was changed: "
            f"{shorten(form.content_hash, width=19)!r} is now "
            f"{shorten(found.content_hash, width=19)!r}. Fit again."
        )
        raise document.error_at(("rubric", "content_hash"), message)
    return replace(found, source=form.source)


def _model(form: _Form, rubric: Rubric, document: Document) -> RewardModel:
    judge = RewardJudge(**{name: getattr(form.judge, name) for name in _JudgeForm.model_fields})
    try:
        threshold_from_cell(judge.threshold)
    except ValueError as error:
        message = f"judge.threshold {error}, got {judge.threshold!r}."
        raise document.error_at(("judge", "threshold"), message) from error
    return RewardModel(
        name=form.name,
        rubric=rubric,
        orientation=form.orientation,
        judge=judge,
        behaviors={
            name: _behavior(name, row, form.orientation, rubric, document)
            for name, row in form.behaviors.items()
        },
        settings=form.settings,
        data_hash=form.data_hash,
        certificates=tuple(
            certificate_of(document, ("certificates", place), what=f"certificate {place + 1}")
            for place in range(len(form.certificates))
        ),
        created=form.created,
        versions=form.versions,
    )


def _behavior(
    name: str, form: _BehaviorForm, orientation: Orientation, rubric: Rubric, document: Document
) -> BehaviorReward:
    asked = questions_of_numbers(rubric, form.weights)
    features = feature_set(rubric, name, orientation=orientation, questions=asked)
    try:
        caps = caps_by_behavior(form.caps, {name: features})[name]
    except InputError as error:
        message = f"behaviors.{shorten(name)}.caps must be of its features: {error}"
        raise document.error_at(("behaviors", name, "caps"), message) from error
    try:
        veto_propositions(rubric, name, form.veto)
    except InputError as error:
        message = f"behaviors.{shorten(name)}.veto must have a meaning in its rubric: {error}"
        raise document.error_at(("behaviors", name, "veto"), message) from error
    expected = replace(features, vetoes=tuple(form.veto)).names
    if set(form.weights) != set(expected):
        strange = sorted(set(form.weights) ^ set(expected))[0]
        message = (
            f"behaviors.{shorten(name)}.weights must have a weight for every feature of its rubric "
            f"and for no other, got a difference in {shorten(strange)!r}."
        )
        raise document.error_at(("behaviors", name, "weights", strange), message)
    return BehaviorReward(
        behavior=name,
        weights={feature: form.weights[feature] for feature in expected},
        mean=_number(form.mean),
        standard_deviation=_number(form.standard_deviation),
        mean_ideal=_number(form.mean_ideal),
        vetoes=tuple(form.veto),
        caps=caps,
        figures=form.figures,
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
