"""A paragraph to paste into a paper: what the reward is, on what it was examined, the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.speech import Count, Said, Share, say
from voirdire.reporting.reward_page.described import judge_name, rubric_name
from voirdire.reporting.reward_page.signals import accuracies, main_signal
from voirdire.reporting.reward_page.speech import ShareEnds
from voirdire.reporting.reward_page.verdicts import certified_counts, error_of, held_out, level_of

if TYPE_CHECKING:
    from voirdire.reporting.reward_page.content import RewardReport

__all__ = ["paper_sentences"]


_DATA = {
    "held_out": "reward.paper.data",
    "not_held_out": "reward.paper.data.used",
    "held_out_unknown": "reward.paper.data.unknown",
}


def paper_sentences(report: RewardReport, *, version: str) -> tuple[Said, ...]:
    """Write the paragraph.

    Parameters
    ----------
    report : RewardReport
        What the page is made from.
    version : str
        Of voirdire.

    Returns
    -------
    tuple of Said
        Its sentences.
    """
    has_base = error_of(report, "base") is not None
    names = {"judge": judge_name(report), "rubric": rubric_name(report)}
    return (
        say("reward.paper.what.base" if has_base else "reward.paper.what", **names),
        say(
            _DATA[held_out(report)],
            comparisons=Count(report.n_comparisons, "comparisons"),
            completions=Count(report.n_items, "completions"),
            prompts=Count(report.n_prompts, "prompts"),
        ),
        *_error(report),
        *_bench(report),
        _interval(report),
        *_certified(report),
        say("reward.paper.software", version=version),
    )


def _error(report: RewardReport) -> tuple[Said, ...]:
    rate, base = error_of(report, main_signal(report)), error_of(report, "base")
    if rate is None:
        return ()
    figures = {
        "error": Share(rate.value),
        "level": level_of(report),
        "ends": ShareEnds(rate.low, rate.high),
    }
    if base is None:
        return (say("reward.paper.error", **figures),)
    ends = ShareEnds(base.low, base.high)
    return (say("reward.paper.error.base", base=Share(base.value), base_ends=ends, **figures),)


def _bench(report: RewardReport) -> tuple[Said, ...]:
    main, _ = accuracies(report)
    if main is None:
        return ()
    return (
        say(
            "reward.paper.bench",
            accuracy=Share(main.accuracy.value),
            pairs=Count(main.accuracy.n, "pairs"),
            ends=ShareEnds(main.accuracy.low, main.accuracy.high),
        ),
    )


def _interval(report: RewardReport) -> Said:
    n = report.settings.get("n_resamples")
    if isinstance(n, int) and 0 < n < 10**9:
        return say("reward.paper.interval", n=Count(n))
    return say("reward.paper.interval.plain")


def _certified(report: RewardReport) -> tuple[Said, ...]:
    certified, all_of_them = certified_counts(report)
    if not all_of_them:
        return ()
    return (say("reward.paper.certified", n=certified, features=Count(all_of_them, "features")),)
