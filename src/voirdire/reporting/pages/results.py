"""What a power analysis and a certificate say."""

from __future__ import annotations

import math
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.results_sections import list_notes
from voirdire.reporting.pages.speech import (
    Decimal,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    Verbatim,
    say,
)
from voirdire.reporting.pages.view import Column, Lines, Part, Series, Table, View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire.records import Certificate
    from voirdire.stats.power_analysis import PowerResult, PowerRow, SmallestSize
    from voirdire.studies import CertificateChange


_MOST_CURVES = 8


# Power --------------------------------------------------------------------------------------------


def power_view(result: PowerResult) -> View:
    """Say how large a study must be."""
    wanted = Percent(result.wanted_power)
    plans = Table.of(
        say("power.caption", wanted=wanted),
        result.smallest_plans,
        ["epsilon", "n_items", "n_annotators", "n_labels", "power"],
    )
    reached = [row for row in result.smallest_plans if row.n_items is not None]
    n_studies = result.settings.get("n_simulations", result.rows[0].n_simulations)
    names = ("human_kappa", "judge_kappa", "human_noise", "judge_noise")
    noise = {name: Decimal(getattr(result, name)) for name in names}
    return View(
        name="power",
        meta=say("power.meta", studies=n_studies, **noise),
        lead=(
            *_power_assumption(result),
            *(_power_lead(row, result) for row in result.smallest_plans[:4]),
        ),
        todo=(say("power.do" if reached else "power.do.none", wanted=wanted),),
        blocks=(_power_curves(result), plans),
        notes=list_notes(_power_notes(result)),
        parts=(Part(name="power.grid", blocks=(_power_grid(result),)),),
        settings=result.settings
        | {"human_noise": result.human_noise, "judge_noise": result.judge_noise},
        glossary=("power", "epsilon", "noise_of_labels", "kappa", "winning_rate"),
    )


def _power_curves(result: PowerResult) -> Lines:
    """Draw a curve for each number of annotators and each ε, as far as there are colours."""
    curves: dict[tuple[int, float], list[PowerRow]] = {}
    for row in result.rows:
        if math.isfinite(row.power):
            curves.setdefault((row.n_annotators, row.epsilon), []).append(row)
    series = [
        Series(
            name=say("power.curve", annotators=n_annotators, epsilon=epsilon),
            points=tuple((row.n_items, row.power) for row in rows),
            ends=tuple(
                (row.power - 1.96 * row.standard_error, row.power + 1.96 * row.standard_error)
                for row in rows
            ),
        )
        for (n_annotators, epsilon), rows in curves.items()
    ]  # fmt: skip
    sizes = sorted({row.n_items for row in result.rows})
    wanted = say("power.wanted", power=Percent(result.wanted_power))
    return Lines(
        name="power",
        caption="power.figure",
        series=tuple(series[:_MOST_CURVES]),
        x_title="power.x",
        y_title="power.y",
        x_ticks=tuple(sizes) if len(sizes) <= _MOST_CURVES else None,
        y_scale=(0.0, 1.0),
        levels=((result.wanted_power, wanted),),
    )


def _power_grid(result: PowerResult) -> Table:
    """Lay out the power of every size, the margins side by side."""
    by_size: dict[tuple[int, int, int], dict[float, PowerRow]] = {}
    for row in result.rows:
        size = (row.n_annotators, row.n_items, row.n_labels)
        by_size.setdefault(size, {})[row.epsilon] = row

    def power(of: tuple[Any, dict[float, PowerRow]], *, epsilon: float) -> Any:
        row = of[1].get(epsilon)
        if row is None or row.reason is not None:
            return None
        if row.power < result.wanted_power:
            return _round_down(row.power)
        return say("cell.marked", figure=row.power, mark="✓")

    columns: list[Column] = [
        ("n_annotators", lambda of: of[0][0]),
        ("n_items", lambda of: of[0][1]),
        ("n_labels", lambda of: of[0][2]),
        *((say("column.at", epsilon=x), partial(power, epsilon=x)) for x in result.epsilons),
    ]
    caption = say("power.grid.caption", wanted=Percent(result.wanted_power))
    return Table.of(caption, [*by_size.items()], columns, most=10_000)


def _round_down(power: float) -> Decimal:
    """Give a power that misses what was wanted, so that it never looks as if it did not."""
    return Decimal(math.floor(power * 100) / 100)


def _power_assumption(result: PowerResult) -> Iterator[Said]:
    """Say what is taken for granted, where there is no pilot."""
    given = result.settings
    if "n_categories" in given and "pilot_items" not in given:
        shares = given["prevalences"]
        kind = "drawn" if not shares else "equal" if max(shares) == min(shares) else "given"
        listed = tuple(Percent(share) for share in shares or ())
        yield say(f"power.assumed.{kind}", n=given["n_categories"],
                  shares=Listing(listed) if kind == "given" else "",
                  human=Percent(result.human_noise), judge=Percent(result.judge_noise))  # fmt: skip


def _power_lead(plan: SmallestSize, result: PowerResult) -> Said:
    figures = {"epsilon": Margin(plan.epsilon), "wanted": Percent(result.wanted_power)}
    if plan.n_items is None:
        best = max(
            (row for row in result.rows if row.epsilon == plan.epsilon), key=attrgetter("power")
        )
        return say("power.lead.none", items=best.n_items, **figures, annotators=best.n_annotators,
                   power=_round_down(best.power))  # fmt: skip
    figures |= {"items": plan.n_items, "labels": plan.n_labels,
                "annotators": plan.n_annotators}  # fmt: skip
    if is_defined(plan.low):
        return say("power.lead.pilot", power=Percent(plan.power), low=Percent(plan.low),
                   high=Percent(plan.high), **figures)  # fmt: skip
    return say("power.lead", **figures)


def _power_notes(result: PowerResult) -> Iterator[Said | Verbatim]:
    """Say where the labels come from, which test is simulated, and what weakens the figures."""
    given = result.settings
    if "pilot_items" in given:
        yield say("power.pilot", judge=given["judge"], alignment=given["alignment"],
                  items=given["pilot_items"], annotators=given["pilot_annotators"])  # fmt: skip
        if given["pilot_clusters"] is not None:
            yield say("power.pilot.clusters", n=given["pilot_clusters"])
    if "seed" in given:
        error = max(row.standard_error for row in result.rows)
        yield say("power.test", mode=given["epsilon_mode"],
                  seed=given["seed"], error=Decimal(error, 3))  # fmt: skip
    least = given.get("min_items")
    if least is not None and any(row.reason is not None for row in result.rows):
        yield say("power.few", n=least)
    for caution in result.cautions:
        yield Verbatim(caution.sentence)


# Certificates -------------------------------------------------------------------------------------


def _read_finding(row: Mapping[str, Any]) -> Any:
    """Read an outcome as it is said, of the figures that a certificate has."""
    if row.get("outcome") != "failed":
        return row.get("outcome")
    code = row.get("because", {}).get("code")
    return "worse" if code in ("missed", "crowd_missed") else "not_shown"


def certificate_view(
    record: Certificate, *, changes: Sequence[CertificateChange] | None = None
) -> View:
    """Say what a certificate states, and with `changes` whether it holds."""
    rows = record.examinations
    columns: list[Column] = [
        *("question", "judge", "alignment"),
        ("outcome", lambda row: (found := _read_finding(row)) and say(f"chip.{found}")),
        *("epsilon", "winning_rate", "advantage_probability", "human_advantage", "n_items"),
    ]
    parts = [_changes_part(changes)] if changes else []
    n_passed = sum(outcome == "passed" for outcome in record.outcomes.values())
    outcomes = len(record.outcomes)
    state = "unknown" if changes is None else "broken" if changes else "holds"
    lead = [say(f"certificate.{state}", n=len(changes or ())),
            say("certificate.lead", n=n_passed, outcomes=outcomes)]  # fmt: skip
    if record.population is not None:
        lead.append(say("certificate.population", population=Verbatim(record.population)))
    judges = len(record.judges)
    questions = len({row.get("question") for row in rows})
    return View(
        name="certificate",
        meta=say("certificate.meta", judges=judges, questions=questions, date=record.created),
        lead=tuple(lead),
        todo=(say(f"certificate.do.{state}"),),
        blocks=(Table.of("certificate.caption", rows, columns),),
        parts=tuple(parts),
        settings={**record.settings, "data_hash": record.data_hash, "gold_hash": record.gold_hash,
                  "rubric_hash": record.rubric_hash, "content_hash": record.content_hash,
                  **{f"judges.{name}": each for name, each in record.judges.items()},
                  "versions": dict(record.versions)},
        glossary=("certificate", "outcome", "epsilon", "winning_rate", "advantage_probability",
                  "hash"),
    )  # fmt: skip


def _changes_part(changes: Sequence[CertificateChange]) -> Part:
    columns: list[Column] = [
        ("what", lambda row: Name(row.what, 80)),
        ("certified", lambda row: Name(shorten(row.certified, width=24))),
        ("now", lambda row: Name(shorten(row.found, width=24))),
    ]
    table = Table.of("certificate.changes.caption", changes, columns)
    return Part(name="certificate.changes", blocks=(table,), is_open=True)
