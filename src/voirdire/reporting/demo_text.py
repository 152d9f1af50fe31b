"""What `voirdire demo` prints: verdicts, the reward's figures, what to mind, how to go on."""

from __future__ import annotations

import shlex
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.stats.results import FINDING_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from voirdire.judging import JudgingSummary
    from voirdire.rewards.fitting.fit import RewardFit
    from voirdire.stats import AltTestResult
    from voirdire.studies import Examination
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["Demonstration", "demo_lines"]


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """Results of the demonstration; `epsilon` is the margin that is printed."""

    epsilon: float
    judged: JudgingSummary
    of_responses: Examination
    of_texts: Sequence[Examination]
    fit: RewardFit
    reward: RewardExamination


def demo_lines(
    done: Demonstration, *, folder: Path, page: Path, humans: Path, judges: Path
) -> Iterator[str]:
    """Say what was done, the verdicts, the reward's figures, what to mind, and how to go on."""
    yield _filled(
        "A local judge answers 21 questions about 90 responses: may it replace the annotators, and "
        "what reward do its verdicts make? The judge is real and answers by the thresholds of its "
        "card; annotators, other judges and base rewards are SIMULATED.",
        indent="",
    )
    yield "\n" + _filled(f"{done.of_responses.understood}, ε {done.epsilon:g}", indent="")
    yield _verdicts(done.judged.judge, ((row, row.question) for row in done.of_responses.results))
    yield _filled(f"{done.of_texts[0].understood}, ε {done.epsilon:g}", indent="")
    for part in done.of_texts:
        first = part.results[0]
        wanted = (done.epsilon, first.alignment)
        rows = (row for row in part.results if (row.epsilon, row.alignment) == wanted)
        yield _verdicts(first.question, ((row, row.judge) for row in rows))
    yield "\nreward: comparisons ranked the wrong way by the base reward, and with the verdicts"
    for row in done.fit.behaviors:
        rate = row.error_rate
        yield (
            f"  {row.behavior:12} {row.error_rate_base.value:4.0%} of {row.n_pairs}, and "
            f"{rate.value:.0%} ({rate.low:.0%} to {rate.high:.0%}) of held-out ones"
        )
    n_compared = done.reward.n_comparisons
    n_nonsense = sum(row.n_pairs for row in done.fit.behaviors) - n_compared
    yield _filled(
        f"  {n_nonsense} of these comparisons set a response above nonsense; the page is about the "
        f"other {n_compared}, on the prompts of the fit",
        indent="  ",
    )
    yield from (_filled(f"note: {note}") for note in _notes(done))
    yield f"\npage: {page}"
    yield f"data, figures, and the commands that make them (commands.sh): {folder}/"
    sources = f"--humans {shlex.quote(str(humans))} --judges {shlex.quote(str(judges))}"
    yield f"next: voirdire examine {sources} --question needs_review"


def _verdicts(title: str, rows: Iterable[tuple[AltTestResult, str]]) -> str:
    """Name what passed, and what did not."""
    names: dict[str, list[str]] = {}
    for row, name in rows:
        names.setdefault(row.finding, []).append(name)
    listed = (f"{words}: {', '.join(names[x])}" for x, words in FINDING_MARKS.items() if x in names)
    return _filled(f"  {title}: {'; '.join(listed)}")


def _notes(done: Demonstration) -> Iterator[str]:
    from voirdire.rewards.against_demands import find_paid_against_demands
    from voirdire.rewards.certification import certified, list_paying_propositions

    model = done.fit.model
    statuses, paying = certified(model), list_paying_propositions(model)
    n_lacking = sum(not statuses[name].is_valid for name in paying)
    n_against = len(find_paid_against_demands(model))
    yield f"the card of the judge warns of {', '.join(done.judged.untrusted)}"
    yield (
        f"the reward pays for {len(paying)} propositions, and the judge has not passed on "
        f"{n_lacking} of them; {n_against} weights pay against what the rubric demands. Six "
        "prompts a behavior are few: nobody should train with this reward, and `voirdire fit "
        "--require-certified` refuses it"
    )
    yield (
        f"text of no use that a search found is paid as the best real response on "
        f"{done.reward.n_nonsense_best} of {done.reward.nonsense[0].n_prompts} prompts"
    )


def _filled(text: str, *, indent: str = "    ") -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)
