"""What studies of judges found, as sentences and tables: gold labels, rates and probes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.speech import (
    Clauses,
    Count,
    Decimal,
    Dollars,
    Interval,
    Label,
    Listing,
    Name,
    P,
    Percent,
    Said,
    Share,
    Verbatim,
    has_sentence,
    say,
    say_estimate,
    say_rate,
)
from voirdire.reporting.pages.view import Column, Lines, Part, Series, Table, View, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from voirdire.records import Dropped
    from voirdire.stats import ChainedRate
    from voirdire.studies import (
        GoldExamination,
        GoldResult,
        ProbeFinding,
        ProbeReport,
        QuestionFinding,
        QuestionRate,
        RateReport,
        Stability,
    )


_MOST_NOTES = 20
_MOST_DRAWN = 6


# Figures and notes --------------------------------------------------------------------------------


def _change(found: Any, least: float) -> Any:
    """Say a change with its sign; one below `least` has the digits that show it below."""
    figure, size = say_estimate(found), abs(found.estimate)
    if size < least <= round(size, 2):
        digits = next((n for n in (3, 4, 5) if round(size, n) < least), 6)
        ends = Interval(found.low, found.high)
        figure = say("cell.figure", value=Decimal(found.estimate, digits), ends=ends)
    return say("cell.plus", value=figure) if found.estimate >= 0.005 else figure


def _place(row: Any) -> Said:
    return say("results.place", question=row.question, judge=row.judge)


def _reason(row: Any, reason: str) -> Said:
    return say("results.reason", place=_place(row), reason=Verbatim(reason))


def _counts(rows: Sequence[Any]) -> dict[str, int]:
    judges, questions = ({getattr(row, name) for row in rows} for name in ("judge", "question"))
    return {"judges": len(judges), "questions": len(questions)}


def list_notes(notes: Iterable[Any], dropped: Sequence[Dropped] = ()) -> tuple[Any, ...]:
    """List the first notes, and how many labels were set aside for which reasons."""
    found = list(notes)
    more = len(found) - _MOST_NOTES
    found[_MOST_NOTES:] = [say("results.more", n=more)] if more > 0 else []
    return (*found, *say_dropped(dropped))


def say_dropped(dropped: Iterable[Dropped]) -> tuple[Said, ...]:
    """Say how many labels were set aside for which reasons, where any were."""
    counts = Counter[str]()
    for row in dropped:
        counts[row.reason] += row.n_rows
    reasons = counts.most_common()
    named = [say("results.dropped.reason", reason=Verbatim(x), n=n) for x, n in reasons]
    listed = Listing(tuple(named), most=5)
    return (say("results.dropped", n=counts.total(), reasons=listed),) if counts else ()


# Gold labels --------------------------------------------------------------------------------------

_BOOLEAN = ("sensitivity", "specificity", "mcc", "auc")
_CHOICE = ("balanced_accuracy", "f1", "mcc")


def majority_table(rows: Sequence[Any]) -> Table:
    """Lay out judges beside the annotators' majority: results of gold labels, or their JSON."""
    return _gold_table(rows, "majority.caption", names=("judge",))


def _gold_table(
    rows: Sequence[Any],
    caption: str,
    *,
    names: Iterable[str] = ("question", "judge"),
    is_whole: bool = False,
) -> Table:
    """Lay out the usual figures, or all."""
    known = dict.fromkeys(name for row in rows for name in row.classification.figures)
    usual = _BOOLEAN if "sensitivity" in known else _CHOICE
    figures = ("accuracy", *(known if is_whole else (x for x in usual if x in known)))
    columns: list[Column] = [*names, "classification.n_items"]
    columns += [
        (f"measure.{name}", f"classification.figures.{name}") for name in dict.fromkeys(figures)
    ]
    columns.append(("measure.always", "classification.always.accuracy"))
    if is_whole and any(row.threshold is not None for row in rows):
        columns.append(("threshold", _threshold))
    level = Percent(rows[0].classification.confidence_level)
    return Table.of(say(caption, level=level), rows, columns)


def _threshold(row: GoldResult) -> Said | None:
    """Say where probabilities had best be cut, and MCC there."""
    cut = row.threshold
    if cut is None:
        return None
    mcc = Decimal(cut.result.figures["mcc"].estimate)
    return say("gold.threshold", threshold=cut.threshold, mcc=mcc)


def gold_view(examination: GoldExamination) -> View:
    """Say how often judges give the gold label, and what calibration would change."""
    rows = examination.results
    weak = tuple(_place(row) for row in rows if _is_no_better(row))
    advised = [row for row in rows if row.recommended is not None]
    todo = [say("gold.do.weak")] if weak else []
    todo += [say("gold.do.calibrate")] if advised else []
    measured = [row for row in rows if row.brier is not None]
    whole = _gold_table(rows, "gold.caption", is_whole=True)
    calibration = (_calibration(measured),) if measured else ()
    return View(
        name="gold",
        meta=say("gold.meta", items=_items(rows), **_counts(rows)),
        lead=(_gold_lead(rows), *([say("gold.weak", places=weak)] if weak else [])),
        todo=tuple(todo or [say("gold.do.go_on")]),
        blocks=(_gold_table(rows, "gold.caption"),),
        notes=list_notes((note for row in rows for note in _gold_notes(row)), examination.dropped),
        parts=(*calibration, Part(name="gold.all", blocks=(whole,), shown_in="details")),
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

    known = sorted((row for row in rows if is_defined(accuracy(row))), key=accuracy)
    if not known:
        return say("gold.lead.none")
    worst = known[0]
    said: dict[str, Any] = {"question": Name(worst.question), "judge": Name(worst.judge)}
    if len(rows) == 1:
        found = worst.classification
        said |= {"items": _items(rows), "share": say_estimate(found.figures["accuracy"])}
        return say("gold.lead.one", always=found.always["accuracy"], **said)
    low, high = (Decimal(accuracy(row)) for row in (worst, known[-1]))
    return say("gold.lead.several", low=low, high=high, **said)


def _gold_notes(row: GoldResult) -> Iterator[Said]:
    """Say why figures are undefined or rest on little, and what failures would do to them."""
    found = row.classification
    if len(row.labels) == 2 and row.labels[1] != "true":
        other, label = (Label(x) for x in row.labels)
        yield say("gold.positive", place=_place(row), label=label, other=other)
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


def _calibration(rows: Sequence[Any]) -> Part:
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
    methods = dict.fromkeys(name for row in rows for name in row.recalibrated)
    columns: list[Column] = [
        *("question", "judge", ("column.calibration_error", "brier.calibration_error")),
        *(
            ("measure.brier", lambda row: Decimal(row.brier.brier, 3)),
            ("measure.reliability", "brier.reliability"),
        ),
        *((f"calibrator.{x}", partial(_recalibrated, method=x)) for x in methods),
        ("recommended", lambda row: say(_calibrator(row))),
    ]
    level = Percent(rows[0].brier.confidence_level)
    return Part(
        name="calibration",
        blocks=(
            *(Words((each,)) for each in list_notes(lead or [say("calibration.none")])),
            *_reliability(rows),
            Table.of(say("calibration.caption", level=level), rows, columns),
        ),
        is_open=bool(lead),
        shown_in="details",
    )


def _recalibrated(row: GoldResult, *, method: str) -> Decimal:
    found = row.recalibrated.get(method)
    return Decimal(None if found is None else found.brier, 3)


def _reliability(rows: Sequence[Any]) -> Iterator[Lines]:
    """Draw how often stated probabilities come true, the least calibrated judges first."""
    drawn = (row for row in rows if row.calibration is not None)
    worst = sorted(drawn, key=lambda row: -row.brier.calibration_error.estimate)
    for number, row in enumerate(worst[:_MOST_DRAWN]):
        bins = row.calibration
        yield Lines(
            name=f"reliability-{number}",
            caption="calibration.figure",
            series=(
                Series(
                    name=_place(row),
                    points=tuple((each.probability, each.share) for each in bins),
                    ends=tuple((each.low, each.high) for each in bins),
                    is_dots=True,
                ),
            ),
            x_title="calibration.x",
            y_title=say("calibration.y", place=_place(row)),
            is_square=True,
        )


def _calibrator(row: GoldResult) -> str:
    advised = row.recommended
    return "calibrator.none" if advised is None else f"calibrator.{advised.calibrator.method}"


# Rates --------------------------------------------------------------------------------------------


def rates_view(report: RateReport) -> View:
    """Say how often something holds, beside what raw verdicts say."""
    rows = report.results
    first = rows[0].result
    by_group = [
        {"question": row.question, "judge": row.judge, "group": group or say("items.all"), "of": x}
        for row in rows
        for group, x in (("", row.result), *row.groups.items())
    ]
    known = [row for row in rows if is_defined(row.result.rate.estimate)]
    columns: list[Column] = [
        *("question", "judge", "group", "of.rate", "of.human", "of.naive", "of.n_items"),
        *("of.n_labelled", ("method", lambda row: say(f"method.{row['of'].method}"))),
    ]
    table = Table.of(say("rates.caption", level=Percent(first.confidence_level)), by_group, columns)
    measures = [(f"measure.{name}", f"result.{name}") for name in ("sensitivity", "specificity")]
    judged = Table.of("rates.how.caption", rows, ["question", "judge", *measures])
    apart = [row for row in rows if row.difference is not None]
    parts = [_differences(apart)] if apart else []
    if report.chains:
        parts.insert(0, _chains(report.chains))
    items = max(row.result.n_items for row in rows)
    n_labelled = max(row.result.n_labelled for row in rows)
    return View(
        name="rates",
        meta=say("rates.meta", items=items, n=n_labelled, **_counts(rows)),
        lead=_rates_lead(known, is_single=len(rows) == 1),
        todo=(say("rates.do" if len(known) == len(rows) else "rates.do.lost"),),
        blocks=(table,),
        notes=list_notes(
            [
                *(_draw_caution(row) for row in rows if row.result.draw_p_value <= 0.05),
                *(_reason(row, row.result.reason) for row in rows if row.result.reason),
            ],
            report.dropped,
        ),
        parts=(*parts, Part(name="rates.how", blocks=(judged,))),
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
    said = {"question": Name(row.question), "judge": Name(row.judge), "rate": say_rate(rate)}
    lead = say(f"rates.lead.{'one' if is_single else 'several'}",
               naive=Share(naive.estimate), **said)  # fmt: skip
    is_off = naive.estimate < rate.low or naive.estimate > rate.high
    return (lead, say("rates.lead.off")) if is_off else (lead,)


def _draw_caution(row: QuestionRate) -> Said:
    """Say that the labelled items look unlike a random part of all."""
    found = row.result
    return say(
        "rates.note.draw",
        place=_place(row),
        labelled=Share(found.yes_labelled),
        every=Share(found.yes_all),
        p=P(found.draw_p_value),
        by_verdict=say_rate(found.by_verdict),
    )


def _chains(chains: Mapping[str, ChainedRate]) -> Part:
    steps = [
        {"judge": judge, "step": step, "error_share": Share(share),
         "end": None if place else say_rate(chain.rate)}
        for judge, chain in chains.items()
        for place, (step, share) in enumerate(chain.error_shares.items())
    ]  # fmt: skip
    columns = ["judge", "step", "error_share", "end"]
    return Part(
        name="rates.chain", blocks=(Table.of("rates.chain.caption", steps, columns),), is_open=True
    )


def _differences(rows: Sequence[Any]) -> Part:
    def groups(row: QuestionRate) -> Said:
        first, second = row.groups
        return say("rates.less", second=second, first=first)

    columns: list[Column] = [
        *("question", "judge", ("groups", groups)),
        *(("difference", lambda row: say_rate(row.difference.difference)), "difference.p_value"),
    ]
    gaps = [row.difference.difference for row in rows]
    return Part(
        name="rates.differences",
        blocks=(Table.of("rates.differences.caption", rows, columns),),
        is_open=any(gap.low > 0 or gap.high < 0 for gap in gaps),
    )


# Probes -------------------------------------------------------------------------------------------


def probes_view(report: ProbeReport) -> View:
    """Say which influences move a judge, and what to do about each."""
    ordered = [*report.found, *(row for row in report.probes if not row.is_found)]
    columns: list[Column] = [
        *("probe", "main_question.question", "n_items"),
        ("shift", lambda row: _of_main(row, lambda it: _change(it.shift, report.least_effect))),
        ("flips", lambda row: _of_main(row, lambda it: Share(it.flip_rate.estimate))),
        ("noise", lambda row: _of_main(row, lambda it: Share(it.noise_rate.estimate))),
        *("adjusted_p_value", ("found", partial(_verdict, report=report))),
    ]
    caption = say(
        "probes.caption", level=Percent(report.confidence_level), probes=len(report.probes)
    )
    names = (
        "rubric",
        "fingerprint",
        "confidence_level",
        "false_discovery_rate",
        "least_effect",
        "most_flips",
    )
    return View(
        name="probes",
        meta=say("probes.meta", judge=report.judge, rubric=report.rubric, items=report.n_items),
        lead=tuple(_probes_lead(report)),
        todo=_probe_advice(report),
        blocks=(Table.of(caption, ordered, columns),),
        notes=list_notes(_probe_notes(report), report.dropped),
        parts=tuple(_beside_probes(report)),
        settings={name: getattr(report, name) for name in (*names, "seed", "n_judged")},
        glossary=("probe", "shift", "flip", "noise", "adjusted_p", "least_effect", "interval"),
    )  # fmt: skip


def _of_main(row: ProbeFinding, say_it: Callable[[Any], Any]) -> Any:
    """Say something of the change of the question that a finding is told by."""
    return None if row.main_question is None else say_it(row.main_question.change)


def _verdict(row: ProbeFinding, *, report: ProbeReport) -> Any:
    is_small = not row.is_found and row.adjusted_p_value <= report.false_discovery_rate
    return say("probes.small") if is_small else row.is_found


def _probes_lead(report: ProbeReport) -> Iterator[Said]:
    for name in report.unstable:
        floor: Stability = getattr(report, name)
        yield say(f"probes.unstable.{name}", judge=report.judge,
                  flips=say_rate(floor.flip_rate), most=Share(report.most_flips))  # fmt: skip
    kind = "nothing" if not report.probes else "found" if report.found else "none"
    yield say(f"probes.lead.{kind}", n=len(report.found), judge=report.judge,
              probes=len(report.probes), rate=Share(report.false_discovery_rate),
              least=report.least_effect)  # fmt: skip
    for row in report.found[:1]:
        yield say("probes.largest", bias=_bias(row))
    if fond := [Name(row.question) for row in report.self_preference if row.is_found]:
        yield say("probes.fond", questions=fond)
    if report.stability is None:
        yield say("probes.floor.none")
        return
    floor, neutral = report.stability, report.neutral
    yield say("probes.floor", n=floor.n_runs, flips=Share(floor.flip_rate.estimate),
              alpha=floor.alpha)  # fmt: skip
    if is_defined(floor.mean_difference):
        yield say("probes.floor.values", difference=Decimal(floor.mean_difference, 3))
    if neutral is not None and is_defined(neutral.flip_rate.estimate):
        yield say("probes.floor.neutral", flips=Share(neutral.flip_rate.estimate))


def _bias(row: ProbeFinding) -> Said:
    """Say what is done, and how much the answers move."""
    question, clauses = row.main_question, []
    if question is not None:
        is_moved = question.question == row.question and not row.is_by_flips
        none = say("probes.shift.none", question=question.question)
        clauses = [_shift(row, question) if is_moved else none, *_flips(question)]
    return say("probes.bias", probe=row.probe, summary=Verbatim(row.summary),
               what=Clauses(tuple(clauses)))  # fmt: skip


def _shift(row: ProbeFinding, question: QuestionFinding) -> Said:
    """Say a shift with its direction; of a pair, A is the response that is changed."""
    of_family = row.family in ("steering", "position")
    kind = row.family if of_family else "pair" if question.kind == "pairwise" else "value"
    named: Any = question.question
    if question.kind == "boolean":
        named = say("probes.chance", question=named)
    return say(f"probes.shift.{kind}", question=named, size=_change(question.change.shift, 0.0))


def _flips(question: QuestionFinding) -> Iterator[Said]:
    """Count the labels that flip, and those that would by noise."""
    change = question.change
    n, flips, noise = change.n_items, change.flip_rate.estimate, change.noise_rate.estimate
    if is_defined(flips):
        said = {"n": round(flips * n), "labels": n}
        more = {"noise": round(noise * n)} if is_defined(noise) else {}
        yield say("probes.flips.noise" if more else "probes.flips", **said, **more)


def _probe_advice(report: ProbeReport) -> tuple[Said, ...]:
    """Say what helps against each bias, every piece of advice once."""
    families: dict[str, dict[str, None]] = {}
    for row in report.found:
        if row.advice is not None:
            families.setdefault(row.advice, {})[row.family] = None
    steady = (say("probes.do.unstable"),) if report.unstable else ()
    if not families:
        return steady or (say("probes.do.none"),)
    return steady + tuple(
        say("probes.do", advice=_advice(text, next(iter(names))), families=[*names])
        for text, names in families.items()
    )  # fmt: skip


def _advice(text: str, family: str) -> Verbatim:
    """Say advice, which is English, in Chinese where it is that of the bias's family."""
    own = {"Train the judge": "trained", "Try a jury of": "another", "Do not train": "guarded"}
    key = next((key for start, key in own.items() if text.startswith(start)), family)
    key = f"results.advice.{key}"
    return Verbatim(text, otherwise=key if has_sentence(key) else None)


def _probe_notes(report: ProbeReport) -> Iterator[Said | Verbatim]:
    """Say what was asked, what it cost and what failed, then the notes of the report."""
    said: dict[str, Any] = {"versions": report.n_judged}
    if not report.calls:
        yield say("probes.judged", **said)
    else:
        costs = [row.cost for row in report.calls]
        said["calls"] = sum(row.n_calls for row in report.calls)
        said["cost"] = Dollars(None if None in costs else sum(cost or 0 for cost in costs))
        yield say("probes.called", **said)
    failures: Counter[str] = Counter()
    for row in report.calls:
        failures.update(row.failures)
    if failures:
        named = [say("results.dropped.reason", reason=x, n=n) for x, n in failures.items()]
        yield say("probes.failed", reasons=named)
    for note in dict.fromkeys(report.notes):
        yield Verbatim(note)


def _beside_probes(report: ProbeReport) -> Iterator[Part]:
    """Yield the other biases, and what was asked beside probes, each where there is any."""
    if others := report.found[1:]:
        blocks = tuple(Words((_bias(row),)) for row in others)
        yield Part(name="probes.others", blocks=blocks, is_open=True)
    if report.self_preference:
        columns: list[Column] = [
            *("question", "own_rate", "n_own", "others_rate", "n_others", "ratio"),
            *("adjusted_p_value", ("found", "is_found")),
        ]
        rows = sorted(report.self_preference, key=lambda row: row.p_value)
        is_found = any(row.is_found for row in rows)
        table = Table.of("probes.own.caption", rows, columns)
        yield Part(name="probes.own", blocks=(table,), is_open=is_found)
