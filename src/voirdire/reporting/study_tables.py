"""What checks of certificates, anchors and components of variance found, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from voirdire.stats import VarianceComponents
    from voirdire.studies import AnchorResult, CertificateChange

__all__ = ["anchor_table", "change_lines", "variance_lines", "variance_table"]


def change_lines(changes: tuple[CertificateChange, ...], n_outcomes: int) -> list[str]:
    """Say whether a certificate holds, and what changed."""
    if not changes:
        return [f"the certificate holds: labels, settings and outcomes ({n_outcomes}) are the same"]
    head = f"the certificate does not hold, {len(changes)} changed:"
    rows = [
        f"  {shorten(row.what, width=80)}: certified {shorten(row.certified, width=30)}, now "
        f"{shorten(row.found, width=30)}"
        for row in changes
    ]
    return [head, *rows]


def anchor_table(results: Sequence[AnchorResult]) -> Table:
    """Lay out how far each judge's answers to frozen items changed."""
    heads = ("question", "judge", "verdict", "items", "changed", "interval", "shift to yes")
    rows = []
    for row in results:
        drift, shift = row.drift, row.drift.shift
        names = (shorten(row.question, width=40), shorten(row.judge, width=40), drift.verdict)
        changed = f"{drift.n_changed:,} ({drift.changed.estimate:.1%})"
        interval = f"{drift.changed.low:.1%} to {drift.changed.high:.1%}"
        moved = ""
        if shift is not None:
            moved = f"{shift.estimate:+.1%} ({shift.low:+.1%} to {shift.high:+.1%})"
        rows.append((*names, f"{drift.n_items:,}", changed, interval, moved))
    return plain_table(heads, rows, words=heads[:3])


def variance_table(found: VarianceComponents) -> Table:
    """Lay out where the spread of scores comes from."""
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


def variance_lines(found: VarianceComponents) -> list[str]:
    """Say how many more of each facet would halve the error of the mean."""
    said = [
        f"Mean {found.mean:.3g}, standard error {found.standard_error:.2g}. To halve the error:"
    ]
    for size in found.sizes:
        needed = "more of them cannot" if size.n_to_halve is None else f"{size.n_to_halve:,}"
        said.append(f"  {size.facet}: {needed} (now {size.n_levels:,.4g})")
    return said + ([f"note: {found.reason}"] if found.reason else [])
