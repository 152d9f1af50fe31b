"""What `voirdire demo` prints: verdicts, what its page says of the reward, and how to go on."""

from __future__ import annotations

import shlex
import textwrap
from typing import TYPE_CHECKING

from voirdire.reporting.layout import rows
from voirdire.reporting.result_tables import TerminalSpeaker
from voirdire.stats.results import FINDING_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from voirdire.stats import AltTestResult
    from voirdire.studies import Examination
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["demo_lines"]


def demo_lines(
    responses: Examination,
    texts: Sequence[Examination],
    reward: RewardExamination,
    *,
    epsilon: float,
    folder: Path,
    page: Path,
    humans: Path,
    judges: Path,
) -> Iterator[str]:
    """Say what was done, the verdicts at one ε, what the reward is worth, and how to go on."""
    yield _fill(
        "A local judge answers 21 questions about 90 responses: may it replace the annotators, and "
        "what reward do its verdicts make? The judge is real and answers by the thresholds of its "
        "card; annotators, other judges and base rewards are SIMULATED.",
        indent="",
    )
    yield "\n" + _fill(f"{responses.understood}, ε {epsilon:g}", indent="")
    yield _verdicts(responses.results[0].judge, ((x, x.question) for x in responses.results))
    yield _fill(f"{texts[0].understood}, ε {epsilon:g}", indent="")
    for part in texts:
        first = part.results[0]
        wanted = (epsilon, first.alignment)
        found = (row for row in part.results if (row.epsilon, row.alignment) == wanted)
        yield _verdicts(first.question, ((row, row.judge) for row in found))
    speak, view = TerminalSpeaker(), rows(reward)
    yield "\n" + _fill("reward: " + " ".join(speak(said).striptags() for said in view.lead))
    for note, _ in view.cautions[:5]:
        yield _fill(f"note: {speak(note).striptags()}")
    yield f"\npage: {page}"
    yield f"data, figures, and the commands that make them (commands.sh): {folder}/"
    sources = f"--humans {shlex.quote(str(humans))} --judges {shlex.quote(str(judges))}"
    yield f"next: voirdire examine {sources} --question needs_review"


def _verdicts(title: str, found: Iterable[tuple[AltTestResult, str]]) -> str:
    """Name what passed, and what did not."""
    names: dict[str, list[str]] = {}
    for row, name in found:
        names.setdefault(row.finding, []).append(name)
    listed = (f"{words}: {', '.join(names[x])}" for x, words in FINDING_MARKS.items() if x in names)
    return _fill(f"  {title}: {'; '.join(listed)}")


def _fill(text: str, *, indent: str = "    ") -> str:
    return textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)
