"""Everything that the templates show of a training run, computed beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.training_page.alarms import advice_of, alarm_rows
from voirdire.reporting.training_page.certificates import (
    MOST_CERTIFICATES,
    certificate_rows,
    certified_sentence,
)
from voirdire.reporting.training_page.described import described
from voirdire.reporting.training_page.story import edge_of, story_of
from voirdire.reporting.training_page.tables import (
    MOST_CLASSES,
    MOST_RATES,
    class_rows,
    part_rows,
    rate_rows,
    shown_steps,
)

if TYPE_CHECKING:
    from voirdire.reporting.page_frame.speech import Count, Said
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.reporting.training_page.alarms import AlarmRow
    from voirdire.reporting.training_page.certificates import CertificateRow
    from voirdire.reporting.training_page.speech import Argument
    from voirdire.reporting.training_page.story import Story
    from voirdire.reporting.training_page.tables import ClassRow, PartRow, RateRow
    from voirdire.rewards.training.run import TrainingRun, TrainingStep

__all__ = ["TrainingView", "training_view"]

MOST_DROPPED = 200


@dataclass(frozen=True, kw_only=True)
class TrainingView:
    """A training run, ready to be shown."""

    run: TrainingRun
    source: Argument
    story: Story
    alarms: tuple[AlarmRow, ...]
    advice: tuple[tuple[Said, Said], ...]
    described: tuple[tuple[str, Any], ...]
    certified: Said
    certificates: tuple[CertificateRow, ...]
    n_certificates: int
    edge: Count | Said
    steps_per_point: int
    has_base: bool
    parts: tuple[PartRow, ...]
    rates: tuple[RateRow, ...]
    n_rates: int
    classes: tuple[ClassRow, ...]
    n_classes: int
    steps: tuple[TrainingStep, ...]
    dropped: tuple[str, ...]


def training_view(run: TrainingRun, sheet: TrainingSheet, *, source: Argument) -> TrainingView:
    """Compute what is shown of a run.

    Parameters
    ----------
    run : TrainingRun
        With at least one step.
    sheet : TrainingSheet
        Its columns.
    source : Argument
        Its folder, for commands.

    Returns
    -------
    TrainingView
        Sentences and rows.
    """
    columns = sheet.whole
    rates, classes = rate_rows(run, columns), class_rows(columns)
    certificates = certificate_rows(run)
    return TrainingView(
        run=run,
        source=source,
        story=story_of(run, columns),
        alarms=alarm_rows(run),
        advice=advice_of(run.alarms, source=source),
        described=described(run),
        certified=certified_sentence(run),
        certificates=certificates[:MOST_CERTIFICATES],
        n_certificates=len(certificates),
        edge=edge_of(len(run.steps)),
        steps_per_point=sheet.steps_per_point,
        has_base=columns.has_base,
        parts=part_rows(run),
        rates=rates[:MOST_RATES],
        n_rates=len(rates),
        classes=classes[:MOST_CLASSES],
        n_classes=len(classes),
        steps=shown_steps(run),
        dropped=run.dropped[:MOST_DROPPED],
    )
