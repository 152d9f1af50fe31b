"""What the demonstration prints about the reward: how well it ranks, what it pays, and for what."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from voirdire.cli.demo_steps import DemoReward
    from voirdire.rewards.certification import CertificateStatus
    from voirdire.rewards.fitting.weight_problem import Estimate
    from voirdire.studies.reward.result import FeatureDrive

__all__ = ["print_reward", "said_of_certificates", "said_of_nonsense"]

_OUTCOMES = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "no_evidence": "? no evidence",
}
_STYLES = {"passed": "bold green", "failed": "red", "no_evidence": "yellow"}
_MOST_FEATURES = 3
_WIDE = 100


def print_reward(found: DemoReward) -> None:
    """Print error rates, mean rewards by label, and the features that do most."""
    from rich.console import Console

    from voirdire.reporting.narrow_tables import NarrowTable

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    console = Console(width=width, highlight=False, markup=False)
    console.print(NarrowTable(_error_table(found)))
    console.print()
    console.print(NarrowTable(_mean_table(found)))
    console.print()
    console.print(NarrowTable(_drive_table(found, is_wide=console.width >= _WIDE)))


def said_of_certificates(found: DemoReward) -> str:
    """Count what the reward pays for without a certificate, and against a demand."""
    from voirdire.rewards.certification import certified, paying_propositions

    model = found.fit.model
    paying, statuses = paying_propositions(model), certified(model)
    n_lacking = sum(not statuses[name].is_valid for name in paying)
    against = sum(row.is_contradictory for row in found.examination.drives)
    return (
        f"On {n_lacking} of the {len(paying)} propositions that it pays for, the judge has not "
        f"passed: `voirdire fit\n--require-certified` refuses such a reward. {against} weights pay "
        "against what their behavior demands:\nso few prompts let that happen."
    )


def said_of_nonsense(found: DemoReward) -> str:
    """Say which nonsense outranks the best real responses most often."""
    worst = max(found.examination.degenerate, key=lambda row: row.share_above_best)
    n_above = round(worst.share_above_best * worst.n_prompts)
    if not n_above:
        return "Nonsense was judged too: none of it gets more than the best real response."
    why = "Training would find that."
    if worst.kind == "shuffled_words":
        why = (
            "This\njudge counts words and does not read their order: no weights mend that, only "
            "another judge does."
        )
    return (
        "Nonsense was judged too, also of kinds that were not in the fit. What the rules like best "
        f"of it is\n{worst.kind.replace('_', ' ')}: it gets more than the best real response on "
        f"{n_above} of {worst.n_prompts} prompts of {worst.behavior}. {why}"
    )


def _error_table(found: DemoReward) -> Table:
    """One row per behavior."""
    table = _table("behavior", "comparisons", "base alone", "base + rules", "not tested")
    for row in found.fit.behaviors:
        table.add_row(
            row.behavior,
            f"{row.n_pairs}",
            _rate(row.error_rate_base),
            _rate(row.error_rate),
            f"{row.error_rate_fitted:.0%}",
        )
    return table


def _mean_table(found: DemoReward) -> Table:
    """One row per behavior, labels from the best to the worst; they share their names."""
    labels = _labels(found)
    table = _table("behavior", *labels)
    for behavior in dict.fromkeys(behavior for behavior, _ in found.means):
        means = [found.means.get((behavior, label)) for label in labels]
        cells = ["–" if one is None else f"{one.total:.1f} ({one.base:.1f})" for one in means]
        table.add_row(behavior, *cells)
    return table


def _labels(found: DemoReward) -> list[str]:
    """List the labels as the rubric has its classes, the best first."""
    rubric = found.fit.model.rubric
    order = [one.name for behavior in rubric.behaviors for one in reversed(behavior.classes)]
    given = {label for _, label in found.means}
    return [name for name in dict.fromkeys(order) if name in given]


def _drive_table(found: DemoReward, *, is_wide: bool) -> Table:
    """For each behavior what does most to its rankings; a narrow table leaves out intervals."""
    from rich.text import Text

    from voirdire.rewards.certification import certified

    statuses = certified(found.fit.model)
    table = _table("behavior", "share", "weight", *(["95% interval"] * is_wide))
    for heading in ("does most", "its judge"):
        table.add_column(heading, no_wrap=True)
    for row in _strongest(found.examination.drives):
        feature = row.feature.removeprefix(f"{row.behavior}.")
        table.add_row(
            row.behavior,
            f"{row.share:.0%}",
            f"{row.weight:.2f}",
            *([f"{row.low:.2f} to {row.high:.2f}"] * is_wide),
            feature + (" !" if row.is_contradictory else ""),
            Text(*_outcome(statuses.get(row.feature))),
        )
    return table


def _strongest(rows: tuple[FeatureDrive, ...]) -> Iterator[FeatureDrive]:
    for behavior in dict.fromkeys(row.behavior for row in rows):
        own = [row for row in rows if row.behavior == behavior]
        yield from sorted(own, key=lambda row: -row.share)[:_MOST_FEATURES]


def _outcome(status: CertificateStatus | None) -> tuple[str, str]:
    """Say how the judge of a proposition did; a class follows from several."""
    if status is None:
        return "a class", "dim"
    return _OUTCOMES.get(status.state, "not examined"), _STYLES.get(status.state, "")


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _rate(rate: Estimate) -> str:
    if not math.isfinite(rate.value):
        return "–"
    ends = f" ({rate.low:.0%} to {rate.high:.0%})"
    return f"{rate.value:.0%}" + (ends if math.isfinite(rate.low) else "")
