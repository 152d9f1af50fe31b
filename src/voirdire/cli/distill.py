"""`voirdire distill`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from voirdire._messages import shorten
from voirdire.cli import options as typed
from voirdire.cli.calls import require, say
from voirdire.cli.printing import Printed, say_drops, start_reading
from voirdire.cli.progress import watch
from voirdire.cli.written_files import check_written, write_text
from voirdire.judging.settings import DistillSettings


@typed.group_of(without=("behavior",))
class DistillOptions(DistillSettings):
    """How a judge is made."""


def distill_command(
    items: typed.Items,
    /,
    *,
    labels: typed.Sources,
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FILE.npz")],
    rubric: Annotated[str | None, Parameter(metavar="NAME|FILE")] = None,
    settings: DistillOptions = DistillOptions(),
    card: Annotated[Path | None, Parameter(metavar="FILE.md")] = None,
    printed: Printed = Printed(),
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
    rule = "`--rubric` must name a rubric, or `--question` a question to learn."
    require(rubric is not None or settings.questions, rule)
    check_written({"judge": output}, option="--output")
    check_written({"output": output, "card": card})
    start_reading()
    from voirdire.judging import distill_files
    from voirdire.reporting.number_formats import counted

    learning = replace(settings, name=settings.name or output.stem)
    with watch() as lines:
        distilled = distill_files(
            items,
            labels,
            rubric=rubric,
            settings=learning,
            progress=lambda done, total: lines.tell("learning", done, total),
        )
    distilled.judge.save(output)
    summary = distilled.judge.card.to_markdown()
    if card is not None:
        write_text(card, summary)
    for question, reason in distilled.left_out.items():
        say(f"left out: {shorten(question)}: {reason}")
    say_drops(distilled.tied, what="tie")
    say_drops(distilled.dropped)
    if distilled.n_unlabelled:
        say(f"{counted(distilled.n_unlabelled, 'item')} without a label")
    if distilled.n_strangers:
        say(f"{counted(distilled.n_strangers, 'labelled item')} not in the file of items")
    # of a rubric, what was not learnt is left out
    is_whole = rubric is not None and not settings.questions
    asked = shlex.quote(rubric) if rubric and is_whole else "RUBRIC.yaml"
    judge = shlex.quote(str(output))
    printed.print(
        {"output": str(output), **distilled.as_dict()},
        summary,
        f"{output}: learnt {counted(len(distilled.judge.questions), 'question')} from "
        f"{distilled.n_items:,} items\n",
        *([] if is_whole else ["With a rubric that asks these questions:"]),
        f"  voirdire judge ITEMS --judge {judge} --rubric {asked} -o verdicts.parquet",
    )
