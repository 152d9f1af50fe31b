"""Make cards of the completions of a training run that were rewarded least and most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from voirdire.reporting.pages.items import ItemCard, ItemText
from voirdire.reporting.pages.speech import Count, Decimal, Name, one_line, say
from voirdire.rewards.training.completion_rows import ITEM_COLUMNS, make_item, write_prompt
from voirdire.rewards.training.nonsense import NonsenseKind
from voirdire.rewards.training.run_reading import read_completion_frames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.reporting.pages.speech import Speaker
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["make_end_cards"]

_MOST_COMPLETIONS = 20
"""At either end."""
_COLUMNS = ("item", "name", "step", *ITEM_COLUMNS, "reward", "nonsense", "n_tokens", "n_characters")


def make_end_cards(run: TrainingRun, speaker: Speaker) -> list[ItemCard]:
    """Read the different completions with the highest rewards, then those with the lowest."""
    ends = {"highest": pl.DataFrame(), "lowest": pl.DataFrame()}
    for frame in read_completion_frames(run, columns=_COLUMNS):
        rewarded = frame.filter(pl.col("reward").is_not_null())
        for end, rows in ends.items():
            ends[end] = (
                pl.concat([rows, rewarded], how="diagonal")
                .sort("reward", "step", "item", descending=[end == "highest", False, False])
                .unique(ITEM_COLUMNS, keep="first", maintain_order=True)
                .head(_MOST_COMPLETIONS)
            )
    return [
        _make_card(row, end, run, speaker)
        for end, rows in ends.items()
        for row in rows.iter_rows(named=True)
    ]


def _make_card(row: Mapping[str, Any], end: str, run: TrainingRun, speaker: Speaker) -> ItemCard:
    item = make_item(row, name=row["item"], judged=run.judged)
    texts = {} if item is None else {"prompt": write_prompt(item), "response": item.response}
    reward, unit = Decimal(row["reward"]), run.length_unit
    figures: list[tuple[Any, Any]] = [
        (say("training.ends.reward"), reward),
        (say(f"training.ends.{unit}"), Count(row[f"n_{unit}"])),
    ]
    if row["nonsense"] in get_args(NonsenseKind):
        figures.append((say("training.ends.nonsense"), say(f"training.nonsense.{row['nonsense']}")))
    figures.append((say("column.item"), Name(row["name"] or row["item"])))
    tags = {"training.ends.end": speaker.attribute(f"training.ends.{end}")}
    if row["behavior"]:
        tags["training.ends.behavior"] = one_line(row["behavior"], width=60)
    return ItemCard(
        title=item.response if item is not None and item.response.strip() else row["item"],
        summary=(
            say(f"training.ends.{end}"),
            say("training.ends.at", step=Count(row["step"])),
            say("training.ends.paid", reward=reward),
        ),
        texts=[
            ItemText(heading=f"items.{name}", text=text) for name, text in texts.items() if text
        ],
        rows=[(who, what, None) for who, what in figures],
        tags=tags,
    )
