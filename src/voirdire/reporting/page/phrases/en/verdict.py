"""The head of the page, counts and verdicts, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "page.title": "May a judge stand in for the annotators?",
    "page.kicker": "Alternative annotator test",
    "page.skip": "Skip to the verdict",
    "page.meta": "{judges} examined against {annotators} on {items}",
    "page.meta.questions": "{judges} examined against {annotators} on {items}, {questions}",
    "page.simulated": "Simulated data: no person and no model gave these labels. The figures show "
    "what the test does and say nothing about any real model.",
    "page.contents": "On this page",
    "page.colophon": "Made by voirdire {version}. Nothing on this page was loaded from elsewhere. "
    "Figures are rounded here; <code>examine --json</code> has all digits.",
    "quotes": "“”",
    "list.clause": "; ",
    "list.comma": ", ",
    "list.and": "{shown} and {last}",
    "list.more": "{shown} and {n} more",
    "sentence.space": " ",
    "interval": "{low}–{high}",
    "interval.negative": "{low} to {high}",
    "figure.with_level": "{value} ({level} interval {interval})",
    "figure.with_interval": "{value}, interval {interval}",
    "yes": "yes",
    "no": "no",
}
_COUNTS = {
    "count.annotators.one": "{n} annotator",
    "count.annotators.many": "{n} annotators",
    "count.judges.one": "{n} judge",
    "count.judges.many": "{n} judges",
    "count.items.one": "{n} item",
    "count.items.many": "{n} items",
    "count.questions.one": "{n} question",
    "count.questions.many": "{n} questions",
    "count.labels.one": "{n} label",
    "count.labels.many": "{n} labels",
    "count.clusters.one": "{n} cluster",
    "count.clusters.many": "{n} clusters",
    "count.failed_calls.one": "{n} failed call",
    "count.failed_calls.many": "{n} failed calls",
    "count.pairs.one": "{n} pair",
    "count.pairs.many": "{n} pairs",
    "count.slices.one": "{n} slice",
    "count.slices.many": "{n} slices",
    "count.warnings.one": "{n} warning",
    "count.warnings.many": "{n} warnings",
}
_VERDICT = {
    "verdict.title": "The verdict",
    "verdict.lead": "Each annotator in turn is left out. Would the judge, in that chair, be as "
    "close to the remaining annotators as the person was, give or take a margin ε? A judge that "
    "holds its own against at least half of them may stand in for one.",
    "verdict.fixed": "<strong>ε must be fixed in advance.</strong> It says how much worse than a "
    "person a judge may be because it costs less. A margin chosen after seeing which judges pass "
    "decides nothing; other margins, and the smallest margin at which a judge passes, show only "
    "how much hangs on the choice.",
    "verdict.table": "Verdicts by judge and question",
    "verdict.table.caption": "At a glance: verdict by judge and question",
    "verdict.ranks": "Judges, best first",
    "verdict.on": "On {question}",
    "verdict.rest": "The sentences about the other {n}",
    "verdict.warnings": "Before you act on this: {n}, each with what to do about it",
    "short.passed": "may stand in",
    "short.failed": "not shown fit",
    "short.no_evidence": "no evidence",
    "short.depends": "from ε = {epsilon}",
    "short.depends_listed": "at ε = {epsilons}",
    "others.annotators": "the others",
    "others.gold": "the gold labels",
    "others.expert": "the expert {name}",
    "close.additive": "at a margin of ε = {epsilon} it is at least as close to {others} as {won} "
    "(ω = {omega}, ρ = {rho})",
    "close.multiplicative": "at a margin of ε = {epsilon}, taken as a share of each annotator’s "
    "own advantage, it is at least as close to {others} as {won} (ω = {omega}, ρ = {rho})",
    "close.zero": "with no margin at all it is closer to {others} than {won} (ω = {omega}, ρ = "
    "{rho})",
    "won.all": "all {annotators} left out",
    "won.some": "{won} of the {annotators} left out",
    "won.none": "none of the {annotators} left out",
    "won.only": "the only annotator left out",
    "won.not_even": "no annotator left out",
    "close.untested": "no annotator could be tested",
    "verdict.passed": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question}: {close}.",
    "verdict.passed_all": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question}, at every margin examined: already {close}.",
    "verdict.depends": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question} <strong>if a margin of ε = {epsilon} or more was accepted beforehand</strong>: "
    "{close}.",
    "verdict.depends_listed": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question} <strong>if the margin accepted beforehand was ε = {all}</strong>: {close}.",
    "verdict.not_at": "At ε = {epsilons} it has not been shown fit (ω = {omega} at {epsilon}; "
    "half is needed).",
    "verdict.silent_at": "At ε = {epsilons} these labels are no evidence: {reasons}.",
    "verdict.failed": "<strong>{judge} has not been shown fit to stand in for an "
    "annotator</strong> on {question}: {close}; half of them are needed.",
    "verdict.failed_all": "<strong>{judge} has not been shown fit to stand in for an "
    "annotator</strong> on {question}, at any margin examined: even {close}; half of them are "
    "needed.",
    "verdict.no_evidence": "<strong>No evidence about {judge}</strong> on {question}: {reasons}. "
    "These labels could not tell a good judge from a useless one.",
    "verdict.todo": "{what}",
    "verdict.smallest": "The smallest margin at which it passes: ε = {epsilon}.",
    "verdict.failures": "It left {failures}; even with these counted as lost, ω = {worst}.",
    "verdict.lost_by_failures": "It left {failures}: without them ω = {omega}, with them counted "
    "as lost ω = {worst}, and the outcome goes by the latter.",
    "outcome.passed": "passed",
    "outcome.failed": "failed",
    "outcome.no_evidence": "no evidence",
}
PHRASES: dict[str, str] = _PAGE | _COUNTS | _VERDICT
