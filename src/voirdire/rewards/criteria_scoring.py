"""Scores the responses of a file by the criteria that their items bring, and rewards them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.io.criteria import CRITERIA_COLUMNS
from voirdire.io.declared import ItemReading
from voirdire.io.items import stream_items
from voirdire.judging.binding import plan_judging
from voirdire.judging.outputs import TableWriter
from voirdire.models.port import RULES
from voirdire.records.items import IS_MET, SCORE
from voirdire.records.plain import encode_json, without_nan
from voirdire.records.tables import Tabular
from voirdire.records.thresholds import get_thresholds
from voirdire.rewards.certification import find_certified_tags, read_certificate
from voirdire.rewards.criteria import (
    CRITERIA,
    CriteriaRule,
    Negative,
    Signs,
    read_signs,
    settle_signs,
)
from voirdire.rewards.given_weights import list_versions, write_time
from voirdire.rewards.model import BehaviorReward, RewardModel
from voirdire.rewards.reward_judge import describe_judge
from voirdire.rewards.verdict_source import open_verdicts
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Certificate, Criterion, Dropped, Item

_COLUMNS = ("item", "score", "expected_score", "n_criteria", "n_missing", "missing")
_MOST_TAGS, _EXAMPLES = 200, 3


@dataclass(frozen=True, kw_only=True)
class TagScore:
    """The scores by the criteria with one tag.

    Attributes
    ----------
    tag : str
        The tag.
    n_items : int
        Items with a score by it.
    mean : float
        Of these scores.
    """

    tag: str
    n_items: int
    mean: float


@dataclass(frozen=True, kw_only=True)
class CriteriaScores(Tabular, rows="tags"):
    """The scores of a file by criteria of its items.

    Attributes
    ----------
    output : str
        The file of scores.
    judge, fingerprint : str
        Whose verdicts were used.
    n_items, n_scored : int
        Items, and those of them with a score.
    n_criteria, n_missing : int
        Criteria of the items, and those of them without an answer.
    mean, mean_expected : float
        Of the scores by labels and by probabilities, in that order; clipped to [0, 1] at last.
    tags : tuple of TagScore
        By tag.
    missing : mapping of str to int
        Why items have no score.
    negative : {"met_is_bad", "met_is_good"} or None
        What negative points meant; None where there are none.
    n_dropped : int
        Rows that are no items.
    n_uncertified : int
        Criteria that paid nothing, since no certificate says that their judge passed.
    """

    output: str
    judge: str
    fingerprint: str
    n_items: int
    n_scored: int
    n_criteria: int
    n_missing: int
    mean: float
    mean_expected: float
    tags: tuple[TagScore, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    negative: Negative | None = None
    n_dropped: int = 0
    n_uncertified: int = 0


def score_criteria(
    source: str | Path,
    output: str | Path,
    *,
    verdicts: Any,
    judge: str | None = None,
    negative: Negative | None = None,
    must: str | None = None,
    clip: bool = False,
    explain: bool = False,
    certificates: Sequence[Certificate | str | Path] = (),
    require_certified: bool = False,
    reading: ItemReading | None = None,
    **layout: Any,
) -> CriteriaScores:
    r"""Score the responses of a file by the criteria that their items bring.

    Parameters
    ----------
    source : str or path
        The items, each with its criteria.
    output : str or path
        The scores, ``.parquet``, ``.jsonl`` or ``.csv``: by labels and by probabilities, how many
        criteria there are and how many have no answer, why an item has no score, and the score by
        each tag.
    verdicts : path, sequence of paths, or anything that `read_verdicts` reads
        Verdicts of ``voirdire judge --rubric criteria`` on the items.
    judge : str, optional
        Whose verdicts count, where they are of several judges.
    negative : {"met_is_bad", "met_is_good"}, optional
        What negative points mean. By default that a criterion with them is bad to meet, where none
        is worded as what a response avoids: "Avoids X" with -3 points may mean either.
    must : str, optional
        A tag: an item that does not meet all criteria with it scores 0 at most, and so does one
        that meets a criterion with it and negative points; without an answer on one of them it has
        no score, unless another decides.
    clip : bool, optional
        Whether the score of each item is clipped to [0, 1]; otherwise only their mean is.
    explain : bool, optional
        Whether a column `criteria` says, as JSON, what each criterion adds.
    certificates : sequence of Certificate or path, optional
        Of the judge, by tag, as ``voirdire rubric check --certificate`` writes them.
    require_certified : bool, optional
        Whether only criteria pay whose judge passed: on one of their tags, and failed on none;
        without tags, on all criteria together. Criteria with a rule need no judge.
    reading : ItemReading, optional
        How the file is laid out.
    **layout
        Fields of `ItemReading`, each of which counts before that of `reading`.

    Returns
    -------
    CriteriaScores

    Raises
    ------
    InputError
        If a criterion with negative points says what a response avoids and `negative` is not said;
        if no criterion has the tag `must`; if a file cannot be read or written; if certificates are
        required, and none says that the judge passed.

    Warns
    -----
    UserWarning
        If the verdicts are labels without probabilities: `expected_score` then says no more.

    Notes
    -----
    The score is :math:`\sum_{met} p_c / \sum_{p_c > 0} p_c` over the points :math:`p_c` of the
    criteria with an answer. A criterion without an answer is missing, never 0: it is left out of
    both sums. An item without positive points, or without one answer, has no score.
    """
    about = vars(reading or ItemReading()) | layout | {"criteria": True}
    signs, tags, _, _ = _read_signs(source, must=must, reading=ItemReading(**about))
    if len(tags) > _MOST_TAGS:
        msg = f"{source} has more than {_MOST_TAGS} tags: the others get no score of their own"
        warnings.warn(msg, UserWarning, stacklevel=2)
    meaning = settle_signs(signs, negative)
    rubric = load_rubric(CRITERIA)
    stored = open_verdicts(verdicts, rubric=rubric, judge=judge)
    for note in stored.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    [question] = rubric.propositions
    [threshold] = get_thresholds(stored.verdicts.threshold, [question])
    rule = CriteriaRule(negative=meaning, must=must, clip=clip, tags=tags[:_MOST_TAGS])
    states: dict[str, str] | None = None
    if require_certified:
        read = list(map(read_certificate, certificates))
        named = {str(row.get("question")) for x in read for row in x.examinations}
        named -= {*rubric.propositions}
        states = dict(find_certified_tags(read, stored.verdicts, rubric, tags=sorted(named)))
        if "passed" not in states.values():
            msg = (
                "`require_certified` must find a certificate by which the judge of the verdicts "
                f"passed on a tag, or on all criteria, got {len(read)}. Write one: voirdire rubric "
                "check ROWS --verdicts V --humans LABELS --certificate FILE."
            )
            raise InputError(msg)
    rows: dict[str, Any] = {}
    types: Any = {"n_missing": pl.Int64, "n_criteria": pl.Int64, "missing": pl.String}
    n_items = n_criteria = n_missing = n_uncertified = 0
    n_scored, sums = np.zeros(len(rule.columns)), np.zeros((2, len(rule.columns)))
    reasons = Counter[str]()
    with ExitStack() as stack:
        writer = stack.enter_context(
            TableWriter(output, source=source, holds="scores",
                        is_ours=lambda header: header[: len(_COLUMNS)] == _COLUMNS)
        )  # fmt: skip
        for batch in stream_items(source, reading=ItemReading(**about)):
            writer.set_aside.add(batch.dropped)
            if not batch.items:
                continue
            p = stored.collect(batch.items).probability(question)
            items = batch.items
            if states is not None:
                items, n = _unpay(items, states)
                n_uncertified += n
            scores, missing = rule.score(items, p, threshold=float(threshold))
            parts = np.split(p, np.cumsum([len(item.criteria) for item in items])[:-1])
            rows = {
                "item": [item.id for item in items],
                "score": scores[0, :, 0],
                "expected_score": scores[1, :, 0],
                "n_criteria": list(map(len, parts)),
                "n_missing": [int(np.isnan(part).sum()) for part in parts],
                "missing": missing,
            }
            if explain:
                rows["criteria"] = [
                    encode_json(without_nan(rule.share(*each, threshold=float(threshold)))).decode()
                    for each in zip(items, parts, strict=True)
                ]
            rows |= zip(rule.columns[1:], scores[0, :, 1:].T, strict=True)
            writer.add(pl.DataFrame(rows, schema_overrides=types).fill_nan(None))
            n_items, n_criteria = n_items + len(items), n_criteria + len(p)
            n_missing += int(np.isnan(p).sum())
            n_scored += np.isfinite(scores[0]).sum(axis=0)
            sums += np.nansum(scores, axis=1)
            reasons.update(filter(None, missing))
        writer.publish(tuple(rows))
    with np.errstate(invalid="ignore"):
        means = sums / n_scored
    return CriteriaScores(
        output=str(output),
        judge=stored.verdicts.judge,
        fingerprint=stored.verdicts.fingerprint,
        n_items=n_items,
        n_scored=int(n_scored[0]),
        n_criteria=n_criteria,
        n_missing=n_missing,
        mean=float(np.clip(means[0, 0], 0.0, 1.0)),
        mean_expected=float(np.clip(means[1, 0], 0.0, 1.0)),
        tags=tuple(
            TagScore(tag=tag, n_items=int(n), mean=float(mean))
            for tag, n, mean in zip(rule.tags, n_scored[1:], means[0, 1:], strict=True)
            if n
        ),
        missing=dict(reasons.most_common()),
        negative=meaning,
        n_dropped=writer.set_aside.count,
        n_uncertified=n_uncertified,
    )


def _unpay(items: Sequence[Item], states: Mapping[str, str]) -> tuple[list[Item], int]:
    """Take the points off criteria whose judge is not known to have passed, and count these."""

    def is_paid(criterion: Criterion) -> bool:
        named = {states.get(tag) for tag in criterion.tags} or {states[IS_MET]}
        return criterion.rule is not None or ("passed" in named and "failed" not in named)

    changed, n_unpaid = [], 0
    for item in items:
        criteria = tuple(
            each if is_paid(each) else msgspec.structs.replace(each, points=0.0, tags=())
            for each in item.criteria
        )
        n_unpaid += sum(x is not y for x, y in zip(criteria, item.criteria, strict=True))
        changed.append(msgspec.structs.replace(item, criteria=criteria))
    return changed, n_unpaid


def _read_signs(
    source: Any,
    *,
    must: str | None,
    reading: ItemReading,
    drop: Callable[[Iterable[Dropped]], None] = lambda _: None,
) -> tuple[Signs, tuple[str, ...], int, dict[Negative, int]]:
    """Read the wording of negative points and the tags of a file; refuse a tag that it lacks.

    Returns also how many criteria have no rule, and how many items have no positive points, by what
    negative ones mean.
    """
    texts, tags = dict[str, None](), dict[str, None]()
    n_without_rule, unpaid = 0, dict.fromkeys(get_args(Negative), 0)
    for batch in stream_items(source, reading=reading):
        drop(batch.dropped)
        for item in batch.items:
            texts |= dict.fromkeys(x.text for x in item.criteria if x.points < 0)
            tags |= dict.fromkeys(tag for x in item.criteria for tag in x.tags)
            n_without_rule += sum(x.rule is None for x in item.criteria)
            unpaid["met_is_bad"] += all(x.points <= 0 for x in item.criteria)
            unpaid["met_is_good"] += all(x.points == 0 for x in item.criteria)
    if must is not None and must not in tags:
        known = ", ".join(map(repr, [*tags][:_EXAMPLES])) or "none"
        msg = f"`must` must be a tag of some criterion, got {must!r}. There are {known}."
        raise InputError(msg)
    return read_signs(texts), tuple(tags), n_without_rule, unpaid


def reward_of_criteria(
    source: str | Path,
    *,
    judge: JudgeLike,
    negative: Negative | None = None,
    must: str | None = None,
    clip: bool = False,
    name: str = CRITERIA,
    certificates: Sequence[Certificate | str | Path] = (),
    reading: ItemReading | None = None,
    **layout: Any,
) -> RewardModel:
    """Make a reward that pays the criteria which items bring, once their signs are settled.

    Parameters
    ----------
    source : str or path
        The rows that will be trained on; they need criteria, and no response.
    judge : LlmJudge, str or path
        The language model that judges; the reward takes no other.
    negative, must, clip
        As for `score_criteria`.
    name : str, optional
        What scores call it.
    certificates : sequence of Certificate or path, optional
        Of examinations of the judge on the question ``is_met``.
    reading : ItemReading, optional
        How the file is laid out.
    **layout
        Fields of `ItemReading`, each of which counts before that of `reading`.

    Returns
    -------
    RewardModel
        Its one behavior is ``"criteria"``; it pays the expected score of `score_criteria`, and
        keeps the scores by tag: those tags that the file has, 200 at most.

    Raises
    ------
    InputError
        As `score_criteria` does; if the judge is no language model, or asks none where a criterion
        has no rule.

    Warns
    -----
    UserWarning
        Of rows that cannot be read, and of those without positive points.

    Notes
    -----
    An item has no reward where a criterion with points, or a must-have, has no answer: the other
    responses to its prompt would be paid by other criteria. Nor has one whose negative points say
    what a response avoids, where `negative` was not said.
    """

    def keep_criteria(row: dict[str, Any]) -> dict[str, Any]:
        return {"response": ""} | {key: row[key] for key in CRITERIA_COLUMNS if key in row}

    about = vars(reading or ItemReading()) | layout | {"criteria": True, "make_item": keep_criteria}
    dropped: list[Dropped] = []
    signs, tags, n_without_rule, n_unpaid = _read_signs(
        source, must=must, reading=ItemReading(**about), drop=dropped.extend
    )
    settle_signs(signs, negative)
    plan = plan_judging(judge, CRITERIA)
    if plan.judge.name == RULES and n_without_rule:
        msg = f"`judge` must be a language model, got 'rules': {n_without_rule:,} criteria"
        raise InputError(f"{msg} have no rule in code.")
    first = f" (the first: {shorten(dropped[0].reason)})" if dropped else ""
    unread = f"cannot be read{first}", len(dropped)
    unpaid = "have no positive points", n_unpaid[negative or "met_is_bad"]
    for why, n in filter(itemgetter(1), (unread, unpaid)):
        msg = f"{n:,} rows of {source} {why}: their responses will get no reward"
        warnings.warn(msg, UserWarning, stacklevel=2)
    return RewardModel(
        name=name,
        rubric=plan.rubric,
        judge=describe_judge(plan, made_from=judge),
        behaviors={CRITERIA: BehaviorReward(behavior=CRITERIA, weights={SCORE: 1.0})},
        criteria=CriteriaRule(negative=negative, must=must, clip=clip, tags=tags[:_MOST_TAGS]),
        certificates=tuple(map(read_certificate, certificates)),
        created=write_time(),
        versions=list_versions(),
    )
