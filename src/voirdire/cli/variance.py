"""`voirdire variance`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from voirdire.cli.options import AsJson
from voirdire.cli.printing import print_result, progress
from voirdire.cli.shell import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from voirdire.stats import VarianceComponents

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
    with progress("reading"):
        from voirdire.io.scores import read_scores
        from voirdire.stats import variance_components

        frame = read_scores(scores, score=score, facets=facets)
        found = variance_components(
            frame["score"].to_numpy(), {name: frame[name].to_list() for name in facets}
        )
    print_result(found, _table(found), *_sentences(found), as_json=as_json)


def _table(found: VarianceComponents) -> Table:
    from voirdire._validation import shorten
    from voirdire.reporting.narrow_tables import plain_table

    heads = ("differences between", "variance", "of all", "of the error")
    rows = [
        (
            " × ".join(shorten(facet, width=20) for facet in row.facets) or "the rest",
            f"{row.variance:.4g}",
            *(f"{share:.0%}" for share in (row.share, row.error_share)),
        )
        for row in found.components
    ]
    return plain_table(heads, rows, words=heads[:1])


def _sentences(found: VarianceComponents) -> list[str]:
    said = [
        f"Mean {found.mean:.3g}, standard error {found.standard_error:.2g}. To halve the error:"
    ]
    for size in found.sizes:
        needed = "more of them cannot" if size.n_to_halve is None else f"{size.n_to_halve:,}"
        said.append(f"  {size.facet}: {needed} (now {size.n_levels:,.4g})")
    return said + ([f"note: {found.reason}"] if found.reason else [])
