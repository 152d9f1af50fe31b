"""`voirdire sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from voirdire._types import Language
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts, progress
from voirdire.cli.training_output import print_sample

__all__ = ["sample_command"]


def sample_command(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a training run: what was given to its reward as record.",
            metavar="RUN",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A folder for the sample; one that holds labels is never touched.",
            metavar="FOLDER",
        ),
    ],
    n: Annotated[
        int,
        typer.Option("--number", "-n", min=1, help="How many different completions."),
    ] = 60,
    by: Annotated[
        list[str],
        typer.Option(
            help="Draw from each in proportion: behavior, step (early, middle and late in the "
            "training); repeatable. Default: both.",
            metavar="behavior|step",
            show_default=False,
        ),
    ] = [],  # noqa: B006  # typer copies it
    question: Annotated[
        list[str],
        typer.Option(
            help="Ask this proposition only; repeatable. Default: all that the item's reward "
            "depends on.",
            metavar="ID",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    annotators: Annotated[
        int, typer.Option(min=1, help="Sheets to write, one for each annotator.")
    ] = 3,
    language: Annotated[Language, typer.Option(help="Of the questions.")] = "en",
    seed: Annotated[int, typer.Option(min=0, help="The same seed draws the same sample.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw completions of a training run for people to label, and the judge to be examined on.

    A judge that was examined on other texts may fail on those that a policy learns to write.
    """
    listen_for_interrupts()
    with progress("drawing a sample"):
        from voirdire.rewards.training.sample import sample_training_run
        from voirdire.rewards.training.sample_files import write_sample

        strata = by or ["behavior", "step"]
        found = sample_training_run(run, n=n, by=strata, seed=seed)  # type: ignore[arg-type]  # checked there
        files = write_sample(
            found, output, n_annotators=annotators, questions=question, language=language
        )
    print_sample(found, files, as_json=as_json)
