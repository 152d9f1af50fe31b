"""Sends an error of one rank of a training to all ranks, so that they end together."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from voirdire.adapters.run_notes import TroubleLog


class RankGroup:
    """Sends an error of one rank to all ranks; one group for each reward function.

    All ranks must call `join` and `agree` equally often, and `join` before anything is awaited:
    the trainer calls several functions in the same order on every rank, but they end in any. Each
    function has a group of its own, over gloo, which needs no accelerator and mixes with nothing
    that the trainer gathers. A copy is in no group.
    """

    def __init__(self) -> None:
        self._world: Any = None
        self._group: Any = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def join(self, trouble: TroubleLog) -> None:
        """Make the group, where there are several ranks and none was made in their world."""
        torch = _find_process_group()
        world = None if torch is None else torch.group.WORLD
        if world is self._world:
            return
        self._world, self._group = world, None
        try:
            if torch is not None and torch.get_world_size() > 1:
                self._group = torch.new_group(backend="gloo")
        except Exception as error:  # noqa: BLE001  # training goes on
            trouble.error("the ranks cannot end together", error)

    async def agree(self, said: Exception | None, trouble: TroubleLog) -> Exception | None:
        """Send an error or None; return, on all ranks, the error of the first rank with one."""
        group, torch = self._group, _find_process_group()
        if group is None or torch is None:
            return said
        told: list[Exception | None] = [None] * torch.get_world_size(group)
        try:
            # the other functions of this rank go on meanwhile: one may be waited for elsewhere
            await asyncio.to_thread(torch.all_gather_object, told, said, group=group)
        except Exception as error:  # noqa: BLE001  # another rank died, and the trainer knows
            trouble.error("no word from the other ranks", error)
            return said
        return next((one for one in told if one is not None), None)


def _find_process_group() -> ModuleType | None:
    """Return `torch.distributed`, where it is in use."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return module
