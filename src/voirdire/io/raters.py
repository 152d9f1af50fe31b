"""Tells columns of a wide table that are raters from notes about the items and votes of the others.

Where a column is doubtful the caller is asked: a column that is no rater would vote.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._types import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.io.declared import Request

_MOST_NAMES = 20
_FEWEST_LABELS = 5
"""A column with this many labels should share one with another column."""

_FEWEST_SPLITS, _FIRST_ROWS, _MOST_ROWS = 10, 200, 20_000
"""Items that the others split, for a column that follows from them; rows that show it."""

_FEWEST_TO_COMPARE, _FEWEST_ITEMS, _BY_CHANCE, _CLEAR = 3, 20, 1.645, 3.0
"""Raters, items, and standard errors above chance: of one by chance, and of a clear panel."""

_CELLS_AT_ONCE = 1 << 18
"""Pairs of raters times items that are compared at once."""

_ROUNDING = 1e-12

_NO_RATER = re.compile(
    r"(?:(?:is|has|in|num|n|nr|total|sum|count|contains|was|mean|avg|average|median|std|min|max)_.*"
    r"|.*_(?:count|id|at|ms|sec|seconds|length|time|mean|avg|average|median|std|sum|total|no"
    r"|number|set|true)"
    r"|(?:.*_)?(?:gold(?:en)?|gt|(?:ground_?)?truth|oracle|majority|consensus|adjudicat\w+|resolved"
    r"|resolution|reconciled|aggregated?|final|curated|confidence|certainty|conf|sure|comments?"
    r"|notes?|rationale|explanation|timestamp|seconds|duration|minutes|k?folds?|split|flag(?:ged)?"
    r"|hold_?out|reviewed|verified|validated|approved|attention_check|agreement)(?:_.*)?"
    r"|(?:gs|expert|correct|true|expected|answer|target|reference)"
    r"(?:_?(?:label|answer|class|standard|value|score|rating|key))?|y_true"
    r"|key|mode|var(?:iance)?|total|sum|count|entropy|kappa|alpha|overall|result|outcome|decision"
    r"|label|labels|annotation|class|category|categories|topic|tags?|domain|type|group|stratum"
    r"|score|rating|cv|bucket|bin|subset|part|batch|partition|train|test|dev|set|dataset|source"
    r"|model|model_name|session|turn|level|week|day|month|year|seed|round|phase|valid|duplicate"
    r"|complete|completed|language|lang|locale|length|len|words?|tokens?|chars|characters|size|time"
    r"|date|datetime|created|updated|difficulty|weight|priority|order|index|row|rank|position|page"
    r"|line|version|status|url|link|text|title|prompt|response|completion|remarks?|reason|metadata"
    r"|mean|median|average|avg|std|min|max)",
    re.IGNORECASE,
)
_TRUTHS = dict.fromkeys(FALSE_WORDS, 0) | dict.fromkeys(TRUE_WORDS, 1)


def find_doubts(
    names: Sequence[str], codes: NDArray[np.int32], values: Sequence[object], *, is_judge: bool
) -> tuple[dict[str, str], list[str]]:
    """Find the columns that may be no raters.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    codes : ndarray of int, shape (n_items, n_columns)
        Cells as places in `values`; negative where there is none.
    values : sequence
        The distinct cells.
    is_judge : bool
        Whether they are judges, who may agree with each other by chance.

    Returns
    -------
    dict of str to str
        By column why it is none, in words.
    list of str
        Columns that are the majority of the others on all items, few of which tell.
    """
    truths = [_TRUTHS.get(str(value).strip().casefold()) for value in values]
    if None not in truths:  # yes and no beside true and false
        codes, values = np.array([*truths, -1], np.int32)[codes], (0, 1)
    cells = pl.Series([f"{value}".strip() for value in values], dtype=pl.String)
    numbers = np.append(cells.cast(pl.Float64, strict=False).to_numpy(), np.nan)
    numbers[np.isinf(numbers)] = np.nan
    doubts, is_scale = _doubt_cells(names, codes, values, numbers)
    hints = []
    first = codes[:_MOST_ROWS]
    for place, name in enumerate(names):
        if name in doubts:
            continue
        others = np.delete(first, place, axis=1)
        what, n_telling = _name_statistic(first[:, place], others, numbers if is_scale else None)
        if n_telling >= _FEWEST_SPLITS:
            doubts[name] = f"which is {what} of the others on every item"
        elif n_telling and what == "the majority":
            hints.append(name)
    # a mean would make that each of the others follows from it and the rest
    kept = [place for place, name in enumerate(names) if name not in doubts]
    first = first[:, kept]
    for column, place in enumerate(kept):
        if _follows(first[:, column], np.delete(first, column, axis=1)):
            doubts[names[place]] = "which follows from the others on every item"
    for column in (
        [] if is_judge else find_loners(numbers[first] if is_scale else first, is_strict=True)
    ):
        why = "which agrees with the others no more than by chance"
        doubts.setdefault(names[kept[column]], why)
    return doubts, hints


def _doubt_cells(
    names: Sequence[str],
    codes: NDArray[np.int32],
    values: Sequence[object],
    numbers: NDArray[np.float64],
) -> tuple[dict[str, str], bool]:
    """Find columns that are none by their name or their cells; return whether cells are numbers."""
    is_used = np.zeros((len(names), len(values) + 1), np.bool_)
    doubts = {}
    for place, name in enumerate(names):
        if _NO_RATER.fullmatch(re.sub(r"[\W_]+", "_", name.strip()).strip("_")):
            doubts[name] = "by its name"
        else:
            is_used[place, codes[:, place]] = True  # of a missing cell the last
    is_used = is_used[:, :-1]
    n_users = is_used.sum(axis=0)
    is_scale = bool((~np.isnan(numbers[:-1]))[n_users > 0].all() and np.count_nonzero(n_users) > 2)
    for name, mine, used in zip(names, codes.T, is_used, strict=True):
        theirs = n_users > used
        if name in doubts or np.count_nonzero(mine >= 0) < _FEWEST_LABELS or not theirs.any():
            continue
        if is_scale:
            low, high = numbers[:-1][theirs].min(), numbers[:-1][theirs].max()
            given = numbers[mine[mine >= 0]]
            if np.mean((given >= low) & (given <= high)) < 0.5:
                doubts[name] = f"most of which is outside of the others' {low:g} to {high:g}"
        elif not (used & theirs).any() and _words(values, used).isdisjoint(_words(values, theirs)):
            doubts[name] = "which has no label in common with any other column"
    return doubts, is_scale


def find_loners(labels: NDArray[Any], *, is_strict: bool = False) -> list[int]:
    """Find raters who agree with the others by chance alone, where others do better.

    The share of the others with the same label is compared with what the labels' frequencies give
    by chance; of numbers, the covariance with the mean of the others with 0.

    Parameters
    ----------
    labels : ndarray, shape (n_items, n_raters)
        Codes, negative where there is no label, or numbers, nan where there is none.
    is_strict : bool
        Whether the others are compared without those who agree by chance, which finds more.

    Returns
    -------
    list of int
        Places of the raters.
    """
    if labels.shape[1] < _FEWEST_TO_COMPARE:
        return []
    if labels.dtype.kind == "f":  # in units of the largest, so that squares are finite
        labels = labels / (np.nanmax(np.abs(labels), initial=0.0) or 1.0)
    means, errors = _agree_with_others(labels)
    is_loner = means <= _BY_CHANCE * errors
    if not is_loner.any():
        return []
    theirs, their_errors = means, errors
    if is_strict:
        theirs, their_errors = _agree_with_others(labels[:, ~is_loner])
    if np.count_nonzero(theirs > _CLEAR * their_errors) < _FEWEST_TO_COMPARE - 1:
        return []
    # somebody as close as the others usually are would show it on as many items
    return np.flatnonzero(is_loner & (np.nanmedian(theirs) > _CLEAR * errors)).tolist()


def _agree_with_others(labels: NDArray[Any]) -> NDArray[np.float64]:
    """Estimate how much each rater agrees with the others beyond chance, and the errors of it."""
    is_number = labels.dtype.kind == "f"
    columns = np.ascontiguousarray(labels.T)
    is_there = ~np.isnan(columns) if is_number else columns >= 0
    n_others = np.count_nonzero(is_there, axis=0) - 1
    if is_number:
        total = np.where(is_there, columns, 0.0).sum(axis=0)
    else:  # no label has a place of its own, below the codes
        weights, n_codes = is_there / np.maximum(n_others, 1), int(columns.max(initial=-1)) + 2
    step = max(1, _CELLS_AT_ONCE // max(columns.size, 1))
    found = np.full((2, len(columns)), np.nan)
    for first in range(0, len(columns), step):  # several raters at once where items are few
        mine, is_mine = columns[first : first + step], is_there[first : first + step]
        used = is_mine & (n_others > 0)
        n = np.count_nonzero(used, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if is_number:
                panel = (total - mine) / n_others
                apart = (np.where(used, x, 0.0) for x in (mine, panel))
                means = [x.sum(axis=1, keepdims=True) / n[:, np.newaxis] for x in apart]
                gains = (mine - means[0]) * (panel - means[1])
            else:
                same = (mine[:, np.newaxis] == columns).sum(axis=1, dtype=np.int32) - 1
                # how often the others give each label on the rater's items, and the rater does
                starts = 1 + np.arange(len(mine))[:, np.newaxis] * n_codes
                of_others = weights * used[:, np.newaxis]
                of_others[np.arange(len(mine)), first + np.arange(len(mine))] = 0.0
                cells = starts[:, np.newaxis] + columns
                theirs = np.bincount(cells.ravel(), of_others.ravel(), len(mine) * n_codes)
                own = np.bincount((starts + mine).ravel(), used.ravel(), len(theirs))
                chance = (own * theirs).reshape(len(mine), -1).sum(axis=1) / n**2
                gains = same / n_others - chance[:, np.newaxis]
            gains = np.where(used, gains, 0.0)
            mean = gains.sum(axis=1) / n
            spread = np.where(used, gains - mean[:, np.newaxis], 0.0)
            error = np.sqrt((spread**2).sum(axis=1)) / n + _ROUNDING
        found[:, first : first + step] = np.where(n < _FEWEST_ITEMS, np.nan, [mean, error])
    return found


def _words(values: Sequence[object], is_used: NDArray[np.bool_]) -> set[str]:
    """Return the words of cells, since a cell may hold a set of labels."""
    cells = (str(values[place]) for place in np.flatnonzero(is_used).tolist())
    return {word for cell in cells for word in re.split(r"\W+", cell) if word}


def _name_statistic(
    mine: NDArray[np.int32], others: NDArray[np.int32], numbers: NDArray[np.float64] | None
) -> tuple[str, int]:
    """Name the statistic of the others that a column is, and count the items that show it."""
    rows = (mine >= 0) & ((others >= 0).sum(axis=1) >= 2)
    mine, others = mine[rows], others[rows]
    if not len(mine):
        return "", 0
    is_split = _find_splits(others)
    for name, statistic in _STATISTICS.items():
        if numbers is None:
            break
        for stop in (_FIRST_ROWS, len(mine)):  # most columns differ at once
            found, value = numbers[mine[:stop]], statistic(numbers[others[:stop]], axis=1)
            digits = next((n for n in (0, 1, 2) if (np.round(found, n) == found).all()), 3)
            apart = np.abs(found - (value if digits else np.round(value)))
            if (apart > (0.5 * 10.0**-digits + 1e-9 if digits else 0)).any():
                break
        else:
            return name, int(is_split.sum())
    if (mine != others.max(axis=1))[~is_split].any():
        return "", 0
    n_telling = 0
    for label, row in zip(mine[is_split].tolist(), others[is_split], strict=True):
        (first, n_first), (_, n_second) = Counter(row[row >= 0].tolist()).most_common(2)
        if n_first > n_second and label != first:
            return "", 0
        n_telling += n_first > n_second
    return "the majority", n_telling


def _find_splits(labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    most = labels.max(axis=1, initial=-1)
    least = np.where(labels < 0, most[:, None], labels).min(axis=1, initial=1 << 30)
    return np.asarray(least < most)


def _follows(mine: NDArray[np.int32], others: NDArray[np.int32]) -> bool:
    """Return whether equal labels of the others, in any order, always come with one cell."""
    rows = (others >= 0).sum(axis=1) >= 2
    mine, others = mine[rows], np.sort(others[rows], axis=1)
    for stop in (_FIRST_ROWS, len(mine)):
        _, group = np.unique(others[:stop], axis=0, return_inverse=True)
        pairs = np.unique(np.stack([group.ravel(), mine[:stop]]), axis=1)
        if pairs.shape[1] > len({*pairs[0].tolist()}):
            return False
    n_rows = np.bincount(group.ravel()[_find_splits(others)])
    return int(np.maximum(n_rows - 1, 0).sum()) >= _FEWEST_SPLITS


_STATISTICS: dict[str, Any] = {
    "the mean": np.nanmean,
    "the median": np.nanmedian,
    "the largest": np.nanmax,
    "the smallest": np.nanmin,
}


def find_questions(
    names: Sequence[str], judges: Sequence[str], *, is_judge: bool
) -> dict[str, list[str]]:
    """Find several questions in the names of columns, such as ``helpful_ann``; else nothing.

    Every column must be of a question, and the questions share raters, at least two. The question
    of a judge has at least two raters besides.
    """
    names = [*names, *judges]
    second = {} if is_judge else _find_second(names)  # gpt-4 and gpt-4-turbo are two judges
    if second:
        return second
    marks = ("__", "_", r"\.", ":", "/", r"\|", "@", " - ", "-", " by ", r"(?='s )", " ", *_BORDERS)
    patterns = [(f"(.+?){mark}(.+)", f"(.+){mark}(.+)") for mark in marks]
    # the judge may be of one of the questions, or of each
    raters = [name for name in names if name not in judges]
    for pattern in chain(*patterns, _find_glued(raters), _find_glued(names)):
        found = [re.fullmatch(pattern, name.strip()) for name in names]
        parts = [part for part in found if part is not None]
        if len(parts) < len(names):
            continue
        for question, rater in ((1, 2), (2, 1)):
            columns: dict[str, list[str]] = {}
            panels: dict[str, set[str]] = {}
            for name, part in zip(names, parts, strict=True):
                columns.setdefault(part[question], []).append(name)
                panels.setdefault(part[question], set()).add(part[rater])
            of_judge = [each for each in columns.values() if not {*judges}.isdisjoint(each)]
            has_raters = all(len({*each} - {*judges}) > 1 for each in of_judge)
            are_numbers = not judges and all(name.isdecimal() for name in columns)
            shared = set.intersection(*panels.values())
            if len(panels) > 1 and len(shared) > 1 and not are_numbers and has_raters:
                return columns
    return {}


def _find_glued(names: Sequence[str]) -> Iterator[str]:
    """Find what parts names that are glued together: helpfulann, helpfulbob, safeann, safebob."""
    for at in range(_SHORTEST, len(names[0]) - _SHORTEST + 1):
        first, second = names[0][:at], names[0][at:]
        behind = {name.removeprefix(first) for name in names if name.startswith(first)}
        before = {name.removesuffix(second) for name in names if name.endswith(second)}
        if {*names} == {one + two for one in before for two in behind}:
            yield f"({'|'.join(map(re.escape, before))})(.+)"
            yield f"(.+)({'|'.join(map(re.escape, behind))})"


def _find_second(names: Sequence[str]) -> dict[str, list[str]]:
    """Find a second question beside one without a name: ann and ann_safe, bob and bob_safe."""
    of_behind: dict[str, list[str]] = {}
    known = {*names}
    for name in names:
        for mark in re.finditer(r"[\W_]+(?=[^\W_])", name):
            if name[: mark.start()] in known:
                of_behind.setdefault(name[mark.start() :], []).append(name)
    behind = max(of_behind, key=lambda each: len(of_behind[each]), default="")
    second = of_behind.get(behind, [])
    first = [name for name in names if name not in second]
    is_question = len(second) > 1
    return {"without more": first, behind.strip(" _-.:()[]"): second} if is_question else {}


_SHORTEST = 3
_BORDERS = (r"(?<=[a-z])(?=[A-Z])", r"(?<=[^\W\d_])(?=\d)")
"""What parts ``helpfulAnn`` and ``ann1``."""


def explain_doubts(
    doubts: dict[str, str], names: Sequence[str], *, source: str, option: str
) -> str:
    """Write the message: what is doubtful, and the line that works."""
    raters = [name for name in names if name not in doubts]
    shown = ", ".join(f"`{shorten(name)}` ({why})" for name, why in [*doubts.items()][:_MOST_NAMES])
    role = "judge" if option == "--judge-column" else "annotator"
    hint = f"If each row is one label, call the columns '{role}' and 'label'."
    if line := paste_names(raters, option) if raters else "":
        hint = f"Name the raters: {line}" if len(raters) > 1 else f"Name the rater ({line}). {hint}"
    return (
        f"{source}: every column that is not declared must be a rater, and may be none: {shown}. "
        f"{hint}"
    )


def explain_questions(questions: dict[str, list[str]], request: Request, source: str) -> str:
    """Write the message about a table of several questions: the line for the first of them."""
    judges = request.judge_columns or ()
    mine = next((each for each in questions.values() if set(each) & set(judges)), None)
    names = mine or next(iter(questions.values()))
    raters = [name for name in names if name not in judges]
    lines = [paste_names(raters, "--rater" if request.role == "annotator" else "--judge-column")]
    if request.role == "annotator" and judges:
        lines.append(paste_names([name for name in names if name in judges], "--judge-column"))
    return (
        f"{source}: the columns must be raters of one question, and look like "
        f"{len(questions)} questions ({', '.join(map(shorten, questions))}). Name the raters of "
        f"one: {' '.join(lines)}"
    )


def paste_names(names: Sequence[str], option: str) -> str:
    """Write an option with names: once with commas, where no name holds one."""
    if any("," in name for name in names):
        return " ".join(f"{option} {shlex.quote(name)}" for name in names)
    return f"{option} {shlex.quote(','.join(names))}"
