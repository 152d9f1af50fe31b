"""Make cards of the completions that show the alarms of a training run best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from voirdire.reporting.pages.items import ItemCard, ItemText
from voirdire.reporting.pages.speech import Count, Decimal, Name, Verbatim, one_line, say
from voirdire.reporting.pages.training_sections import MOST_ALARMS, alarm_case, alarm_sentence
from voirdire.rewards.training.completion_rows import (
    ITEM_COLUMNS,
    make_item,
    name_class_column,
    name_proposition_column,
    write_prompt,
)
from voirdire.rewards.training.nonsense import NonsenseKind
from voirdire.rewards.training.run_reading import read_completion_frames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.reporting.pages.speech import Speaker
    from voirdire.rewards.training.run import Alarm, TrainingRun

__all__ = ["make_alarm_cards"]

_MOST_COMPLETIONS = 10
_WINDOW = 10
"""Steps that an alarm looks at."""
_COLUMNS = (
    "item", "name", "step", *ITEM_COLUMNS, "reward", "missing", "nonsense", "n_tokens",
    "n_characters",
)  # fmt: skip


def make_alarm_cards(run: TrainingRun, speaker: Speaker) -> list[ItemCard]:
    """Read up to ten different completions for each alarm, those first that show it best."""
    alarms = run.alarms[:MOST_ALARMS]
    windows = [_list_window(alarm, run) for alarm in alarms]
    subjects = [_subject_column(alarm, run) for alarm in alarms]
    columns = dict.fromkeys((*_COLUMNS, *(name for name in subjects if name is not None)))
    found = [pl.DataFrame()] * len(alarms)
    for frame in read_completion_frames(run, columns=list(columns), steps=set().union(*windows)):
        for place, alarm in enumerate(alarms):
            shows, by = _choose_completions(alarm, subjects[place], length=f"n_{run.length_unit}")
            rows = frame.filter(pl.col("step").is_in(windows[place]), shows)
            found[place] = _keep_best(pl.concat([found[place], rows], how="diagonal"), by)
    return [
        _make_card(row, alarm, subject, run, speaker)
        for alarm, subject, rows in zip(alarms, subjects, found, strict=True)
        for row in rows.iter_rows(named=True)
    ]


def _choose_completions(
    alarm: Alarm, subject: str | None, *, length: str
) -> tuple[pl.Expr, pl.Expr]:
    """Choose the completions that show an alarm, and the value by which they are sorted."""
    reward, value = pl.col("reward"), pl.col(subject or "reward")
    is_nonsense = pl.col("nonsense").is_not_null()
    has_more = alarm.value >= (0.5 if alarm.kind == "saturation" else alarm.reference)
    is_like_most = value >= 0.5 if has_more else value < 0.5
    return {
        "missing": (reward.is_null(), pl.col("step")),
        "saturation.proposition": (is_like_most, reward),
        "saturation.groups": (reward.is_not_null(), reward),
        "drift": (_is_about(alarm) & value.is_not_null(), value if has_more else -value),
        "length.longer": (pl.lit(value=True), pl.col(length)),
        "length.paid": (reward.is_not_null(), pl.col(length)),
        "spread": (reward.is_not_null(), reward),
        "nonsense.frequent": (is_nonsense, reward),
        "nonsense.paid": (is_nonsense, reward),
    }[alarm_case(alarm)]


def _is_about(alarm: Alarm) -> pl.Expr:
    """Keep the behavior of a class; a proposition is asked of all."""
    behavior = alarm.subject.rpartition("/")[0]
    return pl.col("behavior") == behavior if behavior else pl.lit(value=True)


def _keep_best(rows: pl.DataFrame, by: pl.Expr) -> pl.DataFrame:
    """Keep the first ten different completions."""
    order = (by, pl.col("step"), pl.col("item"))
    return (
        rows.sort(*order, descending=[True, True, False], nulls_last=True)
        .unique(ITEM_COLUMNS, keep="first", maintain_order=True)
        .head(_MOST_COMPLETIONS)
    )


def _list_window(alarm: Alarm, run: TrainingRun) -> set[int]:
    before = [step.step for step in run.steps if step.step <= alarm.step]
    return set(before[-_WINDOW:])


def _subject_column(alarm: Alarm, run: TrainingRun) -> str | None:
    """Name the column of what an alarm is about: of a proposition or a class, else None."""
    if alarm.subject in run.propositions:
        return name_proposition_column(alarm.subject)
    if alarm.kind == "drift":
        return name_class_column(alarm.subject.rpartition("/")[2])
    return None


def _make_card(
    row: Mapping[str, Any], alarm: Alarm, subject: str | None, run: TrainingRun, speaker: Speaker
) -> ItemCard:
    item = make_item(row, name=row["item"], judged=run.judged)
    texts = {} if item is None else {"prompt": write_prompt(item), "response": item.response}
    reward = Decimal(row["reward"])
    figures: list[tuple[Any, Any]] = [
        (say("training.behind.alarm"), alarm_sentence(alarm)),
        (say("training.column.reward"), reward),
        (say(f"training.behind.{run.length_unit}"), Count(row[f"n_{run.length_unit}"])),
    ]
    if subject is not None:
        name = say("training.behind.probability", subject=Name(alarm.subject))
        figures.append((name, Decimal(row[subject])))
    if row["nonsense"] in get_args(NonsenseKind):
        figures.append(
            (say("training.behind.nonsense"), say(f"training.nonsense.{row['nonsense']}"))
        )
    if row["missing"] is not None:
        figures.append((say("training.behind.missing"), Verbatim(row["missing"])))
    figures.append((say("column.item"), Name(row["name"] or row["item"])))
    return ItemCard(
        title=item.response if item is not None and item.response.strip() else row["item"],
        summary=(
            say(f"training.alarm.{alarm.kind}"),
            say("training.behind.at", step=Count(row["step"])),
            say("training.behind.paid", reward=reward),
        ),
        texts=[
            ItemText(heading=f"items.{name}", text=text) for name, text in texts.items() if text
        ],
        rows=[(who, what, None) for who, what in figures],
        tags=_make_tags(row, alarm, speaker),
    )


def _make_tags(row: Mapping[str, Any], alarm: Alarm, speaker: Speaker) -> dict[str, str]:
    named = speaker.attribute(
        "training.behind.tag",
        step=Count(alarm.step),
        kind=say(f"training.alarm.{alarm.kind}"),
        subject=Name(alarm.subject),
    )
    behavior = row["behavior"]
    tags = {"training.behind.alarm": named}
    return tags | ({"training.column.behavior": one_line(behavior, width=60)} if behavior else {})
