"""`voirdire probe`."""

from __future__ import annotations

import sys
from typing import Any

from voirdire.cli import options as typed
from voirdire.cli import printing
from voirdire.cli.calls import require
from voirdire.cli.examine import GATE_NOT_PASSED
from voirdire.cli.models import UsualOptions, make_judge
from voirdire.cli.progress import watch
from voirdire.judging import JudgingProgress
from voirdire.studies.probing.settings import ProbeSettings


@typed.group_of("The probes", 2)
class ProbeOptions(ProbeSettings):
    """Which probes, how many items, and when a bias counts as found."""


def probe_command(
    items: typed.Items,
    /,
    *,
    rubric: typed.RubricName = "safety",
    judge: typed.JudgeName = "local",
    settings: ProbeOptions = ProbeOptions(),
    asking: UsualOptions = UsualOptions(),
    humans: typed.Source = None,
    dry_run: typed.DryRun = False,
    gate: bool = False,
    shown: printing.Shown = printing.Shown(),
) -> None:
    """Probe a judge for biases: ask it about controlled versions of items, and test what moves it.

    Each probe adds a suspected influence to one version of an item, and something of the same
    length to the other. Shifts and flips are tested against the noise of asking the same twice.

    Parameters
    ----------
    items
        Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.
    judge
        Who is probed: local, a file that `voirdire distill` made, a language model such as
        openai/gpt-4o-mini or vllm/NAME, or a YAML file of a cascade or a jury.
    humans
        Labels by people, for self-preference: whose responses fail.
    gate
        Exit 3 where a bias was found, or the judge is unstable.
    """
    shown.check()
    printing.start_reading()
    from voirdire.io import Reading, read_items
    from voirdire.reporting import ResultTables
    from voirdire.reporting.pages.verdicts import estimates_view
    from voirdire.rubrics import load_rubric
    from voirdire.studies.probing.study import estimate_probing, probe_judge
    from voirdire.studies.study import read_side

    questions = load_rubric(rubric)
    kinds: set[Any] = {row.kind for row in questions.questions}
    chosen: dict[str, Any] = {
        "judge": make_judge(judge, asking, reads_keys=not dry_run),
        "rubric": questions,
        "settings": settings,
    }
    reading = settings.reading(judged=settings.judged, pairs="pairwise" in kinds, images=True)
    table = read_items(items, reading=reading)
    printing.say_drops(table.dropped)
    require(humans != "-", "`--humans` must be a file, got standard input.")
    if humans is not None:  # needed at the end, and read before anything is said of asking
        read_side("humans", humans, Reading(kind=kinds.pop() if len(kinds) == 1 else None))
    n_versions, estimates = estimate_probing(table.items, **chosen)
    n_drawn = min(len(table.items), settings.n_items or len(table.items))
    summary = f"{n_versions:,} versions of {n_drawn:,} items"
    tables = [ResultTables(estimates_view(estimates))] if estimates else []
    if dry_run:
        content = {"n_versions": n_versions, "estimates": estimates}
        shown.print(content, f"It would ask about {summary}.", *tables)
        return
    printing.print_tables(f"asking about {summary}", *tables, stream=sys.stderr)
    keeping = printing.keep_when_stopped(items, store=settings.store, keeps=bool(estimates))
    with keeping, watch() as lines:

        def tell(name: str, state: JudgingProgress) -> None:
            lines.tell_judging(state, name="probing", judge=name, total=n_versions)

        report = probe_judge(table.items, humans=humans, progress=tell, **chosen)
    shown.show(report)
    if gate and (report.is_biased or report.unstable):
        raise SystemExit(GATE_NOT_PASSED)
