"""Make the page of a result that is no examination, such as a certificate or a power analysis."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.records import Certificate
from voirdire.reporting.pages.frame import (
    draw_figure,
    page_environment,
    page_head,
    page_words,
    settings_rows,
    style_sheet,
)
from voirdire.reporting.pages.results_sections import (
    gold_view,
    list_notes,
    probes_view,
    rates_view,
    yes_or_no,
)
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    Speaker,
    Verbatim,
    say,
    say_with_ends,
)
from voirdire.reporting.pages.view import Figure, Part, Settings, Table, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire._types import Language
    from voirdire.stats.power_analysis import PowerResult, PowerRow, SmallestSize
    from voirdire.studies import CertificateChange, GoldExamination, ProbeReport, RateReport

__all__ = ["results_report", "view_of"]

_NOTABLE_GAP = 0.02


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
    view = view_of(result, changes)

    drawn: Any = result
    if isinstance(result, Certificate):
        drawn = {"examinations": [*result.examinations]}
    rows = settings_rows(dict(view.settings))
    settings = Settings("results.settings.title", rows, is_versioned=True)
    template = page_environment().get_template("results.html.j2")
    return template.render(
        **page_words(speaker),
        **head,
        heading=f"{view.name}.title",
        css=style_sheet(),
        view=view,
        parts=(*view.parts, Part(name="results.settings", blocks=(settings,))),
        h=2,
        draw=partial(draw_figure, result=drawn, language=speaker.language),
    )


def view_of(result: Any, changes: Sequence[CertificateChange] | None = None) -> View:
    """Say what a result found, for its page and for a terminal."""
    from voirdire.stats.power_analysis import PowerResult
    from voirdire.studies import GoldExamination, ProbeReport, RateReport

    views: dict[type, Callable[[Any], View]] = {
        GoldExamination: gold_view,
        RateReport: rates_view,
        ProbeReport: probes_view,
        PowerResult: _power_view,
        Certificate: partial(_certificate_view, changes=changes),
    }
    if type(result) not in views:
        names = ", ".join(sort.__name__ for sort in views)
        msg = f"`result` must be one of {names}, got {shorten(repr(result))}."
        raise InputError(msg)
    if changes is not None and not isinstance(result, Certificate):
        msg = f"`changes` must be left out for a {type(result).__name__}, got {len(changes)}."
        raise InputError(msg)
    return views[type(result)](result)


# Power --------------------------------------------------------------------------------------------


def _power_view(result: PowerResult) -> View:
    wanted = Percent(result.wanted_power)
    plans = Table.of(
        say("power.caption", wanted=wanted),
        result.smallest_plans,
        {
            "column.epsilon": lambda row: Margin(row.epsilon),
            "column.items": lambda row: row.n_items if row.n_items else Decimal(None),
            "power.column.annotators": lambda row: (
                row.n_annotators if row.n_items else Decimal(None)
            ),
            "power.column.labels": lambda row: row.n_labels if row.n_labels else Decimal(None),
            "power.column.power": lambda row: Decimal(row.power),
        },
    )
    reached = [row for row in result.smallest_plans if row.n_items is not None]
    n_studies = result.settings.get("n_simulations", result.rows[0].n_simulations)
    names = ("human_kappa", "judge_kappa", "human_noise", "judge_noise")
    noise = {name: Decimal(getattr(result, name)) for name in names}
    return View(
        name="power",
        meta=say("power.meta", studies=Count(n_studies, "studies"), **noise),
        lead=tuple(_power_lead(row, result) for row in result.smallest_plans[:4]),
        todo=(say("power.do" if reached else "power.do.none", wanted=wanted),),
        blocks=(Figure.of("power", "power"), plans),
        notes=list_notes(_power_notes(result)),
        parts=(Part(name="power.grid", blocks=(_power_grid(result),)),),
        settings=result.settings
        | {"human_noise": result.human_noise, "judge_noise": result.judge_noise},
        glossary=("power", "epsilon", "noise_of_labels", "kappa", "omega"),
    )


def _power_grid(result: PowerResult) -> Table:
    """Lay out the power of every size, the margins side by side."""
    by_size: dict[tuple[int, int], dict[float, PowerRow]] = {}
    for row in result.rows:
        by_size.setdefault((row.n_annotators, row.n_items), {})[row.epsilon] = row
    heads = tuple(say("power.column.at", epsilon=Margin(epsilon)) for epsilon in result.epsilons)
    rows = [
        (*size, next(iter(rows_of.values())).n_labels,
         *(_grid_cell(rows_of.get(epsilon), result) for epsilon in result.epsilons))
        for size, rows_of in by_size.items()
    ]  # fmt: skip
    return Table(
        caption=say("power.grid.caption", wanted=Percent(result.wanted_power)),
        columns=("power.column.annotators", "column.items", "power.column.labels", *heads),
        rows=tuple(rows),
        texts=(False,) * (3 + len(heads)),
        n_rows=len(rows),
    )


def _grid_cell(row: PowerRow | None, result: PowerResult) -> Said | Decimal:
    if row is None or row.reason is not None:
        return Decimal(None)
    if row.power >= result.wanted_power:
        return say("power.reached", power=Decimal(row.power))
    return _round_down(row.power)


def _round_down(power: float) -> Decimal:
    """Give a power that misses what was wanted, so that it never looks as if it did not."""
    return Decimal(math.floor(power * 100) / 100)


def _power_lead(plan: SmallestSize, result: PowerResult) -> Said:
    figures = {"epsilon": Margin(plan.epsilon), "wanted": Percent(result.wanted_power)}
    if plan.n_items is None:
        best = max(
            (row for row in result.rows if row.epsilon == plan.epsilon), key=attrgetter("power")
        )
        return say("power.lead.none", items=Count(best.n_items, "items"), **figures,
                   annotators=Count(best.n_annotators, "annotators"),
                   power=_round_down(best.power))  # fmt: skip
    return say("power.lead", items=Count(plan.n_items, "items"), labels=plan.n_labels,
               annotators=Count(plan.n_annotators, "annotators"), **figures)  # fmt: skip


def _power_notes(result: PowerResult) -> Iterator[Said]:
    """Say where the labels come from, which test is simulated, and what weakens the figures."""
    given = result.settings
    if "pilot_items" in given:
        figures = {"judge": Name(given["judge"], 40), "alignment": Name(given["alignment"]),
                   "items": Count(given["pilot_items"], "items"),
                   "annotators": Count(given["pilot_annotators"], "annotators")}  # fmt: skip
        yield say("power.pilot", **figures)
        if given["pilot_clusters"] is not None:
            yield say("power.pilot.clusters", n=given["pilot_clusters"])
        for route in ("resampling", "noise_model"):
            sizes = dict.fromkeys(x.n_annotators for x in result.rows if x.route == route)
            if sizes:
                listed = Listing(tuple(map(Count, sizes)), either=True)
                yield say(f"power.{route}", annotators=listed)
    elif "n_categories" in given:
        shares = "given" if given["prevalences"] else "drawn"
        yield say(f"power.assumed.{shares}", n=given["n_categories"])
    if "seed" in given:
        error = max(row.standard_error for row in result.rows)
        yield say("power.test", mode=Name(given["epsilon_mode"]),
                  seed=given["seed"], error=Decimal(error, 3))  # fmt: skip
    least = given.get("min_items")
    if least is not None and any(row.reason is not None for row in result.rows):
        yield say("power.few", n=least)
    for caution in result.cautions:
        yield say("results.note", note=Verbatim(caution))
    gap = max((row.winning_rate_power - row.power for row in result.rows), default=0.0)
    if gap >= _NOTABLE_GAP:
        yield say("power.gap", gap=Decimal(gap))


# Certificates -------------------------------------------------------------------------------------


def _certificate_view(record: Certificate, *, changes: Sequence[CertificateChange] | None) -> View:
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
        columns["certificate.column.holds"] = lambda row: yes_or_no(_still_holds(row, changes))
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
    return View(
        name="certificate",
        meta=say("certificate.meta", judges=judges, questions=questions,
                 date=Name(record.created, 40)),
        lead=tuple(lead),
        todo=(say(f"certificate.do.{state}"),),
        blocks=(Figure.of("certificate", "advantage"),
                Table.of(say("certificate.caption"), rows, columns, n_texts=4)),
        notes=list_notes(_certificate_notes(rows)),
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


def _changes_part(changes: Sequence[CertificateChange]) -> Part:
    columns: dict[str, Any] = {
        "certificate.column.what": lambda row: _say_change(row.what),
        "certificate.column.certified": lambda row: Name(shorten(row.certified, width=24)),
        "certificate.column.now": lambda row: Name(shorten(row.found, width=24)),
    }
    table = Table.of(say("certificate.changes.caption"), changes, columns, n_texts=3)
    return Part(name="certificate.changes", blocks=(table,), is_open=True)


def _say_change(what: str) -> Said | Name:
    """Name what changed; an ε at its end is written as every ε."""
    place, _, epsilon = what.rpartition(" | ")
    with suppress(ValueError):
        return say("certificate.place", place=Name(place, 80), epsilon=Margin(float(epsilon)))
    return Name(what, 80)


def _majority_part(record: Certificate) -> Part:
    """Show judges beside the annotators' majority, as the certificate has them."""
    rows = [(*place.rpartition(" | ")[::2], figures)
            for place, figures in (record.against_majority or {}).items()]  # fmt: skip
    columns: dict[str, Any] = {
        "column.question": lambda row: Name(row[0], 40),
        "column.judge": lambda row: Name(row[1], 40),
    }
    for name in dict.fromkeys(name for *_, figures in rows for name in figures):
        columns[f"measure.{name}"] = lambda row, name=name: say_with_ends(
            *(row[2].get(name) or (None, None, None))
        )
    table = Table.of(say("certificate.majority.caption"), rows, columns, n_texts=2)
    return Part(name="certificate.majority", blocks=(table,))
