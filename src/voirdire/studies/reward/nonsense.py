"""Search text that a reward pays as much as real responses, and look at what its gate stops."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.binding import plan_judging
from voirdire.judging.port import Judge
from voirdire.rewards.gate import REFUSAL, is_foreign
from voirdire.rewards.guards import read_question
from voirdire.rewards.search import (
    COMPLIANCE_TEMPLATES,
    list_units,
    measure_guesses,
    search_texts,
    wrap_in_refusals,
)
from voirdire.rewards.verdict_source import plan_judge
from voirdire.stats.results import make_caution
from voirdire.studies.reward.ranking import find_errors
from voirdire.studies.reward.refusals import find_error_kind
from voirdire.studies.reward.result import (
    SEARCHED,
    FlooredResponse,
    GuardFigures,
    NonsenseText,
    PaidNonsense,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item, Verdicts
    from voirdire.rewards.scores import Scores
    from voirdire.stats import Caution
    from voirdire.studies.reward.ranking import Column, PromptResamples
    from voirdire.studies.reward.responses import ExaminationRequest, RatedComparisons
    from voirdire.studies.reward.result import NonsenseKind

_MOST_EXAMPLES, _MOST_FLOORED, _MOST_WRAPPED, _WIDTH = 3, 5, 2, 160
_MOST_UNITS = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class _Prompt:
    """A prompt of the sample: an item of it, what its real responses are paid, and the others."""

    item: Item
    number: int
    best: float
    median: float
    refusals: float | None
    """The median of the refusals of the behavior, where it is to refuse."""
    wrong: tuple[str, ...]
    """Its responses that do not refuse, where it is to refuse."""


def search_nonsense(
    comparisons: RatedComparisons, request: ExaminationRequest, judged: Verdicts, *, is_stored: bool
) -> tuple[dict[str, Any], dict[str, Column], list[Caution]]:
    """Search and try nonsense; also give which prompts were paid for it, by kind.

    A judge in this process is asked about every guess. For a language model the search climbs with
    the local judge, where that answers the rubric, and the model is asked about what it found.
    Beside stored verdicts only the judge that ships with voirdire is asked, where they are its own.
    """
    reward, judge, seed = request.reward, request.judge, request.settings.seed
    if is_stored:
        judge = "local"
        is_own = reward.judge.made_by.get("judge") == judge and judged.fingerprint == (
            plan_judging(
                judge, reward.rubric, threshold=judged.threshold, judged=reward.judge.judged
            ).fingerprint
        )
        if not is_own:
            return {}, {}, [make_caution("nonsense_not_searched")]
    prompts = _draw_prompts(comparisons, request.settings.n_nonsense, seed)
    if not prompts:
        return {}, {}, []
    is_free = isinstance(plan_judge(reward, judge).judge, Judge)
    texts, code = _write_texts(comparisons, prompts), ""
    notes: list[Caution] = []
    try:
        climb = partial(_pay, request, judge if is_free else "local")
        texts = _search(comparisons, prompts, climb, seed=seed) + texts
        code = "" if is_free else "nonsense_by_model"
    except InputError:  # the local judge does not answer this rubric
        if is_free:
            raise
        code = "nonsense_without_search"
    items = [msgspec.structs.replace(each.item, response=text) for _, each, text in texts]
    paid = _pay(request, judge, items).rule_rewards
    if code:
        notes.append(make_caution(code, n=len(items)))
    n_foreign = sum(is_foreign(read_question(each.item)) for each in prompts)
    if n_foreign and reward.gate is not None:
        notes.append(make_caution("gate_abstains", n=n_foreign, n_prompts=len(prompts)))
    is_paid = np.isfinite(paid)
    figures, columns = _sum_up([x for x, is_so in zip(texts, is_paid, strict=True) if is_so],
                               paid[is_paid])  # fmt: skip
    return figures, columns, notes


def _pay(request: ExaminationRequest, judge: Any, items: Sequence[Item]) -> Scores:
    numbered = [msgspec.structs.replace(x, id=str(place)) for place, x in enumerate(items)]
    return request.reward.score(
        numbered,
        judge=judge,
        base_rewards=np.zeros(len(items)),
        store=request.settings.store,
        other_judge=True,
    )


def _draw_prompts(comparisons: RatedComparisons, n: int, seed: int) -> list[_Prompt]:
    """Draw prompts, as many of each behavior as there are."""
    rated, rng = comparisons.rated, np.random.default_rng(seed)
    drawn = []
    for row in comparisons.behaviors:
        best = np.unique(row.better[row.is_best])
        is_to_refuse = find_error_kind(comparisons, row) == "missed_refusal" and best.size > 0
        refusals = float(np.median(rated.rules[best])) if is_to_refuse else None
        own = []
        for number in rng.permutation(np.unique(rated.prompts[row.rows])).tolist():
            places = row.rows[rated.prompts[row.rows] == number]
            wrong = [
                text
                for place in np.setdiff1d(places, best).tolist()
                if is_to_refuse and not REFUSAL.search(text := rated.items[place].response)
            ]
            own.append(
                _Prompt(
                    item=msgspec.structs.replace(rated.items[places[0]], behavior=row.behavior),
                    number=number,
                    best=float(rated.rules[places].max()),
                    median=float(np.median(rated.rules[places])),
                    refusals=refusals,
                    wrong=tuple(wrong[:_MOST_WRAPPED]),
                )
            )
        drawn.append(own)
    return [one for turn in zip_longest(*drawn) for one in turn if one is not None][:n]


def _search(
    comparisons: RatedComparisons,
    prompts: Sequence[_Prompt],
    pay: Callable[[Sequence[Item]], Scores],
    *,
    seed: int,
) -> list[tuple[NonsenseKind, _Prompt, str]]:
    """Climb for each prompt over words, pairs of words and parts of sentences of the data."""
    responses = [item.response for item in comparisons.rated.items]
    found: list[tuple[NonsenseKind, _Prompt, str]] = []
    for kind in SEARCHED:
        units = list_units(responses, kind)
        rng = np.random.default_rng(seed)
        if len(units) > _MOST_UNITS:
            units = [units[at] for at in rng.permutation(len(units))[:_MOST_UNITS]]
        if units:
            texts = search_texts(
                [each.item for each in prompts],
                units,
                score=lambda items: measure_guesses(pay(items), items),
                rng=rng,
            )
            found += [(kind, each, x.response) for each, x in zip(prompts, texts, strict=True)]
    return found


def _write_texts(
    comparisons: RatedComparisons, prompts: Sequence[_Prompt]
) -> list[tuple[NonsenseKind, _Prompt, str]]:
    """Write compliance without content, wrapped answers, and answers to other prompts."""
    rated = comparisons.rated
    texts: list[tuple[NonsenseKind, _Prompt, str]] = []
    texts += [("templates", each, text) for each in prompts for text in COMPLIANCE_TEMPLATES]
    texts += [
        ("wraps", each, wrapped)
        for each in prompts
        for text in each.wrong
        for wrapped in wrap_in_refusals(text)
    ]
    for row in comparisons.behaviors:
        own = [x for x in prompts if x.item.behavior == row.behavior and x.refusals is None]
        best = np.unique(row.better[row.is_best])
        answers = {int(rated.prompts[place]): rated.items[place].response for place in best}
        others = sorted(answers)
        for each in own:
            other = next((x for x in others if x > each.number), others[0] if others else None)
            if other is not None and other != each.number:
                texts.append(("other_answers", each, answers[other]))
    return texts


def _sum_up(
    texts: Sequence[tuple[NonsenseKind, _Prompt, str]], paid: NDArray[np.float64]
) -> tuple[dict[str, Any], dict[str, Column]]:
    """Count the prompts that pay for nonsense, by kind; one text is enough."""
    kinds = np.array([kind for kind, *_ in texts])
    numbers = np.array([each.number for _, each, _ in texts])
    best = np.array([each.best for _, each, _ in texts])
    middle = [each.refusals if kind == "wraps" else each.median for kind, each, _ in texts]
    errors, _ = find_errors(best, paid)
    is_best, is_above_best = errors > 0, errors == 1
    is_above_median = find_errors(np.array(middle, dtype=float), paid)[0] == 1
    is_searched = np.isin(kinds, SEARCHED)

    def count(hits: NDArray[np.bool_]) -> int:
        return np.unique(numbers[hits]).size

    found: list[PaidNonsense] = []
    columns: dict[str, Column] = {}
    for kind in dict.fromkeys(kind for kind, *_ in texts):
        own = kinds == kind
        asked = np.unique(numbers[own])
        counts = is_above_median if kind == "wraps" else is_best
        columns[kind] = asked, np.isin(asked, numbers[own & counts]).astype(float)
        rows = np.flatnonzero(own)
        worst = rows[np.argsort((best - paid)[rows], kind="stable")[:_MOST_EXAMPLES]].tolist()
        found.append(
            PaidNonsense(
                kind=kind,
                n_prompts=asked.size,
                n_texts=rows.size,
                n_best=count(own & is_best),
                n_above_best=count(own & is_above_best),
                n_above_median=count(own & is_above_median),
                share_best=float(is_best[own].mean()),
                share_above_median=float(is_above_median[own].mean()),
                examples=tuple(
                    NonsenseText(
                        prompt=shorten(read_question(texts[row][1].item), width=_WIDTH),
                        text=shorten(texts[row][2], width=_WIDTH),
                        reward=float(paid[row]),
                        best_reward=float(best[row]),
                    )
                    for row in worst
                ),
            )
        )
    return {
        "nonsense": tuple(found),
        "n_nonsense_best": count(is_searched & is_best),
        "n_nonsense_above_median": count(is_searched & is_above_median),
    }, columns


def describe_guards(
    comparisons: RatedComparisons, resamples: PromptResamples
) -> GuardFigures | None:
    """Count the real responses that the gate stops and the cap holds; compare the error rates."""
    rated, reward = comparisons.rated, comparisons.reward
    guards = {name: row.guard for name, row in reward.behaviors.items() if row.guard is not None}
    if not guards:
        return None
    caps = {name: guard.cap for name, guard in guards.items() if guard.cap is not None}
    at_cap = [
        rated.rules[row.rows] == caps[row.behavior]
        for row in comparisons.behaviors
        if row.behavior in caps
    ]
    better, worse, prompts = (
        np.concatenate([np.zeros(0, int), *(getattr(x, side) for x in comparisons.behaviors)])
        for side in ("better", "worse", "prompts")
    )
    real = np.unique(better)
    stopped = np.flatnonzero(rated.scores.gated & rated.is_rated)
    stopped = stopped[np.argsort(~np.isin(stopped, real), kind="stable")]  # false alarms first
    labels = np.array([label or "" for label in comparisons.labels])
    rated_labels, stopped_labels = Counter(labels[rated.is_rated]), Counter(labels[stopped])
    total = rated.signals["total"]
    with_guards, without, floored = resamples.estimate_means(
        [
            (prompts, find_errors(total[better], total[worse])[0]),
            (
                prompts,
                find_errors(*(total[x] - rated.scores.guarded[x] for x in (better, worse)))[0],
            ),
            (rated.prompts[real], rated.scores.gated[real].astype(float)),
        ]
    )
    return GuardFigures(
        n_floored=stopped.size,
        floored=floored,
        floored_by_label={
            str(name): f"{n} of {rated_labels[name]}" for name, n in stopped_labels.items()
        },
        examples=tuple(
            FlooredResponse(
                prompt=shorten(read_question(rated.items[place]), width=_WIDTH),
                response=shorten(rated.items[place].response, width=_WIDTH),
                label=comparisons.labels[place],
            )
            for place in stopped[:_MOST_FLOORED].tolist()
        ),
        share_at_cap=float(np.concatenate(at_cap).mean()) if at_cap else float("nan"),
        error_rate=with_guards,
        error_rate_without=without,
    )
