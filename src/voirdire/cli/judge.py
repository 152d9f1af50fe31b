"""`voirdire judge`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from voirdire import judging, reporting
from voirdire._messages import shorten
from voirdire.cli import options as typed
from voirdire.cli import printing
from voirdire.cli.calls import UsageError, is_folder, require, rewrite_as_options, say, say_failed
from voirdire.cli.models import ASKING, OF_REPLIES, AskingOptions, are_several, make_judges
from voirdire.cli.progress import judging_of
from voirdire.errors import InputError


@typed.group_of()
class JudgingOptions(judging.JudgingSettings):
    """How the items are judged."""


def judge_command(
    items: typed.OptionalItems = None,
    /,
    *,
    output: typed.Output = None,
    rubric: typed.RubricName = "safety",
    judge: typed.JudgeName = "local",
    settings: JudgingOptions = JudgingOptions(),
    shard: typed.Shard = None,
    engine: typed.Engine = "local",
    address: typed.Address = None,
    batch: typed.Batch = None,
    live: bool = False,
    cancel: bool = False,
    workers: typed.Workers = 0,
    asking: AskingOptions = AskingOptions(),
    show_prompt: bool = False,
    dry_run: typed.DryRun = False,
    show_card: bool = False,
    printed: printing.Printed = printing.Printed(),
) -> None:
    """Judge responses by a rubric: probabilities, labels and completion classes, to a file.

    The file appears whole, or not at all. Replies of a language model are kept, and never paid for
    twice: after an interruption the same command goes on from them. A folder gets a folder of
    verdicts, -o verdicts/, a file for each of its files; what is there is not judged again.

    Parameters
    ----------
    items
        Prompts with responses: JSONL, CSV, Parquet or JSON, or a folder; - reads standard input.
    output
        The verdicts: .parquet, .jsonl or .csv, or a folder; - prints JSONL.
    judge
        Who answers: local, a file that `voirdire distill` made, or a language model such as
        openai/gpt-4o-mini or vllm/NAME, or a YAML file: of a cascade, a jury, or of several judges
        (-o then names a folder).
    live
        With --batch: ask now for what the batches did not answer.
    cancel
        With --batch: cancel the batches that are under way, and keep what is done.
    show_prompt
        Print what the model is asked, about the first of ITEMS where there are some.
    show_card
        Print what is known of the judge: training data, held-out figures. No ITEMS.
    """
    if show_card:
        card = judging.load_local_judge(judge).card
        printed.print(card.to_dict(), card.to_markdown())
        return
    if show_prompt:
        _print_prompts(items, judge, asking, rubric=rubric, settings=settings)
        return
    if items is None:
        msg = "`ITEMS` must be a file of items. Name one, or ask for --show-card."
        raise UsageError(msg)
    printing.start_reading()
    from voirdire.reporting.pages.verdicts import estimates_view

    judges = make_judges(judge, asking, options=(*ASKING, *OF_REPLIES), reads_keys=not dry_run)
    several = are_several(judge, judges)
    settings = replace(settings, workers=workers or (1 if several else "auto"))
    if dry_run:
        place = output / "any" if several and output else output
        about: dict[str, Any] = {"rubric": rubric, "output": place, "settings": settings}
        estimates = [judging.estimate_run(items, judge=each, **about) for each in judges]
        tables = reporting.ResultTables(estimates_view(estimates))
        printed.print({"estimates": estimates}, tables)
        return
    if output is None:
        msg = "`--output` must name the file of verdicts: -o verdicts.parquet."
        raise UsageError(msg)
    printed.check_streamed(output)
    about = {"rubric": rubric, "settings": settings}
    if batch is not None:
        require(not several and shard is None, "`--batch` takes one judge and one file of items.")
        about |= {"judge": judges[0], "folder": batch, "live": live, "cancel": cancel}
        run = partial(judging.judge_by_batches, items, output, **about)
        _judge_parts(run, items, settings, judges[0], printed)
        return
    require(not live and not cancel, "`--live` and `--cancel` go with `--batch FOLDER`.")
    if shard is not None or engine != "local" or (not several and is_folder(output)):
        rule = "`--shard` and `--engine` take one judge. Judge with one after another."
        require(not several, rule)
        judged_by: Any = partial(judging.judge_folder, judge=judges[0])
        if engine == "ray":
            from voirdire.scale import judge_with_ray

            usual = AskingOptions()
            changed = {
                x: getattr(asking, x) for x in ASKING if getattr(asking, x) != getattr(usual, x)
            }
            judged_by = partial(judge_with_ray, judge=judge, model=changed, address=address)
        run = partial(judged_by, items, output, shard=shard, **about)
        _judge_parts(run, items, settings, judges[0], printed)
        return
    judged = run_judges(items, str(output), settings, judge=judge, judges=judges, rubric=rubric)
    result: Any = judged if several else judged[0]
    printed.print(result, *([reporting.ResultTables(result)] if judged else []))
    if say_problems(judged) or judged.failed:
        raise SystemExit(1)


def _judge_parts(
    judged_by: Any,
    source: str,
    settings: judging.JudgingSettings,
    judge: Any,
    printed: printing.Printed,
) -> None:
    """Judge by batches, a folder of files or a shard; what fails of it is said, and the status."""
    with judging_of(source, store=settings.store, keeps=not isinstance(judge, str)) as tell:
        summary = judged_by(progress=tell)
    printed.print(summary, reporting.ResultTables(summary))
    several = judging.SeveralJudged()
    several += [summary.judged] if summary.judged and summary.judged.n_items else []
    is_useless = say_problems(several)
    say_failed(getattr(summary, "failed", {}), what="verdicts")
    if is_useless:
        raise SystemExit(1)


def run_judges(
    source: str,
    target: str,
    settings: judging.JudgingSettings,
    *,
    judge: str,
    judges: Sequence[Any],
    rubric: str,
) -> judging.SeveralJudged:
    """Judge items by one judge into a file, or by those of a file into a folder."""
    several = are_several(judge, judges)
    rule = "`--output` must be a folder for several judges, got standard output."
    require(not several or target != "-", rule)
    about: dict[str, Any] = {"rubric": rubric, "settings": settings}
    keeps = not isinstance(judges[0], str)
    with judging_of(source, store=settings.store, keeps=keeps) as tell:
        if several:
            about |= {"judges": judges, "progress": lambda name, state: tell(state, name=name)}
            return judging.judge_file_with_several(source, target, **about)
        judged = judging.SeveralJudged()
        about |= {"judge": judges[0], "progress": tell}
        judged.append(judging.judge_file(source, target, **about))
        return judged


def say_problems(judged: judging.SeveralJudged) -> bool:
    """Say which judges did not come to their end and which rows were set aside, and why.

    Whether there is a judge of whom no item has an answer.
    """
    from voirdire.reporting.progress_text import failure_lines

    for name, error in judged.failed.items():
        message = str(error)
        if isinstance(error, InputError):  # others are about keys of the file of judges
            message = rewrite_as_options(message)
        say(f"{shorten(name)} did not come to its end: {message}")
    for row in judged[:1]:
        printing.say_drops(row.dropped, n_dropped=row.n_dropped, output=row.dropped_output)
    lines = [failure_lines(row) for row in judged]
    for each in filter(None, lines):
        say("\n".join([f"voirdire: {each[0]}", *each[1:]]))
    return any(lines)


def _print_prompts(
    items: str | None,
    judge: str,
    asking: judging.ModelSettings,
    *,
    rubric: str,
    settings: judging.JudgingSettings,
) -> None:
    """Print what each model is asked; for a local judge, what a model would be asked."""
    from voirdire.io import stream_items

    reading = settings.reading(judged=settings.judged)
    batches = () if items is None else stream_items(items, reading=reading)
    item = next((item for batch in batches for item in batch.items), None)
    members: list[Any] = []
    for each in make_judges(judge, asking, options=(), reads_keys=False):
        members += each.judges if isinstance(each, judging.JuryJudge) else [each]
    members = [x.then if isinstance(x, judging.CascadeJudge) else x for x in members]
    models: list[Any] = [x for x in members if isinstance(x, judging.LlmJudge)] or [asking]
    for each in models:
        names = ("mode", "probability", "language", "n_examples")
        about: Any = {name: getattr(each, name) for name in names}
        prompt = judging.show_prompt(rubric, item=item, **about)
        has_title = judge.lower().endswith((".yaml", ".yml"))
        print(f"##### {each.name} #####\n\n{prompt}\n" if has_title else prompt)
