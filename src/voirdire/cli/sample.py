"""`voirdire sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire._types import Language
from voirdire.cli.output_options import AsJson
from voirdire.cli.printing import listen_for_interrupts, progress
from voirdire.cli.training_output import print_sample

__all__ = ["sample_command"]


def sample_command(
    run: Annotated[
        Path,
        Parameter(
            help="The folder of a training run: what was given to its reward as record.",
            metavar="RUN",
        ),
    ],
    /,
    *,
    output: Annotated[
        Path,
        Parameter(
            name=("--output", "-o"),
            help="A folder for the sample; one that holds labels is never touched.",
            metavar="FOLDER",
        ),
    ],
    n: Annotated[
        int,
        Parameter(
            name=("--number", "-n"), help="How many different completions.", validator=Number(gte=1)
        ),
    ] = 60,
    by: Annotated[
        list[str],
        Parameter(
            help="Draw from each in proportion: behavior, step (early, middle and late in the "
            "training); repeatable. Default: both.",
            metavar="behavior|step",
            show_default=False,
        ),
    ] = [],
    question: Annotated[
        list[str],
        Parameter(
            help="Ask this proposition only; repeatable. Default: all that the item's reward "
            "depends on.",
            metavar="ID",
            show_default=False,
        ),
    ] = [],
    annotators: Annotated[
        int, Parameter(help="Sheets to write, one for each annotator.", validator=Number(gte=1))
    ] = 3,
    language: Annotated[Language, Parameter(help="Of the questions.")] = "en",
    seed: Annotated[
        int, Parameter(help="The same seed draws the same sample.", validator=Number(gte=0))
    ] = 0,
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
