"""Checks the criteria of items: by words, a model, verdicts on responses, and people."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from scipy.special import betaincinv

from voirdire._types import Finding, Share  # noqa: TC001
from voirdire._validation import check_choice, check_names
from voirdire.errors import InputError, NoDataError
from voirdire.io.criteria import CRITERIA_COLUMNS, list_criteria, read_criteria
from voirdire.io.declared import ItemReading, Reading
from voirdire.io.files import RowError
from voirdire.io.items import open_items, stream_items
from voirdire.io.label_reading import read_labels
from voirdire.io.rows import stream_rows
from voirdire.io.shapes import ID_COLUMNS
from voirdire.judging import CallSummary  # noqa: TC001  # as above
from voirdire.judging.outputs import (
    check_place,
    explain_write_errors,
    publish,
    unfinished_folder,
)
from voirdire.judging.settings import StoredReplies
from voirdire.records import Certificate, Dropped
from voirdire.records.items import IS_MET, split_criteria
from voirdire.records.plain import encode_json
from voirdire.records.tables import Tabular
from voirdire.records.thresholds import get_thresholds
from voirdire.rewards.criteria import Negative, Signs, read_signs
from voirdire.rewards.verdict_source import open_verdicts
from voirdire.rubrics import load_rubric
from voirdire.rubrics.wording import (
    avoids,
    claims_two,
    says_what_is_avoided,
    strip_dress,
)
from voirdire.studies.certificate import certify
from voirdire.studies.rubric_reading import PROMPTS, ModelReading, read_by_model
from voirdire.studies.whole_study import examine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.judging import JudgingProgress
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Criterion
    from voirdire.rewards.verdict_source import StoredSource

FindingKind: TypeAlias = Literal[
    "wrong_sign", "contradiction", "unconfirmed", "unstable", "duplicate", "near_duplicate",
    "two_claims", "never_met", "always_met", "separates_nothing",
]  # fmt: skip
"""What is wrong with a criterion, the worst first."""

_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
_KEPT: tuple[FindingKind, ...] = ("two_claims",)
"""Still worth asking, though better in two."""

_MOST_FINDINGS = 10_000
_MOST_DROPPED = 20
_LEVEL = 0.05
_RARE, _CHANGED, _WRONG = 0.2, 0.1, 0.2
"""Shares: of the other answer, of answers that changed, and of those that people deny."""


@dataclass(frozen=True, kw_only=True)
class CriterionFinding:
    """What is wrong with a criterion.

    Attributes
    ----------
    kind : str
        What it is.
    text : str
        The criterion.
    other : str or None
        The one that it repeats or contradicts.
    points : float
        The largest, up or down, that it has.
    n_prompts : int
        Prompts that bring it.
    n_answers : int
        Answers that the finding rests on; 0 where its words show it.
    share : float
        Of these answers, those that are met, that changed, or that people deny; nan without any.
    """

    kind: FindingKind
    text: str
    other: str | None = None
    points: float
    n_prompts: int
    n_answers: int = 0
    share: Share = math.nan


@dataclass(frozen=True, kw_only=True)
class TagFinding:
    """What verdicts and people say of the criteria with one tag.

    Attributes
    ----------
    tag : str
        The tag; ``"is_met"`` for all criteria.
    n_answers : int
        Verdicts on responses.
    share_met, share_changed : float
        Of them, those that are met, and those that another run answers otherwise; nan without any.
    finding : str or None
        Of the alternative annotator test of the judge, such as ``"passed"`` and ``"not_shown"``;
        None where nobody labelled.
    winning_rate, advantage : float
        Its figures; nan where there are none.
    """

    tag: str
    n_answers: int = 0
    share_met: Share = math.nan
    share_changed: Share = math.nan
    finding: Finding | None = None
    winning_rate: Share = math.nan
    advantage: Share = math.nan


@dataclass(frozen=True, kw_only=True)
class RubricCheck(Tabular, rows="findings"):
    """What is wrong with the criteria that a file of rows brings.

    Attributes
    ----------
    source : str
        The file.
    n_rows, n_dropped, n_prompts, n_criteria : int
        Rows, those that could not be read, different prompts, and different criteria.
    n_flagged, n_left_out : int
        Criteria with a finding, and those of them that should not be kept.
    counts : mapping of str to int
        Findings of each kind.
    signs : Signs
        How criteria with negative points are worded.
    findings : tuple of CriterionFinding
        The worst first, at most 10,000.
    n_answered : int
        Criteria with enough answers to say whether they always or never hold; without verdicts 0.
    tags : tuple of TagFinding
        By tag, and for all criteria; empty without verdicts.
    dropped : tuple of Dropped
        The first rows that could not be read.
    output : str or None
        The file of rows with the criteria that should be kept.
    certificate : Certificate or None
        Of the judge, by tag, where people labelled.
    asked : str or None
        The language model that read the criteria.
    n_lists, n_unread : int
        Lists of criteria that it was asked about, and those about which something has no answer.
    calls : tuple of CallSummary
        Counts and cost of its calls, in both rounds.
    """

    source: str
    n_rows: int
    n_dropped: int
    n_prompts: int
    n_criteria: int
    n_flagged: int
    n_left_out: int
    counts: Mapping[str, int]
    signs: Signs
    findings: tuple[CriterionFinding, ...]
    n_answered: int = 0
    tags: tuple[TagFinding, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    output: str | None = None
    certificate: Certificate | None = field(default=None, repr=False)
    asked: str | None = None
    n_lists: int = 0
    n_unread: int = 0
    calls: tuple[CallSummary, ...] = field(default=(), repr=False)

    @property
    def has_pairs(self) -> bool:
        """Whether a finding is about two criteria."""
        return any(row.other is not None for row in self.findings)


def check_rubric(
    source: str | Path,
    *,
    verdicts: Any = None,
    again: Sequence[Any] = (),
    humans: Any = None,
    only: str | None = None,
    judge: JudgeLike | None = None,
    negative: Negative | None = None,
    output: str | Path | None = None,
    store: str | Path | Literal[False] | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    reading: ItemReading | None = None,
    **settings: Any,
) -> RubricCheck:
    r"""Check the criteria that a file of rows brings; responses are needed for verdicts only.

    Parameters
    ----------
    source : str or path
        The rows, each with criteria; a file, since it is read again.
    verdicts : path, sequence of paths, or anything that `read_verdicts` reads, optional
        Verdicts of ``voirdire judge --rubric criteria`` on the rows.
    again : sequence of the same, optional
        Further runs of the same judge, without stored replies of the first.
    humans : path or data frame, optional
        What people say of the same responses and criteria: items as the verdicts name them.
    only : str, optional
        Whose verdicts count, where they are of several judges.
    judge : LlmJudge, str or path, optional
        A language model that is asked what the criteria mean: which are faults, make two claims,
        ask for the same thing, or exclude each other. It sees a prompt with its criteria, without
        points.
    negative : {"met_is_bad", "met_is_good"}, optional
        What negative points mean; by default what most criteria with them say.
    output : str or path, optional
        JSONL of the rows with the criteria that should be kept.
    store, retry_failures, progress
        As for `voirdire.judge`.
    reading : ItemReading, optional
        How the file is laid out.
    **settings
        Fields of `voirdire.judging.ModelSettings` for a model that is named as `judge`.

    Returns
    -------
    RubricCheck

    Raises
    ------
    InputError
        If a file cannot be read, `again` or `humans` come without `verdicts`, or `judge` is no
        language model.
    NoDataError
        If no row has criteria.

    Notes
    -----
    *Words* show repeated criteria, and some of the wrong signs (a criterion with negative points
    that says what is avoided beside others that say what is done, or the other way round; a fault
    with positive points) and of those with two claims. A *model* shows these, near duplicates and
    contradictions: it is asked about all criteria of a prompt in one call, 25 at most, and then
    about the pairs that they may hold; what it says counts before words. *Verdicts* show criteria
    that always or never hold: with :math:`n` equal answers the other one has a share below .2 with
    95% confidence from :math:`n = 14` on, since :math:`1 - .05^{1/n} < .2`. A criterion separates
    nothing where responses of every prompt got equal answers, though chance would part some with
    95% probability.
    Answers change, or people deny them, where the lower limit of Clopper and Pearson (one-sided,
    95%) of that share is above .1, or .2. What people deny goes by their majority.
    """
    if verdicts is None and (again or humans is not None):
        msg = "`verdicts` must be given with `again` and `humans`, got None. Judge the rows first."
        raise InputError(msg)
    if negative is not None:
        check_choice("negative", negative, Negative)
    layout = reading or ItemReading()
    known = _Rubrics()
    for row in _stream(source, layout, known.drop):
        known.add(*row)
    if not known.texts:
        why = f", the first: {known.dropped[0].reason}" if known.dropped else ""
        msg = (
            f"{source}: must hold rows with criteria in a column such as 'criteria', got none{why}."
        )
        raise NoDataError(msg)
    by_model = ModelReading()
    if judge is not None:
        about: Any = {"judge": judge, "settings": settings, "progress": progress}
        replies = StoredReplies(store, retry_failures)
        by_model = read_by_model(source, layout, replies=replies, **about)
    elif settings:
        check_names(settings, (), of="check_rubric")
    findings = [*known.list_findings(negative, by_model)]
    answered, tags, certificate = 0, tuple[TagFinding, ...](), None
    if verdicts is not None:
        rubric = load_rubric("criteria")
        runs = [open_verdicts(x, rubric=rubric, judge=only) for x in (verdicts, *again)]
        frame = _collect(source, layout, runs)
        people = None
        if humans is not None:
            table = read_labels(humans, role="annotator", reading=Reading(kind="boolean"))
            people = table.frame.select("item", "rater", label=pl.col("label") == "true")
        found, answered = _judge_answers(frame, people)
        findings += [
            known.describe(kind, text, n_answers=n, share=share)
            for kind, text, n, share in found
            if kind != "never_met" or known.texts[text][1] > 0  # a fine that nobody earned is sound
        ]
        tags, certificate = _examine_tags(frame, people, runs[0])
    findings.sort(key=lambda row: (_KINDS.index(row.kind), -row.n_prompts * abs(row.points)))
    left_out = {row.text for row in findings if row.other is None and row.kind not in _KEPT}
    of_pairs = {row.text for row in findings if row.other is not None}
    of_both = {str(row.other) for row in findings if row.kind == "contradiction"}
    if output is not None:
        _write_kept(source, output, layout, left_out=left_out, pairs=known.pairs)
    return RubricCheck(
        source=str(source),
        n_rows=known.n_rows,
        n_dropped=known.n_dropped,
        n_prompts=len(known.prompts),
        n_criteria=len(known.texts),
        n_flagged=len({row.text for row in findings} | of_both),
        n_left_out=len(left_out | of_pairs | of_both),
        counts=dict(Counter(row.kind for row in findings)),
        signs=known.signs,
        findings=tuple(findings[:_MOST_FINDINGS]),
        n_answered=answered,
        tags=tags,
        dropped=tuple(known.dropped),
        output=None if output is None else str(output),
        certificate=certificate,
        asked=by_model.judge,
        n_lists=by_model.n_lists,
        n_unread=by_model.n_unread,
        calls=by_model.calls,
    )


# Words -------------------------------------------------------------------------------------------


class _Rubrics:
    """The criteria of a file, each text once, and which of them belong together."""

    def __init__(self) -> None:
        self.n_rows = self.n_dropped = 0
        self.dropped: list[Dropped] = []
        self.prompts: set[bytes] = set()
        self.texts: dict[str, list[float]] = {}
        """Number of prompts, and the largest and the smallest points, of each."""
        self.pairs: dict[tuple[str, str], list[Any]] = {}
        """Kind, and number of prompts, of two texts of one item."""
        self._rows: set[bytes] = set()

    def drop(self, dropped: Dropped) -> None:
        self.n_rows += 1
        self.n_dropped += 1
        if len(self.dropped) < _MOST_DROPPED:
            self.dropped.append(dropped)

    def add(self, row: dict[str, Any], criteria: tuple[Criterion, ...], name: str) -> None:
        self.n_rows += 1
        prompt = _hash_prompt(row, name)
        told = "\n".join(sorted(f"{x.points} {x.text}" for x in criteria))
        digest = hashlib.sha256(prompt + told.encode()).digest()[:16]
        if digest in self._rows:  # another response to the same prompt
            return
        self._rows.add(digest)
        self.prompts.add(prompt)
        for each in criteria:
            n, most, least = self.texts.get(each.text, (0, each.points, each.points))
            self.texts[each.text] = [n + 1, max(most, each.points), min(least, each.points)]
        firsts: dict[str, str] = {}
        for each in criteria:
            first = firsts.setdefault(strip_dress(each.text), each.text)
            if first is not each.text:
                self.pairs.setdefault((each.text, first), ["duplicate", 0])[1] += 1

    @property
    def signs(self) -> Signs:
        """How criteria with negative points are worded."""
        return read_signs(text for text, (_, _, least) in self.texts.items() if least < 0)

    def list_findings(
        self, negative: Negative | None, by_model: ModelReading
    ) -> Iterator[CriterionFinding]:
        """List what a model says, and what words show where it says nothing."""
        faults = by_model.chances.get("fault", {})
        twofold = by_model.chances.get("two_claims", {})

        def is_good(text: str) -> bool | None:
            if text in faults:
                return faults[text] < 0.5
            # what is "not mentioned" may be good or bad
            return avoids(text) or (None if says_what_is_avoided(text) else False)

        fined = [is_good(text) for text, (_, _, least) in self.texts.items() if least < 0]
        mostly_good = fined.count(True) > fined.count(False)
        meaning = negative or ("met_is_good" if mostly_good else "met_is_bad")
        at_odds: set[str] = set()
        for (text, other), (kind, n) in by_model.pairs.items():
            both = [self.texts[text], self.texts[other]]
            is_fined, is_paid = (all(x[2] < 0 for x in both), all(x[1] > 0 for x in both))
            if kind == "contradiction":  # two faults may both be fined
                is_fined = is_fined and bool(is_good(text) and is_good(other))
            if (text, other) not in self.pairs and (is_fined or is_paid):
                self.pairs[text, other] = [kind, n]
                at_odds |= {text, other} if kind == "contradiction" else set()
        for text, (_, most, least) in self.texts.items():
            is_wrong = least < 0 and is_good(text) is (meaning == "met_is_bad")
            is_wrong |= most > 0 and faults.get(text, 0.0) >= 0.5
            if is_wrong and text not in at_odds:
                yield self.describe("wrong_sign", text)
            if twofold[text] >= 0.5 if text in twofold else claims_two(text):
                yield self.describe("two_claims", text)
        for (one, other), (kind, n) in self.pairs.items():
            yield self.describe(kind, one, other=other, n_prompts=n)

    def describe(self, kind: Any, text: str, **about: Any) -> CriterionFinding:
        """Make a finding about a text."""
        n, most, least = self.texts.get(text, (0, 0.0, 0.0))
        points = most if abs(most) >= abs(least) else least
        return CriterionFinding(
            **{"n_prompts": int(n)} | about, kind=kind, text=text, points=points
        )


def _hash_prompt(row: dict[str, Any], name: str) -> bytes:
    prompt = next((row[name] for name in PROMPTS if row.get(name)), None)
    told = json.dumps(name if prompt is None else prompt, sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "replace")).digest()[:16]


def _stream(
    source: str | Path, layout: ItemReading, drop: Callable[[Dropped], object]
) -> Iterator[tuple[dict[str, Any], tuple[Criterion, ...], str]]:
    """Read rows with their criteria and what they are called; others are dropped."""
    file = open_items(source, layout, held="row")
    is_row = lambda row: any(name in row for name in CRITERIA_COLUMNS)  # noqa: E731
    for line, row, _ in stream_rows(file, check_header=lambda _: None, is_row=is_row):
        if isinstance(row, Dropped):
            drop(row)
            continue
        try:
            _, criteria = read_criteria(row, may_repeat=True) or ("", ())
            if not criteria:
                raise RowError("no criteria")
            yield row, criteria, f"{file.stem}:{line}"
        except RowError as error:
            drop(error.dropped(source=file.name, line=line, item=None))


# Verdicts ----------------------------------------------------------------------------------------


def _collect(source: str | Path, layout: ItemReading, runs: Sequence[StoredSource]) -> pl.DataFrame:
    """Collect the answers of each run: a row for each response and criterion."""
    [question] = runs[0].verdicts.questions
    frames = []
    settings = vars(layout) | {"criteria": True}
    for batch in stream_items(source, reading=ItemReading(**settings)):
        split = [(item, part) for item in batch.items for part in split_criteria(item)]
        if not split:
            continue
        prompts = {
            item.id: _hash_prompt({"prompt": [[x.role, x.content] for x in item.prompt]}, "").hex()
            for item in batch.items
        }
        labels = {}
        for place, run in enumerate(runs):
            found = run.collect(batch.items)
            met = pl.Series(found.labels[:, found.questions.index(question)], dtype=pl.Boolean)
            labels[f"run{place}"] = met.set(pl.Series(np.isnan(found.probability(question))), None)
        about = {
            "item": [part.id for _, part in split],
            "text": [part.criteria[0].text for _, part in split],
            "tags": [list(dict.fromkeys(part.criteria[0].tags)) for _, part in split],
            "prompt": [prompts[item.id] for item, _ in split],
        }
        types = {"tags": pl.List(pl.String)}
        frames.append(pl.DataFrame(about | labels, schema_overrides=types))
    if not frames:
        msg = f"{source}: must hold responses for `verdicts`, got none."
        raise NoDataError(msg)
    return pl.concat(frames)


def _judge_answers(
    frame: pl.DataFrame, people: pl.DataFrame | None
) -> tuple[list[tuple[FindingKind, str, int, float]], int]:
    """Find criteria by their answers; also say how many had enough of them."""
    met = frame.drop_nulls("run0")
    by_text = met.group_by("text", maintain_order=True).agg(n=pl.len(), share=pl.col("run0").mean())
    enough = by_text.filter(1 - _LEVEL ** (1 / pl.col("n")) < _RARE)
    alike = enough.filter(pl.col("share").is_in([0.0, 1.0])).iter_rows()
    found: list[Any] = [("always_met" if row[2] else "never_met", *row) for row in alike]
    groups = met.group_by("text", "prompt").agg(n=pl.len(), k=pl.col("run0").sum())
    parted = groups.filter(pl.col("n") > 1).join(by_text.select("text", "share"), on="text")
    chance = pl.col("share") ** pl.col("n") + (1 - pl.col("share")) ** pl.col("n")
    parted = parted.group_by("text", maintain_order=True).agg(
        n=pl.col("n").sum(),
        share=pl.col("share").first(),
        is_parted=((pl.col("k") > 0) & (pl.col("k") < pl.col("n"))).any(),
        chance=chance.log().sum().exp(),
    )
    mixed = parted.filter(~pl.col("is_parted"), pl.col("share").is_between(0, 1, closed="none"))
    rows = mixed.filter(pl.col("chance") <= _LEVEL).select("text", "n", "share").iter_rows()
    found += [("separates_nothing", *row) for row in rows]
    if runs := [name for name in frame.columns if name[:3] == "run"][1:]:
        repeats = pl.concat([frame.select("text", one="run0", other=name) for name in runs])
        found += _find_often("unstable", repeats, most=_CHANGED)
    if people is not None:
        voted = people.group_by("item").agg(share=pl.col("label").mean())
        clear = frame.join(voted, on="item").filter(pl.col("share") != 0.5)
        said = clear.select("text", one="run0", other=pl.col("share") > 0.5)
        found += _find_often("unconfirmed", said, most=_WRONG)
    return found, enough.height


def _find_often(
    kind: FindingKind, frame: pl.DataFrame, *, most: float
) -> Iterator[tuple[FindingKind, str, int, float]]:
    """Find the criteria of which one answer and the other differ more often than that."""
    rows = frame.drop_nulls().group_by("text", maintain_order=True)
    counted = rows.agg(n=pl.len(), k=(pl.col("one") != pl.col("other")).sum())
    for text, n, k in counted.iter_rows():
        if k and betaincinv(k, n - k + 1, _LEVEL) > most:
            yield kind, text, n, k / n


def _examine_tags(
    frame: pl.DataFrame, people: pl.DataFrame | None, run: StoredSource
) -> tuple[tuple[TagFinding, ...], Certificate | None]:
    """Sum answers up by tag, and examine the judge by tag where people labelled."""
    whole = frame.with_columns(question=pl.lit(IS_MET))
    by_tag = frame.explode("tags").drop_nulls("tags").with_columns(question="tags")
    answers = pl.concat([whole.drop("tags"), by_tag.drop("tags")])
    runs = [name for name in frame.columns if name[:3] == "run"]
    differ = [(pl.col(name) != pl.col("run0")).cast(pl.Float64) for name in runs[1:]]
    changed = pl.mean_horizontal(differ) if differ else pl.lit(None, dtype=pl.Float64)
    counted = answers.group_by("question", maintain_order=True).agg(
        n=pl.col("run0").count(),
        met=pl.col("run0").mean(),
        changed=changed.mean(),
    )
    results: dict[str, Any] = {}
    certificate = None
    if people is not None:
        judge, fingerprint = run.verdicts.judge, run.verdicts.fingerprint
        both = answers.join(people, on="item")
        humans = both.select("item", "rater", "question", "label", cluster="prompt")
        judged = answers.filter(pl.col("item").is_in(people["item"].unique().implode()))
        judges = judged.drop_nulls("run0").select(
            "item", "question", rater=pl.lit(judge), label="run0", fingerprint=pl.lit(fingerprint)
        )
        reading = Reading(kind="boolean")
        [threshold] = get_thresholds(run.verdicts.threshold, run.verdicts.questions)
        tables: Any = {
            "humans": read_labels(humans, role="annotator", reading=reading),
            "judges": read_labels(judges, role="judge", reading=reading),
        }
        found = examine(**tables, clusters=True, around=False)
        results = {row.question: row for row in found.results}
        declared = {"threshold": float(threshold), "missing": []}
        about: Any = {"reading": declared, "rubric_hash": run.rubric.content_hash}
        certificate = certify(found, **tables, **about)
    rows = [
        TagFinding(
            tag=tag,
            n_answers=n,
            share_met=math.nan if met is None else met,
            share_changed=math.nan if share is None else share,
            finding=None if tag not in results else results[tag].finding,
            winning_rate=math.nan if tag not in results else results[tag].winning_rate,
            advantage=math.nan if tag not in results else results[tag].advantage_probability,
        )
        for tag, n, met, share in counted.iter_rows()
    ]
    return tuple(rows), certificate


# What to keep ------------------------------------------------------------------------------------


def _write_kept(
    source: str | Path,
    output: str | Path,
    layout: ItemReading,
    *,
    left_out: set[str],
    pairs: Mapping[tuple[str, str], Sequence[Any]],
) -> None:
    """Write the rows with the criteria that should be kept; rows without any are left out.

    Of criteria that repeat each other the first stays; of a contradiction none does. A row without
    an id gets the one by which verdicts know it.
    """
    target = check_place(Path(output), source=source, what="rows")
    if target.suffix.lower() != ".jsonl":
        raise InputError(f"`output` must end in .jsonl, got {str(output)!r}. Rename it.")
    if target.exists():
        msg = f"`output` must not exist yet, got {str(output)!r}. Remove it, or name another."
        raise InputError(msg)
    out_beside: dict[str, set[str]] = {}
    both = [(other, one) for (one, other), (kind, _) in pairs.items() if kind == "contradiction"]
    for one, other in (*pairs, *both):
        out_beside.setdefault(one, set()).update({other} - {one})
    declared = (layout.columns or {}).get("id")
    id_columns = ID_COLUMNS if declared is None else (declared,)
    with unfinished_folder(target) as folder, explain_write_errors(target):
        part = folder / "kept.jsonl"
        with part.open("wb") as file:
            for row, criteria, name in _stream(source, layout, lambda _: None):
                texts = {each.text for each in criteria}
                kept: dict[str, int] = {}
                for place, each in enumerate(criteria):
                    is_out = each.text in left_out or out_beside.get(each.text, set()) & texts
                    if not is_out and each.text not in kept:
                        kept[each.text] = place
                column, written = list_criteria(row)
                if kept and column is not None:
                    rest: dict[str, Any] = {column: [written[place] for place in kept.values()]}
                    if all(row.get(key) is None for key in id_columns):
                        rest[id_columns[0]] = name
                    file.write(encode_json(row | rest) + b"\n")
        publish(part, target)
