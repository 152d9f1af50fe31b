"""Defines a probe: a controlled change of an item that must not change what is true of it."""

from __future__ import annotations

import inspect
import re
import runpy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records import Item

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Degradation", "Probe", "changed_item", "own_probe", "read_own_probes"]

_ID = re.compile(r"[a-z0-9_]+/[a-z0-9_]+")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A change of an item beside which a fair judge's answers stay the same.

    The judge is asked about two versions of each item: with the change, and the control. The
    control has the same length and form but not what is suspected (a citation, say), so that a
    judge that goes by length alone does not look as if it went by citations.

    Attributes
    ----------
    id : str
        Such as ``"authority/citation"``: the family, then the change.
    family : str
        The bias that it looks for, such as ``"authority"``.
    summary : str
        What the change does, as the end of a sentence: "a citation that supports nothing is added".
    change : callable
        Takes an item, gives the item with the change; None where it cannot be made of this item.
    control : callable or None
        Takes the item, gives its control; None compares with the item as it is.
    touches : frozenset of str
        Propositions of the rubric ``safety`` that the change may truly make true or false: they are
        left out.
    aim : bool or None
        For a steering attack: what it wants every proposition to be. Shifts then count in its
        direction.
    """

    id: str
    family: str
    summary: str
    change: Callable[[Item], Item | None] = field(repr=False)
    control: Callable[[Item], Item | None] | None = field(default=None, repr=False)
    touches: frozenset[str] = frozenset()
    aim: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Degradation:
    """A change that makes a response worse for sure: a judge must rank the original above it.

    Attributes
    ----------
    id : str
        Such as ``"shuffled"``.
    summary : str
        What it does, as the end of a sentence: "its sentences are shuffled".
    change : callable
        Takes an item, gives the worse one; None where it cannot be made of this item.
    """

    id: str
    summary: str
    change: Callable[[Item], Item | None] = field(repr=False)


def own_probe(
    function: Callable[[Item], Item | None],
    *,
    id: str | None = None,  # noqa: A002 - the field's name
    summary: str | None = None,
    control: Callable[[Item], Item | None] | None = None,
) -> Probe:
    """Make a probe of a function of your own.

    Parameters
    ----------
    function : callable
        Takes an item, gives it changed; None, or the item as it is, where nothing can be changed.
        Ids and clusters of what it gives are set here. The same item must give the same change.
    id : str, optional
        Such as ``"own/upper_case"``; by default ``own/`` and the name of the function.
    summary : str, optional
        What the change does, as the end of a sentence; by default the first line of the function's
        docstring, else its name.
    control : callable, optional
        Takes an item, gives its control: as long, without what is suspected. By default the item as
        it is.

    Returns
    -------
    Probe
        Of the family before the slash of its id, by default ``"own"``.

    Raises
    ------
    InputError
        If the id is not of that form; and, when an item is changed, if the function gives
        something that is not an item.

    Examples
    --------
    >>> import msgspec
    >>> from voirdire.records import Item
    >>> def shout(item):
    ...     "the response is written in capitals"
    ...     return msgspec.structs.replace(item, response=item.response.upper())
    >>> probe = own_probe(shout)
    >>> probe.id, probe.summary
    ('own/shout', 'the response is written in capitals')
    >>> probe.change(Item(id="a", response="Yes.")).response
    'YES.'
    """
    named = re.sub(r"[^a-z0-9]+", "_", getattr(function, "__name__", "").lower()).strip("_")
    probe_id = f"own/{named or 'probe'}" if id is None else id
    if not _ID.fullmatch(probe_id):
        msg = (
            f"`id` must be a family and a name in small letters, digits and _, got {probe_id!r}. "
            "Write it like own/upper_case."
        )
        raise InputError(msg)
    document = inspect.getdoc(function) if summary is None else summary
    return Probe(
        id=probe_id,
        family=probe_id.partition("/")[0],
        summary=(document or named or probe_id).strip().partition("\n")[0].rstrip("."),
        change=_check_change(function, probe_id),
        control=None if control is None else _check_change(control, probe_id, suffix="/control"),
    )


def read_own_probes(named: str | Path) -> list[Probe]:
    """Run a Python file, and make probes of its functions that begin with ``probe_``.

    Parameters
    ----------
    named : str or path
        The file; ``FILE.py:FUNCTION`` takes one of its functions. ``control_NAME`` in it makes the
        control of ``probe_NAME``.

    Returns
    -------
    list of Probe
        As `own_probe` makes them, in the order of the file.

    Raises
    ------
    InputError
        If this is no Python file, it cannot be run, or it holds no such function.
    """
    file, colon, function = str(named).rpartition(":")
    if not (colon and function.isidentifier() and file.endswith(".py")):
        file, function = str(named), ""
    if not file.endswith(".py") or not Path(file).is_file():
        msg = f"`own_probes` must be a Python file, got {file!r}. Write own.py or own.py:probe_x."
        raise InputError(msg)
    try:
        names = runpy.run_path(file)
    except Exception as error:
        said = shorten(f"{type(error).__name__}: {error}", width=160)
        msg = f"{file}: cannot be run ({said})."
        raise InputError(msg) from error
    own = [name for name in names if name.startswith("probe_") and callable(names[name])]
    wanted = [function] if function else own
    if not wanted:
        msg = f"{file}: must hold functions that begin with probe_, got none."
        raise InputError(msg)
    if not callable(names.get(wanted[0])):
        msg = f"`own_probes` must name a function of {file}, got {shorten(wanted[0])!r}."
        raise InputError(msg)
    return [
        own_probe(
            names[name],
            id=f"own/{name.removeprefix('probe_').lower()}",
            control=names.get(f"control_{name.removeprefix('probe_')}"),
        )
        for name in wanted
    ]


def changed_item(item: Item, change_id: str, response: str) -> Item:
    """Copy an item with another response, a new id, and the item's cluster."""
    return msgspec.structs.replace(
        item,
        id=f"{item.id}+{change_id}",
        response=response,
        cluster=item.cluster or item.id,
    )


def _check_change(
    function: Callable[[Item], Item | None], probe_id: str, *, suffix: str = ""
) -> Callable[[Item], Item | None]:
    """Hold a function of the user to what a change is; a control may leave the item as it is."""

    def change(item: Item) -> Item | None:
        try:
            made: object = function(item)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            msg = f"the function of the probe `{probe_id}` raised {shorten(said, width=160)}, for "
            raise InputError(f"{msg}item {shorten(item.id)!r}.") from error
        if made is None:
            return None
        if not isinstance(made, Item):
            msg = (
                f"the function of the probe `{probe_id}` must return an `Item` or None, got "
                f"{type(made).__name__}. Return `msgspec.structs.replace(item, response=...)`."
            )
            raise InputError(msg)
        if not suffix and made.content_hash() == item.content_hash():
            return None
        return msgspec.structs.replace(
            made, id=f"{item.id}+{probe_id}{suffix}", cluster=item.cluster or item.id
        )

    return change
