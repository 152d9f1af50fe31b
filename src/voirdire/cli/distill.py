"""`voirdire distill`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from voirdire._validation import shorten
from voirdire.cli.judging_progress import steps_progress
from voirdire.cli.options import AsJson, Columns, Format
from voirdire.cli.printing import listen_for_interrupts, print_json
from voirdire.cli.shell import UsageError, say
from voirdire.cli.written_files import check_apart, check_card, check_place, write_text
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging import Distilled
    from voirdire.records import Dropped

__all__ = ["distill_command"]

_MOST_SHOWN = 5


def distill_command(
    items: Annotated[str, Parameter(metavar="ITEMS")],
    /,
    *,
    labels: Annotated[list[Path], Parameter(metavar="FILE")],
    output: Annotated[Path, Parameter(name=("--output", "-o"), metavar="FILE.npz")],
    rubric: Annotated[str | None, Parameter(metavar="NAME|FILE")] = None,
    questions: Annotated[list[str], Parameter(name="--question", metavar="ID")] = [],
    columns: Columns = None,
    format: Format = None,
    threshold: float | None = None,
    card: Annotated[Path | None, Parameter(metavar="FILE.md")] = None,
    calibrator: Literal["platt", "temperature", "isotonic"] = "platt",
    n_folds: int = 5,
    seed: int = 0,
    name: str | None = None,
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
    questions
        Learn this question; repeatable.
    columns
        Your name for a column of ITEMS, as OURS=YOURS; repeatable.
    threshold
        Verdicts: true from this probability on. Default: what they declare.
    card
        Write the judge's card here too, as Markdown.
    calibrator
        How scores become probabilities.
    n_folds
        Parts for held-out figures.
    seed
        Of the folds.
    name
        What verdicts call the judge. Default: after the file.
    """
    if rubric is None and not questions:
        msg = "`--rubric` must name a rubric, or `--question` a question to learn."
        raise UsageError(msg)
    _check_output(output)
    check_apart(output=output, card=card)
    check_card(card)
    listen_for_interrupts()
    from voirdire.judging import distill_files

    with steps_progress("learning") as tell:
        made = distill_files(
            items,
            labels,
            rubric=rubric,
            questions=questions,
            columns=columns,
            format=format,
            threshold=threshold,
            calibrator=calibrator,
            n_folds=n_folds,
            seed=seed,
            name=name or output.stem,
            progress=tell,
        )
    made.judge.save(output)
    if card is not None:
        write_text(card, made.judge.card.to_markdown())
    _say_what_was_left_out(made)
    if as_json:
        print_json(_as_dict(made, output))
        return
    print(made.judge.card.to_markdown())
    n_questions = len(made.judge.questions)
    counted = "1 question" if n_questions == 1 else f"{n_questions} questions"
    print(f"{output}: learnt {counted} from {made.n_items:,} items\n")
    print(_how_to_judge(output, None if questions else rubric))


def _how_to_judge(output: Path, rubric: str | None) -> str:
    """Give the next command; what was not learnt is left out of the rubric, and said."""
    asked = "RUBRIC.yaml" if rubric is None else shlex.quote(rubric)
    said = "With a rubric that asks these questions:\n" if rubric is None else ""
    judge = shlex.quote(str(output))
    return f"{said}  voirdire judge ITEMS --judge {judge} --rubric {asked} -o verdicts.parquet"


def _as_dict(made: Distilled, output: Path) -> dict[str, Any]:
    return {
        "output": str(output),
        "judge": made.judge.name,
        "fingerprint": made.judge.fingerprint,
        "questions": list(made.judge.questions),
        "n_items": made.n_items,
        "n_unlabelled": made.n_unlabelled,
        "n_strangers": made.n_strangers,
        "raters": list(made.raters),
        "left_out": [{"question": row.question, "reason": row.reason} for row in made.left_out],
        "n_tied": len(made.tied),
        "n_dropped": len(made.dropped),
        "card": made.judge.card.to_dict(),
    }


def _say_what_was_left_out(made: Distilled) -> None:
    for row in made.left_out:
        say(f"left out: {shorten(row.question)}: {row.reason}")
    _say_drops("ties left out", made.tied)
    _say_drops("rows and labels set aside", made.dropped)
    counts = {
        "items without a label": made.n_unlabelled,
        "labelled items that are not in the file of items": made.n_strangers,
    }
    for what, count in counts.items():
        if count:
            say(f"{count:,} {what}")


def _say_drops(what: str, rows: Sequence[Dropped]) -> None:
    if not rows:
        return
    say(f"{len(rows):,} {what}")
    for row in rows[:_MOST_SHOWN]:
        about = " ".join(shorten(x) for x in (row.item, row.question) if x is not None)
        say(f"  {row.place()}: {about} {shorten(row.reason, width=160)}".rstrip())
    if len(rows) > _MOST_SHOWN:
        say(f"  and {len(rows) - _MOST_SHOWN:,} more")


def _check_output(output: Path) -> None:
    """Refuse to replace a file that is no judge, before any work is done."""
    if output.suffix != ".npz":
        msg = f"`--output` must end in .npz, got {str(output)!r}. Rename it."
        raise InputError(msg)
    check_place(output)
    if output.exists() and output.stat().st_size:
        from voirdire.judging import load_local_judge

        try:
            load_local_judge(output)
        except InputError as error:
            msg = f"`--output` must not replace {str(output)!r}, which is no judge. Name another."
            raise InputError(msg) from error
