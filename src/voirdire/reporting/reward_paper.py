"""The error rates of a reward as a table to paste into a paper: LaTeX or Markdown."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire._validation import check_choice, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.studies.reward.result import RateEstimate, RewardExamination

__all__ = ["PaperFormat", "paper_table"]

PaperFormat: TypeAlias = Literal["latex", "markdown"]

_SIGNALS = {"base": "Base", "total": "Base + rules", "rules": "Rules"}
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#])")

Row: TypeAlias = "tuple[str, str, dict[str, RateEstimate]]"
"""Behavior, what is counted, and the rates by signal."""


def paper_table(examination: RewardExamination, *, written_as: PaperFormat = "latex") -> str:
    """Write error rates, hard cases and the benchmark as one table.

    Parameters
    ----------
    examination : RewardExamination
        What was found.
    written_as : {"latex", "markdown"}, optional
        LaTeX needs the package booktabs.

    Returns
    -------
    str
        The table with a caption that says what the figures are, ready to paste.

    Raises
    ------
    InputError
        If `written_as` is neither.

    Examples
    --------
    >>> from voirdire.studies.reward.result import ErrorRate, RateEstimate, RewardExamination
    >>> rate = RateEstimate(value=0.25, low=0.1, high=0.4, n=8, n_prompts=4)
    >>> row = ErrorRate(behavior=None, signal="total", against="all", rate=rate, tie_share=0.0)
    >>> found = RewardExamination(
    ...     reward={"name": "mine"}, n_items=9, n_prompts=4, n_comparisons=8, is_held_out=True,
    ...     error_rates=(row,),
    ... )
    >>> print(paper_table(found, written_as="markdown").splitlines()[2])
    | all | all comparisons | 8 | .250 [.100, .400] |
    """
    check_choice("written_as", written_as, PaperFormat)
    rows = _rows(examination)
    signals = [signal for signal in _SIGNALS if any(signal in rates for *_, rates in rows)]
    heads = ["Behavior", "Case", "$n$" if written_as == "latex" else "n"]
    heads += ["Reward"] if len(signals) == 1 else [_SIGNALS[signal] for signal in signals]
    lines = [
        [behavior, case, f"{_n(rates):,}", *(_rate(rates.get(signal)) for signal in signals)]
        for behavior, case, rates in rows
    ]
    if written_as == "latex":
        return _latex(heads, lines, caption=_caption(examination))
    return _markdown(heads, lines, caption=_caption(examination))


def _rows(found: RewardExamination) -> list[Row]:
    rows: dict[tuple[str, str], dict[str, RateEstimate]] = {}
    cases = {"all": "all comparisons", "best": "against the best"}
    for row in found.error_rates:
        rows.setdefault((row.behavior or "all", cases[row.against]), {})[row.signal] = row.rate
    for near in found.near_ideal:
        case = f"{near.best} against {near.next}"
        rows.setdefault((near.behavior, case), {})[near.signal] = near.error_rate
    for each in found.refusals:
        case = f"{each.kind.replace('_', ' ')}, by {each.by}"
        rows.setdefault((each.behavior, case), {})[each.signal] = each.rate
    words = {None: "all pairs", "*": "mean over subsets"}
    for pairs in found.bench:
        case = f"accuracy: {words.get(pairs.subset) or pairs.subset}"
        rows.setdefault(("benchmark", case), {})[pairs.signal] = pairs.accuracy
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in rows))}
    together = sorted(rows.items(), key=lambda row: places[row[0][0]])
    return [(behavior, case, rates) for (behavior, case), rates in together]


def _caption(found: RewardExamination) -> str:
    level = found.settings.get("confidence_level", 0.95)
    held = "held-out prompts" if found.is_held_out else "prompts that may be those of the fit"
    return (
        f"Reward {shorten(found.reward.get('name', ''))}: share of comparisons ranked the wrong "
        f"way (a tie counts half) on {found.n_prompts:,} {held}, {found.n_items:,} completions; "
        f"accuracy where it says so. Brackets: {level:.0%} intervals from resampling prompts."
    )


def _n(rates: dict[str, RateEstimate]) -> int:
    return next(iter(rates.values())).n


def _rate(rate: RateEstimate | None) -> str:
    if rate is None or math.isnan(rate.value):
        return "–"
    if math.isnan(rate.low):
        return _share(rate.value)
    return f"{_share(rate.value)} [{_share(rate.low)}, {_share(rate.high)}]"


def _share(value: float) -> str:
    """Three digits without the leading zero."""
    text = f"{value:.3f}"
    return text.removeprefix("0") if text.startswith("0.") else text


def _latex(heads: Sequence[str], lines: Sequence[Sequence[str]], *, caption: str) -> str:
    columns = "ll" + "r" * (len(heads) - 2)
    body = []
    for place, line in enumerate(lines):
        if place and line[0] != lines[place - 1][0]:
            body.append(r"\midrule")
        body.append(" & ".join(_in_latex(cell) for cell in line) + r" \\")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_in_latex(caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]], *, caption: str) -> str:
    marks = ["---", "---", *("--:" for _ in heads[2:])]
    table = [list(heads), marks]
    # Names are escaped; figures are ours.
    table += [[_in_markdown(line[0]), _in_markdown(line[1]), *line[2:]] for line in lines]
    rows = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*rows, "", _in_markdown(caption), ""])


def _in_latex(text: str) -> str:
    safe = "".join(_LATEX.get(sign, sign) for sign in shorten(text, width=400))
    return safe.replace("–", "--")


def _in_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", shorten(text, width=400))
