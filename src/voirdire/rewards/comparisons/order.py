"""Which completion labels are better than which: a partial order, as text or as a mapping."""

from __future__ import annotations

from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from voirdire._messages import list_names, shorten
from voirdire.errors import InputError
from voirdire.rubrics.rubric import DEFAULT_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from voirdire.rubrics import Rubric

__all__ = ["LabelOrder", "default_order"]

_DEFAULT_ORDER = "ideal > less_good > unacceptable, illogical > disallowed"
_DEFAULT_NAMES = frozenset(row.name for row in DEFAULT_CLASSES)
_BEST = "ideal"
_WAY_OUT = 'Write "ideal > less_good > unacceptable, illogical > disallowed".'


@dataclass(frozen=True, kw_only=True)
class LabelOrder:
    """A partial order of completion labels, transitively closed.

    Attributes
    ----------
    labels : tuple of str
        All labels, best first: by level, and within a level as they were named.
    """

    labels: tuple[str, ...] = field(compare=False)
    _better: Mapping[str, frozenset[str]] = field(repr=False)

    @classmethod
    def of(
        cls,
        spec: str | LabelOrder,
        *,
        known: Iterable[str] | None = None,
    ) -> LabelOrder:
        """Read an order.

        Parameters
        ----------
        spec : str or LabelOrder
            Text such as ``"ideal > less_good > unacceptable, illogical > disallowed"``: better
            labels first, labels between commas mutually unordered; several such chains, parted
            by ``;``, give any partial order.
        known : iterable of str, optional
            The labels that there are; any other is refused.

        Returns
        -------
        LabelOrder
            Transitively closed.

        Raises
        ------
        InputError
            If it has no label, goes in circles, orders nothing, or has a label that is not known.

        Examples
        --------
        >>> order = LabelOrder.of("ideal > less_good > unacceptable, illogical > disallowed")
        >>> order.levels[2], sorted(order.better("unacceptable"))
        (('unacceptable', 'illogical'), ['disallowed'])
        >>> str(LabelOrder.of("full > part; part > none, rude"))
        'full > part > none, rude'
        """
        order = spec if isinstance(spec, LabelOrder) else _close_order(_read_order(spec))
        names = order.labels if known is None else tuple(known)
        if unknown := [label for label in order.labels if label not in names]:
            msg = (
                f"`order` must use labels that exist ({_quote(names)}), got "
                f"{shorten(unknown[0])!r}."
            )
            raise InputError(msg)
        return order

    def better(self, label: str) -> frozenset[str]:
        """Give the labels that `label` is better than; an `InputError` for an unknown one."""
        if label not in self._better:
            known = _quote(self.labels)
            msg = f"`label` must be in the order ({known}), got {shorten(label)!r}."
            raise InputError(msg)
        return self._better[label]

    @property
    def best(self) -> tuple[str, ...]:
        """The labels that no label is better than."""
        return self.levels[0]

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """Labels by the length of the longest chain above them, best first."""
        depth = _count_above(self._better)
        rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
        for label in self.labels:
            rows[depth[label]].append(label)
        return tuple(tuple(row) for row in rows)

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a label and one that is next below it, best first; all other pairs follow."""
        return tuple((label, low) for label in self.labels for low in self._list_next(label))

    @property
    def better_than(self) -> NDArray[np.bool_]:
        """Whether the label of a row is better than that of a column, both as in `labels`."""
        rows = [[other in self._better[label] for other in self.labels] for label in self.labels]
        return np.array(rows, dtype=bool)

    def __str__(self) -> str:
        """Write the order as text that `of` reads."""
        levels = self.levels
        if all(set(low) <= self._better[label] for high, low in pairwise(levels) for label in high):
            return " > ".join(", ".join(row) for row in levels)
        chains = []
        for label in self.labels:
            next_labels = self._list_next(label)
            if next_labels:
                chains.append(f"{label} > {', '.join(next_labels)}")
            elif label in levels[0]:
                chains.append(label)
        return "; ".join(chains)

    def _list_next(self, label: str) -> list[str]:
        below = self._better[label]
        beyond = {far for near in below for far in self._better[near]}
        return [other for other in self.labels if other in below and other not in beyond]


def default_order(rubric: Rubric, behavior: str) -> LabelOrder:
    """Order the completion classes of a behavior by how good the rubric says they are.

    Parameters
    ----------
    rubric : Rubric
        With the behavior.
    behavior : str
        Such as ``"hard_refuse"``.

    Returns
    -------
    LabelOrder
        Of the names of its classes.

    Raises
    ------
    InputError
        If the rubric lacks the behavior, or does not say which of its classes are better.

    Notes
    -----
    The five default classes, or some of them, are ordered as ``ideal > less_good > unacceptable,
    illogical > disallowed``. Other classes are in order of precedence in a rubric, which may run
    from the worst or from the best: where `ideal` is the first of them they are a chain as
    declared, and where it is the last a chain the other way round. Any other order would be a
    guess, and a wrong guess reverses a reward; so it is refused: declare the order.

    Examples
    --------
    >>> from voirdire import load_rubric
    >>> str(default_order(load_rubric("safety"), "comply"))
    'ideal > less_good > unacceptable, illogical > disallowed'
    >>> str(default_order(load_rubric("hard-refusal-example"), "hard_refuse"))
    'ideal > less_good > unacceptable'
    """
    names = tuple(row.name for row in rubric.behavior(behavior).classes)
    if _DEFAULT_NAMES.issuperset(names):
        whole = LabelOrder.of(_DEFAULT_ORDER)
        kept = tuple(label for label in whole.labels if label in names)
        return LabelOrder(
            labels=kept, _better={label: whole.better(label) & {*kept} for label in kept}
        )
    if len(names) == 1 or names[0] == _BEST:
        return LabelOrder.of(" > ".join(names))
    if names[-1] == _BEST:
        return LabelOrder.of(" > ".join(reversed(names)))
    msg = (
        f"`orders` must say which classes of {behavior!r} are better than which, got nothing and "
        f"the classes {_quote(names)}. Write them with the best first, such as 'good > bad'."
    )
    raise InputError(msg)


def _read_order(spec: object) -> dict[str, set[str]]:
    """Read chains of levels, each better than the next; labels with lower ones."""
    if not isinstance(spec, str):
        msg = f"`order` must be text, got {type(spec).__name__}. {_WAY_OUT}"
        raise InputError(msg)
    if not spec.replace(";", "").strip():
        msg = f"`order` must name at least one label, got {shorten(spec)!r}. {_WAY_OUT}"
        raise InputError(msg)
    steps: list[tuple[Iterable[str], Iterable[str]]] = []
    for chain in filter(str.strip, spec.replace("\n", ";").split(";")):
        levels = [level.split(",") for level in chain.split(">")]
        steps += [*pairwise(levels), (levels[-1], ())]
    lower_of: dict[str, set[str]] = {}
    for high, low in steps:
        lower = [_check_label(label) for label in low]
        for label in high:
            lower_of.setdefault(_check_label(label), set()).update(lower)
    for label in [label for others in lower_of.values() for label in sorted(others)]:
        lower_of.setdefault(label, set())
    return lower_of


def _check_label(label: str) -> str:
    if not (word := label.strip()):
        msg = f"`order` must have labels between its marks, got {shorten(label)!r}. {_WAY_OUT}"
        raise InputError(msg)
    return word


def _close_order(lower_of: Mapping[str, set[str]]) -> LabelOrder:
    """Make the transitive closure of the steps, which must have no cycle."""
    try:
        steps = {label: sorted(others) for label, others in lower_of.items()}
        worst_first = list(TopologicalSorter(steps).static_order())
    except CycleError as error:
        cycle = " > ".join(repr(shorten(word)) for word in reversed(error.args[1]))
        msg = f"`order` must not go in circles, got {shorten(cycle)}. Take one of the steps out."
        raise InputError(msg) from None
    closure: dict[str, frozenset[str]] = {}
    for label in worst_first:
        closure[label] = frozenset(lower_of[label]).union(
            *(closure[one] for one in lower_of[label])
        )
    better = {label: closure[label] for label in lower_of}
    if len(better) > 1 and not any(better.values()):
        msg = (
            f"`order` must say of a label that it is better than another, got {_quote(better)} "
            f"side by side. {_WAY_OUT}"
        )
        raise InputError(msg)
    depth = _count_above(better)
    return LabelOrder(labels=tuple(sorted(better, key=depth.__getitem__)), _better=better)


def _count_above(better: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Count the steps of the longest chain above each label."""
    # What is better than a label is better than more labels, so it comes first in this order.
    depth = dict.fromkeys(better, 0)
    for label in sorted(better, key=lambda name: len(better[name]), reverse=True):
        for other in better[label]:
            depth[other] = max(depth[other], depth[label] + 1)
    return depth


def _quote(labels: Iterable[str]) -> str:
    return list_names([repr(shorten(label)) for label in labels])
