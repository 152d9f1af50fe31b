"""`voirdire distill`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from voirdire._messages import shorten
from voirdire.cli.judging_progress import watch_steps
from voirdire.cli.option_groups import with_spelling
from voirdire.cli.options import AsJson, run_options
from voirdire.cli.printing import listen_for_interrupts, print_result, say_drops
from voirdire.cli.shell import UsageError, say
from voirdire.cli.written_files import check_apart, check_output, check_written, write_text
from voirdire.errors import InputError
from voirdire.judging.settings import DistillSettings

if TYPE_CHECKING:
    from voirdire.judging import Distilled

    DistillOptions: TypeAlias = DistillSettings
else:
    DistillOptions = run_options(
        DistillSettings,
        without=("behavior",),
        questions=with_spelling("--question", list[str], metavar="ID"),
    )

__all__ = ["distill_command"]


def distill_command(
    items: Annotated[str, Parameter(metavar="ITEMS")],
    /,
    *,
    labels: Annotated[list[Path], Parameter(metavar="FILE")],
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FILE.npz")],
    rubric: Annotated[str | None, Parameter(metavar="NAME|FILE")] = None,
    settings: DistillOptions = DistillSettings(),
    card: Annotated[Path | None, Parameter(metavar="FILE.md")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a local judge from labelled responses, with a card that says how good it is.

    Parameters
    ----------
    items
        Prompts with responses, as `voirdire judge` reads them.
    labels
        Verdicts or annotations about these items; repeatable. Of several raters the majority
        counts.
    output
        The judge.
    rubric
        Learn the propositions of this rubric: a built-in one, or a YAML file.
    card
        Write the judge's card here too, as Markdown.
    """
    if rubric is None and not settings.questions:
        msg = "`--rubric` must name a rubric, or `--question` a question to learn."
        raise UsageError(msg)
    check_output(output, ending=".npz", what="judge", is_one=_is_judge)
    check_apart(output=output, card=card)
    check_written(card=card)
    listen_for_interrupts()
    from voirdire.judging import distill_files
    from voirdire.reporting.number_formats import counted

    with watch_steps("learning") as tell:
        learning = replace(settings, name=settings.name or output.stem)
        distilled = distill_files(items, labels, rubric=rubric, settings=learning, progress=tell)
    distilled.judge.save(output)
    if card is not None:
        write_text(card, distilled.judge.card.to_markdown())
    _say_what_was_left_out(distilled)
    asked = "RUBRIC.yaml"
    how = "With a rubric that asks these questions:"
    if rubric is not None and not settings.questions:  # what was not learnt is left out of it
        asked, how = shlex.quote(rubric), ""
    judge = shlex.quote(str(output))
    print_result(
        {"output": str(output), **distilled.as_dict()},
        distilled.judge.card.to_markdown(),
        f"{output}: learnt {counted(len(distilled.judge.questions), 'question')} from "
        f"{distilled.n_items:,} items\n",
        *filter(None, [how]),
        f"  voirdire judge ITEMS --judge {judge} --rubric {asked} -o verdicts.parquet",
        as_json=as_json,
    )


def _say_what_was_left_out(distilled: Distilled) -> None:
    from voirdire.reporting.number_formats import counted

    for question, reason in distilled.left_out.items():
        say(f"left out: {shorten(question)}: {reason}")
    say_drops(distilled.tied, what="tie")
    say_drops(distilled.dropped)
    if distilled.n_unlabelled:
        say(f"{counted(distilled.n_unlabelled, 'item')} without a label")
    if distilled.n_strangers:
        say(f"{counted(distilled.n_strangers, 'labelled item')} not in the file of items")


def _is_judge(path: Path) -> bool:
    from voirdire.judging import load_local_judge

    try:
        return not path.stat().st_size or bool(load_local_judge(path))
    except InputError:
        return False
