"""`read_comparisons`: one door for every format and shape of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.io.files import DataFile
from voirdire.io.items import ItemReader, ItemReading
from voirdire.io.rows import stream_rows
from voirdire.rewards.comparisons.assembling import assembled
from voirdire.rewards.comparisons.completions import RowTaker
from voirdire.rewards.comparisons.own_columns import OwnColumns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from voirdire._types import Judged
    from voirdire.io import ItemFormat
    from voirdire.io.files import Source
    from voirdire.rewards.comparisons.data import ComparisonData

__all__ = ["read_comparisons"]


def read_comparisons(
    source: Source,
    *,
    format: ItemFormat | None = None,  # noqa: A002  # the word people use for it
    columns: Mapping[str, str] | None = None,
    behavior: str | None = None,
    judged: Judged = "final_answer",
    known_behaviors: Sequence[str] | None = None,
) -> ComparisonData:
    r"""Read completions, and what a file says of which are better, from a file.

    What a row holds is told by its keys, row by row:

    ==============================  ================================================================
    keys                            read as
    ==============================  ================================================================
    `ranked`                        a list of completions of one prompt, best first; a list within
                                    it is a tie. Every completion is better than all after it
    `chosen` and `rejected`         a pair, the first better; `margin`, `chosen_base_reward` and
                                    `rejected_base_reward` where they are there
    anything else that is an item   a completion, as `voirdire.io.stream_items` reads it, with
                                    `label` and `base_reward` where they are there
    ==============================  ================================================================

    A row that is a list of two, a prompt as text and a list of completions, is the layout of the
    authors of rule-based rewards. All of them may have `behavior`, `split` (train or test),
    `group` and `id`.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file. A path may end in ``.gz``.
    format : {"jsonl", "csv", "tsv", "json", "parquet", "xlsx"}, optional
        How the file is written; by default the ending of its name says, JSONL for a stream.
    columns : mapping of str to str, optional
        Our names to the file's: those of `stream_items`, `label`, `base_reward`, `split`,
        `margin`, `ranked`, `chosen_base_reward` and `rejected_base_reward`.
    behavior : str, optional
        The behavior of prompts that name none.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a response is judged.
    known_behaviors : sequence of str, optional
        The behaviors that there are, such as those of a rubric; a completion of another, or of
        none, is set aside. By default any is taken.

    Returns
    -------
    ComparisonData
        Completions of prompts that have at least two, and what was set aside.

    Raises
    ------
    NoDataError
        If the file is empty, or no prompt has two completions.
    InputError
        If the file cannot be read, if two completions have the same id, if no row has a column
        that `columns` names, or an argument breaks its rule.

    Notes
    -----
    *Names.* A label may also stand under `completion_label` or `completion_type`, a base reward
    under `rm_score`, and a behavior under `response_type` in the words of the authors of
    rule-based rewards, such as ``"Hard Refuse"``.

    *Prompts.* Completions belong to one prompt where they name the same `group`, or else where
    the messages before them are the same.

    *Set aside, each with its reason and place:* rows that are no items; a base reward or margin
    that is not a finite number; a split that is neither train nor test; a second behavior, split
    or conversation of one prompt; a completion that its prompt has already (both, where their
    labels differ); a pair of equal texts; prompts with one completion (the number, and the
    first). A completion that several pairs or rankings of a prompt hold is kept once and not
    listed. An unknown label is found by `checked_labels`, where the order is known.

    *Nothing there.* Null and empty cells are nothing; so is nan in Parquet, where it cannot be
    told from it. NaN in JSON or CSV is a base reward that is no number.

    Examples
    --------
    >>> import io
    >>> from voirdire.rewards.comparisons.reading import read_comparisons
    >>> text = (
    ...     '{"prompt": "2 + 2?", "response": "4", "label": "good", "base_reward": 0.5}\n'
    ...     '{"prompt": "2 + 2?", "response": "5", "label": "bad"}\n'
    ...     '{"prompt": "Hi", "ranked": ["Hello.", ["Yes?", "What?"], "Go away."]}\n'
    ...     '{"prompt": "alone", "response": "yes", "label": "good"}\n'
    ... )
    >>> data = read_comparisons(io.BytesIO(text.encode()))
    >>> [item.id for item in data.items]
    ['stream:1', 'stream:2', 'stream:3:0', 'stream:3:1', 'stream:3:2', 'stream:3:3']
    >>> data.labels[:2], list(zip(data.better.tolist(), data.worse.tolist()))
    (('good', 'bad'), [(2, 3), (2, 4), (2, 5), (3, 5), (4, 5)])
    >>> [drop.place() for drop in data.dropped]
    ['<stream>:4']
    """
    file = DataFile(source, format=format, held="item")
    own = OwnColumns(columns, source=file.name, is_text=file.format in ("csv", "tsv", "xlsx"))
    # A behavior is a matter of the prompt: the default is for prompts without one, not for rows.
    ItemReading(behavior=behavior)
    reader = ItemReader.of(file, ItemReading(columns=own.of_items, judged=judged))

    def is_row(document: dict[str, Any]) -> bool:
        return own.ranked in document or reader.is_row(document)

    def check_header(header: Sequence[str]) -> None:
        if own.ranked not in header:
            reader.check_header(header)

    rows = stream_rows(
        file,
        check_header=check_header,
        is_row=is_row,
        id_column=own.of_items.get("id", "id"),
        keep_nan=own.numbers,
    )
    found = RowTaker(reader, own).take_all(rows)
    return assembled(found, behavior=behavior, known_behaviors=known_behaviors)
