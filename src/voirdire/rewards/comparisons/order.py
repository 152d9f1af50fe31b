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

_DEFAULT_ORDER = "ideal > less_good > unacceptable, illogical > disallowed"
_DEFAULT_NAMES = frozenset(row.name for row in DEFAULT_CLASSES)
_BEST = "ideal"
_WAY_OUT = 'Write "ideal > less_good > unacceptable, illogical > disallowed".'


@dataclass(frozen=True, kw_only=True)
class LabelOrder:
    """A partial order of completion labels, transitively closed.

    Attributes
    ----------
    levels : tuple of tuple of str
        Labels by the length of the longest chain above them, best first; within a level as they
        were named.
    """

    levels: tuple[tuple[str, ...], ...] = field(compare=False)
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
        order = spec if isinstance(spec, LabelOrder) else _read_order(spec)
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
    def labels(self) -> tuple[str, ...]:
        """All labels, best first."""
        return tuple(label for level in self.levels for label in level)

    @property
    def best(self) -> tuple[str, ...]:
        """The labels that no label is better than."""
        return self.levels[0]

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
        neighbours = pairwise(self.levels)
        if all(set(low) <= self._better[label] for high, low in neighbours for label in high):
            return " > ".join(", ".join(row) for row in self.levels)
        chains = []
        for label in self.labels:
            next_labels = self._list_next(label)
            if next_labels:
                chains.append(f"{label} > {', '.join(next_labels)}")
            elif label in self.best:
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
        kept = [label for label in whole.labels if label in names]
        return _make_order({label: whole.better(label) & {*kept} for label in kept})
    if len(names) == 1 or names[0] == _BEST:
        return LabelOrder.of(" > ".join(names))
    if names[-1] == _BEST:
        return LabelOrder.of(" > ".join(reversed(names)))
    msg = (
        f"`orders` must say which classes of {behavior!r} are better than which, got nothing and "
        f"the classes {_quote(names)}. Write them with the best first, such as 'good > bad'."
    )
    raise InputError(msg)


def _read_order(spec: object) -> LabelOrder:
    """Read chains of levels, each better than the next, and close them."""
    if not isinstance(spec, str) or not spec.replace(";", "").strip():
        got = repr(shorten(spec)) if isinstance(spec, str) else type(spec).__name__
        msg = f"`order` must be text that names at least one label, got {got}. {_WAY_OUT}"
        raise InputError(msg)
    steps: dict[str, list[str]] = {}
    for chain in filter(str.strip, spec.replace("\n", ";").split(";")):
        levels = [[word.strip() for word in level.split(",")] for level in chain.split(">")]
        if not all(map(all, levels)):
            msg = f"`order` must have labels between its marks, got {shorten(chain)!r}. {_WAY_OUT}"
            raise InputError(msg)
        for high, low in pairwise([*levels, []]):
            for label in high:
                steps[label] = [*steps.get(label, ()), *low]
    try:
        worst_first = list(TopologicalSorter(steps).static_order())
    except CycleError as error:
        cycle = " > ".join(repr(shorten(word)) for word in reversed(error.args[1]))
        msg = f"`order` must not go in circles, got {shorten(cycle)}. Take one of the steps out."
        raise InputError(msg) from None
    closure: dict[str, frozenset[str]] = {}
    for label in worst_first:
        closure[label] = frozenset(steps[label]).union(*(closure[one] for one in steps[label]))
    if len(steps) > 1 and not any(closure.values()):
        msg = (
            f"`order` must say of a label that it is better than another, got {_quote(steps)} "
            f"side by side. {_WAY_OUT}"
        )
        raise InputError(msg)
    return _make_order({label: closure[label] for label in steps})


def _make_order(better: Mapping[str, frozenset[str]]) -> LabelOrder:
    """Make an order of what each label is better than."""
    # What is better than a label is better than more labels, so it comes first in this order.
    depth = dict.fromkeys(better, 0)
    for label in sorted(better, key=lambda name: len(better[name]), reverse=True):
        for other in better[label]:
            depth[other] = max(depth[other], depth[label] + 1)
    rows = range(max(depth.values()) + 1)
    levels = tuple(tuple(label for label in better if depth[label] == row) for row in rows)
    return LabelOrder(levels=levels, _better=better)


def _quote(labels: Iterable[str]) -> str:
    return list_names([repr(shorten(label)) for label in labels])
