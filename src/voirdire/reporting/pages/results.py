"""Make the page of a result that is no examination: gold labels, rates, probes, power, a record."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.records import Certificate
from voirdire.reporting.judge_tables import shown_question
from voirdire.reporting.pages.frame import (
    Table,
    inline_svg,
    page_environment,
    page_head,
    page_words,
    settings_rows,
    style_sheet,
)
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Interval,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Said,
    Share,
    ShareEnds,
    Speaker,
    Verbatim,
    has_sentence,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.records import Dropped
    from voirdire.stats.power_analysis import PowerResult, PowerRow, SmallestSize
    from voirdire.studies import (
        CertificateChange,
        GoldExamination,
        GoldResult,
        ProbeFinding,
        ProbeReport,
        QuestionRate,
        RateReport,
    )

__all__ = ["majority_table", "results_report"]

_MOST_NOTES = 20


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A fold of the page; open where it changes what the reader should do."""

    name: str
    table: Table
    lead: tuple[Said, ...] = ()
    kind: str | None = None
    is_open: bool = False


@dataclass(frozen=True, kw_only=True)
class _View:
    """What the page says; the keys of its sentences begin with `name`."""

    name: str
    meta: Said
    lead: tuple[Said, ...]
    todo: tuple[Said, ...]
    table: Table
    kind: str
    notes: tuple[Said, ...] = ()
    parts: tuple[_Part, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    glossary: tuple[str, ...]


def results_report(
    result: GoldExamination | RateReport | ProbeReport | PowerResult | Certificate,
    *,
    changes: Sequence[CertificateChange] | None = None,
    language: Language = "en",
    title: str | None = None,
    created: str | None = None,
) -> str:
    """Write a result that is no examination as one short HTML page.

    Parameters
    ----------
    result : GoldExamination, RateReport, ProbeReport, PowerResult or Certificate
        What `examine_gold`, `rate`, `probe_judge` or `power` returns, or a certificate.
    changes : sequence of CertificateChange, optional
        Of a certificate: what `check_certificate` found; empty where the certificate holds.
    language : {"en", "zh"}, optional
        English or Simplified Chinese.
    title : str, optional
        Heading of the page.
    created : str, optional
        Date to show; none by default, so that the same result gives the same bytes.

    Returns
    -------
    str
        A document of its own: no script, no font, picture or style from elsewhere.

    Raises
    ------
    InputError
        If the result is of another type, or an argument breaks a rule.

    Notes
    -----
    Names and texts are shortened, escaped and isolated; nothing in the result can act on the page.
    Figures are rounded on the page only.

    Examples
    --------
    >>> from voirdire.reporting import results_report
    >>> from voirdire.stats import power
    >>> found = power(human_noise=0.1, judge_noise=0.1, n_items=50, n_simulations=50)
    >>> results_report(found)[:15]
    '<!doctype html>'
    """
    speaker = Speaker(language, "results")
    head = page_head(title=title, created=created)
    view = _view_of(result, changes)

    def draw(kind: str, name: str) -> Markup | None:
        from voirdire.reporting.plots.plot import PlotKind, plot

        drawn: Any = result
        if isinstance(result, Certificate):
            drawn = {"examinations": [*result.examinations]}
        if kind not in get_args(PlotKind):
            return None
        shape: Any = kind
        return inline_svg(lambda: plot(drawn, kind=shape, language=speaker.language), name=name)

    template = page_environment().get_template("results.html.j2")
    return template.render(
        **page_words(speaker),
        **head,
        heading=f"{view.name}.title",
        css=style_sheet(),
        view=view,
        settings=settings_rows(view.settings),
        draw=draw,
    )


def _view_of(result: Any, changes: Sequence[CertificateChange] | None) -> _View:
    from voirdire.stats.power_analysis import PowerResult
    from voirdire.studies import GoldExamination, ProbeReport, RateReport

    views: dict[type, Callable[[Any], _View]] = {
        GoldExamination: _gold,
        RateReport: _rates,
        ProbeReport: _probes,
        PowerResult: _power,
        Certificate: partial(_certificate, changes=changes),
    }
    if type(result) not in views:
        names = ", ".join(sort.__name__ for sort in views)
        msg = f"`result` must be one of {names}, got {shorten(repr(result))}."
        raise InputError(msg)
    if changes is not None and not isinstance(result, Certificate):
        msg = f"`changes` must be left out for a {type(result).__name__}, got {len(changes)}."
        raise InputError(msg)
    return views[type(result)](result)


# Figures and notes --------------------------------------------------------------------------------

_NAMES: dict[str, Callable[[Any], Any]] = {
    "column.question": lambda row: Name(row.question, 40),
    "column.judge": lambda row: Name(row.judge, 40),
}
"""The first columns of most tables."""


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _figure(found: Any, *, is_share: bool = False) -> Any:
    """Say a figure with its interval; a dash where it is undefined."""
    shown = (Share if is_share else Decimal)(None if found is None else found.estimate)
    if found is None or not all(map(_is_number, (found.estimate, found.low, found.high))):
        return shown
    ends = (ShareEnds if is_share else Interval)(found.low, found.high)
    return say("cell.figure", value=shown, ends=ends)


def _share(found: Any) -> Any:
    return _figure(found, is_share=True)


def _change(found: Any) -> Any:
    """Say a change with its sign."""
    is_up = found is not None and found.estimate >= 0.005
    return say("cell.plus", value=_figure(found)) if is_up else _figure(found)


def _place(row: Any) -> Said:
    return say("results.place", question=Name(row.question, 40), judge=Name(row.judge, 40))


def _reason(row: Any, reason: str) -> Said:
    return say("results.reason", place=_place(row), reason=Verbatim(reason))


def _counts(rows: Sequence[Any]) -> dict[str, Count]:
    judges, questions = ({getattr(row, name) for row in rows} for name in ("judge", "question"))
    return {
        "judges": Count(len(judges), "judges"),
        "questions": Count(len(questions), "questions"),
    }


def _notes(notes: Iterable[Said], dropped: Sequence[Dropped] = ()) -> tuple[Said, ...]:
    """List the first notes, and how many labels were set aside for which reasons."""
    found = list(notes)
    more = len(found) - _MOST_NOTES
    found[_MOST_NOTES:] = [say("results.more", n=more)] if more > 0 else []
    if dropped:
        named = [say("results.dropped.reason", reason=Verbatim(reason), n=count)
                 for reason, count in Counter(row.reason for row in dropped).most_common()]  # fmt: skip
        listed = Listing(tuple(named), most=5)
        found.append(say("results.dropped", n=len(dropped), reasons=listed))
    return tuple(found)


# Gold labels --------------------------------------------------------------------------------------

_BOOLEAN = ("sensitivity", "specificity", "mcc", "auc")
_CHOICE = ("balanced_accuracy", "f1", "mcc")


def majority_table(rows: Sequence[Any]) -> Table:
    """Lay out judges beside the annotators' majority: results of gold labels, or their JSON."""
    return _gold_table(rows, "majority.caption", names=("column.judge",))


def _gold_table(
    rows: Sequence[Any], caption: str, *, names: Iterable[str] = _NAMES, is_whole: bool = False
) -> Table:
    known = dict.fromkeys(name for row in rows for name in row.classification.figures)
    usual = _BOOLEAN if "sensitivity" in known else _CHOICE
    figures = [name for name in (known if is_whole else usual) if name in known]
    columns: dict[str, Any] = {name: _NAMES[name] for name in names}
    columns["column.items"] = lambda row: row.classification.n_items
    for name in dict.fromkeys(("accuracy", *figures)):
        columns[f"measure.{name}"] = partial(_classified, name=name)
    columns["measure.always"] = lambda row: Decimal(row.classification.always.get("accuracy"))
    level = Percent(rows[0].classification.confidence_level)
    return Table.of(say(caption, level=level), rows, columns, n_texts=len([*names]))


def _classified(row: Any, *, name: str) -> Any:
    return _figure(row.classification.figures.get(name))


def _gold(examination: GoldExamination) -> _View:
    rows = examination.results
    weak = tuple(_place(row) for row in rows if _is_no_better(row))
    advised = [row for row in rows if row.recommended is not None]
    todo = [say("gold.do.weak")] if weak else []
    todo += [say("gold.do.calibrate")] if advised else []
    measured = [row for row in rows if row.brier is not None]
    whole = _gold_table(rows, "gold.caption", is_whole=True)
    calibration = (_calibration(measured),) if measured else ()
    return _View(
        name="gold",
        meta=say("gold.meta", items=_items(rows), **_counts(rows)),
        lead=(_gold_lead(rows), *([say("gold.weak", places=Listing(weak))] if weak else [])),
        todo=tuple(todo or [say("gold.do.go_on")]),
        table=_gold_table(rows, "gold.caption"),
        kind="gold",
        notes=_notes((note for row in rows for note in _gold_notes(row)), examination.dropped),
        parts=(*calibration, _Part(name="gold.all", table=whole)),
        settings={
            "gold_hash": examination.gold_hash,
            "fingerprint": {name: [*x] for name, x in examination.fingerprints.items()},
            "threshold": {name: [*x] for name, x in examination.thresholds.items()},
        },
        glossary=(*("accuracy", "always", "sensitivity", "specificity", "mcc", "auc"),
                  *("brier", "calibration", "interval")),
    )  # fmt: skip


def _items(rows: Sequence[Any]) -> Count:
    return Count(max(row.classification.n_items for row in rows), "items")


def _is_no_better(row: GoldResult) -> bool:
    """Whether one fixed answer may be right as often, as far as the interval tells."""
    found = row.classification
    return bool(found.figures["accuracy"].low <= found.always["accuracy"])


def _gold_lead(rows: Sequence[GoldResult]) -> Said:
    def accuracy(row: GoldResult) -> float:
        return row.classification.figures["accuracy"].estimate

    known = sorted((row for row in rows if _is_number(accuracy(row))), key=accuracy)
    if not known:
        return say("gold.lead.none")
    worst = known[0]
    said = {"question": Name(worst.question), "judge": Name(worst.judge)}
    if len(rows) == 1:
        found = worst.classification
        said |= {"items": _items(rows), "share": _figure(found.figures["accuracy"])}
        return say("gold.lead.one", always=Decimal(found.always["accuracy"]), **said)
    low, high = (Decimal(accuracy(row)) for row in (worst, known[-1]))
    return say("gold.lead.several", low=low, high=high, **said)


def _gold_notes(row: GoldResult) -> Iterator[Said]:
    """Say why figures are undefined or rest on little, and what failures would do to them."""
    found = row.classification
    if found.reason is not None:
        counts = [sum(line) for line in found.table][: len(row.labels)]
        rarest = min(range(len(counts)), key=counts.__getitem__)
        if found.reason.endswith(" only"):
            label, items = Label(row.labels[rarest]), Count(counts[rarest], "items")
            yield say("gold.thin", place=_place(row), label=label, items=items)
        else:
            yield _reason(row, found.reason)
    if found.n_failures:
        items, share = Count(found.n_failures, "items"), Decimal(found.worst_case["accuracy"])
        yield say("gold.failed", place=_place(row), items=items, share=share)


def _calibration(rows: Sequence[Any]) -> _Part:
    """Compare stated probabilities before and after calibrators that were fitted to other items."""
    lead = [
        say(
            "calibration.helps",
            place=_place(row),
            method=say(_calibrator(row)),
            before=Decimal(row.recommended.brier, 3),
            after=Decimal(row.recommended.calibrated_brier, 3),
        )
        for row in rows
        if row.recommended is not None
    ]
    columns: dict[str, Any] = {
        **_NAMES,
        "measure.calibration_error": lambda row: _figure(row.brier.calibration_error),
        "measure.brier": lambda row: Decimal(row.brier.brier, 3),
    }
    for method in dict.fromkeys(name for row in rows for name in row.recalibrated):
        columns[f"calibrator.{method}"] = partial(_recalibrated, method=method)
    columns["column.recommended"] = _calibrator
    level = Percent(rows[0].brier.confidence_level)
    return _Part(
        name="calibration",
        lead=_notes(lead or [say("calibration.none")]),
        kind="reliability",
        table=Table.of(say("calibration.caption", level=level), rows, columns, n_texts=2),
        is_open=bool(lead),
    )


def _recalibrated(row: GoldResult, *, method: str) -> Decimal:
    found = row.recalibrated.get(method)
    return Decimal(None if found is None else found.brier, 3)


def _calibrator(row: GoldResult) -> str:
    advised = row.recommended
    return "calibrator.none" if advised is None else f"calibrator.{advised.calibrator.method}"


# Rates --------------------------------------------------------------------------------------------


def _rates(report: RateReport) -> _View:
    rows = report.results
    first = rows[0].result
    by_group = [
        (row, group, found)
        for row in rows
        for group, found in ((None, row.result), *row.groups.items())
    ]
    known = [row for row in rows if _is_number(row.result.rate.estimate)]
    table = Table.of(
        say("rates.caption", level=Percent(first.confidence_level)),
        by_group,
        {
            "column.question": lambda row: Name(row[0].question, 40),
            "column.judge": lambda row: Name(row[0].judge, 40),
            "rates.column.group": lambda row: Name(row[1], 30) if row[1] else "rates.everything",
            "rates.column.rate": lambda row: _share(row[2].rate),
            "rates.column.human": lambda row: _share(row[2].human),
            "rates.column.naive": lambda row: _share(row[2].naive),
            "column.items": lambda row: row[2].n_items,
            "rates.column.labelled": lambda row: row[2].n_labelled,
            "rates.column.method": lambda row: f"method.{row[2].method}",
        },
        n_texts=3,
    )
    judged = Table.of(
        say("rates.how.caption"),
        rows,
        {
            **_NAMES,
            "measure.sensitivity": lambda row: Decimal(row.result.sensitivity),
            "measure.specificity": lambda row: Decimal(row.result.specificity),
        },
        n_texts=2,
    )
    apart = [row for row in rows if row.difference is not None]
    differences = (_differences(apart),) if apart else ()
    items = Count(max(row.result.n_items for row in rows), "items")
    n_labelled = max(row.result.n_labelled for row in rows)
    return _View(
        name="rates",
        meta=say("rates.meta", items=items, n=n_labelled, **_counts(rows)),
        lead=_rates_lead(known, is_single=len(rows) == 1),
        todo=(say("rates.do" if len(known) == len(rows) else "rates.do.lost"),),
        table=table,
        kind="rates",
        notes=_notes(
            (_reason(row, row.result.reason) for row in rows if row.result.reason is not None),
            report.dropped,
        ),
        parts=(*differences, _Part(name="rates.how", table=judged)),
        settings={
            "labelled": first.labelled,
            "confidence_level": first.confidence_level,
            "n_annotators": max(row.n_annotators for row in rows),
        },
        glossary=(*("rate", "naive", "human", "ppi", "efficient", "rogan_gladen"),
                  *("sensitivity", "specificity", "interval")),
    )  # fmt: skip


def _rates_lead(known: Sequence[QuestionRate], *, is_single: bool) -> tuple[Said, ...]:
    """Say the rate that raw verdicts miss by most."""
    if not known:
        return (say("rates.lead.none"),)
    row = max(known, key=lambda row: abs(row.result.rate.estimate - row.result.naive.estimate))
    rate, naive = row.result.rate, row.result.naive
    said = {"question": Name(row.question), "judge": Name(row.judge), "rate": _share(rate)}
    lead = say(f"rates.lead.{'one' if is_single else 'several'}",
               naive=Share(naive.estimate), **said)  # fmt: skip
    is_off = naive.estimate < rate.low or naive.estimate > rate.high
    return (lead, say("rates.lead.off")) if is_off else (lead,)


def _differences(rows: Sequence[Any]) -> _Part:
    def groups(row: QuestionRate) -> Said:
        first, second = row.groups
        return say("rates.less", second=Name(second, 30), first=Name(first, 30))

    columns = {
        **_NAMES,
        "rates.column.groups": groups,
        "column.difference": lambda row: _share(row.difference.difference),
        "column.p": lambda row: P(row.difference.p_value, is_bare=True),
    }
    gaps = [row.difference.difference for row in rows]
    return _Part(
        name="rates.differences",
        table=Table.of(say("rates.differences.caption"), rows, columns, n_texts=3),
        is_open=any(gap.low > 0 or gap.high < 0 for gap in gaps),
    )


# Probes -------------------------------------------------------------------------------------------


def _probes(report: ProbeReport) -> _View:
    ordered = [*report.found, *(row for row in report.probes if not row.is_found)]
    level = Percent(report.confidence_level)
    columns: dict[str, Any] = {
        "probes.column.probe": lambda row: Name(row.probe),
        "column.question": _question,
        "probes.column.shift": lambda row: _change(_changed(row, "shift")),
        "probes.column.flips": lambda row: _share(_changed(row, "flip_rate")),
        "probes.column.noise": lambda row: _share(_changed(row, "noise_rate")),
        "probes.column.reward": lambda row: _change(row.reward_shift),
        "column.items": lambda row: row.n_items,
        "probes.column.p": lambda row: P(row.adjusted_p_value, is_bare=True),
        "probes.column.found": lambda row: _yes(row.is_found),
    }
    if all(row.reward_shift is None for row in report.probes):
        del columns["probes.column.reward"]
    names = ("rubric", "fingerprint", "confidence_level", "false_discovery_rate", "least_effect")
    return _View(
        name="probes",
        meta=say("probes.meta", judge=Name(report.judge), rubric=Name(report.rubric),
                 items=Count(report.n_items, "items")),
        lead=tuple(_probes_lead(report)),
        todo=_probe_advice(report),
        table=Table.of(say("probes.caption", level=level), ordered, columns, n_texts=2),
        kind="probes",
        notes=_notes(
            (say("results.note", note=Verbatim(note)) for note in dict.fromkeys(report.notes)),
            report.dropped,
        ),
        parts=tuple(_beside_probes(report)),
        settings={name: getattr(report, name) for name in (*names, "seed", "n_judged")},
        glossary=("probe", "shift", "flip", "noise", "adjusted_p", "least_effect", "interval"),
    )  # fmt: skip


def _yes(flag: object) -> str:
    return "yes" if flag else "no"


def _question(row: ProbeFinding) -> Any:
    shown = shown_question(row)
    return Decimal(None) if shown is None else Name(shown.question, 40)


def _changed(row: ProbeFinding, name: str) -> Any:
    shown = shown_question(row)
    return None if shown is None else getattr(shown.change, name)


def _probes_lead(report: ProbeReport) -> Iterator[Said]:
    kind = "nothing" if not report.probes else "found" if report.found else "none"
    yield say(f"probes.lead.{kind}", n=len(report.found), judge=Name(report.judge),
              probes=Count(len(report.probes), "probes"),
              rate=Share(report.false_discovery_rate), least=Decimal(report.least_effect))  # fmt: skip
    for row in report.found[:1]:
        yield say("probes.largest", probe=Name(row.probe), summary=Verbatim(row.summary),
                  question=_question(row), shift=_change(_changed(row, "shift")),
                  flips=Share(_changed(row, "flip_rate").estimate),
                  noise=Share(_changed(row, "noise_rate").estimate))  # fmt: skip
    floor = report.stability[0] if report.stability else None
    yield (
        say("probes.floor.none") if floor is None
        else say("probes.floor", n=floor.n_runs, flips=Share(floor.flip_rate.estimate))
    )  # fmt: skip


def _probe_advice(report: ProbeReport) -> tuple[Said, ...]:
    """Say what helps against each bias, every piece of advice once."""
    families: dict[str, dict[str, None]] = {}
    for row in report.found:
        if row.advice is not None:
            families.setdefault(row.advice, {})[row.family] = None
    if not families:
        return (say("probes.do.found" if report.found else "probes.do.none"),)
    return tuple(
        say("probes.do", advice=_advice(text, [*names][0]), families=Listing(
            tuple(Name(name) for name in names)))
        for text, names in families.items()
    )  # fmt: skip


def _advice(text: str, family: str) -> Verbatim:
    """Say advice, which is English, in Chinese where it is that of the bias's family."""
    key = f"results.advice.{'trained' if text.startswith('Train the judge') else family}"
    return Verbatim(text, otherwise=key if has_sentence(key, "results") else None)


def _beside_probes(report: ProbeReport) -> Iterator[_Part]:
    """Yield what was asked beside probes, each where there is any."""
    found = report.mitigation
    if found is not None:
        lead = say("probes.again.lead", judge=Name(found.judge), what=Verbatim(found.what))
        columns: dict[str, Any] = {
            "probes.column.probe": lambda row: Name(row.probe),
            "column.question": lambda row: Name(row.question, 40),
            "probes.column.before": lambda row: _change(row.before),
            "probes.column.after": lambda row: _change(row.after),
            "column.p": lambda row: P(row.p_value, is_bare=True),
            "probes.column.still": lambda row: _yes(row.still_found),
        }
        table = Table.of(say("probes.again.caption"), found.probes, columns, n_texts=2)
        yield _Part(name="probes.again", lead=(lead,), table=table, is_open=True)
    if report.self_preference:
        columns = {
            "column.question": lambda row: Name(row.question, 40),
            "probes.column.own": lambda row: _share(row.own_rate),
            "probes.column.others": lambda row: _share(row.others_rate),
            "probes.column.ratio": lambda row: _figure(row.ratio),
            "probes.column.p": lambda row: P(row.adjusted_p_value, is_bare=True),
            "probes.column.found": lambda row: _yes(row.is_found),
        }
        rows = report.self_preference
        is_found = any(row.is_found for row in rows)
        table = Table.of(say("probes.own.caption"), rows, columns)
        yield _Part(name="probes.own", table=table, is_open=is_found)
    if report.degradations:
        columns = {
            "probes.column.worse": lambda row: Verbatim(row.summary),
            "column.question": lambda row: Name(row.question, 40),
            "probes.column.pairs": lambda row: row.n_pairs,
            "probes.column.lower": lambda row: _share(row.share),
            "probes.column.tied": lambda row: row.n_tied,
        }
        table = Table.of(say("probes.worse.caption"), report.degradations, columns, n_texts=2)
        yield _Part(name="probes.worse", table=table)
    if report.prompts:
        columns = {
            "probes.column.prompt": lambda row: Name(row.prompt),
            "column.question": lambda row: Name(row.question, 40),
            "probes.column.kappa": lambda row: Decimal(row.kappa),
            "column.outcome": lambda row: f"results.outcome.{row.outcome}",
            "column.omega": lambda row: Decimal(row.winning_rate),
        }
        table = Table.of(say("probes.prompts.caption"), report.prompts, columns, n_texts=2)
        yield _Part(name="probes.prompts", table=table)


# Power --------------------------------------------------------------------------------------------


def _power(result: PowerResult) -> _View:
    wanted = Percent(result.wanted_power)
    plans = Table.of(
        say("power.caption", wanted=wanted),
        result.smallest_plans,
        {
            "column.epsilon": lambda row: Margin(row.epsilon),
            "column.items": lambda row: row.n_items if row.n_items else Decimal(None),
            "power.column.annotators": lambda row: row.n_annotators,
            "power.column.labels": lambda row: row.n_labels if row.n_labels else Decimal(None),
            "power.column.power": lambda row: Decimal(row.power),
        },
    )
    grid = Table.of(
        say("power.all.caption"),
        result.rows,
        {
            "column.epsilon": lambda row: Margin(row.epsilon),
            "power.column.annotators": lambda row: row.n_annotators,
            "column.items": lambda row: row.n_items,
            "power.column.labels": lambda row: row.n_labels,
            "power.column.power": lambda row: Decimal(None if row.reason else row.power),
            "power.column.error": lambda row: Decimal(
                None if row.reason else row.standard_error, 3
            ),
            "column.omega": lambda row: Decimal(row.winning_rate),
            "power.column.route": lambda row: f"power.route.{row.route}",
        },
        most=400,
    )
    reached = [row for row in result.smallest_plans if row.n_items is not None]
    routes = Count(result.settings.get("n_simulations", result.rows[0].n_simulations), "studies")
    kappas = {"human": Decimal(result.human_kappa), "judge": Decimal(result.judge_kappa)}
    return _View(
        name="power",
        meta=say("power.meta", studies=routes, **kappas),
        lead=tuple(_power_lead(row, result) for row in result.smallest_plans[:4]),
        todo=(say("power.do" if reached else "power.do.none", wanted=wanted),),
        table=plans,
        kind="power",
        notes=_notes(_power_notes(result)),
        parts=(_Part(name="power.all", table=grid),),
        settings=result.settings
        | {"human_noise": result.human_noise, "judge_noise": result.judge_noise},
        glossary=("power", "epsilon", "noise_of_labels", "kappa", "omega"),
    )


def _power_lead(plan: SmallestSize, result: PowerResult) -> Said:
    said = {"epsilon": Margin(plan.epsilon), "wanted": Percent(result.wanted_power)}
    if plan.n_items is None:
        best = max((row for row in result.rows if row.epsilon == plan.epsilon), key=_power_of)
        return say("power.lead.none", items=Count(best.n_items, "items"), **said,
                   annotators=Count(best.n_annotators, "annotators"),
                   power=Decimal(math.floor(best.power * 100) / 100))  # fmt: skip
    return say("power.lead", items=Count(plan.n_items, "items"), labels=plan.n_labels,
               annotators=Count(plan.n_annotators, "annotators"), **said)  # fmt: skip


def _power_of(row: PowerRow) -> float:
    return row.power


def _power_notes(result: PowerResult) -> Iterator[Said]:
    least = result.settings.get("min_items")
    if least is not None and any(row.reason is not None for row in result.rows):
        yield say("power.few", n=least)
    for caution in result.cautions:
        yield say("results.note", note=Verbatim(caution))


# Certificates -------------------------------------------------------------------------------------


def _certificate(record: Certificate, *, changes: Sequence[CertificateChange] | None) -> _View:
    rows = record.examinations
    columns: dict[str, Any] = {
        "column.question": lambda row: Name(str(row.get("question")), 40),
        "column.judge": lambda row: Name(str(row.get("judge")), 40),
        "certificate.column.alignment": lambda row: Name(str(row.get("alignment"))),
        "column.outcome": lambda row: f"results.outcome.{row.get('outcome')}",
        "column.epsilon": lambda row: Margin(row["epsilon"]),
        "column.omega": lambda row: Decimal(row.get("winning_rate")),
        "certificate.column.rho": lambda row: Decimal(row.get("advantage_probability")),
        "certificate.column.rho_human": lambda row: Decimal(row.get("human_advantage")),
        "column.items": lambda row: row.get("n_items", 0),
    }
    if changes is not None:
        columns["certificate.column.holds"] = lambda row: _yes(_still_holds(row, changes))
    parts = [_changes_part(changes)] if changes else []
    if record.against_majority:
        parts.append(_majority_part(record))
    n_passed = sum(outcome == "passed" for outcome in record.outcomes.values())
    outcomes = Count(len(record.outcomes), "outcomes")
    state = "unknown" if changes is None else "broken" if changes else "holds"
    lead = [say("certificate.lead", n=n_passed, outcomes=outcomes),
            say(f"certificate.{state}", n=len(changes or ()))]  # fmt: skip
    if record.population is not None:
        lead.append(say("certificate.population", population=Verbatim(record.population)))
    judges = Count(len(record.judges), "judges")
    questions = Count(len({row.get("question") for row in rows}), "questions")
    return _View(
        name="certificate",
        meta=say("certificate.meta", judges=judges, questions=questions,
                 date=Name(record.created, 40)),
        lead=tuple(lead),
        todo=(say(f"certificate.do.{state}"),),
        table=Table.of(say("certificate.caption"), rows, columns, n_texts=4),
        kind="advantage",
        notes=_notes(_certificate_notes(rows)),
        parts=tuple(parts),
        settings={**record.settings, "data_hash": record.data_hash, "gold_hash": record.gold_hash,
                  "rubric_hash": record.rubric_hash, "content_hash": record.content_hash,
                  "judges": dict(record.judges), "versions": dict(record.versions)},
        glossary=("certificate", "outcome", "epsilon", "omega", "rho", "hash"),
    )  # fmt: skip


def _certificate_notes(rows: Sequence[Any]) -> Iterator[Said]:
    """Say why there is no evidence, where the record says it."""
    for row in rows:
        if row.get("reason"):
            place = {name: Name(str(row.get(name)), 40) for name in ("question", "judge")}
            yield say("results.reason", place=say("results.place", **place),
                      reason=Verbatim(str(row["reason"])))  # fmt: skip


def _still_holds(row: Any, changes: Sequence[CertificateChange]) -> bool:
    """Whether no change concerns a row: not its judge, nor all of them."""
    judge, others = f"judge {row.get('judge')}", ("data", "gold", "rubric")
    place = " | ".join(str(row.get(name)) for name in ("question", "judge", "alignment", "epsilon"))
    about = {judge, f"outcome {place}", *others}
    short = " | ".join(str(row.get(name)) for name in ("question", "judge", "epsilon"))
    return not any(
        each.what in (about | {f"figures {short}"}) or each.what.startswith("setting ")
        for each in changes
    )


def _changes_part(changes: Sequence[CertificateChange]) -> _Part:
    columns: dict[str, Any] = {
        "certificate.column.what": lambda row: Name(row.what, 80),
        "certificate.column.certified": lambda row: Name(shorten(row.certified, width=40)),
        "certificate.column.now": lambda row: Name(shorten(row.found, width=40)),
    }
    table = Table.of(say("certificate.changes.caption"), changes, columns, n_texts=3)
    return _Part(name="certificate.changes", table=table, is_open=True)


def _majority_part(record: Certificate) -> _Part:
    """Show judges beside the annotators' majority, as the certificate has them."""
    found = dict(record.against_majority or {})
    names = dict.fromkeys(name for figures in found.values() for name in figures)
    columns: dict[str, Any] = {"certificate.column.place": lambda row: Name(row, 80)}
    for name in names:
        columns[f"measure.{name}"] = partial(_recorded, found=found, name=name)
    table = Table.of(say("certificate.majority.caption"), [*found], columns)
    return _Part(name="certificate.majority", table=table)


def _recorded(place: str, *, found: Any, name: str) -> Any:
    values = found[place].get(name)
    if not values or not all(map(_is_number, values)):
        return Decimal(values[0] if values else None)
    return say("cell.figure", value=Decimal(values[0]), ends=Interval(values[1], values[2]))
