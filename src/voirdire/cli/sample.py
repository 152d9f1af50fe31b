"""`voirdire sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire._types import Language
from voirdire.cli import options as typed
from voirdire.cli.printing import Printed, progress, say_notes, start_reading


def sample_command(
    run: typed.Run,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FOLDER")],
    n: Annotated[int, Parameter(name=("--number", "-n"), validator=Number(gte=1))] = 60,
    n_annotators: Annotated[int, Parameter(validator=Number(gte=1))] = 3,
    language: Language = "en",
    seed: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    printed: Printed = Printed(),
) -> None:
    """Draw completions of a training run for people to label, and the judge to be examined on.

    A judge that was examined on other texts may fail on those that a policy learns to write.

    Parameters
    ----------
    run
        The folder of a training run: what was given to its reward as record.
    output
        A folder for the sample; one that holds labels is never touched.
    n
        How many different completions, from every behavior and every third of the training in
        proportion.
    n_annotators
        Sheets to write, one for each annotator.
    language
        Of the questions.
    seed
        The same seed draws the same sample.
    """
    start_reading()
    with progress("drawing a sample"):
        from voirdire import reporting, rewards

        about: Any = {"n": n, "n_annotators": n_annotators, "language": language, "seed": seed}
        sample = rewards.sample_training_run(run, output, **about)
    say_notes(sample.notes, sample.dropped)
    printed.print(sample, reporting.ResultTables(sample))
