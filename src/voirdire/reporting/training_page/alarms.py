"""The alarms of a run as rows: what began where, against what, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.speech import Decimal, Name, Percent, Said, say
from voirdire.rewards.training.run import ALARM_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.training_page.speech import Argument
    from voirdire.rewards.training.run import Alarm, TrainingRun

__all__ = ["MOST_ALARMS", "AlarmRow", "advice_of", "alarm_rows", "alarm_sentence", "kind_word"]

MOST_ALARMS = 100
_DIGITS = {"length.longer": 0, "length.paid": 2, "spread": 3, "nonsense.paid": 2}
"""Of the figures that are no shares."""


@dataclass(frozen=True, kw_only=True)
class AlarmRow:
    """One alarm, ready to be shown."""

    step: int
    kind: Said
    said: Said


def alarm_rows(run: TrainingRun) -> tuple[AlarmRow, ...]:
    """List the alarms in the order in which they began.

    Parameters
    ----------
    run : TrainingRun
        Which.

    Returns
    -------
    tuple of AlarmRow
        The first hundred.
    """
    return tuple(
        AlarmRow(step=alarm.step, kind=kind_word(alarm), said=alarm_sentence(alarm))
        for alarm in run.alarms[:MOST_ALARMS]
    )


def kind_word(alarm: Alarm) -> Said:
    """Name the kind of an alarm."""
    return say(f"training.alarm.{alarm.kind}")


def alarm_sentence(alarm: Alarm) -> Said:
    """Say an alarm in words, with its figure and what it was held against."""
    case = _case(alarm)
    values = {"value": alarm.value, "was": alarm.reference}
    digits = _DIGITS.get(case)
    figures = {
        name: Percent(value) if digits is None else Decimal(value, digits)
        for name, value in values.items()
    }
    return say(f"training.alarm.{case}.said", subject=Name(alarm.subject), **figures)


def _case(alarm: Alarm) -> str:
    if alarm.kind == "saturation":
        return "saturation.groups" if alarm.subject == "groups" else "saturation.proposition"
    if alarm.kind == "length":
        return "length.longer" if alarm.subject == "length" else "length.paid"
    if alarm.kind == "nonsense":
        return "nonsense.frequent" if alarm.subject == "nonsense" else "nonsense.paid"
    return alarm.kind


def advice_of(alarms: Sequence[Alarm], *, source: Argument) -> tuple[tuple[Said, Said], ...]:
    """Give each kind that occurs with what to do about it.

    Parameters
    ----------
    alarms : sequence of Alarm
        Of the run.
    source : Argument
        The run's folder, for commands.

    Returns
    -------
    tuple of (Said, Said)
        The kind, and the advice.
    """
    found = {alarm.kind for alarm in alarms}
    return tuple(
        (say(f"training.alarm.{kind}"), say(f"training.alarm.{kind}.do", run=source))
        for kind in ALARM_KINDS
        if kind in found
    )
