"""`voirdire judge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from voirdire._types import Judged
from voirdire.cli import model_options as models
from voirdire.cli.idle_options import refuse_idle_options
from voirdire.cli.judging_output import (
    print_card,
    print_estimate,
    print_several,
    print_summary,
    say_how_to_go_on,
    say_if_all_failed,
)
from voirdire.cli.judging_progress import judging_progress, several_progress
from voirdire.cli.model_judges import (
    asked_judge,
    is_judges_file,
    prepare_to_be_stopped,
    print_prompt,
)
from voirdire.cli.options import as_mapping
from voirdire.cli.output_options import AsJson, restart_option
from voirdire.cli.printing import listen_for_interrupts
from voirdire.cli.reading_options import (
    COLUMNS_OF_ITEMS,
    behavior_option,
    column_option,
    format_option,
    judged_option,
)
from voirdire.cli.shell import Call, UsageError

if TYPE_CHECKING:
    from voirdire.judging import JudgingSummary, LlmJudge
    from voirdire.judging.cascade import CascadeJudge

__all__ = ["judge_command"]

ASKED = Group("What is asked", sort_key=1)
READ = Group("The items", sort_key=2)
WRITTEN = Group("The verdicts", sort_key=3)


def judge_command(
    items: Annotated[
        str | None,
        Parameter(
            help="Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.",
            metavar="ITEMS",
            show_default=False,
        ),
    ] = None,
    /,
    *,
    call: Call,
    output: Annotated[
        Path | None,
        Parameter(
            name=("--output", "-o"),
            help="The verdicts: .parquet, .jsonl or .csv; - prints JSONL.",
            metavar="FILE",
            group=WRITTEN,
        ),
    ] = None,
    rubric: Annotated[
        str,
        Parameter(help="A built-in rubric, or a YAML file.", metavar="NAME|FILE", group=ASKED),
    ] = "safety",
    judge: Annotated[
        str,
        Parameter(
            help="Who answers: local, a file that `voirdire distill` made, or a language model "
            "such as openai/gpt-4o-mini or vllm/NAME, or a YAML file: of a cascade, or of several "
            "judges (-o then names a folder).",
            metavar="local|FILE|MODEL",
            group=ASKED,
        ),
    ] = "local",
    asking: models.AskingOptions = models.AskingOptions(),
    show_prompt: models.ShowPrompt = False,
    calls: models.CallOptions = models.CallOptions(),
    store: models.Store = None,
    retry_failures: models.RetryFailures = False,
    dry_run: models.DryRun = False,
    threshold: Annotated[
        float | None,
        Parameter(
            help="A proposition is true from this probability on. Fix it beforehand. Default: "
            "what the rubric says.",
            show_default=False,
            group=ASKED,
        ),
    ] = None,
    judged: Annotated[Judged, judged_option(panel=ASKED)] = "final_answer",
    behavior: Annotated[str | None, behavior_option("items", panel=ASKED)] = None,
    column: Annotated[list[str], column_option(COLUMNS_OF_ITEMS, panel=READ)] = [],
    file_format: Annotated[str | None, format_option(panel=READ)] = None,
    layout: Annotated[
        Literal["long", "wide"],
        Parameter(
            help="One row per item and question, for `voirdire examine`; or one row per item.",
            group=WRITTEN,
        ),
    ] = "long",
    workers: Annotated[
        int,
        Parameter(
            help="Processes of a local judge; 0: one per core, at most 8, where there are more "
            "than 20,000 items.",
            group=WRITTEN,
        ),
    ] = 0,
    restart: Annotated[bool, restart_option(panel=WRITTEN)] = False,
    show_card: Annotated[
        bool,
        Parameter(
            name="--show-card",
            help="Print what is known of the judge: training data, held-out figures. No ITEMS.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge responses by a rubric: probabilities, labels and completion classes, to a file.

    A run that was interrupted goes on where it was when the same command is given again. Replies
    of a language model are kept, and never paid for twice.
    """
    if show_card:
        print_card(judge, as_json=as_json)
        return
    judges = Path(judge) if is_judges_file(judge) else None
    if show_prompt:
        print_prompt(
            items, asking, judge=judge, judges=judges, rubric=rubric, file_format=file_format
        )
        return
    refuse_idle_options(call, judge=judge, judges=None if judges is None else judge)
    named = as_mapping(column, option="--column")
    reading: dict[str, Any] = {
        "rubric": rubric,
        "judged": judged,
        "behavior": behavior,
        "columns": named or None,
        "format": file_format,
        "store": store,
    }
    listen_for_interrupts()
    asked = asked_judge(judge, asking=asking, calls=calls, reads_keys=not dry_run)
    if dry_run:
        counted = reading | {"retry_failures": retry_failures}
        _estimate(items, output, judges=judges, asked=asked, as_json=as_json, reading=counted)
        return
    source, target = _given(items, output)
    if target == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    settings = reading | {
        "threshold": threshold,
        "layout": layout,
        "retry_failures": retry_failures,
    }
    if judges is not None or not isinstance(asked, str):
        prepare_to_be_stopped(source)
    if judges is not None:
        _judge_with_several(source, target, judges=judges, as_json=as_json, settings=settings)
        return
    from voirdire.judging import judge_file

    try:
        with judging_progress(source) as tell:
            summary: JudgingSummary = judge_file(
                source,
                target,
                judge=asked,
                workers=workers or "auto",
                restart=restart,
                progress=tell,
                **settings,
            )
    except KeyboardInterrupt:
        say_how_to_go_on(target, store=store, asks_a_model=not isinstance(asked, str))
        raise
    print_summary(summary, as_json=as_json)
    if say_if_all_failed([summary]):
        raise SystemExit(1)


def _estimate(
    items: str | None,
    output: Path | None,
    *,
    judges: Path | None,
    asked: LlmJudge | CascadeJudge | str,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    from voirdire.judging import estimate_run, load_llm_judges

    if items is None:
        msg = "`ITEMS` must be a file of items. Name one."
        raise UsageError(msg)
    if judges is None:
        asking: list[LlmJudge | CascadeJudge | str] = [asked]
        beside = output
    else:
        asking = [*load_llm_judges(judges, reads_keys=False)]
        beside = None if output is None else output / "any"
    found = [estimate_run(items, judge=each, output=beside, **reading) for each in asking]
    print_estimate(found, as_json=as_json)


def _judge_with_several(
    source: str, folder: str, *, judges: Path, as_json: bool, settings: dict[str, Any]
) -> None:
    from voirdire.judging import judge_file_with_several

    if folder == "-":
        msg = "`--output` must be a folder for several judges, got standard output."
        raise UsageError(msg)
    try:
        with several_progress(source) as tell:
            judged = judge_file_with_several(
                source, folder, judges=judges, progress=tell, **settings
            )
    except KeyboardInterrupt:
        say_how_to_go_on(folder, store=settings["store"], asks_a_model=True)
        raise
    print_several(judged, as_json=as_json)
    if say_if_all_failed(judged) or judged.failed:
        raise SystemExit(1)


def _given(items: str | None, output: Path | None) -> tuple[str, str]:
    if items is None:
        msg = "`ITEMS` must be a file of items. Name one, or ask for --show-card or --show-prompt."
        raise UsageError(msg)
    if output is None:
        msg = "`--output` must name the file of verdicts: -o verdicts.parquet."
        raise UsageError(msg)
    return items, str(output)
