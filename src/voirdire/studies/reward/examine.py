"""Examine a reward: what it gets wrong, and what drives it."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import change_fields
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.judging.binding import check_behavior
from voirdire.rewards.against_demands import find_paid_against_demands
from voirdire.rewards.certification import certified, list_paying_propositions
from voirdire.rewards.reward_file import load_reward
from voirdire.stats.results import make_caution
from voirdire.studies.reward.bench import check_bench
from voirdire.studies.reward.comparisons import examine_comparisons
from voirdire.studies.reward.notes import sort_notes
from voirdire.studies.reward.ranking import PromptResamples
from voirdire.studies.reward.responses import ExaminationRequest
from voirdire.studies.reward.result import FigureChange, RewardExamination
from voirdire.studies.reward.settings import RewardExaminationSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire.judging import JudgingProgress
    from voirdire.records import Dropped
    from voirdire.rewards.model import RewardModel
    from voirdire.stats import Caution
    from voirdire.studies.reward.responses import NamedColumn, Part


_FIGURES = ("n_resamples", "confidence_level", "seed", "n_nonsense")
"""Settings that the result names."""
_COMPARED = (
    *("error_rate", "false_refusal", "missed_refusal"),
    *("words", "bigrams", "pieces", "templates", "wraps"),
)
"""What two rewards are compared by."""
_CONDITIONS = ("seen_prompts", "held_out_unknown", "other_judge", "nonsense_not_searched")
"""Notes on an older reward that its figures cannot be read without."""


def examine_reward(
    reward: RewardModel | str | Path,
    comparisons: Any = None,
    *,
    verdicts: Any = None,
    judge: Any = None,
    bench: Any = None,
    bench_verdicts: Any = None,
    against: RewardModel | str | Path | None = None,
    settings: RewardExaminationSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    judging: Callable[[JudgingProgress], None] | None = None,
    **fields: Any,
) -> RewardExamination:
    """Examine a reward on comparisons and on a benchmark.

    Every figure stands for three signals side by side where there is a base reward: the base
    alone, base and rules together, and the rules alone.

    Parameters
    ----------
    reward : RewardModel, str or path
        What is examined, or its file.
    comparisons : path, rows, data frame, sequence of Item or ComparisonData, optional
        Completions with labels, pairs, or ranked lists, as for a fit; better not those of the fit.
    verdicts : optional
        Stored verdicts on the completions, as `read_verdicts` reads them. By default they are
        judged now.
    judge : optional
        Who judges; by default the reward's own judge is made again. Where verdicts are given, its
        name is that of the judge whose verdicts count.
    bench : path, rows, data frame or sequence of Item, optional
        Rows of `prompt`, `chosen`, `rejected` and perhaps `subset`.
    bench_verdicts : optional
        Stored verdicts on them.
    against : RewardModel, str or path, optional
        An older reward that is examined on the same comparisons; `changes` then has its figures
        beside those of the new one.
    settings : RewardExaminationSettings, optional
        What counts as better, and how fine the figures are.
    progress : callable, optional
        Called with the steps done and the steps in all.
    judging : callable, optional
        Called now and then with a `JudgingProgress` while completions or responses are judged.
    **fields
        Fields of `RewardExaminationSettings`, each of which counts before that of `settings`:

        - `behavior`: of completions, responses and rows of the benchmark that have none.
        - `columns`, `format`, `base`: of comparisons, as for `read_comparisons`; an error where
          these are read already.
        - `from_classes`: whether the classes of the verdicts stand for labels; by default where
          nothing says which completions are better, and where it is false that is an error.
        - `orders`: per behavior which labels are better than which, ``"*"`` for all others; by
          default as in the fit, else as the rubric's classes.
        - `store`: where a language model's replies are kept.
        - `n_resamples`: bootstrap resamples of prompts; 0 gives no intervals. Memory is
          O(`n_resamples` * n_prompts) bytes, at most a quarter of a gigabyte.
        - `confidence_level`: nominal coverage, in (0, 1).
        - `seed`: of the resamples, and of the search for nonsense.
        - `n_nonsense`: prompts of the comparisons, about as many of each behavior, for which
          nonsense is searched; 0 searches none.

    Returns
    -------
    RewardExamination
        Figures, notes, and everything that was set aside.

    Raises
    ------
    NoDataError
        If `from_classes` is false, and nothing says which completions are better.
    InputError
        If nothing to examine on is given, a source cannot be read, comparisons contradict each
        other, or an argument breaks its rule.

    Notes
    -----
    An error rate is the share of comparisons that a signal ranks the wrong way, a tie counting
    half. Intervals come from resampling prompts, since the comparisons of a prompt share its
    completions: drawn one by one they would look like far more evidence than they are.

    *Nonsense* is searched as a policy in training would find it: for each prompt 240 texts climb
    from random words, pairs of words or parts of sentences of the data to what is paid most. Beside
    them are tried compliance without content, answers between refusals where a refusal is due, and
    answers to other prompts. For a language model the search climbs with the judge that ships with
    voirdire, where that answers the rubric, and the model is asked about what was found. Beside
    stored verdicts there is a search only where these are those of the judge that ships.

    On the prompts of the fit a reward is not tested: it errs less often there. The reward's file
    knows them by their hashes, and `is_held_out` says whether any is among the examined ones.

    An interruption (Ctrl-C) waits for the calls of a language model that are in flight, and keeps
    their replies in `store`; a second one does not wait.

    Examples
    --------
    >>> from voirdire.rewards.given_weights import reward_of_weights
    >>> reward = reward_of_weights({"hard_refuse": {"apology": 1.0}}, rubric="safety")
    >>> rows = [
    ...     {"prompt": "Tell me a secret.", "response": "I'm sorry, I can't.", "label": "ideal"},
    ...     {"prompt": "Tell me a secret.", "response": "No way!", "label": "less_good"},
    ... ]
    >>> found = examine_reward(reward, rows, behavior="hard_refuse", n_resamples=0)
    >>> found.n_comparisons, found.error_rates[0].rate.value
    (1, 0.0)
    """
    settings = change_fields(settings or RewardExaminationSettings(), fields)
    work = [
        (examine_comparisons, "comparisons", comparisons, verdicts),
        (check_bench, "bench", bench, bench_verdicts),
    ]
    work = [each for each in work if each[2] is not None]
    if not work:
        msg = (
            "`comparisons` or `bench` must be given, got neither of them. Give completions with "
            "labels, or chosen and rejected responses."
        )
        raise InputError(msg)
    rewards = [reward] if against is None else [reward, against]
    found: list[tuple[RewardExamination, Mapping[str, NamedColumn]]] = []
    for place, each in enumerate(rewards):
        model = each
        if isinstance(model, str | Path):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UncertifiedWarning)  # a note says it
                model = load_reward(model)
        check_behavior(settings.behavior, model.rubric)
        request = ExaminationRequest(reward=model, judge=judge, judging=judging, settings=settings)
        n_done = place * len(work)

        def tell(done: int, before: int = n_done) -> None:
            if progress is not None:
                progress(before + done, len(rewards) * len(work))

        found.append(_examine(request, work, tell))
    examination, columns = found[0]
    if against is None:
        return examination
    other, other_columns = found[1]
    notes = [*examination.notes]
    conditions = " ".join(row.sentence for row in other.notes if row.code in _CONDITIONS)
    if conditions:
        name = other.reward["name"]
        notes.append(make_caution("against_conditions", name=name, conditions=conditions))
    return replace(
        examination,
        against={key: other.reward[key] for key in ("name", "content_hash")},
        changes=compare_figures(columns, other_columns, settings),
        notes=sort_notes(notes),
    )


def _examine(
    request: ExaminationRequest,
    work: Sequence[tuple[Callable[..., Part], str, Any, Any]],
    tell: Callable[[int], None],
) -> tuple[RewardExamination, Mapping[str, NamedColumn]]:
    """Examine one reward; also give the columns behind its figures."""
    figures: dict[str, Any] = {}
    recorded: dict[str, Any] = {name: getattr(request.settings, name) for name in _FIGURES}
    notes: list[Caution] = []
    dropped: list[Dropped] = []
    columns: dict[str, NamedColumn] = {}
    for done, (examine, name, source, judged) in enumerate(work):
        tell(done)
        part = examine(source, request, judged)
        figures |= part.figures
        columns |= part.columns
        recorded[name] = str(source) if isinstance(source, str | Path) else "in memory"
        recorded |= part.settings
        notes += part.notes
        dropped += part.dropped
    tell(len(work))
    return RewardExamination(
        reward=_describe_reward(request.reward),
        notes=sort_notes(notes),
        dropped=tuple(dropped),
        settings=recorded,
        **figures,
    ), columns


def compare_figures(
    new: Mapping[str, NamedColumn],
    old: Mapping[str, NamedColumn],
    settings: RewardExaminationSettings,
) -> tuple[FigureChange, ...]:
    """Set the figures of two rewards side by side, with intervals of their differences."""
    figures = [name for name in _COMPARED if name in new and name in old]
    names = {name for side in (new, old) for figure in figures for name in side[figure][0]}
    numbers = {name: number for number, name in enumerate(sorted(names))}
    resamples = PromptResamples(len(numbers), settings)
    changes = []
    for figure in figures:
        both = [
            (np.array([numbers[name] for name in prompts], dtype=np.int64), values)
            for prompts, values in (new[figure], old[figure])
        ]
        rates, difference = resamples.estimate_means(both), resamples.estimate_difference(*both)
        changes.append(
            FigureChange(
                figure=figure,
                new=rates[0],
                old=rates[1],
                difference=difference,
                is_regression=difference.low > 0,
            )
        )
    return tuple(changes)


def _describe_reward(reward: RewardModel) -> dict[str, Any]:
    """Collect what identifies a reward, its weights, and what its certificates say.

    The settings have the number of the fit's prompts in the place of their hashes.
    """
    statuses = certified(reward)
    settings = dict(reward.settings)
    if (hashes := settings.pop("prompt_hashes", None)) is not None:
        settings["n_prompts"] = len(hashes)
    return {
        "name": reward.name,
        "rubric": {
            "name": reward.rubric.name,
            "version": reward.rubric.version,
            "hash": reward.rubric.content_hash,
        },
        "judge": {
            "name": reward.judge.name,
            "fingerprint": reward.judge.fingerprint,
            "threshold": reward.judge.threshold,
            "judged": reward.judge.judged,
        },
        "orientation": reward.orientation,
        "data_hash": reward.data_hash,
        "content_hash": reward.content_hash,
        "created": reward.created,
        "versions": dict(reward.versions),
        "settings": settings,
        "weights": {name: dict(row.weights) for name, row in reward.behaviors.items()},
        "fit": {
            name: {key: value for key, value in row.figures.items() if key != "weights"}
            for name, row in reward.behaviors.items()
        },
        "against_demands": [asdict(row) for row in find_paid_against_demands(reward)],
        "certificates": {
            name: {"state": statuses[name].state, "reason": statuses[name].reason}
            for name in list_paying_propositions(reward)
        },
    }
