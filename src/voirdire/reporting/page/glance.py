"""Questions that go together: asked of the same judges, or of the same annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from voirdire.reporting.page.grouping import MOST_JUDGES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from voirdire.reporting.page.grouping import QuestionPart
    from voirdire.reporting.page.views import QuestionView

__all__ = ["Glance", "glances_of", "number_of_items"]

_MANY = 6
"""Above so many questions their sentences and their sections are folded."""

Member = TypeVar("Member")


@dataclass(frozen=True, kw_only=True)
class Glance:
    """Questions with judges in common, whose verdicts make one table.

    Attributes
    ----------
    views : tuple of QuestionView
        The questions, in their order.
    judges : tuple of str
        The judges that are shown, in their order.
    n_judges : int
        All of them.
    """

    views: tuple[QuestionView, ...]
    judges: tuple[str, ...]
    n_judges: int

    @property
    def is_tall(self) -> bool:
        """Whether questions go down the page: there are many, and fewer judges."""
        return len(self.views) > max(_MANY, self.n_judges)


def glances_of(views: Sequence[QuestionView]) -> tuple[Glance, ...]:
    """Put questions together that share a judge, directly or through others."""
    groups = _connected(views, lambda view: {row.judge for row in view.main.judges})
    return tuple(_glance(group) for group in groups)


def number_of_items(parts: Sequence[QuestionPart]) -> int:
    """Count the items: questions that share an annotator are asked about the same ones."""
    groups = _connected(parts, _annotators)
    return sum(max(_n_items(part) for part in group) for group in groups)


def _glance(views: Sequence[QuestionView]) -> Glance:
    judges = list(dict.fromkeys(row.judge for view in views for row in view.main.judges))
    return Glance(views=tuple(views), judges=tuple(judges[:MOST_JUDGES]), n_judges=len(judges))


def _annotators(part: QuestionPart) -> set[str]:
    first_rows = (judge.rows[0] for judge in part.main.judges)
    return {
        name
        for row in first_rows
        for name in (*(one.annotator for one in row.annotators), *row.untested)
    }


def _n_items(part: QuestionPart) -> int:
    return max([part.found.n_items, *(row.rows[0].n_items for row in part.main.judges)])


def _connected(
    members: Iterable[Member], names: Callable[[Member], Collection[str]]
) -> list[list[Member]]:
    """Part members into groups that have no name in common, in the order of their first ones."""
    groups: list[tuple[set[str], list[Member]]] = []
    for member in members:
        known = set(names(member))
        joined = [group for group in groups if not known.isdisjoint(group[0])]
        together = [one for _, group in joined for one in group]
        merged = (known.union(*(group[0] for group in joined)), [*together, member])
        if joined:
            groups[groups.index(joined[0])] = merged
            groups = [group for group in groups if group not in joined[1:]]
        else:
            groups.append(merged)
    return [group for _, group in groups]
