"""What an examination found, in sentences: verdicts, what to do, cautions, items in dispute."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire._validation import is_number
from voirdire.reporting.pages.items import (
    ItemCard,
    as_written,
    item_rows,
    item_texts,
    slice_columns,
    text_start,
)
from voirdire.reporting.pages.results_sections import say_dropped
from voirdire.reporting.pages.speech import (
    Clauses,
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Said,
    Share,
    Verbatim,
    has_sentence,
    names_in_sentence,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire._types import Finding
    from voirdire.records import Dropped
    from voirdire.stats import AltTestResult, Caution
    from voirdire.studies.findings import DisputedItem, QuestionFindings


_CLOSE = 0.1
_CARELESS = "careless_annotators"
_SUSPICIONS = (_CARELESS, "turned_round", "majority_copy", "other_scale")
"""Codes of what is to be looked into before an outcome is acted on."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of an examination.

    Attributes
    ----------
    name, place : str
        Which, and how ids of its part of the page begin.
    families : dict of str to dict of str to list of AltTestResult
        By alignment, then by judge with the highest ρ first, the rows by ε.
    findings : QuestionFindings
        What does not depend on ε.
    dropped : tuple of Dropped
        What was set aside of it.
    """

    name: str
    place: str
    families: dict[str, dict[str, list[AltTestResult]]]
    findings: QuestionFindings
    dropped: tuple[Dropped, ...]

    @property
    def judges(self) -> dict[str, list[AltTestResult]]:
        """The rows of each judge under the first alignment, by which the verdicts are."""
        return next(iter(self.families.values()))

    @property
    def rows(self) -> list[AltTestResult]:
        """The row of each judge at the ε that decides."""
        return [deciding_row(rows) for rows in self.judges.values()]

    @property
    def fullest(self) -> AltTestResult:
        """The row on most items: its controls and its annotators' agreement stand for all."""
        return max(self.rows, key=lambda row: row.n_items)

    @property
    def epsilons(self) -> list[float]:
        """The margins of the first alignment."""
        return sorted({row.epsilon for rows in self.judges.values() for row in rows})

    @property
    def annotators(self) -> list[str]:
        """The names of its annotators, tested or not."""
        names = (
            [x.annotator for x in row.annotators] + [*row.untested]
            for rows in self.judges.values()
            for row in rows[:1]
        )
        return list(dict.fromkeys(name for each in names for name in each))

    @property
    def n_items(self) -> int:
        """Items of the question, whether a judge answered them or not."""
        return max(self.findings.n_items, self.fullest.n_items)


def deciding_row(rows: Sequence[AltTestResult]) -> AltTestResult:
    """Return the row of the smallest ε at which a judge passes, else of the widest."""
    passing = ("passed", "passed_as_random_person")
    return next((row for row in rows if row.outcome in passing), rows[-1])


def margin_of(row: AltTestResult) -> Margin:
    """Return the ε of the test that decides: in a crowd it is at most .1."""
    return Margin(row.epsilon if row.crowd is None else row.crowd.epsilon)


def other_raters(row: AltTestResult) -> Said:
    """Name what labels are compared with."""
    if row.settings.get("gold"):
        return say("others.gold")
    expert = row.settings.get("expert")
    if expert is None:
        return say("others.annotators")
    return say("others.expert", name=expert if isinstance(expert, str) else repr(expert))


# Verdicts -----------------------------------------------------------------------------------------


def say_verdict(rows: Sequence[AltTestResult], *, n_items: int) -> tuple[Any, ...]:
    """Say whether a judge passed at the ε that decides, and at the others.

    Parameters
    ----------
    rows : sequence of AltTestResult
        Of one judge, by ε.
    n_items : int
        Items of the question, whether the judge answered them or not.
    """
    row = deciding_row(rows)
    verdict = row.finding
    sentences: list[Any] = []
    if verdict == "no_evidence":
        reason = _say_reason(row, n_items)
        sentences.append(say(f"verdict.{verdict}", judge=row.judge, reason=reason))
    elif row.because.code in ("stop_shown", "stop_not_shown"):
        described = say("verdict.described", shown=row.n_shown, omega=row.winning_rate,
                        annotators=len(row.annotators))  # fmt: skip
        sentences += [say_coded("verdict", row.because), described]
    elif row.crowd is not None:
        sentences += [
            say(
                f"verdict.crowd.{verdict}",
                judge=row.judge,
                epsilon=margin_of(row),
                people=row.crowd.n_people,
                p=P(row.crowd.p_value),
            ),
            *([say_coded("verdict", row.because)] if row.because.code == "crowd_shown" else []),
        ]
    else:
        sentences.append(
            say(
                f"verdict.{verdict}",
                judge=row.judge,
                epsilon=row.epsilon,
                # with failed items lost, by which the others are counted
                annotators=row.because.figures.get("n_annotators", len(row.annotators)),
                shown=row.n_shown,
                within=row.n_within,
                omega=row.winning_rate,
            )
        )
        if row.because.code == "shown":
            sentences.append(say_coded("verdict", row.because))
        sentences += [say_coded("verdict", x) for x in row.cautions if x.code == _CARELESS]
        if _do_failures_decide(row):
            lost, answered = row.worst_case.n_failures, row.worst_case.winning_rate_answered
            failed = {"n": Count(lost, "failed_calls"), "omega": Decimal(answered)}
            sentences.append(say("verdict.failures", **failed))
        if row.uncertainty is not None and _is_close(rows):
            sentences.append(say("verdict.resamples", share=Percent(row.uncertainty.stability)))
    by_verdict: dict[Finding, list[float]] = {}
    for each in rows:
        by_verdict.setdefault(each.finding, []).append(each.epsilon)
    if len(by_verdict) > 1:
        margins = [
            say("verdict.at", outcome=say(f"outcome.{name}"),
                epsilons=Listing(tuple(map(Margin, epsilons)), most=12))
            for name, epsilons in by_verdict.items()
        ]  # fmt: skip
        sentences.append(say("verdict.margins", margins=Clauses(tuple(margins))))
    return tuple(sentences)


def _do_failures_decide(row: AltTestResult) -> bool:
    return row.winning_rate < 0.5 <= row.worst_case.winning_rate_answered


def _is_close(rows: Sequence[AltTestResult]) -> bool:
    """Whether the outcome would be another in more than a few resamples, at one ε alone.

    Of several, some are always close to the smallest at which the judge passes.
    """
    ends = rows[0].uncertainty
    return len(rows) == 1 and ends is not None and _CLOSE <= ends.stability <= 1 - _CLOSE


def _count_answered(row: AltTestResult, n_items: int) -> int:
    left_out = sum(x.figures["n_unjudged"] for x in row.cautions if x.code == "not_judged")
    return n_items - int(left_out) - row.worst_case.n_failures


def _left_items_out(row: AltTestResult, n_items: int) -> bool:
    """Whether a judge that cannot be tested answered too few of items that would be enough."""
    is_untestable = row.because.code in ("untestable", "small_crowd", "no_shared_items")
    needed = row.because.figures.get("min_items", 0)
    n_answered = _count_answered(row, n_items)
    return is_untestable and n_items >= needed and n_answered < max(needed, n_items / 2)


def _say_reason(row: AltTestResult, n_items: int) -> Any:
    """Say why there is no evidence."""
    if _left_items_out(row, n_items):
        n_answered = _count_answered(row, n_items)
        return say("reason.answered", n=n_answered, items=n_items)
    reason = say_coded("reason", row.because)
    needed, there = (row.because.figures.get(name) for name in ("n_needed", "n_items"))
    if not (is_number(needed) and is_number(there) and needed > there):
        return reason
    return Clauses((reason, say("reason.needed", n=needed)))


def say_next(rows: Sequence[AltTestResult], *, n_judges: int, n_items: int) -> Said:
    """Say the one thing to do about a judge; the arguments are those of `say_verdict`."""
    row = deciding_row(rows)
    verdict = row.finding
    if verdict == "no_evidence":
        code = row.because.code
        if _left_items_out(row, n_items):
            code = "failures" if row.worst_case.n_failures else "not_judged"
        return say(f"todo.{code}" if has_sentence(f"todo.{code}") else "next.items")
    if row.because.code == "stop_not_shown":
        return say("todo.stop_not_shown")
    if _do_failures_decide(row):
        return say("todo.failures")
    suspicions = [note.code for note in row.cautions if note.code in _SUSPICIONS]
    if suspicions:
        return say(f"todo.{suspicions[0]}")
    if verdict == "passed":
        return say("next.confirm" if n_judges > 1 else "next.certify")
    if verdict == "worse":
        return say("next.improve")
    if row.crowd is not None:
        return say("next.crowd" if verdict == "passed_as_random_person" else "next.second_labels")
    return say("next.items")


# Cautions -----------------------------------------------------------------------------------------

_ORDER = (
    *("counted", "random_person", "unclustered_criteria", "turned_round", "majority_copy"),
    "other_scale",
    *("strange_labels", "strange_annotators"),
    *("chance_annotators", "correction", "few_annotators", "untested_annotators"),
    *("weak_annotators", "weak_agreement", "undefined_agreement", "one_sided", "skewed_labels"),
    *("not_judged", "undeclared_labels", "similarity", "few_clusters", "few_items"),
)
"""Codes of cautions, what changes a verdict first."""
_SAID_ELSEWHERE = {"failures", "many_ties", "unstable", "vocabulary", _CARELESS}
_WITHIN = {"weak_agreement": "weak_annotators", "skewed_labels": "one_sided"}
"""Cautions that say less than another."""
_NUMBERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("alpha", "low", "winning_rate", "advantage_probability"), Decimal),
    **dict.fromkeys(("min_items", "n_items"), partial(Count, noun="items")),
    **dict.fromkeys(("p_value", "constant_p_value"), P),
    "n_people": partial(Count, noun="people"),
    "constant_advantage": Decimal,
    "epsilon": Margin,
    "n_clusters": partial(Count, noun="clusters"),
    "n_labels": partial(Count, noun="labels"),
    "share": Percent,
    "worst_case": Share,
}
_WORDS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("human_labels", "labels", "reason", "range", "its_range"), Verbatim),
    **dict.fromkeys(("judge", "name"), Name),
}


def say_coded(prefix: str, note: Caution) -> Said | Verbatim:
    """Say a note of the record with its figures; in its own sentence where one is missing."""
    key, figures = f"{prefix}.{note.code}", dict[str, Any]()
    if not has_sentence(key):
        return Verbatim(note.sentence)
    for name in names_in_sentence(key):
        value = note.figures.get(name)
        if isinstance(value, dict | list | tuple):
            names, n_all = tuple(Name(str(each)) for each in value), note.figures.get("n")
            n_hidden = n_all - len(names) if isinstance(n_all, int) else 0
            figures[name] = Listing(names, n_hidden=max(n_hidden, 0))
        elif is_number(value) and name not in ("label", "human_label", "constant"):
            figures[name] = _NUMBERS.get(name, Count if isinstance(value, int) else Decimal)(value)
        elif value is not None and name not in _NUMBERS:
            figures[name] = _WORDS.get(name, Label)(str(value))
        else:
            return Verbatim(note.sentence)
    return say(key, **figures)


def list_cautions(question: Question) -> list[tuple[Any, Said | None]]:
    """List what weakens the verdicts of a question, each once, with what to do about it."""
    concerned: dict[str, dict[str, Caution]] = {}
    for judge, rows in question.judges.items():
        row = deciding_row(rows)
        for note in row.cautions:
            if note.code not in _SAID_ELSEWHERE:
                concerned.setdefault(note.code, {})[judge] = note
    for less, more in _WITHIN.items():
        if more in concerned:
            concerned.pop(less, None)
    places = {code: place for place, code in enumerate(_ORDER)}
    cautions: list[tuple[Any, Said | None]] = []
    for code in sorted(concerned, key=lambda code: places.get(code, len(places))):
        what: Any = say_coded("caution", next(iter(concerned[code].values())))
        if len(concerned[code]) < len(question.judges):
            names = Listing(tuple(Name(judge, 40) for judge in concerned[code]))
            what = say("caution.of", what=what, judges=names)
        todo = f"todo.{code}"
        cautions.append((what, say(todo) if has_sentence(todo) else None))
    dropped = say_dropped(drop for drop in question.dropped if drop.reason != "missing label")
    cautions += [(what, say("todo.dropped")) for what in dropped]
    return cautions


# Items in dispute ---------------------------------------------------------------------------------

_MOST_ITEMS, _MOST_ON_PAGE, _FEWEST_ITEMS = 100, 60, 2
"""Items of a question; of the page, in equal shares; and at least of each question."""
_MOST_RATERS = 80


def disputed_cards(findings: QuestionFindings, *, n_questions: int) -> tuple[ItemCard, ...]:
    """Make a card of each item in dispute, the largest disagreement first."""
    most = min(_MOST_ITEMS, max(_MOST_ON_PAGE // n_questions, _FEWEST_ITEMS))
    disputed = findings.disputed[:most]
    columns = slice_columns([item.texts for item in disputed])
    return tuple(_make_card(x, columns, is_scale=findings.kind == "scale") for x in disputed)


def _make_card(item: DisputedItem, columns: Sequence[str], *, is_scale: bool) -> ItemCard:
    counts = Counter(item.labels.values()).most_common()
    usual = counts[0][0] if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]) else None
    asked = [judge for judge in item.judges if judge in item.answers]
    rows: list[tuple[Any, Any, Any]] = []
    for judge, label in list(item.answers.items())[:_MOST_RATERS]:
        is_against = judge in item.judges if is_scale or usual is None else label != usual
        answer = say("items.against", label=Label(label)) if is_against else Label(label)
        reason = item.reasons.get(judge)
        rows.append((Name(judge), answer, None if reason is None else as_written(reason)))
    people = list(item.labels.items())[:_MOST_RATERS]
    rows += [(Name(name), Label(label), None) for name, label in people]
    answers = tuple(
        say("items.said", who=Name(judge, 24), label=Label(item.answers[judge], 24))
        for judge in asked
    )
    labels = tuple(say("items.counted", label=Label(x, 24), n=n) for x, n in counts)
    dispute = say("items.dispute", judges=Listing(answers, most=3), people=Listing(labels, most=3))
    tags: Mapping[str, str | Sequence[str]] = {
        "column.judge": asked,
        "items.answer": [item.answers[judge] for judge in asked],
        **{f"={name}": item.texts[name] for name in columns if name in item.texts},
    }
    return ItemCard(
        title=item.item,
        summary=(dispute, *text_start(item.texts)),
        texts=item_texts(item.texts),
        rows=[*rows, *item_rows(item.texts)],
        tags=tags,
    )
