"""Write the verdict per judge and question in one sentence, with reasons, cautions and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.speech import (
    Clauses,
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
    Verbatim,
    has_sentence,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from voirdire.reporting.pages.examination_views import Family, JudgeRows, QuestionPart
    from voirdire.stats import AltTestResult, Caution

__all__ = [
    "NOTE_FIGURES",
    "NotOfThisVersionError",
    "Reference",
    "State",
    "Verdict",
    "Warned",
    "advice",
    "against",
    "asks_superiority",
    "closeness",
    "failed_calls",
    "figures_of",
    "headline",
    "is_close",
    "judge_verdict",
    "lost_by_failures",
    "next_step",
    "noted",
    "reason_of",
    "reference_of",
    "shortfall",
    "state_of",
    "the_others",
    "variant",
    "warned",
]

Reference: TypeAlias = Literal["leave_one_out", "expert", "gold"]


def reference_of(row: AltTestResult) -> Reference:
    """Tell what the labels are compared with."""
    if row.settings.get("gold"):
        return "gold"
    return "leave_one_out" if row.settings.get("expert") is None else "expert"


def the_others(row: AltTestResult) -> Said:
    """Name what the labels are compared with."""
    reference = reference_of(row)
    if reference == "gold":
        return say("others.gold")
    if reference == "expert":
        expert = row.settings["expert"]
        return say("others.expert", name=Name(expert if isinstance(expert, str) else repr(expert)))
    return say("others.annotators")


def against(key: str, row: AltTestResult) -> str:
    """Give the key of a phrase, or of its variant where nobody is left out."""
    return key if reference_of(row) == "leave_one_out" else f"{key}.reference"


def asks_superiority(row: AltTestResult) -> bool:
    """Whether to pass is to be better than annotators, not about as good."""
    return row.epsilon == 0 and reference_of(row) == "gold"


_MOST_NAMED = 5
_MOST = 10**15


class NotOfThisVersionError(Exception):
    """A figure is missing or has another form, so that the page shows the stored sentence."""


def variant(code: str, figures: dict[str, Any]) -> str:
    """Give the end of a phrase's key where its figures ask for other words."""
    if code == "few_annotators" and figures.get("n_annotators") == 0:
        return ".none"
    if code in ("missed", "not_shown") and figures.get("constant_passes") is True:
        return ".constant"
    if code == "unpassable" and figures.get("n_needed") is None:
        return ".unknown"
    return ".clusters" if code == "unstable" and figures.get("clustered") is True else ""


def _count(figures: dict[str, Any], key: str) -> int:
    value = figures.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise NotOfThisVersionError(key)
    return value


def _number(figures: dict[str, Any], key: str) -> float | None:
    """Give a figure; None where it is undefined."""
    value = figures.get(key, "")
    if value is None or value != value:  # nan
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST:
        raise NotOfThisVersionError(key)
    return float(value)


def _rate(figures: dict[str, Any], key: str) -> float:
    value = _number(figures, key)
    if value is None or not 0 <= value <= 1:
        raise NotOfThisVersionError(key)
    return value


def _text(figures: dict[str, Any], key: str) -> str:
    value = figures.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise NotOfThisVersionError(key)
    if not isinstance(value, str) and not abs(value) <= _MOST:
        raise NotOfThisVersionError(key)
    return value if isinstance(value, str) else str(value)


def _names(figures: dict[str, Any]) -> Listing:
    """List names of which the JSON holds the first few, with how many there are."""
    known = figures.get("annotators")
    if not isinstance(known, list | tuple) or not all(isinstance(name, str) for name in known):
        raise NotOfThisVersionError("annotators")
    names = tuple(Name(name, width=40) for name in known[:_MOST_NAMED])
    n_all = _count(figures, "n") if "n" in figures else len(known)
    return Listing(names, n_hidden=max(n_all - len(names), 0))


def _beside_constant(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": Label(_text(figures, "constant")),
        "mine": Decimal(_rate(figures, "advantage_probability")),
        "theirs": Decimal(_rate(figures, "constant_advantage")),
        "p": P(_rate(figures, "p_value")),
    }


def _read_shown(figures: dict[str, Any]) -> dict[str, Any]:
    found = {
        "epsilon": Margin(_rate(figures, "epsilon")),
        "n": _count(figures, "n_shown"),
        "annotators": Count(_count(figures, "n_annotators"), "annotators"),
    }
    constant = figures.get("constant")
    return found | ({"label": Label(constant)} if isinstance(constant, str) else {})


NOTE_FIGURES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "constant_passes": lambda f: {"label": Label(_text(f, "label"))},
    "correction": lambda f: {
        "omega": Decimal(_number(f, "winning_rate")),
        "omega_bh": Decimal(_number(f, "winning_rate_bh")),
    },
    "failures": lambda f: {
        "failures": Count(_count(f, "n_failures"), "failed_calls"),
        "omega": Decimal(_number(f, "winning_rate")),
    },
    "few_annotators": lambda f: {"annotators": Count(_count(f, "n_annotators"), "annotators")},
    "few_clusters": lambda f: {"clusters": Count(_count(f, "n_clusters"), "clusters")},
    "few_items": lambda f: {
        "annotators": _names(f),
        "fewest": Count(_count(f, "fewest"), "items"),
        "few": _count(f, "few"),
    },
    "like_constant": lambda f: {
        "omega": Decimal(_rate(f, "winning_rate")),
        **_beside_constant(f),
    },
    "many_ties": lambda f: {"annotators": _names(f), "share": Percent(_rate(f, "share"))},
    "missed": lambda f: {
        **_read_shown(f),
        "missed": _count(f, "n_annotators") - _count(f, "n_within"),
    },
    "near_margin": lambda f: {
        "smallest": Margin(_rate(f, "smallest")),
        "epsilon": Margin(_rate(f, "epsilon")),
    },
    "no_p_values": lambda _: {},
    "not_judged": lambda f: {
        "unjudged": Count(_count(f, "n_unjudged")),
        "items": Count(_count(f, "n_items"), "items"),
    },
    "not_shown": lambda f: {**_read_shown(f), "within": _count(f, "n_within")},
    "one_sided": lambda f: {key: _count(f, key) for key in ("one", "other", "needed")},
    "random_passes": lambda _: {},
    "shown": lambda f: _read_shown(f) | _beside_constant(f),
    "skewed_labels": lambda f: {
        "share": Percent(_rate(f, "share")),
        "label": Label(_text(f, "label")),
    },
    "similarity": lambda _: {},
    "some_margins": lambda _: {},
    "strange_annotators": lambda f: {"annotators": _names(f)},
    "strange_labels": lambda f: {
        "mine": Label(_text(f, "label")),
        "theirs": Label(_text(f, "human_label")),
    },
    "undeclared_labels": lambda f: {"labels": Count(_count(f, "n_labels"), "labels")},
    "undefined_agreement": lambda f: {"reason": Verbatim(_text(f, "reason"))},
    "unpassable": lambda f: {
        "items": Count(_count(f, "n_items"), "items"),
        "epsilon": Margin(_rate(f, "epsilon")),
        "needed": f.get("n_needed") and Count(_count(f, "n_needed")),
    },
    "unstable": lambda f: {"stability": Percent(_rate(f, "stability"))},
    "untestable": lambda f: {"items": Count(_count(f, "min_items"), "items")},
    "untested_annotators": lambda f: {
        "annotators": _names(f),
        "items": Count(_count(f, "min_items"), "items"),
    },
    "weak_agreement": lambda f: {"low": Decimal(_number(f, "low"))},
    "weak_annotators": lambda f: {"alpha": Decimal(_number(f, "alpha"))},
}
"""How to read the figures of a phrase, by code."""


@dataclass(frozen=True, kw_only=True)
class Warned:
    """One warning with everybody whom it concerns.

    Attributes
    ----------
    code : str
        Its code; empty for a sentence of an older version.
    what, todo : Said
        What it is, and what to do about it.
    whom : Said or None
        Judges and margins; None where it concerns all.
    """

    code: str
    what: Said
    todo: Said
    whom: Said | None


def noted(note: Caution) -> Said | Verbatim:
    """Say a reason or a caution with its figures; an unknown one in its own sentence."""
    topic = f"topic.{note.code}"
    verbatim = Verbatim(
        note.sentence, otherwise=topic if has_sentence(topic, "examination") else None
    )
    figures = NOTE_FIGURES.get(note.code)
    if figures is None:
        return verbatim
    try:
        key = f"note.{note.code}"
        return say(key + variant(note.code, note.figures), **figures(note.figures))
    except NotOfThisVersionError:
        return verbatim


def advice(code: str) -> Said:
    """Say what to do about a reason or a caution."""
    key = f"todo.{code}"
    return say(key if has_sentence(key, "examination") else "todo.unknown")


def warned(family: Family, *, extra: Sequence[tuple[AltTestResult, Caution]] = ()) -> list[Warned]:
    """Collect the cautions of a family, each once, with whom it concerns.

    Parameters
    ----------
    family : Family
        One question under one alignment.
    extra : sequence of (AltTestResult, Caution), optional
        Cautions that the page finds by itself.

    Returns
    -------
    list of Warned
        In the order of `_ORDER`, unknown ones last.
    """
    pairs = [(row, note) for judge in family.judges for row in judge.rows for note in row.cautions]
    grouped: dict[str, list[tuple[AltTestResult, Caution]]] = {}
    for row, note in [*pairs, *extra]:
        grouped.setdefault(note.code or note.sentence, []).append((row, note))
    ordered = sorted(grouped, key=lambda code: _ORDER.get(code, len(_ORDER)))
    n_rows = {judge.judge: len(judge.rows) for judge in family.judges}
    return [_make_warning(grouped[code], n_rows) for code in ordered]


def _make_warning(found: Sequence[tuple[AltTestResult, Caution]], n_rows: dict[str, int]) -> Warned:
    code = found[0][1].code
    what = noted(found[0][1])
    n_versions = len({repr(noted(note)) for _, note in found})
    topic = f"topic.{code}"
    if n_versions > 1 and has_sentence(topic, "examination"):
        what = say(topic)  # figures differ: the topic for all of them
    return Warned(
        code=code,
        what=say("note", what=what),
        todo=advice(_choose_advice(found[0][1])),
        whom=_whom([row for row, _ in found], n_rows),
    )


def _choose_advice(note: Caution) -> str:
    """Tell whether the usual advice applies."""
    return "unstable.clusters" if variant(note.code, note.figures) == ".clusters" else note.code


def _whom(concerned: Iterable[AltTestResult], n_rows: dict[str, int]) -> Said | None:
    """Name the judges that a note concerns, with the margins unless it concerns all of theirs."""
    margins: dict[str, set[float]] = {}
    for row in concerned:
        margins.setdefault(row.judge, set()).add(row.epsilon)
    whole = {judge: None for judge, found in margins.items() if len(found) == n_rows[judge]}
    if len(whole) == len(n_rows):
        return None
    named: list[Any] = [Name(judge, width=40) for judge in whole]
    named += [
        say(
            "whom.at",
            judge=Name(judge, width=40),
            epsilons=Listing(tuple(Margin(epsilon) for epsilon in sorted(found))),
        )
        for judge, found in margins.items()
        if judge not in whole
    ]
    return say("whom", judges=Listing(tuple(named)))


_ORDER = {
    code: place
    for place, code in enumerate(
        (
            "strange_annotators",
            "strange_labels",
            "constant_passes",
            "random_passes",
            "skewed_labels",
            "one_sided",
            "weak_agreement",
            "undefined_agreement",
            "weak_annotators",
            "few_annotators",
            "untested_annotators",
            "few_items",
            "few_clusters",
            "failures",
            "not_judged",
            "some_margins",
            "near_margin",
            "unstable",
            "correction",
            "many_ties",
            "similarity",
            "undeclared_labels",
        )
    )
}


def figures_of(row: AltTestResult) -> dict[str, Any]:
    """Give the figures that the sentences about a row are made of."""
    return {
        "judge": Name(row.judge),
        "question": Name(row.question),
        "epsilon": Margin(row.epsilon),
        "won": _say_won(row),
        "anyone": _say_anyone(row),
        "omega": Decimal(row.winning_rate),
        "worst": Decimal(row.worst_case.winning_rate),
        "failures": failed_calls(row),
        "rho": _rho(row),
        "others": the_others(row),
    }


def closeness(row: AltTestResult) -> Said:
    """Say whom the judge was shown to be as close as, at this margin."""
    if not row.annotators:
        return say("close.untested")
    mode = "zero" if row.epsilon == 0 else row.epsilon_mode
    return say(f"close.{mode}" if row.n_won else f"close.none.{mode}", **figures_of(row))


def shortfall(row: AltTestResult) -> Clauses | Said:
    """Say why a judge failed: too few annotators won, or won only with failed calls left out."""
    if lost_by_failures(row):
        return say("close.lost", **figures_of(row))
    if not row.annotators:
        return closeness(row)
    need = "need.one" if len(row.annotators) == 1 else "need.half"
    need = "need.weight" if row.settings.get("quality") else need
    return Clauses((closeness(row), say(need)))


def lost_by_failures(row: AltTestResult) -> bool:
    """Whether the judge passes with its failed calls left out, and not with them lost."""
    return row.passed and not row.worst_case.passed and row.worst_case.n_failures > 0


def failed_calls(row: AltTestResult) -> Count:
    """Count the calls that gave no answer."""
    return Count(row.worst_case.n_failures, "failed_calls")


def _rho(row: AltTestResult) -> Said | Decimal:
    found = row.uncertainty
    if found is None or not is_defined(found.advantage_low):
        return Decimal(row.advantage_probability)
    return say(
        "figure.with_interval",
        value=Decimal(row.advantage_probability),
        level=Percent(found.confidence_level),
        interval=Interval(found.advantage_low, found.advantage_high),
    )


def _say_won(row: AltTestResult) -> Said:
    n_won, n_all = row.n_won, len(row.annotators)
    if row.settings.get("quality") and n_won < n_all:
        return say("won.weight", omega=Decimal(row.winning_rate))
    if n_all == 1:
        return say(against("won.only", row))
    if n_won == n_all:
        key = "won.both" if n_all == 2 else "won.all"
        return say(against(key, row), annotators=Count(n_all, "annotators"))
    return say(against("won.some", row), won=Count(n_won), annotators=Count(n_all, "annotators"))


def _say_anyone(row: AltTestResult) -> Said:
    n_all = len(row.annotators)
    key = {1: "anyone.one", 2: "anyone.both"}.get(n_all, "anyone.many")
    return say(against(key, row), annotators=Count(n_all, "annotators"))


State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]

_MOST_MARGINS = 12
_CLOSE = 0.1
"""A judge that passes in at least this share of the resamples, and fails in as many."""
_FAULTS_OF_THE_LABELS = {
    "constant_passes",
    "one_sided",
    "undefined_agreement",
    "unpassable",
    "weak_agreement",
}
"""Reasons that lie in the labels: no judge could be told from a useless one with them."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is said about one judge on one question.

    Attributes
    ----------
    judge : str
        Which.
    state : {"passed", "depends", "failed", "no_evidence"}
        At every margin examined the same, or, for "depends", passed at some of them.
    short : Said
        A few words.
    sentence : Said
        The verdict.
    more : tuple of Said
        What else belongs to it: other margins, failures, how often it would be made again.
    todo : Said or None
        What to do where there is no evidence.
    is_close : bool
        Whether it hangs on the items drawn.
    """

    judge: str
    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...] = ()
    todo: Said | None = None
    is_close: bool = False


def judge_verdict(judge: JudgeRows, *, n_asked: int = 0, alignment: str = "") -> Verdict:
    """Say whether a judge may stand in for an annotator.

    Parameters
    ----------
    judge : JudgeRows
        Its rows under the main alignment.
    n_asked : int, optional
        Items of the question, whether the judge answered them or not; 0 where that is not known.
    alignment : str, optional
        Which alignment the verdict is by, where there are others.

    Returns
    -------
    Verdict
    """
    state = state_of(judge)
    short, close = _short(judge, state), _stability(judge)
    by = (say("verdict.by", name=Name(alignment)),) if alignment else ()
    if state == "no_evidence":
        sentence, todo = _say_no_evidence(judge.rows[-1], n_asked)
        return Verdict(
            judge=judge.judge, state=state, short=short, sentence=sentence, more=by, todo=todo
        )
    sentence, more = _SENTENCES[state](judge)
    # with several margins, some are always close to the smallest one that the judge passes
    marked = bool(close) and len(judge.rows) == 1
    return Verdict(
        judge=judge.judge,
        state=state,
        short=say("short.close", short=short) if marked else short,
        sentence=sentence,
        more=(*by, *close, *more),
        is_close=marked,
    )


def headline(part: QuestionPart, verdicts: Sequence[Verdict]) -> tuple[Said, ...]:
    """Say in one sentence which judges may replace an annotator; of one judge its own verdict."""
    if len(verdicts) == 1:
        return (verdicts[0].sentence,)
    family = part.main
    fit = [verdict for verdict in verdicts if verdict.state in ("passed", "depends")]
    silent = [verdict for verdict in verdicts if verdict.state == "no_evidence"]
    figures = {
        "question": Name(part.question),
        "judges": Count(len(family.judges), "judges"),
        "margin": _margin_words(family.epsilons, passed=bool(fit)),
    }
    end = ".outperforms" if asks_superiority(family.first) else ""
    if len(silent) == len(verdicts):
        return (say("headline.no_evidence", **figures),)
    if not fit:
        return (say(f"headline.none{end}", **figures), *_name_verdicts("headline.silent", silent))
    close = [verdict for verdict in fit if verdict.is_close]
    return (
        say(f"headline.some{end}", fit=Count(len(fit)), names=_names_of(fit), **figures),
        *_name_verdicts("headline.close", close),
        *_name_verdicts("headline.silent", silent),
    )


def _margin_words(epsilons: Sequence[float], *, passed: bool) -> Said:
    if len(epsilons) > 1:
        return say("headline.margins" if passed else "headline.margins.none")
    return say(
        "headline.margin" if epsilons[0] else "headline.margin.zero", epsilon=Margin(epsilons[0])
    )


def _names_of(verdicts: Sequence[Verdict]) -> Listing:
    return Listing(tuple(Name(verdict.judge, 40) for verdict in verdicts), most=5)


def _name_verdicts(key: str, verdicts: Sequence[Verdict]) -> tuple[Said, ...]:
    return (say(key, names=_names_of(verdicts)),) if verdicts else ()


def next_step(verdicts: Sequence[Verdict]) -> Said:
    """Say the one thing to do next."""
    fit = [verdict for verdict in verdicts if verdict.state in ("passed", "depends")]
    if not fit:
        todo = [verdict.todo for verdict in verdicts if verdict.todo is not None]
        is_silent = all(verdict.state == "no_evidence" for verdict in verdicts)
        return todo[0] if is_silent and todo else say("next.improve")
    if all(verdict.is_close for verdict in fit):
        return say("next.more_items")
    return say("next.confirm" if len(verdicts) > 1 else "next.certify")


def state_of(judge: JudgeRows) -> State:
    """Combine the outcomes at all margins."""
    outcomes = {row.outcome for row in judge.rows}
    if outcomes == {"passed"}:
        return "passed"
    if "passed" in outcomes:
        return "depends"
    return "no_evidence" if outcomes == {"no_evidence"} else "failed"


def _short(judge: JudgeRows, state: State) -> Said:
    if state == "depends":
        passing = _select_rows("passed", judge)
        if _reaches_the_top(passing, judge):
            return say("short.depends", epsilon=Margin(passing[0].epsilon))
        return say("short.depends_listed", epsilons=_margins(passing, either=True))
    better = asks_superiority(judge.rows[0]) and (state == "passed" or len(judge.rows) == 1)
    return say(f"short.{state}.outperforms" if better and state in _BETTER else f"short.{state}")


_BETTER = ("passed", "failed")


def _select_rows(outcome: str, judge: JudgeRows) -> list[AltTestResult]:
    return [row for row in judge.rows if row.outcome == outcome]


def _reaches_the_top(passing: Sequence[AltTestResult], judge: JudgeRows) -> bool:
    return list(judge.rows[len(judge.rows) - len(passing) :]) == list(passing)


def _margins(rows: Sequence[AltTestResult], *, either: bool = False) -> Listing:
    return Listing(tuple(Margin(row.epsilon) for row in rows), most=_MOST_MARGINS, either=either)


def _stability(judge: JudgeRows) -> tuple[Said, ...]:
    """Say where the outcome would often have been another, at the margins that decide."""
    deciding = [*_select_rows("passed", judge)[:1], *_select_rows("failed", judge)[-1:]]
    found = [
        (row.epsilon, Percent(row.uncertainty.stability), row.uncertainty.clustered)
        for row in deciding
        if row.uncertainty is not None and is_close(row.uncertainty.stability)
    ]
    if not found:
        return ()
    epsilon, share, clustered = found[0]
    key = "verdict.close.clusters" if clustered else "verdict.close.items"
    if len(judge.rows) == 1:
        return (say(key, share=share),)
    if len(found) == 1:
        return (say(f"{key}.at", share=share, epsilon=Margin(epsilon)),)
    below, share_below, _ = found[1]
    figures = {"below": Margin(below), "share_below": share_below}
    return (say(f"{key}.two", share=share, epsilon=Margin(epsilon), **figures),)


def is_close(stability: float) -> bool:
    """Whether an outcome would be another in more than a few resamples."""
    return _CLOSE <= stability <= 1 - _CLOSE


def _say_passed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    row = judge.rows[0]
    if asks_superiority(row):
        key = "verdict.outperforms"
    else:
        key = "verdict.passed" if len(judge.rows) == 1 else "verdict.passed_all"
    sentence = say(key, close=closeness(row), **figures_of(row))
    return sentence, (*_say_reason(row), *_say_failures(row))


def _say_reason(row: AltTestResult) -> tuple[Said, ...]:
    """Say what decided the outcome; versions before 0.2 do not."""
    return (say("note", what=noted(row.because)),) if row.because.sentence else ()


def _say_depends(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    passing = _select_rows("passed", judge)
    row = passing[0]
    key = "verdict.depends" if _reaches_the_top(passing, judge) else "verdict.depends_listed"
    alternatives = _margins(passing, either=True)
    sentence = say(key, close=closeness(row), all=alternatives, **figures_of(row))
    more = []
    failing = _select_rows("failed", judge)
    if failing:
        key = "verdict.not_at.lost" if lost_by_failures(failing[-1]) else "verdict.not_at"
        more.append(say(key, epsilons=_margins(failing), **figures_of(failing[-1])))
    return sentence, (
        *_say_reason(row),
        *more,
        *_say_smallest_margin(judge),
        *_say_silent_margins(judge),
        *_say_failures(row),
    )


def _say_failed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    failing = _select_rows("failed", judge)
    row = failing[-1]
    sentence = say(
        _failed_key(judge, failing), why=shortfall(row), all=_margins(failing), **figures_of(row)
    )
    failures = () if lost_by_failures(row) else _say_failures(row)
    return sentence, (
        *_say_reason(row),
        *_say_smallest_margin(judge),
        *_say_silent_margins(judge),
        *failures,
    )


def _failed_key(judge: JudgeRows, failing: Sequence[AltTestResult]) -> str:
    if len(judge.rows) == 1:
        return "verdict.failed.outperforms" if asks_superiority(failing[0]) else "verdict.failed"
    return "verdict.failed_all" if len(failing) == len(judge.rows) else "verdict.failed_at"


def _say_no_evidence(row: AltTestResult, n_asked: int) -> tuple[Said, Said | None]:
    is_blind = row.because.code in _FAULTS_OF_THE_LABELS
    key = "verdict.no_evidence.labels" if is_blind else "verdict.no_evidence"
    sentence = say(key, reasons=reason_of(row, n_asked=n_asked), **figures_of(row))
    return sentence, _todo(row, n_asked)


def _todo(row: AltTestResult, n_asked: int) -> Said | None:
    """Say what to do, by the missing verdicts of the judge where these are the reason."""
    if not row.because.sentence:
        return None
    if _left_too_much_out(row, n_asked):
        return advice("failures" if row.worst_case.n_failures else "not_judged")
    return advice(row.because.code)


def reason_of(row: AltTestResult, *, n_asked: int = 0) -> Said | Verbatim:
    """Say why there is no evidence; `n_asked` counts the items of the question."""
    if not row.because.sentence:
        return say("reason.unknown")
    if not _left_too_much_out(row, n_asked):
        return noted(row.because)
    key = "reason.answered" if row.n_items else "reason.answered_none"
    return say(key, n=Count(row.n_items), items=Count(n_asked, "items"))


def _left_too_much_out(row: AltTestResult, n_asked: int) -> bool:
    return row.because.code == "untestable" and row.n_items < n_asked


def _say_silent_margins(judge: JudgeRows) -> tuple[Said, ...]:
    """Say at which margins there is no evidence, and why."""
    silent = _select_rows("no_evidence", judge)
    if not silent:
        return ()
    return (say("verdict.silent_at", epsilons=_margins(silent), reasons=reason_of(silent[-1])),)


def _say_smallest_margin(judge: JudgeRows) -> tuple[Said, ...]:
    """Name the smallest margin of all, where it says more than those examined."""
    smallest = judge.rows[0].smallest_epsilon
    examined = {row.epsilon for row in judge.rows if row.outcome == "passed"}
    if smallest is None or (examined and smallest >= min(examined)):
        return ()
    key = "verdict.smallest.silent" if judge.smallest_is_silent else "verdict.smallest"
    return (say(key, epsilon=Margin(round(smallest, 3))),)


def _say_failures(row: AltTestResult) -> tuple[Said, ...]:
    """Say what failed calls change; nothing is said of an ω that is not defined."""
    worst = row.worst_case
    if not worst.n_failures:
        return ()
    figures = {"failures": failed_calls(row), "worst": Decimal(worst.winning_rate)}
    if not is_defined(worst.winning_rate):
        return (say("verdict.failures.only", n=Count(worst.n_failures)),)
    if row.outcome == "passed":
        return (say("verdict.failures", n=Count(worst.n_failures), worst=figures["worst"]),)
    return (say("verdict.failures.lost", **figures),)


_SENTENCES: dict[State, Any] = {
    "passed": _say_passed,
    "depends": _say_depends,
    "failed": _say_failed,
}
