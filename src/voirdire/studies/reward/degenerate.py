"""Degenerate responses: nonsense that must get less reward than real responses do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire.probes.text import draw_for, join_sentences, language_of, split_sentences
from voirdire.studies.reward.notes import write_note
from voirdire.studies.reward.ranking import TIE
from voirdire.studies.reward.responses import (
    Responses,
    get_last_question,
    judge_responses,
    order_probabilities,
    rate_items,
)
from voirdire.studies.reward.result import DegenerateCheck, DegenerateExample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item, Verdicts
    from voirdire.studies.reward.responses import ExaminationRequest, RatedComparisons
    from voirdire.studies.reward.result import DegenerateKind, RewardNote

__all__ = ["check_degenerate", "note_degenerate", "write_degenerate_texts"]

_MOST_EXAMPLES = 3
_WIDTH = 160
_ROUNDED = 1e-3
"""By how much stored probabilities of the same judge may differ from those that it gives now."""
_WORTH_A_NOTE = 0.1
"""Share of prompts from which on a note says that nonsense outranks the best real response."""

_FEWEST_WORDS = 8
"""Words of English, characters of Chinese, from which a text is shuffled."""

_NAMES: dict[DegenerateKind, str] = {
    "empty": "an empty response",
    "repeated_sentence": "one sentence over and over",
    "shuffled_words": "shuffled words",
    "echoed_prompt": "the prompt itself",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Degenerate:
    """A degenerate response with the real ones of its prompt, the best first."""

    item: Item
    kind: DegenerateKind
    behavior: str
    best: Item
    rewards: NDArray[np.float64]


def check_degenerate(
    comparisons: RatedComparisons, request: ExaminationRequest, *, judged: Verdicts, is_stored: bool
) -> tuple[DegenerateCheck, ...] | None:
    """Compare what degenerate responses get with what real ones do, by the rules alone.

    Where verdicts are stored, only the judge that ships with voirdire is asked, and only where it
    is the one that they come from. Within a behavior those that outrank real responses most often
    come first; None where no judge was at hand.
    """
    reward, judge = request.reward, request.judge
    if is_stored:
        if reward.judge.made_by.get("judge") != "local":
            return None
        judge = "local"
    responses = _write_responses(comparisons, request)
    if not responses:
        return ()
    items = [row.item for row in responses]
    known_items = [*{row.best.id: row.best for row in responses}.values()] if is_stored else []
    verdicts = judge_responses([*items, *known_items], replace(request, judge=judge), None)
    now, stored = (
        order_probabilities(known_items, each, propositions=reward.columns)
        for each in (verdicts, judged)
    )
    if not np.allclose(now, stored, rtol=0.0, atol=_ROUNDED, equal_nan=True):
        return None  # the stored verdicts are not those that the judge gives now
    degenerate = Responses(
        items=items,
        source="degenerate responses",
        prompts=np.arange(len(items)),
        behaviors=[row.behavior for row in responses],
        base_rewards=np.full(len(items), np.nan),
    )
    rules = rate_items(degenerate, reward, verdicts).rules
    rated: dict[tuple[str, DegenerateKind], list[tuple[_Degenerate, float]]] = {}
    for row, value in zip(responses, rules.tolist(), strict=True):
        if np.isfinite(value):
            rated.setdefault((row.behavior, row.kind), []).append((row, value))
    order = {row.behavior: place for place, row in enumerate(comparisons.behaviors)}
    checks = [_summarize(behavior, kind, rows) for (behavior, kind), rows in rated.items()]
    checks.sort(key=lambda x: (order[x.behavior], -x.share_above_best, -x.share_above_median))
    return tuple(checks)


def note_degenerate(checks: Sequence[DegenerateCheck] | None) -> list[RewardNote]:
    """Say which nonsense outranks the best real responses, or that nobody has looked."""
    if checks is None:
        return [write_note("degenerate_not_judged")]
    worst = sorted(
        (row for row in checks if row.share_above_best >= _WORTH_A_NOTE),
        key=lambda row: -row.share_above_best,
    )
    if not worst:
        return []
    cases = [
        f"{row.behavior}: {_NAMES[row.kind]} ({row.share_above_best:.0%} of {row.n_prompts:,})"
        for row in worst
    ]
    first = worst[0].examples[0]
    return [
        write_note(
            "degenerate_outranks",
            words={"shown_cases": cases, "quoted": f": {first.response!r}"},
            n=len(worst),
            cases=tuple(f"{row.behavior}:{row.kind} {row.share_above_best:.0%}" for row in worst),
            reward=first.reward,
            best_reward=first.best_reward,
        )
    ]


def _write_responses(
    comparisons: RatedComparisons, request: ExaminationRequest
) -> list[_Degenerate]:
    """Write the degenerate responses for prompts that are drawn, as many of each behavior."""
    rated, rng = comparisons.rated, np.random.default_rng(request.settings.seed)
    n_each = -(-request.settings.n_degenerate // max(1, len(comparisons.behaviors)))
    responses = []
    for row in comparisons.behaviors:
        prompts = np.unique(rated.prompts[row.rows])
        for prompt in np.sort(rng.permutation(prompts)[:n_each]).tolist():
            places = row.rows[rated.prompts[row.rows] == prompt]
            places = places[np.argsort(-rated.rules[places], kind="stable")]
            best = msgspec.structs.replace(rated.items[places[0]], behavior=row.behavior)
            for kind, text in write_degenerate_texts(best):
                item = msgspec.structs.replace(best, id=f"{best.id}+{kind}", response=text)
                responses.append(
                    _Degenerate(
                        item=item,
                        kind=kind,
                        behavior=row.behavior,
                        best=best,
                        rewards=rated.rules[places],
                    )
                )
    return responses


def write_degenerate_texts(best: Item) -> Iterator[tuple[DegenerateKind, str]]:
    """Give the degenerate responses to the prompt of an item."""
    text, language = best.response, language_of(best.response)
    words = list(text.strip()) if language == "zh" else text.split()
    if len(words) >= _FEWEST_WORDS:
        order = draw_for(best.id, "shuffled_words").permutation(len(words))
        shuffled = join_sentences([words[place] for place in order], language)
        if shuffled.split() != text.split():
            yield "shuffled_words", shuffled
    sentences = split_sentences(text)
    if len(sentences) >= 2:
        drawn = sentences[int(draw_for(best.id, "repeated").integers(len(sentences)))]
        repeated = join_sentences([drawn] * len(sentences), language)
        if repeated.split() != text.split():
            yield "repeated_sentence", repeated
    if text.strip():
        yield "empty", ""
    if (asked := get_last_question(best)).strip():
        yield "echoed_prompt", asked


def _summarize(
    behavior: str, kind: DegenerateKind, rows: Sequence[tuple[_Degenerate, float]]
) -> DegenerateCheck:
    rewards = np.array([reward for _, reward in rows])
    best = np.array([row.rewards[0] for row, _ in rows])
    median = np.array([np.median(row.rewards) for row, _ in rows])
    worst = np.argsort(-(rewards - best), kind="stable")[:_MOST_EXAMPLES].tolist()
    return DegenerateCheck(
        behavior=behavior,
        kind=kind,
        n_prompts=len(rows),
        mean_reward=float(rewards.mean()),
        mean_best=float(best.mean()),
        mean_median=float(median.mean()),
        share_above_best=float(_is_above(rewards, best).mean()),
        share_above_median=float(_is_above(rewards, median).mean()),
        examples=tuple(
            DegenerateExample(
                prompt=shorten(get_last_question(row.best), width=_WIDTH),
                response=shorten(row.item.response, width=_WIDTH),
                reward=reward,
                best_response=shorten(row.best.response, width=_WIDTH),
                best_reward=float(row.rewards[0]),
            )
            for row, reward in (rows[place] for place in worst)
            if _is_above(reward, row.rewards[0])
        ),
    )


def _is_above(one: Any, other: Any) -> NDArray[np.bool_]:
    return np.asarray(one > other + TIE * np.maximum(1.0, np.abs(other)))
