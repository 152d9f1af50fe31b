"""The head of the page, counts and verdicts, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "page.title": "May a judge stand in for the annotators?",
    "page.title.gold": "Does a judge meet the gold labels as well as annotators do?",
    "page.title.expert": "Does a judge meet the expert as well as annotators do?",
    "page.kicker": "Alternative annotator test",
    "page.meta": "{judges} examined against {annotators} on {items}",
    "page.meta.questions": "{judges} examined against {annotators} on {items}, {questions}",
    "page.simulated": "Simulated data: no person and no model gave these labels. The figures show "
    "what the test does and say nothing about any real model.",
    "page.simulated.but": "Simulated data: no person gave these labels, and of the judges only "
    "{judges} is real. The figures show what the test does; they say little about how that judge "
    "does on other texts.",
    "page.simulated.base": "In the chapter on the reward, the base rewards are simulated too, and "
    "the labels are the classes that the responses were written for.",
    "page.reward": "The reward",
    "page.colophon": "Made by voirdire {version}. Nothing on this page was loaded from elsewhere. "
    "Figures are rounded here; <code>examine --json</code> has all digits.",
    "figure.with_level": "{value} ({level} interval {interval})",
    "figure.with_interval": "{value}, {level} interval {interval}",
}
_COUNTS = {
    "count.judges.one": "{n} judge",
    "count.judges.many": "{n} judges",
    "count.questions.one": "{n} question",
    "count.questions.many": "{n} questions",
    "count.labels.one": "{n} label",
    "count.labels.many": "{n} labels",
    "count.clusters.one": "{n} cluster",
    "count.clusters.many": "{n} clusters",
    "count.failed_calls.one": "{n} failed call",
    "count.failed_calls.many": "{n} failed calls",
    "count.slices.one": "{n} slice",
    "count.slices.many": "{n} slices",
    "count.warnings.one": "{n} warning",
    "count.warnings.many": "{n} warnings",
}
_VERDICT = {
    "verdict.title": "The verdict",
    "verdict.lead.gold": "Gold labels stand for the truth here. Is the judge as close to them as "
    "each annotator is, give or take a margin ε? A judge that holds its own against at least half "
    "of the annotators may stand in for one.",
    "verdict.lead.expert": "An expert stands for the truth here. Is the judge as close to the "
    "expert as each annotator is, give or take a margin ε? A judge that holds its own against at "
    "least half of the annotators may stand in for one.",
    "verdict.lead.leave_one_out": "Each annotator in turn is left out. Would the judge, in that "
    "chair, be as close to the remaining annotators as the person was, give or take a margin ε? A "
    "judge that holds its own against at least half of them may stand in for one.",
    "verdict.fixed": "<strong>ε must be fixed in advance.</strong> It says how much worse than a "
    "person a judge may be because it costs less. A margin chosen after seeing which judges pass "
    "decides nothing; other margins, and the smallest margin at which a judge passes, show only "
    "how much hangs on the choice.",
    "verdict.table": "Verdicts by judge and question",
    "verdict.table.caption": "At a glance: verdict by judge and question",
    "verdict.table.caption.tall": "At a glance: verdict by question",
    "verdict.ranks": "Judges, in the order of ρ",
    "verdict.on": "On {question}",
    "verdict.words": "The verdicts on these {n} in words",
    "verdict.rest": "The sentences about the other {n}",
    "verdict.warnings": "Before you act on this: {n}, each with what to do about it",
    "short.passed": "may stand in",
    "short.failed": "not shown fit",
    "short.passed.outperforms": "outperforms",
    "short.failed.outperforms": "not shown better",
    "short.no_evidence": "no evidence",
    "short.depends": "from ε = {epsilon}",
    "short.depends_listed": "at ε = {epsilons}",
    "short.close": "{short}, close",
    "others.annotators": "the others",
    "others.gold": "the gold labels",
    "others.expert": "the expert {name}",
    "close.additive": "within a margin of ε = {epsilon} it is shown to be as close to {others} as "
    "{won} (ω = {omega}, ρ = {rho})",
    "close.multiplicative": "within a margin of ε = {epsilon}, taken as a share of each "
    "annotator’s own advantage, it is shown to be as close to {others} as {won} (ω = {omega}, ρ = "
    "{rho})",
    "close.zero": "with no margin at all it is shown to be closer to {others} than {won} (ω = "
    "{omega}, ρ = {rho})",
    "close.none.additive": "at a margin of ε = {epsilon} it is not shown to be as close to "
    "{others} as {anyone} (ω = {omega}, ρ = {rho})",
    "close.none.multiplicative": "at a margin of ε = {epsilon}, taken as a share of each "
    "annotator’s own advantage, it is not shown to be as close to {others} as {anyone} (ω = "
    "{omega}, ρ = {rho})",
    "close.none.zero": "with no margin at all it is not shown to be closer to {others} than "
    "{anyone} (ω = {omega}, ρ = {rho})",
    "close.lost": "at ε = {epsilon}, with its {failures} left out ω = {omega}, counted as lost ω "
    "= {worst}; both must reach half",
    "need.half": "half of them are needed",
    "need.one": "that one is needed",
    "need.weight": "half of the weight is needed",
    "won.all": "all {annotators} left out",
    "won.both": "both annotators left out",
    "won.some": "{won} of the {annotators} left out",
    "won.all.reference": "all {annotators}",
    "won.both.reference": "both annotators",
    "won.some.reference": "{won} of the {annotators}",
    "won.only.reference": "the only annotator",
    "won.weight": "annotators who carry {omega} of the weight",
    "anyone.one": "the only annotator left out",
    "anyone.both": "either annotator left out",
    "anyone.many": "any of the {annotators} left out",
    "anyone.one.reference": "the only annotator",
    "anyone.both.reference": "either annotator",
    "anyone.many.reference": "any of the {annotators}",
    "won.only": "the only annotator left out",
    "close.untested": "no annotator could be tested",
    "verdict.passed": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question}: {close}.",
    "verdict.passed_all": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question}, at every margin examined: already {close}.",
    "verdict.outperforms": "<strong>{judge} outperforms {won}</strong> on {question}: {close}.",
    "verdict.depends": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question} <strong>if a margin of ε = {epsilon} or more was accepted beforehand</strong>: "
    "{close}.",
    "verdict.depends_listed": "<strong>{judge} may stand in for one of the annotators</strong> on "
    "{question} <strong>if the margin accepted beforehand was ε = {all}</strong>: {close}.",
    "verdict.not_at": "At ε = {epsilons} it has not been shown fit (at ε = {epsilon}, ω = "
    "{omega}; half is needed).",
    "verdict.not_at.lost": "At ε = {epsilons} it has not been shown fit (at ε = {epsilon}, ω = "
    "{omega} with its {failures} left out, {worst} with them counted as lost; both must reach "
    "half).",
    "verdict.silent_at": "At ε = {epsilons} these labels are no evidence: {reasons}.",
    "verdict.failed": "<strong>{judge} has not been shown fit to stand in for an "
    "annotator</strong> on {question}: {why}.",
    "verdict.failed.outperforms": "<strong>{judge} has not been shown to outperform the "
    "annotators</strong> on {question}: {why}.",
    "verdict.failed_all": "<strong>{judge} has not been shown fit to stand in for an "
    "annotator</strong> on {question}, at any margin examined: even {why}.",
    "verdict.failed_at": "<strong>{judge} has not been shown fit to stand in for an "
    "annotator</strong> on {question}, at ε = {all}: {why}.",
    "verdict.no_evidence": "<strong>No evidence about {judge}</strong> on {question}: {reasons}.",
    "verdict.no_evidence.labels": "<strong>No evidence about {judge}</strong> on {question}: "
    "{reasons}. These labels could not tell a good judge from a useless one.",
    "verdict.smallest": "The smallest margin at which it passes: ε = {epsilon}.",
    "verdict.smallest.silent": "ω would reach one half from ε = {epsilon}, but there these labels "
    "are no evidence.",
    "verdict.failures": "{n} of its calls failed; even with these counted as lost, ω = {worst}.",
    "verdict.failures.lost": "With its {failures} counted as lost, ω = {worst}.",
    "verdict.failures.only": "{n} of its calls failed.",
    "verdict.by": "This is by {name}, the first of the alignments; the appendix has the others.",
    "verdict.close.items": "Close: drawn again from these items, ω reaches one half {share} of the "
    "time.",
    "verdict.close.items.at": "Close: drawn again from these items, ω reaches one half {share} of "
    "the time at ε = {epsilon}.",
    "verdict.close.items.two": "Close: drawn again from these items, ω reaches one half {share} of "
    "the time at ε = {epsilon}, {share_below} at ε = {below}.",
    "verdict.close.clusters": "Close: drawn again from these clusters, ω reaches one half {share} "
    "of the time.",
    "verdict.close.clusters.at": "Close: drawn again from these clusters, ω reaches one half "
    "{share} of the time at ε = {epsilon}.",
    "verdict.close.clusters.two": "Close: drawn again from these clusters, ω reaches one half "
    "{share} of the time at ε = {epsilon}, {share_below} at ε = {below}.",
    "outcome.passed": "passed",
    "outcome.failed": "failed",
    "outcome.no_evidence": "no evidence",
}
PHRASES: dict[str, str] = _PAGE | _COUNTS | _VERDICT
