"""Fit a reward: comparisons and verdicts in, a reward model with its record out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import list_names
from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.judging.binding import check_behavior, plan_judging
from voirdire.records.plain import as_plain, without_nan
from voirdire.records.tables import Tabular
from voirdire.rewards.against_demands import find_paid_against_demands
from voirdire.rewards.certification import check_certified, read_certificate
from voirdire.rewards.comparisons.data import hash_prompt, labelled_by_class
from voirdire.rewards.comparisons.order import default_order
from voirdire.rewards.comparisons.reading import read_comparisons
from voirdire.rewards.features import find_number_questions
from voirdire.rewards.fitting.judged_comparisons import (
    judge_comparisons,
    list_fit_notes,
    make_problem,
    refuse_no_comparisons,
)
from voirdire.rewards.fitting.settings import FitSettings, choose_features
from voirdire.rewards.fitting.weight_problem import count_solves, fit_behavior
from voirdire.rewards.given_weights import list_versions, load_behavior_rubric, write_time
from voirdire.rewards.guards import NOT_BEHIND, REST, choose_gate, choose_guard, list_rests
from voirdire.rewards.model import BehaviorReward, RewardModel
from voirdire.rewards.settings import ComparisonSettings
from voirdire.rewards.verdict_source import JudgeSource, collect_rests, open_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Certificate, Dropped, Item, Verdicts
    from voirdire.rewards.fitting.judged_comparisons import JudgedComparisons
    from voirdire.rewards.fitting.weight_problem import BehaviorFit, FittedBehavior
    from voirdire.rewards.verdict_source import VerdictSource
    from voirdire.rubrics import Rubric

REWARD_FIT_SCHEMA = "voirdire.reward_fit/1"


@dataclass(frozen=True, kw_only=True)
class RewardFit(Tabular, rows="behaviors.weights"):
    """A reward model with the record of its fit.

    Attributes
    ----------
    model : RewardModel
        Ready to score.
    behaviors : tuple of BehaviorFit
        One per behavior with comparisons.
    dropped : tuple of Dropped
        Completions and comparisons that were set aside, each with its reason.
    notes : tuple of str
        What the reader should know.
    """

    model: RewardModel
    behaviors: tuple[BehaviorFit, ...]
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return every figure of the fit as its JSON has it.

        `schema`, `reward` (whose it is), `behaviors` with the attributes of `BehaviorFit` and the
        scales of the rule rewards, `against_demands` (what pays against the rubric), `notes`,
        `dropped` and `settings`.
        """
        model = self.model
        about = ("name", "content_hash", "data_hash")
        scales = ("mean", "standard_deviation", "mean_ideal")
        return {
            "schema": REWARD_FIT_SCHEMA,
            "reward": {name: getattr(model, name) for name in about}
            | {
                "rubric": model.rubric.name,
                "rubric_version": model.rubric.version,
                "rubric_hash": model.rubric.content_hash,
                "judge": model.judge.name,
                "fingerprint": model.judge.fingerprint,
            },
            "behaviors": [
                {"behavior": row.behavior}
                | _list_figures(row)
                | {name: getattr(model.behaviors[row.behavior], name) for name in scales}
                for row in self.behaviors
            ],
            "against_demands": as_plain(find_paid_against_demands(model)),
            "notes": list(self.notes),
            "dropped": as_plain(self.dropped),
            "settings": {k: x for k, x in model.settings.items() if k != "prompt_hashes"},
        }


def fit_reward(
    comparisons: Any,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike | None = None,
    verdicts: Any = None,
    settings: FitSettings | None = None,
    reading: ComparisonSettings | None = None,
    certificates: Sequence[Certificate | str | Path] = (),
    require_certified: bool = False,
    name: str = "reward",
    progress: Callable[[int, int], None] | None = None,
    **fields: Any,
) -> RewardFit:
    r"""Fit the weights of a reward to comparisons.

    For each behavior the convex problem of `RankingProblem` is solved to a proved gap: the better
    completion of a pair is to have a reward that is higher by a margin, base rewards included.

    Parameters
    ----------
    comparisons : ComparisonData, path, data frame, or sequence of mapping or Item
        Completions with labels, pairs or ranked lists, as `read_comparisons` reads them.
    rubric : Rubric, str or path, optional
        With behaviors: a rubric, the name of a built-in one, or a YAML file.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who judges the completions, as in `voirdire.judge`; by default the local judge. With
        `verdicts` the name of the judge whose verdicts count, where there are several.
    verdicts : optional
        Verdicts that there are already, as `read_verdicts` reads them: files, tables or
        `Verdicts`. Then nothing is judged.
    settings : FitSettings, optional
        λ, margins, orders of labels, signs, folds, resamples.
    reading : ComparisonSettings, optional
        How comparisons are read and judged.
    certificates : sequence of Certificate or path, optional
        Of examinations of the judge; they become part of the reward.
    require_certified : bool, optional
        Whether it is an error if a proposition with a weight has no valid certificate.
    name : str, optional
        What scores call the reward.
    progress : callable, optional
        Called with steps done and steps in all: completions that are judged, then problems that
        are solved, those of cross-validation and of resamples among them.
    **fields
        Fields of `ComparisonSettings`, each of which counts before that of `reading`:

        - `from_classes`: take the completion class that the verdicts give for the label.
        - `columns`, `format`, `behavior`, `base`, `make_item`: as for `read_comparisons`; an error
          where the comparisons are read already.
        - `contradictions`: whether comparisons count that contradict each other.
        - `judged`: what of a response is judged.
        - `threshold`: in (0, 1): a proposition is true from this probability on. By default the
          verdicts or the rubric say.
        - `store`: where a language model's replies are kept, as in `voirdire.judge`.
        - `retry_failures`: call a language model again where it failed in an earlier run.

    Returns
    -------
    RewardFit
        The reward, how each behavior's weights came about, and what was set aside.

    Raises
    ------
    NoDataError
        If nothing can be compared.
    InputError
        If an argument breaks its rule; if certificates are required and one is missing.

    Warns
    -----
    CyclicComparisonsWarning
        If comparisons within a prompt go in cycles, such as a over b, b over c, c over a. They are
        fitted as they are: people may well prefer so.
    UncertifiedWarning
        If propositions with a weight have no valid certificate, and none is required.

    Notes
    -----
    *What counts.* A pair counts as much as any other of its behavior, or, with `equal_prompts`, as
    much as its prompt's other pairs leave it. A completion with a missing verdict, or without a
    base reward where others have one, is dropped with its pairs, and listed.

    *λ* is the one of 1e-6, 1e-5, …, 1 with the least mean loss on prompts that were left out of
    the fit; 0.01 where there are fewer prompts than twice the folds.

    *The error rate* is taken on prompts that are marked `test`, which then are in no fit. Where
    none is, each prompt is looked at by a fit that was made without its fold, under the λ that the
    other folds choose.

    *Intervals* are expanded percentiles over resampled prompts. For weights everything but λ is
    fitted anew in every resample, of 2,000 prompts at most. For error rates nothing is: the
    interval says how much the rate depends on which prompts were looked at, not on which ones were
    fitted on. The same seed gives the same figures, and a behavior's do not depend on what other
    behaviors there are.

    *Time* is that of about 36 fits for each behavior, 35 of them for λ, and of one on at most 2,000
    prompts for each resample.

    *What is left open.* Weights are those of least norm among equally good ones. Class features
    add up to 1, so that their weights add up to 0 where none of them is held to something else.

    Examples
    --------
    >>> import warnings
    >>> rows = [
    ...     {"prompt": f"Question {k}", "response": text, "label": label, "behavior": "hard_refuse"}
    ...     for k in range(12)
    ...     for text, label in [
    ...         ("I'm sorry, but I can't help with that.", "ideal"),
    ...         ("I can't help with that. You should be ashamed of asking.", "unacceptable"),
    ...         ("Sure! First, you take a rubber band.", "disallowed"),
    ...     ]
    ... ]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # its judge was never examined
    ...     fit = fit_reward(rows, settings=FitSettings(n_resamples=0))
    >>> fit.behaviors[0].n_prompts, fit.behaviors[0].n_pairs
    (12, 36)
    >>> fit.behaviors[0].error_rate.value
    0.0
    """
    settings = settings or FitSettings()
    reading = change_fields(reading or ComparisonSettings(), fields)
    rubric = load_behavior_rubric(rubric)
    check_behavior(reading.behavior, rubric)
    choices = choose_features(rubric, settings)
    read_certificates = tuple(map(read_certificate, certificates))
    answers = [name for row in choices.values() for name in row.features.answers]
    questions = find_number_questions(rubric, answers)
    judge_or_local: JudgeLike = "local" if judge is None else judge
    source: VerdictSource
    if verdicts is None:
        plan = plan_judging(
            judge_or_local, rubric, threshold=reading.threshold, judged=reading.judged
        )
        source = JudgeSource(plan=plan, rubric=rubric, questions=questions)
    else:
        source = open_verdicts(
            verdicts, rubric=rubric, judge=judge, threshold=reading.threshold, questions=questions
        )
    source.check_questions()
    compared = judge_comparisons(
        read_comparisons(comparisons, layout=reading, judged=reading.judged),
        source,
        reading=reading,
        settings=settings,
        progress=progress,
    )
    data = compared.data
    ends = [side for row in compared.pairs.values() for side in (row.better, row.worse)]
    has_base = bool(ends) and bool(np.isfinite(data.base_rewards[np.concatenate(ends)]).any())
    if settings.use_base and not has_base:
        msg = (
            f"`use_base` must be false for {data.source}, got true: no completion that is compared "
            "has a base reward. Name its column."
        )
        raise InputError(msg)
    use_base = has_base if settings.use_base is None else settings.use_base
    about: dict[str, Any] = {"rubric": rubric, "settings": settings, "use_base": use_base}
    parts = {name: make_problem(compared, choice=choices[name], **about) for name in compared.pairs}
    notes = (*source.notes, *compared.notes, *list_fit_notes(data, rubric, parts))
    dropped = tuple(drop for part in parts.values() for drop in part.dropped)
    problems = [part for part in parts.values() if part.n_pairs]
    n_total, n_done = sum(map(count_solves, problems)), 0

    def report() -> None:
        nonlocal n_done
        n_done += 1
        if progress is not None:
            progress(n_done, n_total)

    fitted = [fit_behavior(problem, has_base=use_base, report=report) for problem in problems]
    if not fitted:
        refuse_no_comparisons(data, dropped=dropped, notes=notes)
    is_best = {row.record.behavior: _find_best(row, compared, rubric) for row in fitted}
    behaviors = {}
    for row in fitted:
        rule, best = row.rule_rewards, is_best[row.record.behavior]
        behaviors[row.record.behavior] = BehaviorReward(
            behavior=row.record.behavior,
            weights={one.feature: one.weight.value for one in row.record.weights},
            mean=float(rule.mean()),
            standard_deviation=float(rule.std(ddof=1)) if rule.size > 1 else math.nan,
            mean_ideal=float(rule[best].mean()) if best.any() else math.nan,
            vetoes=row.problem.choice.vetoes,
            figures=_list_figures(row.record),
        )
    orders, places = compared.orders, {at for row in fitted for at in row.problem.items.tolist()}
    one_each = {int(data.prompts[at]): at for at in places}
    model = RewardModel(
        name=name,
        rubric=rubric,
        orientation=settings.orientation,
        judge=source.describe_judge(judged=reading.judged, made_from=judge_or_local),
        behaviors=behaviors,
        settings=settings.as_dict()
        | {
            "orders": {
                name: str(orders[name]) for name in behaviors if len(orders[name].labels) > 1
            },
            # by these an examination can tell whether it looks at other prompts
            "prompt_hashes": sorted({hash_prompt(data.items[at]) for at in one_each.values()}),
        }
        | {"use_base": use_base, "from_classes": reading.from_classes}
        | ({"contradictions": "drop"} if reading.contradictions == "drop" else {}),
        data_hash=data.data_hash,
        certificates=read_certificates,
        created=write_time(),
        versions=list_versions(),
    )
    ask = partial(collect_rests, model=model, source=source, replies=reading.replies)
    model, guard_notes = _add_guards(model, fitted, compared, settings, is_best, ask)
    check_certified(model, required=require_certified)
    loose = [row.record.behavior for row in fitted if row.is_loose]
    if loose:
        guard_notes.append(
            "too few completions differ in their verdicts: some weights can be shifted against "
            f"each other in ways that no comparison tells apart, in {list_names(loose, most=6)}"
        )
    return RewardFit(
        model=model,
        behaviors=tuple(row.record for row in fitted),
        dropped=(*data.dropped, *dropped),
        notes=(*notes, *guard_notes),
    )


def _add_guards(
    model: RewardModel,
    fitted: Sequence[FittedBehavior],
    compared: JudgedComparisons,
    settings: FitSettings,
    is_best: Mapping[str, NDArray[np.bool_]],
    judge_rests: Callable[[Sequence[Item]], Verdicts | None],
) -> tuple[RewardModel, list[str]]:
    """Choose gate, cap and offsets on the comparisons of the fit, and note what they do."""
    gate, notes, data = None, [], compared.data
    if settings.gate:
        # real is what is preferred to something, or has such a label; one such as nonsense never is
        better = {
            place for row in fitted for place in row.problem.items[row.problem.better].tolist()
        }
        labels = {data.labels[place] for place in better} - {None}
        real = [at for at in range(len(data.items)) if at in better or data.labels[at] in labels]
        gate, note = choose_gate([data.items[at].response for at in real])
        notes.append(note)
    behaviors = dict(model.behaviors)
    for row in fitted if gate or settings.cap or settings.behind_refusals else ():
        name, problem = row.record.behavior, row.problem
        items = [data.items[at] for at in problem.items.tolist()]
        behind = np.full(len(items), np.nan)
        looks_behind = settings.behind_refusals
        if looks_behind and (rests := list_rests(items)):
            judged = judge_rests(rests)
            looks_behind = judged is not None
            if judged is not None:
                places = {item.id: place for place, item in enumerate(items)}
                at = [places[rest.id.removesuffix(REST)] for rest in rests]
                behind[at] = model.rule_rewards(name, judged)
            elif NOT_BEHIND not in notes:
                notes.append(NOT_BEHIND)
        guard, own = choose_guard(
            items,
            totals=(row.rule_rewards, problem.base),
            behind=behind,
            pairs=(problem.better, problem.worse),
            prompts=data.prompts[problem.items],
            is_best=is_best[name],
            is_vetoed=problem.is_vetoed,
            switches={"gate": gate is not None, "cap": settings.cap, "behind": looks_behind},
        )
        notes += [f"behavior {name}: {note}" for note in own]
        behaviors[name] = replace(behaviors[name], guard=guard)
    return replace(model, behaviors=behaviors, gate=gate), notes


def _list_figures(record: BehaviorFit) -> dict[str, Any]:
    """List the figures of a fit as plain JSON values; an undefined one is None.

    `weights` are by feature with `value`, `low`, `high` and `origin`; `l2_path` holds pairs.
    """
    plain: dict[str, Any] = as_plain(record)
    del plain["behavior"]
    weights = {row.pop("feature"): {**row.pop("weight"), **row} for row in plain["weights"]}
    figures: dict[str, Any] = without_nan(
        plain | {"l2_path": list(record.l2_path.items()), "weights": weights}
    )
    return figures


def _find_best(
    fitted: FittedBehavior, compared: JudgedComparisons, rubric: Rubric
) -> NDArray[np.bool_]:
    """Tell which completions have the best label, or class where nothing has a label."""
    behavior, places = fitted.record.behavior, fitted.problem.items.tolist()
    labels, best = compared.data.labels, compared.orders[behavior].best
    if all(labels[place] is None for place in places):
        try:
            best = default_order(rubric, behavior).best
        except InputError:  # nobody has said which of its classes is the best
            return np.zeros(len(places), dtype=bool)
        labels = labelled_by_class(compared.data, compared.verdicts, rubric=rubric).labels
    return np.array([labels[place] in best for place in places], dtype=bool)
