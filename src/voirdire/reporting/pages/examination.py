"""What is said of an examination: the verdict of each judge first, then what it rests on."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from itertools import groupby
from operator import itemgetter
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from voirdire._version import __version__
from voirdire.errors import NoDataError
from voirdire.records.plain import without_nan
from voirdire.reporting.pages.examination_findings import (
    Question,
    deciding_row,
    disputed_cards,
    list_cautions,
    margin_of,
    other_raters,
    say_next,
    say_verdict,
)
from voirdire.reporting.pages.results_sections import majority_table
from voirdire.reporting.pages.speech import (
    Clauses,
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    Verbatim,
    say,
    say_with_ends,
)
from voirdire.reporting.pages.view import (
    Advice,
    Block,
    Cards,
    Column,
    Lines,
    Part,
    Scatter,
    Series,
    Table,
    Track,
    View,
    Words,
)
from voirdire.studies.findings import QuestionFindings
from voirdire.studies.whole_study import Examination

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.stats import AltTestResult, AnnotatorResult, ControlResult
    from voirdire.studies import SliceReliability
    from voirdire.studies.reward.result import RewardExamination


_MOST_SAID = 8
"""Judges with a sentence each in the lead; of more, the names are listed by verdict."""
_MOST_RANKED, _MOST_OPEN, _MOST_DRAWN, _MOST_SLICES = 20, 3, 5, 8
"""Judges in the first table; questions that are not folded; judges with a scatter; slices."""
_STATES = {
    "passed": "passed",
    "passed_as_random_person": "passed",
    "not_shown": "close",
    "worse": "failed",
    "no_evidence": "no_evidence",
}
_MARKS = dict(zip(_STATES, "✓✓○✗?", strict=True))
_GLOSSARY = (
    *("alternative_annotator_test", "alignment", "epsilon", "advantage_probability"),
    *("winning_rate", "outcome", "tie", "control", "ceiling", "kappa", "alpha"),
    *("false_discovery_rate", "interval", "stability"),
)


class _Pair(NamedTuple):
    """One of several things within another, such as an annotator of a result."""

    of: Any
    one: Any


_name = partial(Name, width=40)


def examination_view(
    report: Examination | AltTestResult, *, reward: RewardExamination | None = None
) -> View:
    """Lay out an examination, with a reward that rests on its judges as a chapter.

    Parameters
    ----------
    report : Examination or AltTestResult
        What was found.
    reward : RewardExamination, optional
        The examination of a reward.
    """
    if not isinstance(report, Examination):
        report = Examination(results=(report,))
    if not report.results:
        msg = "`result` must hold at least one examination, got none."
        raise NoDataError(msg)
    findings = {row.question: row for row in report.questions}
    questions = []
    for place, name in enumerate(dict.fromkeys(row.question for row in report.results)):
        families: dict[str, dict[str, list[AltTestResult]]] = {}
        for row in sorted((x for x in report.results if x.question == name), key=_by_advantage):
            families.setdefault(row.alignment, {}).setdefault(row.judge, []).append(row)
        order = dict.fromkeys(row.alignment for row in report.results if row.question == name)
        question = Question(
            name=name,
            place=f"q{place + 1}",
            families={alignment: families[alignment] for alignment in order},
            findings=findings.get(name) or QuestionFindings(question=name),
            dropped=tuple(x for x in report.dropped if x.question in (name, *[None][place:])),
        )
        questions.append(question)
    judges = list(dict.fromkeys(judge for each in questions for judge in each.judges))
    figures = {
        "judges": len(judges),
        "annotators": len({x for each in questions for x in each.annotators}),
    }
    parts: Iterator[Part]
    blocks: tuple[Block, ...]
    if len(questions) == 1:
        [question] = questions
        meta = say("examination.meta", items=question.n_items, **figures)
        lead, brief = _lead(question), None
        blocks = (*_verdicts(question), _judges_table(question.rows))
        cautions, todo = tuple(list_cautions(question)), tuple(_next_steps(question))
        parts = _parts(question, n_questions=1)
    else:
        meta = say("examination.meta.questions", questions=len(questions), **figures)
        lead, blocks = _lead_of_several(questions, judges), tuple(_glances(questions))
        brief = (_judges_table([row for each in questions for row in each.rows], "question"),)
        cautions, todo = (), (_next_of_several(questions, n_judges=len(judges)),)
        parts = (_question_part(each, n_questions=len(questions)) for each in questions)
    chapters: tuple[View, ...] = ()
    if reward is not None:
        from voirdire.reporting.pages.reward import reward_view  # which loads what fits rewards

        chapters = (reward_view(reward),)
    return View(
        name="examination",
        meta=meta,
        notice=("notice.simulated",) if report.settings.get("simulated") is True else (),
        lead=lead,
        todo=todo,
        blocks=blocks,
        brief=brief,
        more=say("examination.more"),
        cautions=cautions,
        parts=(*parts, *_pooled_part(report), *_dropped_part(report)),
        settings=without_nan(report.settings),
        glossary=_GLOSSARY,
        chapters=chapters,
    )


def _by_advantage(row: AltTestResult) -> tuple[float, float]:
    rho = row.advantage_probability
    return math.inf if math.isnan(rho) else -rho, row.epsilon


# The first screen ---------------------------------------------------------------------------------


def _lead(question: Question) -> tuple[Said, ...]:
    """Say the verdict of one judge; of several which passed."""
    others = other_raters(question.fullest)
    is_plain = others.key == "others.annotators"
    reference = [] if is_plain else [say("lead.reference", others=others)]
    if question.fullest.epsilon_mode == "multiplicative":
        reference.append(say("margins.multiplicative"))
    if len(question.judges) == 1:
        [rows] = question.judges.values()
        return (*reference, *say_verdict(rows, n_items=question.n_items))
    in_crowd = question.fullest.crowd is not None
    verdict = "passed_as_random_person" if in_crowd else "passed"
    passed = tuple(_name(row.judge) for row in question.rows if row.finding == verdict)
    margins = {margin_of(row).value: row for rows in question.judges.values() for row in rows}
    figures: dict[str, Any] = {
        "judges": len(question.judges),
        "epsilons": Listing(tuple(map(Margin, sorted(margins))), most=12, either=True),
    }
    if not passed:
        return (*reference, say("lead.none", **figures))
    names = Listing(passed, most=_MOST_SAID)
    lead = say("lead.crowd" if in_crowd else "lead.some", n=len(passed), names=names, **figures)
    return (*reference, lead)


def _verdicts(question: Question) -> Iterator[Words]:
    """Say the verdict of each of several judges; of many the names by verdict."""
    if 1 < len(question.judges) <= _MOST_SAID:
        yield _list_verdicts(question)
    elif len(question.judges) > _MOST_SAID:
        names: dict[str, list[Name]] = {}
        for row in question.rows:
            names.setdefault(row.finding, []).append(_name(row.judge))
        groups = [
            say("lead.group", outcome=say(f"chip.{verdict}"), judges=names[verdict])
            for verdict in _MARKS
            if verdict in names
        ]
        yield Words(groups, "list")


def _list_verdicts(question: Question) -> Words:
    said = [say_verdict(rows, n_items=question.n_items) for rows in question.judges.values()]
    shown = (tuple(x for x in each if x.key != "verdict.shown") for each in said)
    return Words([Clauses(each, "sentence.space") for each in shown], "list")


def _lead_of_several(questions: Sequence[Question], judges: Sequence[str]) -> tuple[Said, ...]:
    """Count the verdicts of each judge over the questions; of many judges those of all."""
    counts: dict[str, dict[str, int]] = {}
    for row in (row for each in questions for row in each.rows):
        who = row.judge if len(judges) <= _MOST_SAID else ""
        count = counts.setdefault(who, dict.fromkeys(_MARKS, 0))
        count[row.finding] += 1
    sentences = []
    for judge, count in counts.items():
        listed = [
            say("lead.count", outcome=say(f"outcome.{verdict}"), n=n)
            for verdict, n in count.items()
            if n
        ]
        figures = {"counts": Listing(tuple(listed)), "n": sum(count.values())}
        sentences.append(
            say("lead.judge", judge=_name(judge), **figures) if judge
            else say("lead.all", judges=len(judges), **figures)
        )  # fmt: skip
    return tuple(sentences)


def _next_steps(question: Question) -> Iterator[Said]:
    """Say what to do next, each thing once, with the judges that it is about."""
    n_judges = len(question.judges)
    steps: dict[str, list[Name]] = {}
    for rows in sorted(question.judges.values(), key=_rank):
        step = say_next(rows, n_judges=n_judges, n_items=question.n_items)
        steps.setdefault(step.key, []).append(_name(rows[0].judge))
    for key, names in steps.items():
        whom = Listing(tuple(names), most=5)
        yield say(key) if len(steps) == 1 else say("next.for", judges=whom, todo=say(key))


def _next_of_several(questions: Sequence[Question], *, n_judges: int) -> Said:
    """Say the one thing to do about the best of all verdicts."""
    judges = [(rows, each.n_items) for each in questions for rows in each.judges.values()]
    rows, n_items = min(judges, key=lambda pair: _rank(pair[0]))
    return say_next(rows, n_judges=n_judges, n_items=n_items)


def _rank(rows: Sequence[AltTestResult]) -> int:
    """Order judges by their verdicts, the best first."""
    return [*_MARKS].index(deciding_row(rows).finding)


def _judges_table(rows: Sequence[AltTestResult], *names: str) -> Table:
    """Lay out a row for each result; `names` are columns that come first."""
    in_crowd = any(row.crowd is not None for row in rows)
    columns: list[Column] = [*names, "judge", ("outcome", lambda row: say(f"chip.{row.finding}"))]
    if not in_crowd:  # of whom no one has an ω
        columns += [("track", _track), "winning_rate"]
    columns += [("advantage_probability", _rho), "human_advantage", "n_items"]
    if in_crowd:
        columns += ["crowd.p_value", ("agreement_of_people", "crowd.human_agreement")]
    if len({margin_of(row).value for row in rows}) > 1:
        columns.append(("epsilon", margin_of))
    if any(row.worst_case.n_failures for row in rows):
        columns.append(("failed_calls", "worst_case.n_failures"))
    caption = "judges.caption.crowd" if in_crowd else "judges.caption"
    most = _MOST_RANKED if not names else 200
    return Table.of(caption, rows, columns, most=most, levels=_levels(rows))


def _levels(rows: Sequence[AltTestResult]) -> tuple[tuple[float, Any], ...]:
    """Draw 0, and −ε where it is the same in every row."""
    margins = {row.epsilon for row in rows}
    same = [x for x in margins if x and len(margins) == 1]
    return ((0.0, Decimal(0.0, 0)), *((-x, say("level.margin", epsilon=x)) for x in same))


def _track(row: AltTestResult) -> Track:
    """Draw a dot for each annotator: how much better the judge is, filled where that is shown.

    The line is the interval of the one with whom half are shown, so that it ends right of −ε
    exactly where half are.
    """
    dots = tuple((_gap(row, each), each.shown) for each in row.annotators[:200])
    ends = sorted((_interval(row, each) for each in row.annotators), reverse=True)
    low, high = ends[(len(ends) - 1) // 2] if ends else (math.nan, math.nan)
    return Track(dots=dots, low=low, high=high, state=_STATES[row.finding])


def _track_of_pair(pair: _Pair) -> Track:
    row, each = pair
    low, high = _interval(row, each)
    state = "passed" if each.shown else "close" if _gap(row, each) > -row.epsilon else "failed"
    return Track(value=_gap(row, each), low=low, high=high, state=state)


def _gap(row: AltTestResult, each: AnnotatorResult) -> float:
    """How much more often the judge than an annotator is at least as close to the others."""
    if row.epsilon_mode == "additive":
        return each.advantage_judge - each.advantage_human
    return each.advantage_judge / (each.advantage_human or math.nan) - 1


def _interval(row: AltTestResult, each: AnnotatorResult) -> tuple[float, float]:
    """Give the interval of the gap at the level that Benjamini and Yekutieli ask of its p-value.

    It is gap ± z·s; where the p-value that decides has −ε on the other side of the lower end, the
    end that this p-value gives counts: it is above −ε exactly where the judge is shown within ε.
    """
    n, epsilon = len(row.annotators), row.epsilon
    if math.isnan(each.deciding_p_value):
        return math.nan, math.nan
    rank = sum(x.shown for x in row.annotators) + (not each.shown)
    rate = row.settings.get("false_discovery_rate") or 0.05
    z = -NormalDist().inv_cdf(rank * rate / (n * sum(1 / k for k in range(1, n + 1))))
    z_of_p = -NormalDist().inv_cdf(min(max(each.deciding_p_value, 1e-300), 1 - 1e-16))
    error = each.standard_error or math.sqrt(epsilon * (1 - epsilon) / each.n_items)
    if row.epsilon_mode == "multiplicative":  # of the ratio of the advantages
        error *= (1 - epsilon) / (each.advantage_human or math.nan)
    gap = _gap(row, each)
    lows = gap - z * error, error * (z_of_p - z) - epsilon, -epsilon
    low = max(lows) if each.shown else min(lows)
    return max(min(low, gap), -1.0), min(gap + z * error, 1.0)


def _rho(row: AltTestResult) -> Any:
    ends = row.uncertainty
    low, high = (None, None) if ends is None else (ends.advantage_low, ends.advantage_high)
    return say_with_ends(row.advantage_probability, low, high)


# Several questions --------------------------------------------------------------------------------


def _glances(questions: Sequence[Question]) -> Iterator[Table]:
    """Lay out the outcomes by question and judge, a table for questions of the same judges."""
    for judges, group in groupby(questions, key=lambda each: sorted(each.judges)):
        parts = list(group)
        outcomes = {(each.name, row.judge): row.finding for each in parts for row in each.rows}
        rows, heads = [each.name for each in parts], list(judges)
        if len(heads) > len(rows):  # the longer side goes down
            rows, heads = heads, rows
            outcomes = {(judge, name): finding for (name, judge), finding in outcomes.items()}
        cells = [(row, *(say(f"chip.{outcomes[row, head]}") for head in heads)) for row in rows]
        columns: list[Column] = [("judge" if rows[0] in judges else "question", itemgetter(0))]
        columns += [(_name(head), itemgetter(place)) for place, head in enumerate(heads, start=1)]
        yield Table.of("glance.caption", cells, columns)


def _question_part(question: Question, *, n_questions: int) -> Part:
    cautions = list_cautions(question)
    todo = Words((Said("next.title"), *_next_steps(question)))
    return Part(
        name=question.place,
        title=say("question.title", question=question.name),
        is_open=n_questions <= _MOST_OPEN,
        shown_in="details",
        blocks=(
            Words(_lead(question)),
            *_verdicts(question),
            _judges_table(question.rows),
            *([Advice(cautions)] if cautions else []),
            todo,
            *_parts(question, n_questions=n_questions),
        ),
    )


# Folds --------------------------------------------------------------------------------------------


_OF_A_PANEL = ("margins", "annotators", "controls", "differences", "paper")


def _parts(question: Question, *, n_questions: int) -> Iterator[Part]:
    """Yield what the verdicts rest on; nobody of a crowd has figures of their own."""
    in_crowd = question.fullest.crowd is not None
    hidden = {f"{question.place}.{name}" for name in _OF_A_PANEL} if in_crowd else ()
    return (part for part in _folds(question, n_questions=n_questions) if part.name not in hidden)


def _folds(question: Question, *, n_questions: int) -> Iterator[Part]:
    """Yield what the verdicts rest on, each in a fold of its own."""
    fold: Any = partial(_fold, question)
    findings = question.findings
    if cards := disputed_cards(findings, n_questions=n_questions):
        n_all = len(findings.disputed)
        cut = [Words((say("table.cut", shown=len(cards), n=n_all),), "note")]
        blocks = (Words(("items.lead",)), Cards(cards), *(cut if len(cards) < n_all else ()))
        yield fold("items", *blocks, shown_in="page")
    if len(question.judges) > _MOST_SAID:  # of fewer the page begins with them
        yield fold("verdicts", _list_verdicts(question), shown_in="page")
    is_asked = len(question.epsilons) > 1  # for several margins, which a terminal shows too
    yield fold("margins", *_margins(question), shown_in="terminal" if is_asked else "details")
    yield fold("annotators", _annotators_table(question.rows, is_drawn=n_questions <= _MOST_OPEN))
    yield fold("agreement", *_agreement(question))
    if question.fullest.controls:
        yield fold("controls", _controls_table(question))
    if differences := [x for x in findings.comparisons if x.alignment in [*question.families][:1]]:
        yield fold("differences", *_differences(differences))
    if question.findings.reliability:
        table = _reliability_table(question.findings.reliability)
        yield fold("reliability", table, shown_in="terminal")
    if diagnosis := list(_diagnosis(findings)):
        yield fold("diagnosis", *diagnosis)
    others = [deciding_row(rows) for family in [*question.families.values()][1:]
              for rows in family.values()]  # fmt: skip
    if others:
        yield fold("others", _judges_table(others, "alignment"), shown_in="terminal")
    if n_questions <= _MOST_OPEN:
        references = ["calderon", "benjamini"]
        if question.fullest.settings.get("n_clusters"):
            references.append("liang")
        cited = Words([f"reference.{each}" for each in references], "list")
        quote = Words((_paper(question),), "quote")
        yield fold("paper", Words(("paper.lead",)), quote, cited, shown_in="page")


def _fold(question: Question, name: str, *blocks: Block, shown_in: Any = "details") -> Part:
    title = say(f"part.{name}")
    return Part(name=f"{question.place}.{name}", title=title, blocks=blocks, shown_in=shown_in)


def _margins(question: Question) -> Iterator[Block]:
    """Show how ω depends on ε, and where each annotator stands."""
    yield Words(("margins.lead",))
    epsilons = question.epsilons
    judges = {judge: {row.epsilon: row for row in rows} for judge, rows in question.judges.items()}
    if len(epsilons) > 1:
        series = [
            Series(
                name=_name(judge),
                points=tuple((epsilon, row.winning_rate) for epsilon, row in rows.items()),
                states=tuple(_STATES[row.finding] for row in rows.values()),
            )
            for judge, rows in list(judges.items())[:_MOST_SAID]
        ]
        yield Lines(
            name=f"{question.place}-omega",
            caption="omega.caption",
            series=tuple(series),
            x_title="column.epsilon",
            y_title="column.winning_rate",
            y_scale=(0.0, 1.0),
            levels=((0.5, Decimal(0.5, 1)),),
        )
    columns: list[Column] = [
        ("judge", itemgetter(0)),
        *((_at(x), partial(_omega_at, epsilon=x)) for x in epsilons[:20]),
        ("smallest", lambda pair: _smallest(next(iter(pair[1].values())))),
        ("stability", lambda pair: _stability(deciding_row([*pair[1].values()]))),
    ]
    yield Table.of("omega.caption", list(judges.items()), columns)
    row = question.fullest
    for place, each in enumerate(question.rows[:_MOST_DRAWN]):
        yield Scatter(
            name=f"{question.place}-scatter-{place + 1}",
            title=_name(each.judge),
            caption="scatter.caption",
            points=tuple(
                (x.advantage_judge, x.advantage_human, x.shown, _name(x.annotator))
                for x in each.annotators
            ),
            epsilon=each.epsilon,
            is_multiplicative=row.epsilon_mode == "multiplicative",
        )


def _at(epsilon: float) -> Said:
    return say("column.at", epsilon=epsilon)


def _omega_at(pair: tuple[str, dict[float, AltTestResult]], *, epsilon: float) -> Any:
    row = pair[1].get(epsilon)
    if row is None:
        return None
    return say("cell.marked", figure=row.winning_rate, mark=_MARKS[row.finding])


def _smallest(row: AltTestResult) -> Any:
    return None if row.smallest_epsilon is None else Margin(round(row.smallest_epsilon, 3))


def _stability(row: AltTestResult) -> Percent:
    return Percent(None if row.uncertainty is None else row.uncertainty.stability)


def _annotators_table(rows: Sequence[AltTestResult], *, is_drawn: bool) -> Table:
    """Lay out each judge against each annotator, at the ε that decides."""
    pairs = [_Pair(row, each) for row in rows for each in row.annotators]
    columns: list[Column] = [
        *("of.judge", "one.annotator"),
        *(["of.epsilon"] if len({row.epsilon for row in rows}) > 1 else []),
        "one.n_items",
        *([("interval", _track_of_pair)] if is_drawn else []),
        *("one.advantage_judge", "one.advantage_human", ("ties", "one.tie_share")),
        *(("p_t", "one.p_value"), ("p_exact", "one.deciding_p_value"), "one.shown"),
    ]
    return Table.of("annotators.caption", pairs, columns, most=500, levels=_levels(rows))


def _agreement(question: Question) -> Iterator[Block]:
    """Say how far annotators agree, with the judges beside them."""
    findings, agreement = question.findings, question.fullest.human_agreement
    sentences: list[Said] = []
    if findings.labels:
        shares = tuple(say("agreement.share", label=Label(x.label, 30), share=Percent(x.share))
                       for x in findings.labels)  # fmt: skip
        n_hidden = findings.n_labels - len(shares)
        sentences.append(say("agreement.labels", labels=Listing(shares, n_hidden=max(n_hidden, 0))))
    if agreement is None or math.isnan(agreement.alpha):
        sentences.append(say("agreement.undefined"))
    else:
        alpha = say_with_ends(agreement.alpha, agreement.low, agreement.high)
        sentences.append(say("agreement.alpha", alpha=alpha))
    sentences += [
        say("agreement.pairwise_f1", judge=judge, people=Decimal(row.people),
            value=say_with_ends(row.value, row.low, row.high))
        for judge, row in findings.pairwise_f1.items()
    ]  # fmt: skip
    yield Words(sentences)
    if findings.agreement is None:
        return
    rows: list[tuple[str | None, Any]] = [(None, findings.agreement.ceiling)]
    rows += [(row.judge, row.coefficients) for row in findings.agreement.judges]
    names = dict.fromkeys(x.coefficient for _, coefficients in rows for x in coefficients)
    columns: list[Column] = [("judge", lambda row: row[0] or say("ceiling.row"))]
    columns += [(f"coefficient.{name}", partial(_coefficient, name=name)) for name in names]
    yield Table.of("ceiling.caption", rows, columns)
    if findings.against_majority:
        yield majority_table(findings.against_majority)


def _coefficient(row: tuple[Any, Sequence[Any]], *, name: str) -> Any:
    return next((x for x in row[1] if x.coefficient == name), None)


def _controls_table(question: Question) -> Table:
    """Lay out what judges that know nothing, and the majority vote, get in the same test."""
    rows = question.judges[question.fullest.judge][:20]
    columns: list[Column] = [
        ("control", lambda each: _name_control(each[-1])),
        ("advantage_probability", lambda each: each[-1].advantage_probability),
        *(
            (_at(row.epsilon), lambda controls, place=place: controls[place].winning_rate)
            for place, row in enumerate(rows)
        ),
    ]
    controls = [*zip(*(row.controls for row in rows), strict=True)]
    return Table.of("controls.caption", controls, columns)


def _name_control(control: ControlResult) -> Said:
    return say(f"control.{control.control}", label=Label(control.label or "", 24))


def _differences(rows: Sequence[Any]) -> Iterator[Block]:
    n_clear = sum(row.p_adjusted < 0.05 for row in rows)
    yield Words((say("differences.lead", clear=n_clear, pairs=len(rows)),))
    columns: list[Column] = [
        *("judge_a", "judge_b", ("rho_a", "advantage_a"), ("rho_b", "advantage_b")),
        *(("difference", _difference), ("p_holm", "p_adjusted")),
    ]
    ordered = sorted(rows, key=lambda row: (math.isnan(row.p_adjusted), row.p_adjusted))
    yield Table.of("differences.caption", ordered, columns)


def _diagnosis(findings: QuestionFindings) -> Iterator[Block]:
    """Show annotators who stand apart, and where each judge departs from people."""
    diagnosis = findings.diagnosis
    if diagnosis is None:
        return
    if diagnosis.annotators:
        columns: list[Column] = [
            *("annotator", "n_items", "agreement", "agreement_of_others", "difference", "p_value"),
            ("apart", lambda row: None if math.isnan(row.p_value) else row.outlier),
        ]
        yield Table.of("apart.caption", diagnosis.annotators, columns)
    if panels := [row for row in diagnosis.judges if row.panel is not None]:
        names = ("n_unanimous", "n_opposed", "judge_opposes_others", "human_opposes_others",
                 "n_split", "departs_from_split")  # fmt: skip
        yield Table.of("panel.caption", panels, ["judge", *(f"panel.{name}" for name in names)])
    if slices := [_Pair(row, each) for row in diagnosis.judges for each in row.slices]:
        columns = ["of.judge", ("slice", lambda pair: _slice(pair.one)), "one.n_items",
                   ("difference", lambda pair: _difference(pair.one)),
                   ("p_value", "one.p_adjusted"), "one.worse"]  # fmt: skip
        slices.sort(key=lambda pair: (not pair.one.worse, pair.one.p_adjusted))
        yield Table.of("slices.caption", slices, columns)


def _reliability_table(rows: Sequence[SliceReliability]) -> Table:
    """Lay out what judges state in slices beside what the majority says, the worst first."""
    columns: list[Column] = [
        *("judge", ("slice", _slice), ("stated", "mean_probability"), ("says_yes", "share")),
        *("brier.calibration_error", "brier.n_items"),
    ]
    lows = [row.brier.calibration_error.low for row in rows]
    places = sorted(range(len(rows)), key=lambda place: -np.nan_to_num(lows[place], nan=-1.0))
    ordered = [rows[place] for place in places]
    return Table.of("reliability.caption", ordered, columns, most=_MOST_SLICES)


def _slice(row: Any) -> Said:
    return say("slice", column=_name(str(row.column)), value=_name(str(row.value)))


def _difference(row: Any) -> Any:
    return say_with_ends(row.difference, row.low, row.high)


def _pooled_part(report: Examination) -> Iterator[Part]:
    """Show all questions under one false discovery rate."""
    rows = [_Pair(each, row) for each in report.pooled for row in each.questions]
    if rows:
        columns: list[Column] = [
            *("of.judge", "one.question", "of.epsilon"),
            *(("omega_pooled", "one.winning_rate"), ("omega_alone", "one.winning_rate_alone")),
        ]
        table = Table.of(None, rows, columns, label=say("part.pooled"))
        yield Part(name="pooled", title=say("part.pooled"), blocks=(table,), shown_in="details")


def _dropped_part(report: Examination) -> Iterator[Part]:
    """List why labels were set aside, and where the first of each reason stood."""
    counts = Counter[str]()
    for row in report.dropped:
        counts[row.reason] += row.n_rows
    first = {row.reason: row for row in reversed(report.dropped)}
    if counts:
        columns: list[Column] = [
            ("reason", lambda pair: Verbatim(pair[0])),
            ("n_labels", itemgetter(1)),
            ("first_place", lambda pair: Verbatim(first[pair[0]].place())),
        ]
        label = say("part.dropped")
        table = Table.of(None, counts.most_common(), columns, label=label, most=50)
        yield Part(name="dropped", title=label, blocks=(table,), shown_in="details")


def _paper(question: Question) -> Said:
    """Write the paragraph for a paper: what was examined, how, and what came out."""
    row = question.fullest
    settings, agreement = row.settings, row.human_agreement
    clusters, stated = settings.get("n_clusters"), settings.get("epsilon_reason")
    fixed = say("paper.open")
    if isinstance(stated, str) and stated.strip() and len(question.epsilons) == 1:
        fixed = say("paper.fixed", reason=Name(stated.strip().rstrip(".。"), 300))
    tests = [say("paper.exact")]
    if clusters:
        tests = [say("paper.clustered", clusters=clusters)]
    tests += [say(f"paper.{name}") for name in ("weights", "quality") if settings.get(name)]
    controls = [
        say("paper.control", control=_name_control(x), omega=x.winning_rate) for x in row.controls
    ]
    alpha = (math.nan,) * 3
    if agreement is not None:
        alpha = (agreement.alpha, agreement.low, agreement.high)
    results = [
        say(
            "paper.result",
            judge=judge,
            items=rows[0].n_items,
            failures=Count(rows[0].worst_case.n_failures, "failed_calls"),
            rho=_rho(rows[0]),
            human=rows[0].human_advantage,
            rates=Listing(
                tuple(
                    say("paper.rate", omega=each.winning_rate,
                        epsilon=each.epsilon, outcome=say(f"outcome.{each.finding}"))
                    for each in rows
                ),
                most=12,
            ),
        )
        for judge, rows in list(question.judges.items())[:10]
    ]  # fmt: skip
    return say(
        "paper",
        judges=Listing(tuple(map(Name, question.judges)), most=10),
        question=question.name,
        items=question.n_items,
        annotators=len(row.annotators) + len(row.untested),
        min_items=Count(settings.get("min_items") or 30, "items"),
        others=other_raters(row),
        alignment=row.alignment,
        tests=Clauses(tuple(tests)),
        q=settings.get("false_discovery_rate") or 0.05,
        margins=Listing(tuple(map(Margin, question.epsilons)), most=12, either=True),
        mode=say(f"paper.{row.epsilon_mode}"),
        fixed=fixed,
        alpha=say_with_ends(*alpha),
        results=Clauses(tuple(results)),
        epsilon=row.epsilon,
        controls=controls,
        version=__version__,
    )
