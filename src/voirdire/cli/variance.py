"""`voirdire variance`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from voirdire.cli.options import AsJson
from voirdire.cli.printing import print_result, progress
from voirdire.cli.shell import UsageError

__all__ = ["variance_command"]


def variance_command(
    scores: Annotated[str, Parameter(metavar="FILE")],
    /,
    *,
    score: Annotated[str, Parameter(metavar="COLUMN")],
    facets: Annotated[list[str], Parameter(name="--facet", metavar="COLUMN")],
    as_json: AsJson = False,
) -> None:
    """Find where the spread of scores comes from, and what would halve the error of their mean.

    Parameters
    ----------
    scores
        A score per row, and what it was made under: CSV, JSONL, JSON, Parquet or XLSX; - reads
        standard input.
    score
        The column of scores: verdicts, probabilities, rewards, whether a judge agrees.
    facets
        A column that names the item, the annotator, the run, the prompt, ...; repeatable.
    """
    if len(set(facets) | {score}) < len(facets) + 1:
        msg = "`--facet` and `--score` must name different columns."
        raise UsageError(msg)
    from voirdire.reporting.study_tables import variance_lines, variance_table

    with progress("reading"):
        from voirdire.io.scores import read_scores
        from voirdire.stats import variance_components

        frame = read_scores(scores, score=score, facets=facets)
        components = variance_components(
            frame["score"].to_numpy(), {name: frame[name].to_list() for name in facets}
        )
    print_result(
        components, variance_table(components), *variance_lines(components), as_json=as_json
    )
