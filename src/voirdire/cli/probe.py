"""`voirdire probe`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

from voirdire.cli.judging_progress import watch_judges
from voirdire.cli.model_judges import (
    DryRun,
    UsualAskingOptions,
    make_judge,
)
from voirdire.cli.option_groups import with_reader, with_spelling
from voirdire.cli.options import AsJson, File, JudgeName, RubricName, run_options
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_result,
    say_drops,
)
from voirdire.cli.shell import Call, UsageError, say
from voirdire.cli.written_files import Page, check_written
from voirdire.judging import ModelSettings
from voirdire.studies.probing.settings import ProbeSettings

if TYPE_CHECKING:
    from voirdire.rubrics import Rubric

    ProbeOptions: TypeAlias = ProbeSettings
else:
    ProbeOptions = run_options(
        ProbeSettings,
        panel=Group("The probes", sort_key=2),
        n_items=Annotated[
            with_reader(lambda tokens: _number_or_all(tokens[0]), metavar="NUMBER|all"),
            Parameter(help="Items to draw, at least 2, or all. Default 100.", show_default=False),
        ],
        author=with_spelling("--author", str | None, metavar="COLUMN"),
        own=with_spelling("--own-model", str | None, metavar="NAME"),
    )

__all__ = ["probe_command"]

_BIAS_FOUND = 3


def probe_command(
    items: Annotated[str, Parameter(metavar="ITEMS")],
    /,
    *,
    call: Call,
    rubric: RubricName = "safety",
    judge: JudgeName = "local",
    settings: ProbeOptions = ProbeSettings(),
    asking: UsualAskingOptions = ModelSettings(),
    humans: File = None,
    dry_run: DryRun = False,
    gate: bool = False,
    page: Page = Page(),
    as_json: AsJson = False,
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
        Exit 3 where a bias was found.
    """
    from voirdire.io import read_items
    from voirdire.reporting import ResultTables
    from voirdire.reporting.judging_tables import estimate_tables, probing_text
    from voirdire.rubrics import load_rubric
    from voirdire.studies.probing.study import estimate_probing, probe_judge

    check_written(report=page.report)
    listen_for_interrupts()
    chosen: dict[str, Any] = {
        "judge": make_judge(judge, asking, call=call, reads_keys=not dry_run),
        "rubric": load_rubric(rubric),
        "settings": settings,
    }
    is_pairwise = any(row.kind == "pairwise" for row in chosen["rubric"].questions)
    reading = settings.reading(judged=settings.judged, pairs=is_pairwise, images=True)
    table = read_items(items, reading=reading)
    say_drops(table.dropped)
    _check_labels(humans, chosen["rubric"])
    n_versions, estimates = estimate_probing(table.items, **chosen)
    n_drawn = min(len(table.items), settings.n_items or len(table.items))
    summary = probing_text(n_versions, n_drawn, estimates)
    if dry_run:
        tables = ["", *estimate_tables(estimates)] if estimates else []
        content = {"n_versions": n_versions, "estimates": estimates}
        print_result(content, f"It would ask about {summary}.", *tables, as_json=as_json)
        return
    say(f"asking about {summary}")
    with (
        keep_when_stopped(items, store=settings.store, keeps=bool(estimates)),
        watch_judges(n_versions, together="probing") as tell,
    ):
        report = probe_judge(table.items, humans=humans, progress=tell, **chosen)
    page.write(report)
    print_result(report, ResultTables(report), as_json=as_json)
    if gate and report.is_biased:
        raise SystemExit(_BIAS_FOUND)


def _number_or_all(token: Any) -> int | None:
    try:
        return None if token.value == "all" else int(token.value)
    except ValueError as error:
        msg = f"`--items` must be a whole number or all, got {token.value!r}."
        raise UsageError(msg) from error


def _check_labels(humans: str | None, rubric: Rubric) -> None:
    """Read labels of people before anything is said of asking: they are needed at the end."""
    if humans is None:
        return
    if humans == "-":
        msg = "`--humans` must be a file, got standard input."
        raise UsageError(msg)
    from voirdire.io import Reading
    from voirdire.studies.study import read_side

    kinds: set[Any] = {row.kind for row in rubric.questions}
    read_side("humans", humans, Reading(kind=kinds.pop() if len(kinds) == 1 else None))
