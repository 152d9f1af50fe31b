"""What studies of judges found, on a terminal: gold labels, corrected rates, and probes."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.stats import Estimate
    from voirdire.studies import (
        Examination,
        GoldExamination,
        GoldResult,
        Mitigation,
        ProbeFinding,
        ProbeReport,
        PromptAgreement,
        QuestionFinding,
        RateReport,
        SelfPreference,
    )

__all__ = [
    "GoldTables",
    "ProbeTables",
    "RateTables",
    "calibration_lines",
    "gate_text",
    "shown_question",
]

_MOST_SHOWN = 6
_MOST_CLOSED = 5
_NAME_WIDTH = 40


def _lay_out(
    rows: Iterable[Any],
    texts: dict[str, Callable[[Any], str]],
    figures: dict[str, Callable[[Any], str]],
    *,
    wraps: bool = True,
    is_bold: Callable[[Any], bool] | None = None,
) -> NarrowTable:
    """Make a table of what each column says of a row; texts are what is cut before figures are."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in texts:
        table.add_column(head, overflow="ellipsis", no_wrap=not wraps)
    for head in figures:
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        cells = [say(row) for say in (*texts.values(), *figures.values())]
        table.add_row(*cells, style="bold" if is_bold is not None and is_bold(row) else None)
    return NarrowTable(table)


def gate_text(examination: Examination, judges: Iterable[str]) -> str:
    """Say which judges have not passed, and where; empty where all have passed everything.

    A judge without labels for a question that others were examined on has not passed it.
    """
    outcomes = {
        (row.judge, row.question, row.alignment, row.epsilon): row.outcome
        for row in examination.results
    }
    closed = [
        f"{shorten(judge)}: {outcome} ({shorten(place[0])}, {place[1]}, ε {place[2]:g})"
        for judge in dict.fromkeys([*judges, *examination.judges])
        for place in dict.fromkeys(place[1:] for place in outcomes)
        if (outcome := outcomes.get((judge, *place), "not examined")) != "passed"
    ]
    more = [f"and {len(closed) - _MOST_CLOSED} more"] if len(closed) > _MOST_CLOSED else []
    return "; ".join(closed[:_MOST_CLOSED] + more)


def _name(text: str) -> str:
    return shorten(text, width=_NAME_WIDTH)


def _place(row: GoldResult | Any) -> str:
    return f"{shorten(row.question)}, {shorten(row.judge)}"


def _dim(text: str) -> Text:
    return Text(text, style="dim")


# Gold labels --------------------------------------------------------------------------------------

_BOOLEAN = {"sensitivity": "finds yes", "specificity": "finds no", "mcc": "MCC", "auc": "AUC"}
_CHOICE = {"balanced_accuracy": "balanced", "f1": "F1", "mcc": "MCC"}


class GoldTables:
    """Judges against gold labels laid out for `rich`: print it with `rich.print` or a `Console`.

    Parameters
    ----------
    examination : GoldExamination
        What was found.
    details : bool, optional
        Whether to print every figure.
    """

    def __init__(self, examination: GoldExamination, *, details: bool = False) -> None:
        self._results = examination.results
        self._details = details

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield a table, and in words what to mind."""
        rows = self._results
        judges = dict.fromkeys(row.judge for row in rows)
        if len(judges) == 1:
            yield Text(_name(next(iter(judges))), style="bold")
        yield self._table(with_judge=len(judges) > 1)
        yield _dim(
            f"{rows[0].classification.confidence_level:.0%} intervals. In brackets the accuracy of "
            "the one answer that is right most often."
        )
        if self._details and any(row.threshold is not None for row in rows):
            yield _dim(
                "Threshold: where probabilities had best be cut, and MCC there on items that did "
                "not choose it."
            )
        if self._details:
            yield from _calibration([row for row in rows if row.brier is not None])
        for row in rows:
            found = row.classification
            if found.n_failures:
                yield Text(
                    f"note: {shorten(row.judge)} failed on {found.n_failures:,} items of "
                    f"{shorten(row.question)}; as wrong answers accuracy is "
                    f"{found.worst_case['accuracy']:.2f}"
                )
            if found.reason is not None:
                yield Text(f"note: {_place(row)}: {found.reason}")

    def _table(self, *, with_judge: bool) -> NarrowTable:
        known = dict.fromkeys(name for row in self._results for name in row.classification.figures)
        usual = _BOOLEAN if "sensitivity" in known else _BOOLEAN | _CHOICE
        heads = {name: head for name, head in usual.items() if name in known}
        if self._details:
            more = [name for name in known if name not in ("accuracy", *heads)]
            heads |= {name: name.replace("_", " ") for name in more}
        texts = {"question": lambda row: _name(row.question)}
        figures: dict[str, Callable[[Any], str]] = {
            "items": lambda row: f"{row.classification.n_items:,}",
            "accuracy": _accuracy,
        }
        figures |= {head: _figure_of(name) for name, head in heads.items()}
        judge = {"judge": lambda row: _name(row.judge)} if with_judge else {}
        cut = {"threshold": _threshold} if self._details else {}
        return _lay_out(self._results, texts | judge, figures | cut, wraps=False)


def _calibration(rows: Sequence[GoldResult]) -> Iterator[RenderableType]:
    """Yield what calibrators fitted to other items would make of the probabilities."""
    if not rows:
        return

    methods = list(dict.fromkeys(name for row in rows for name in row.recalibrated))
    figures: dict[str, Callable[[Any], str]] = {
        "error": lambda row: _in_brackets(row.brier.calibration_error),
        "Brier": lambda row: _short(row.brier.brier),
        "of it reliability": lambda row: _in_brackets(row.brier.reliability),
    }
    figures |= {name: _recalibrated(name) for name in methods}
    texts = {
        "calibration": lambda row: _name(row.question),
        "judge": lambda row: _name(row.judge),
    }
    yield _lay_out(rows, texts, figures, wraps=False)
    if methods:
        yield _dim(
            "The error is debiased; the last columns are the Brier score after a calibrator that "
            "was fitted to other items."
        )


def calibration_lines(examination: GoldExamination) -> Iterator[str]:
    """Say what the calibration of the one judge that was measured is worth."""
    found = examination.calibration().questions
    for question in dict.fromkeys(row.question for row in examination.results):
        row = found.get(question)
        said = "left as it is, since no calibrator helps"
        if row is not None:
            figures = f"{row.brier:.3f} to {row.calibrated_brier:.3f}"
            said = f"{row.calibrator.method}, Brier score {figures} on items it was not fitted to"
        yield f"  {shorten(question)}: {said}"


def _figure_of(name: str) -> Callable[[Any], str]:
    return lambda row: _in_brackets(row.classification.figures.get(name))


def _recalibrated(name: str) -> Callable[[Any], str]:
    return lambda row: _short(row.recalibrated[name].brier) if name in row.recalibrated else "–"


def _accuracy(row: GoldResult) -> str:
    found = row.classification
    return f"{found.figures['accuracy'].estimate:.2f} ({_short(found.always['accuracy'])})"


def _threshold(row: GoldResult) -> str:
    cut = row.threshold
    if cut is None:
        return ""
    return f"{cut.threshold:.2f}: {cut.result.figures['mcc'].estimate:.2f}"


def _in_brackets(found: Estimate | None) -> str:
    if found is None or math.isnan(found.estimate):
        return "–"
    if math.isnan(found.low):
        return f"{found.estimate:.2f}"
    return f"{found.estimate:.2f} ({_short(found.low)}–{_short(found.high)})"


def _short(number: float) -> str:
    """Write a number in two digits, without a leading zero."""
    return f"{number:.2f}".replace("0.", ".", 1) if abs(number) < 0.995 else f"{number:.0f}"


# Rates --------------------------------------------------------------------------------------------

_METHODS = {
    "human": "labels alone",
    "efficient": "strata of verdicts",
    "ppi": "PPI++",
    "rogan_gladen": "Rogan-Gladen",
}


class RateTables:
    """Rates laid out for `rich`: print it with `rich.print` or a `Console`.

    Parameters
    ----------
    report : RateReport
        What was found.
    """

    def __init__(self, report: RateReport) -> None:
        self._results = report.results

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield a table, differences of groups, and what to mind."""
        rows = [
            (row, f"{shorten(group, width=20)} " if group is not None else "", found)
            for row in self._results
            for group, found in ((None, row.result), *row.groups.items())
        ]
        texts: dict[str, Callable[[Any], str]] = {
            "question": lambda row: _name(row[0].question),
            "judge": lambda row: _name(row[0].judge),
            "items": lambda row: f"{row[1]}{row[2].n_items:,}",
        }
        figures: dict[str, Callable[[Any], str]] = {
            "labelled": lambda row: f"{row[2].n_labelled:,}",
            "rate": lambda row: _rate(row[2].rate),
            "labels alone": lambda row: _rate(row[2].human),
            "uncorrected": lambda row: _rate(row[2].naive),
            "by": lambda row: _METHODS[row[2].method],
        }
        yield _lay_out(rows, texts, figures, wraps=False)
        yield _dim(
            f"{self._results[0].result.confidence_level:.0%} intervals. Report the rate; "
            "uncorrected verdicts count the judge's errors as truth."
        )
        for row in self._results:
            if row.difference is not None:
                first, second = map(shorten, row.groups)
                gap = row.difference.difference
                yield Text(
                    f"{_place(row)}: {second} less {first} {gap.estimate:+.1%} ({gap.low:+.1%} to "
                    f"{gap.high:+.1%}, p = {row.difference.p_value:.2g})"
                )
            if row.result.reason is not None:
                yield Text(f"note: {_place(row)}: {row.result.reason}")


def _rate(found: Estimate) -> str:
    if math.isnan(found.estimate):
        return "–"
    if math.isnan(found.low):
        return f"{found.estimate:.1%}"
    return f"{found.estimate:.1%} ({100 * found.low:.1f}–{100 * found.high:.1f})"


# Probes -------------------------------------------------------------------------------------------


class ProbeTables:
    """What probes found, laid out for `rich`: print it with `rich.print` or a `Console`.

    Parameters
    ----------
    report : ProbeReport
        What was found.
    """

    def __init__(self, report: ProbeReport) -> None:
        self._report = report

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield what was found in words, and tables of everything that was asked."""
        report = self._report
        yield Text(_heading(report), style="bold")
        yield Text(_noise_floor(report))
        yield from _biases(report)
        if report.probes:
            yield _probe_table(report)
        yield from _degradations(report)
        yield from _prompts(report.prompts)
        yield from _self_preference(report.self_preference)
        if report.mitigation is not None:
            yield from _mitigation(report.mitigation)
        yield _dim(
            f"{report.confidence_level:.0%} intervals in brackets. Adjusted p: of no effect on any "
            f"question, after Benjamini-Hochberg over {_counted(len(report.probes), 'probe')}."
        )
        yield from _calls(report)
        for note in dict.fromkeys(report.notes):
            yield Text(f"note: {shorten(note, width=160)}")


def shown_question(found: ProbeFinding) -> QuestionFinding | None:
    """Give the question that a finding is told by: the one with the largest shift.

    Where a bias was found by flips alone, that is the one with the most flips beyond those between
    two askings.
    """
    shifted = next((row for row in found.questions if row.question == found.question), None)
    if shifted is not None and not _by_flips_alone(found, shifted):
        return shifted
    return max(found.questions, key=_excess, default=None)


def _by_flips_alone(found: ProbeFinding, shifted: QuestionFinding) -> bool:
    """Tell whether the flips of a bias speak louder than its shift."""
    change = shifted.change
    return found.is_found and not change.p_value <= change.excess_p_value and change.p_value > 0.05


def _excess(row: QuestionFinding) -> float:
    noise = row.change.noise_rate.estimate
    excess = row.change.flip_rate.estimate - (0.0 if math.isnan(noise) else noise)
    return -1.0 if math.isnan(excess) else excess


# Probes in words ----------------------------------------------------------------------------------


def _heading(report: ProbeReport) -> str:
    n_found, n_probes = len(report.found), len(report.probes)
    judge, rate = shorten(report.judge), _share(report.false_discovery_rate)
    found = f"{n_found or 'None'} of {_counted(n_probes, 'probe')} found a bias in {judge}"
    said = f"{found}, at a false discovery rate of {rate}" if n_probes else f"{judge} was asked"
    said = f"{said} ({_counted(report.n_items, 'item')}, rubric {shorten(report.rubric)})."
    fond = [shorten(row.question) for row in report.self_preference if row.is_found]
    return f"{said} It prefers its own model's responses: {', '.join(fond)}." if fond else said


def _noise_floor(report: ProbeReport) -> str:
    if not report.stability:
        return "Nothing was asked twice: flips have no noise floor. Ask again with --runs 2."
    floor = report.stability[0]
    said = f"Noise floor: between two askings {_share(floor.flip_rate.estimate)} of labels flip"
    if not math.isnan(floor.mean_difference):
        said += f" and values move by {_bare(floor.mean_difference, 3)} on average"
    said += f"; α of {_counted(floor.n_runs, 'run')} is {_bare(floor.alpha)}."
    if report.neutral is not None and not math.isnan(report.neutral.flip_rate.estimate):
        said += f" Under a line about nothing {_share(report.neutral.flip_rate.estimate)} flip."
    return said


def _biases(report: ProbeReport) -> Iterator[Text]:
    if not report.found:
        least = _bare(report.least_effect)
        if report.probes:
            yield Text(f"Few items show only large biases; effects under {least} do not count.")
        return
    yield Text()
    for row in report.found[:_MOST_SHOWN]:
        yield Text(f"• {shorten(row.probe)}: {_sentence(row)}")
    if len(report.found) > _MOST_SHOWN:
        yield Text(f"  and {len(report.found) - _MOST_SHOWN} more, in the table")
    advice: dict[str, list[str]] = {}
    for row in report.found:
        if row.advice is not None:
            advice.setdefault(row.advice, []).append(shorten(row.family))
    yield Text()
    for text, families in advice.items():
        yield Text(f"Against {', '.join(dict.fromkeys(families))}: {text}")


def _sentence(row: ProbeFinding) -> str:
    """Say what is done, on which question, how much it moves, and what a reward would pay."""
    shown = shown_question(row)
    parts = []
    if shown is not None:
        is_moved = shown.question == row.question and not _by_flips_alone(row, shown)
        whose = "" if is_moved else f" ({_name(shown.question)})"
        parts = [_shift(row, shown) if is_moved else "", _flips(shown) + whose]
    parts.append(_pay(row.reward_shift))
    return f"when {shorten(row.summary, width=160)}, {'; '.join(filter(None, parts))}."


def _pay(shift: Estimate | None) -> str:
    if shift is None or math.isnan(shift.estimate):
        return ""
    if not (shift.low > 0 or shift.high < 0):
        return "no effect on a reward is shown"
    verb, size = "pay" if shift.estimate > 0 else "take off", _bare(abs(shift.estimate))
    return f"a reward trained on it would {verb} {size} standard deviations for it"


def _shift(row: ProbeFinding, shown: QuestionFinding) -> str:
    shift = shown.change.shift
    question = _name(shown.question)
    question = f"P({question})" if shown.kind == "boolean" else question
    rises = shift.estimate > 0
    size = _with_interval(shift) if rises else _with_interval(_turned(shift))
    match row.family:
        case "steering":
            return f"{question} moves by {size} {'as' if rises else 'against what'} the text wants"
        case "position":
            return f"{question} moves by {size} {'toward' if rises else 'away from'} that response"
    if shown.kind == "pairwise":  # A is the response that is changed
        whither = "toward" if rises else "away from"
        return f"{question} moves by {size} {whither} the changed response"
    return f"{question} {'rises' if rises else 'falls'} by {size}"


def _flips(shown: QuestionFinding) -> str:
    change = shown.change
    rate, noise, n = change.flip_rate.estimate, change.noise_rate.estimate, change.n_items
    if math.isnan(rate):
        return ""
    n_flips = round(rate * n)
    said = f"{n_flips:,} of {_counted(n, 'label')} {'flips' if n_flips == 1 else 'flip'}"
    return said if math.isnan(noise) else f"{said}, {round(noise * n):,} under a line about nothing"


# Tables of probes ---------------------------------------------------------------------------------


def _probe_table(report: ProbeReport) -> NarrowTable:
    def found(row: ProbeFinding) -> str:
        is_small = row.adjusted_p_value <= report.false_discovery_rate
        return "yes" if row.is_found else "small" if is_small else ""

    def shown(row: ProbeFinding, say: Callable[[QuestionFinding], str]) -> str:
        question = shown_question(row)
        return "–" if question is None else say(question)

    pays = any(row.reward_shift is not None for row in report.probes)
    reward = {"reward": lambda row: _signed(row.reward_shift)} if pays else {}
    return _lay_out(
        report.probes,
        {
            "probe": lambda row: _name(row.probe),
            "question": lambda row: shown(row, lambda it: _name(it.question)),
        },
        {
            "items": lambda row: f"{row.n_items:,}",
            "shift": lambda row: shown(row, lambda it: _signed(it.change.shift)),
            "flips": lambda row: shown(row, lambda it: _share(it.change.flip_rate.estimate)),
            **reward,
            "adjusted p": lambda row: _p_value(row.adjusted_p_value),
            "found": found,
        },
        is_bold=lambda row: row.is_found,
    )


def _degradations(report: ProbeReport) -> Iterator[RenderableType]:
    if not report.degradations:
        return
    yield _lay_out(
        report.degradations,
        {
            "worse version": lambda row: shorten(row.summary, width=60),
            "question": lambda row: _name(row.question),
        },
        {
            "pairs": lambda row: f"{row.n_pairs:,}",
            "ranked lower": lambda row: _range(row.share),
            "tied": lambda row: f"{row.n_tied:,}",
        },
    )


def _prompts(rows: Sequence[PromptAgreement]) -> Iterator[RenderableType]:
    """Yield one row per prompt over all questions, and how far prompts are apart."""
    if not rows:
        return

    def kappas(these: Sequence[PromptAgreement], of: Callable[[list[float]], float]) -> str:
        known = [row.kappa for row in these if not math.isnan(row.kappa)]
        return _bare(of(known)) if known else "–"

    def passes(these: Sequence[PromptAgreement]) -> str:
        outcomes = Counter(row.outcome for row in these if row.outcome is not None)
        return f"{outcomes['passed']} of {outcomes.total()}"

    tested = any(row.outcome is not None for row in rows)
    by_prompt: dict[str, list[PromptAgreement]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt, []).append(row)
    yield _lay_out(
        by_prompt.values(),
        {"prompt": lambda these: _name(these[0].prompt)},
        {
            "median κ": lambda these: kappas(these, median),
            "lowest κ": lambda these: kappas(these, min),
            **({"passes": passes} if tested else {}),
        },
    )
    whose = "the annotators’ majority" if tested else "the usual prompt"
    yield _dim(f"κ with {whose}. {_spread(rows)}".rstrip())


def _spread(rows: Sequence[PromptAgreement]) -> str:
    """Say for which question prompts are farthest apart, and how many outcomes hang on them."""
    spreads, n_apart, n_tested = {}, 0, 0
    for question in dict.fromkeys(row.question for row in rows):
        these = [row for row in rows if row.question == question]
        known = [row.kappa for row in these if not math.isnan(row.kappa)]
        outcomes = {row.outcome for row in these if row.outcome is not None}
        n_tested += bool(outcomes)
        n_apart += len(outcomes) > 1
        if len(known) > 1:
            spreads[question] = max(known) - min(known)
    if not spreads:
        return ""
    farthest = max(spreads, key=spreads.__getitem__)
    size = _bare(spreads[farthest])
    said = f"It differs most from prompt to prompt for {shorten(farthest)}: by {size}."
    if not n_tested:
        return said
    return f"{said} The outcome depends on it for {n_apart} of {_counted(n_tested, 'question')}."


def _self_preference(rows: Sequence[SelfPreference]) -> Iterator[RenderableType]:
    if not rows:
        return
    ordered = sorted(rows, key=lambda row: row.p_value)
    yield _lay_out(
        ordered[:_MOST_SHOWN],
        {"self-preference: failures passed": lambda row: _name(row.question)},
        {
            "own": lambda row: f"{_share(row.own_rate.estimate)} of {row.n_own:,}",
            "others'": lambda row: f"{_share(row.others_rate.estimate)} of {row.n_others:,}",
            "ratio (1 is none)": lambda row: _range(row.ratio),
            "adjusted p": lambda row: _p_value(row.adjusted_p_value),
            "found": lambda row: "yes" if row.is_found else "",
        },
    )
    if len(ordered) > _MOST_SHOWN:
        yield _dim(f"and {len(ordered) - _MOST_SHOWN} questions with a larger p")


def _mitigation(found: Mitigation) -> Iterator[RenderableType]:
    n_left = sum(row.still_found for row in found.probes)
    yield Text(
        f"Asked again ({shorten(found.what, width=160)}; {shorten(found.judge)}): "
        f"{n_left} of {_counted(len(found.probes), 'bias', 'biases')} left."
    )
    yield _lay_out(
        found.probes,
        {"probe": lambda row: _name(row.probe), "question": lambda row: _name(row.question)},
        {
            "before": lambda row: _signed(row.before),
            "after": lambda row: _signed(row.after),
            "p of no change": lambda row: _p_value(row.p_value),
            "still found": lambda row: "yes" if row.still_found else "no",
        },
    )


def _calls(report: ProbeReport) -> Iterator[Text]:
    """Yield what was asked, what it cost, and what failed."""
    said = f"{_counted(report.n_judged, 'version')} of items judged"
    if report.calls:
        costs = [row.cost for row in report.calls]
        cost = "price unknown" if None in costs else f"${sum(x or 0 for x in costs):,.4f}"
        said += f", {_counted(sum(row.n_calls for row in report.calls), 'call')}, {cost}"
    yield Text(said)
    failures: Counter[str] = Counter()
    for row in report.calls:
        failures.update(row.failures)
    if failures:
        listed = ", ".join(f"{shorten(name)} ({n:,})" for name, n in failures.items())
        yield Text(f"failed: {listed}. What came back: voirdire replies STORE --failed")


def _bare(value: float, digits: int = 2) -> str:
    """Write a number without a leading zero, and a dash for what is undefined."""
    if math.isnan(value):
        return "–"
    rounded = round(value, digits) + 0.0  # no minus before a zero
    text = f"{rounded:.{digits}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(rounded) < 1 else text


def _turned(value: Estimate) -> Estimate:
    return type(value)(estimate=-value.estimate, low=-value.high, high=-value.low)


def _with_interval(value: Estimate) -> str:
    size = _bare(value.estimate)
    if math.isnan(value.low):
        return size
    return f"{size} [{_bare(value.low)}, {_bare(value.high)}]"


def _signed(value: Estimate | None) -> str:
    if value is None or math.isnan(value.estimate):
        return "–"
    return f"{'+' if value.estimate >= 0.005 else ''}{_with_interval(value)}"


def _range(value: Estimate) -> str:
    return "–" if math.isnan(value.estimate) else _with_interval(value)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}%".replace(".0%", "%")


def _p_value(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "<.001" if value < 0.001 else _bare(value, 3)


def _counted(number: int, what: str, several: str = "") -> str:
    return f"{number:,} {what if number == 1 else several or what + 's'}"
