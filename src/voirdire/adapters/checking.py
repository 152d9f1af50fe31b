"""Whether an adapter gives the rewards of the golden table."""

from __future__ import annotations

import math
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from voirdire._validation import check_choice, shorten
from voirdire.adapters.golden import GoldenKind, golden_rows
from voirdire.errors import AdapterError
from voirdire.rewards.live.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from voirdire.adapters.golden import GoldenRow

__all__ = ["check_adapter"]

MissingForm = Literal["none", "number"]
_WARM_UP = Turn(response="I'm sorry.", prompt="hello?", behavior="refuse", group="hello")
_N_WARM_UPS = 5


def check_adapter(
    call: Callable[[Sequence[Turn]], Sequence[float | None]],
    *,
    missing: MissingForm = "none",
    missing_reward: float | None = None,
    without: Collection[GoldenKind] = (),
) -> None:
    """Drive an adapter through the golden table, and say where it differs.

    Parameters
    ----------
    call : callable
        Hands turns to the adapter as its framework does, and gives what the framework gets, in
        the order of the turns. The adapter is made with `golden_reward`, `golden_judge` and
        `golden_settings`.
    missing : {"none", "number"}, optional
        Whether a missing reward is None, or a number because the framework takes nothing else.
    missing_reward : float, optional
        The number that was declared for missing rewards; by default the behavior's mean.
    without : collection of str, optional
        Kinds of rows that the framework has no words for; see `GoldenRow.kinds`.

    Raises
    ------
    AdapterError
        If a reward is another one, or the call raises; the message has a line for each.

    Notes
    -----
    Rows of a batch are handed over together, the late one alone at the end. Before the table
    comes a turn that is not in it, until it has a reward: a first call may load things for longer
    than the deadline.

    Examples
    --------
    >>> from voirdire.adapters import check_adapter, golden_judge, golden_reward, golden_settings
    >>> from voirdire.adapters import GuardedReward
    >>> reward = GuardedReward(golden_reward(), judge=golden_judge(), settings=golden_settings())
    >>> check_adapter(lambda turns: reward.scored(turns).rewards)
    >>> reward.close()
    """
    check_choice("missing", missing, MissingForm)
    rows = [_new(row) for row in golden_rows() if not row.kinds & set(without)]
    _warm_up(call)
    found: list[str] = []
    for name in dict.fromkeys(row.batch for row in rows):
        batch = [row for row in rows if row.batch == name]
        wanted = [_wanted(row, missing, missing_reward) for row in batch]
        found += _differences(call, batch, wanted)
    if found:
        listing = "".join(f"\n  {line}" for line in found)
        msg = f"the adapter differs from the golden table in {len(found)} of {len(rows)} rows:"
        raise AdapterError(f"{msg}{listing}")


def _new(row: GoldenRow) -> GoldenRow:
    """Make a late response one that nobody has asked about: its answer comes, and is remembered."""
    if "late" not in row.kinds:
        return row
    return replace(row, turn=replace(row.turn, response=f"sleepy {secrets.token_hex(8)}"))


def _warm_up(call: Callable[[Sequence[Turn]], Sequence[float | None]]) -> None:
    for _ in range(_N_WARM_UPS):
        try:
            if call([_WARM_UP])[0] == 5.0:
                return
        except Exception:  # noqa: BLE001  # the table will say so
            return


def _wanted(row: GoldenRow, missing: MissingForm, declared: float | None) -> float | None:
    if row.reward is not None or missing == "none":
        return row.reward
    return row.number if declared is None else declared


def _differences(
    call: Callable[[Sequence[Turn]], Sequence[float | None]],
    batch: Sequence[GoldenRow],
    wanted: Sequence[float | None],
) -> Iterator[str]:
    try:
        given: list[Any] = list(call([row.turn for row in batch]))
    except Exception as error:  # noqa: BLE001  # what the check is there to tell
        raised = f"raised {type(error).__name__}: {shorten(str(error))}"
        yield from (f"{_title(row)}: {raised}" for row in batch)
        return
    if len(given) != len(batch):
        many = f"{len(given)} rewards for {len(batch)} turns"
        yield from (f"{_title(row)}: {many}" for row in batch)
        return
    for row, value, want in zip(batch, given, wanted, strict=True):
        if not _is_same(value, want):
            yield f"{_title(row)}: {_shown(value)} instead of {_shown(want)}"


def _title(row: GoldenRow) -> str:
    return f"{row.batch}: {row.name}, {shorten(row.turn.response, width=40)!r}"


def _is_same(value: Any, want: float | None) -> bool:
    if want is None or value is None:
        return value is want
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str | bool) and math.isclose(number, want, abs_tol=1e-6)


def _shown(value: Any) -> str:
    return "nothing" if value is None else shorten(value, width=40)
