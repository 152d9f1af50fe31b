"""`voirdire judge`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from voirdire._messages import shorten
from voirdire.cli.judging_progress import watch_judges
from voirdire.cli.model_judges import (
    AskingOptions,
    DryRun,
    JudgingOptions,
    are_several,
    make_judges,
)
from voirdire.cli.options import AsJson, JudgeName, Output, RubricName, Workers
from voirdire.cli.printing import (
    keep_when_stopped,
    listen_for_interrupts,
    print_result,
    say_drops,
)
from voirdire.cli.shell import Call, UsageError, rewrite_as_options, say
from voirdire.errors import InputError
from voirdire.judging import JudgingSettings, ModelSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging import JudgingSummary, SeveralJudged
    from voirdire.judging.jury import JudgeLike

__all__ = ["judge_command", "run_judges", "say_if_all_failed", "say_problems"]


def judge_command(
    items: Annotated[str | None, Parameter(metavar="ITEMS")] = None,
    /,
    *,
    call: Call,
    output: Output = None,
    rubric: RubricName = "safety",
    judge: JudgeName = "local",
    settings: JudgingOptions = JudgingSettings(),
    workers: Workers = 0,
    asking: AskingOptions = ModelSettings(),
    show_prompt: bool = False,
    dry_run: DryRun = False,
    show_card: bool = False,
    as_json: AsJson = False,
) -> None:
    """Judge responses by a rubric: probabilities, labels and completion classes, to a file.

    The file appears whole, or not at all. Replies of a language model are kept, and never paid for
    twice: after an interruption the same command goes on from them.

    Parameters
    ----------
    items
        Prompts with responses: JSONL, CSV, Parquet or JSON; - reads standard input.
    output
        The verdicts: .parquet, .jsonl or .csv; - prints JSONL.
    judge
        Who answers: local, a file that `voirdire distill` made, or a language model such as
        openai/gpt-4o-mini or vllm/NAME, or a YAML file: of a cascade, a jury, or of several judges
        (-o then names a folder).
    show_prompt
        Print what the model is asked, about the first of ITEMS where there are some.
    show_card
        Print what is known of the judge: training data, held-out figures. No ITEMS.
    """
    from voirdire.judging import estimate_run
    from voirdire.reporting.judging_tables import estimate_tables

    if show_card:
        _print_card(judge, as_json=as_json)
        return
    if show_prompt:
        asked = make_judges(judge, asking, reads_keys=False)
        from_file = judge.lower().endswith((".yaml", ".yml"))
        _print_prompts(items, asked, asking, rubric=rubric, settings=settings, has_titles=from_file)
        return
    if items is None:
        msg = "`ITEMS` must be a file of items. Name one, or ask for --show-card."
        raise UsageError(msg)
    listen_for_interrupts()
    judges = make_judges(judge, asking, call=call, reads_keys=not dry_run)
    several = are_several(judge, judges)
    settings = replace(settings, workers=workers or (1 if several else "auto"))
    if dry_run:
        place = output / "any" if several and output else output
        estimates = [
            estimate_run(items, judge=each, rubric=rubric, output=place, settings=settings)
            for each in judges
        ]
        print_result({"estimates": estimates}, *estimate_tables(estimates), as_json=as_json)
        return
    if output is None:
        msg = "`--output` must name the file of verdicts: -o verdicts.parquet."
        raise UsageError(msg)
    if str(output) == "-" and as_json:
        msg = "`--json` must not be given with `-o -`: both print to standard output."
        raise UsageError(msg)
    judged = run_judges(
        items, str(output), settings, judges=judges, are_several=several, rubric=rubric
    )
    _print(judged, are_several=several, as_json=as_json)


def run_judges(
    source: str,
    target: str,
    settings: JudgingSettings,
    *,
    judges: Sequence[Any],
    are_several: bool,
    rubric: str,
) -> SeveralJudged:
    """Judge items by one judge into a file, or by those of a file into a folder."""
    from voirdire.judging import SeveralJudged, judge_file, judge_file_with_several

    if are_several and target == "-":
        msg = "`--output` must be a folder for several judges, got standard output."
        raise UsageError(msg)
    settled: dict[str, Any] = {"rubric": rubric, "settings": settings}
    keeps = not isinstance(judges[0], str)
    with (
        keep_when_stopped(source, store=settings.store, keeps=keeps),
        watch_judges(source) as tell,
    ):
        if are_several:
            return judge_file_with_several(source, target, judges=judges, progress=tell, **settled)
        summaries = SeveralJudged()
        alone = partial(tell, "judging")
        summaries.append(judge_file(source, target, judge=judges[0], progress=alone, **settled))
        return summaries


def _print(judged: SeveralJudged, *, are_several: bool, as_json: bool) -> None:
    """Print what one judge answered, or several; fail where one did not come to its end."""
    from voirdire.reporting.judging_tables import judging_tables, several_tables

    say_problems(judged)
    if are_several:
        failed = {name: str(error) for name, error in judged.failed.items()}
        content = {"judged": [row.as_dict() for row in judged], "failed": failed}
        print_result(content, *(several_tables(judged) if judged else ()), as_json=as_json)
    else:
        row = judged[0]
        is_streamed = row.output == "-"
        tables = judging_tables(row)
        print_result(row.as_dict(), *tables, as_json=as_json, is_streamed=is_streamed)
    if judged.failed or say_if_all_failed(judged):
        raise SystemExit(1)


def say_problems(judged: SeveralJudged) -> None:
    """Say which judges did not come to their end, and which rows were set aside."""
    for name, error in judged.failed.items():
        message = str(error)
        if isinstance(error, InputError):  # others are about keys of the file of judges
            message = rewrite_as_options(message)
        say(f"{shorten(name)} did not come to its end: {message}")
    for row in judged[:1]:
        say_drops(row.dropped, n_dropped=row.n_dropped, output=row.dropped_output)


def say_if_all_failed(judged: Sequence[JudgingSummary]) -> bool:
    """Say of whom no item has an answer, and why; whether there was such a judge."""
    from voirdire.reporting.judging_tables import failure_lines

    lines = [failure_lines(row) for row in judged]
    for first, *rest in filter(None, lines):
        say("\n".join([f"voirdire: {first}", *rest]))
    return any(lines)


def _print_card(judge: str, *, as_json: bool) -> None:
    """Print what is known of a local judge, as Markdown or JSON."""
    from voirdire.judging import load_local_judge

    card = load_local_judge(judge).card
    print_result(card.to_dict(), card.to_markdown(), as_json=as_json)


def _print_prompts(
    items: str | None,
    judges: Sequence[JudgeLike],
    asking: ModelSettings,
    *,
    rubric: str,
    settings: JudgingSettings,
    has_titles: bool,
) -> None:
    """Print what each model is asked; for a local judge, what a model would be asked."""
    from voirdire.io import stream_items
    from voirdire.judging import CascadeJudge, JuryJudge, LlmJudge, show_prompt

    reading = settings.reading(judged=settings.judged)
    batches = () if items is None else stream_items(items, reading=reading)
    item = next((item for batch in batches for item in batch.items), None)
    asked: list[Any] = []
    for judge in judges:
        asked += judge.judges if isinstance(judge, JuryJudge) else [judge]
    asked = [each.then if isinstance(each, CascadeJudge) else each for each in asked]
    models: list[Any] = [each for each in asked if isinstance(each, LlmJudge)] or [asking]
    for each in models:
        prompt = show_prompt(
            rubric,
            item=item,
            mode=each.mode,
            probability=each.probability,
            language=each.language,
            n_examples=each.n_examples,
        )
        print(f"##### {each.name} #####\n\n{prompt}\n" if has_titles else prompt)
