"""The head of the page, the verdict and what the reward is, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_PAGE = {
    "reward.page.title": "Does this reward rank responses as it should?",
    "reward.page.kicker": "Examination of a reward",
    "reward.page.meta": "{reward} examined on {comparisons} between {completions} of {prompts}",
    "reward.page.simulated": "Simulated data: nobody wrote these responses, and no model was "
    "trained. The figures show what the examination does and say nothing about a real model.",
    "reward.page.colophon": "Made by voirdire {version}. Nothing on this page was loaded from "
    "elsewhere. Figures are rounded here; <code>examine-reward --json</code> has all digits.",
    "reward.chapter.title": "The reward: {reward}",
    "reward.seconds": "{n} s",
    "reward.milliseconds": "{n} ms",
    "reward.minutes": "{n} min",
    "reward.hours": "{n} h",
    "reward.dollars": "${n}",
    "reward.dollars.less": "less than ${n}",
    "count.comparisons.one": "{n} comparison",
    "count.comparisons.many": "{n} comparisons",
    "count.prompts.one": "{n} prompt",
    "count.prompts.many": "{n} prompts",
    "count.behaviors.one": "{n} behavior",
    "count.behaviors.many": "{n} behaviors",
    "count.features.one": "{n} feature",
    "count.features.many": "{n} features",
    "count.responses.one": "{n} response",
    "count.responses.many": "{n} responses",
    "count.groups.one": "{n} group",
    "count.groups.many": "{n} groups",
    "count.calls.one": "{n} call",
    "count.calls.many": "{n} calls",
    "count.rows.one": "{n} row",
    "count.rows.many": "{n} rows",
    "reward.signal.base": "Base reward",
    "reward.signal.total": "Base + rules",
    "reward.signal.rules": "Rules alone",
    "reward.signal.mid.total": "base + rules",
    "reward.signal.mid.rules": "the rules alone",
    "reward.all": "All behaviors",
    "reward.class": "class",
}
_VERDICT = {
    "reward.verdict.title": "The verdict",
    "reward.verdict.lead": "A reward trains a model by which of two responses it prefers. Here it "
    "is held against comparisons whose better side is known: how often does it rank them the "
    "wrong way, and do the rules make it better than the base reward alone?",
    "reward.verdict.lead.rules": "A reward trains a model by which of two responses it prefers. "
    "Here it is held against comparisons whose better side is known: how often does it rank them "
    "the wrong way? There is no base reward; .5 is ranking at random.",
    "reward.verdict.with_base": "<strong>With the rules, the reward ranks {error} of {comparisons} "
    "the wrong way</strong> ({level} interval {ends}); the base reward alone, {base} "
    "({base_ends}).",
    "reward.verdict.without_base": "<strong>The rules rank {error} of {comparisons} the wrong "
    "way</strong> ({level} interval {ends}).",
    "reward.verdict.undefined": "<strong>How well the reward ranks is not known</strong>: it was "
    "examined on no comparisons.",
    "reward.verdict.helps": "The rules help: the intervals do not overlap.",
    "reward.verdict.hurts": "The rules do harm: the intervals do not overlap. Do not train with "
    "this reward.",
    "reward.verdict.unclear": "The intervals overlap: these comparisons do not tell the two apart. "
    "More prompts would; more completions of the same prompts help little.",
    "reward.verdict.better": "That is better than ranking at random.",
    "reward.verdict.worse": "That is worse than ranking at random. Do not train with this reward.",
    "reward.verdict.chance": "The interval holds one half: on these comparisons the reward is not "
    "shown to be better than ranking at random.",
    "reward.verdict.held_out": "None of the prompts was used in the fit.",
    "reward.verdict.not_held_out": "Not tested: some or all of these prompts were used in the fit, "
    "and on others the reward errs more often. Examine it on prompts that it has never seen.",
    "reward.verdict.held_out_unknown": "It is not known whether these prompts were used in the "
    "fit; if they were, the true error rate is higher.",
    "reward.verdict.uncertified": "No valid certificate vouches for the judge of {n} of the "
    "{features} with a weight.",
    "reward.verdict.uncertified.all": "No valid certificate vouches for the judge of any of the "
    "{features} with a weight.",
    "reward.verdict.certified": "Valid certificates vouch for the judge of all {features} with a "
    "weight.",
    "reward.short.helps": "rules help",
    "reward.short.hurts": "rules do harm",
    "reward.short.unclear": "not told apart",
    "reward.short.better": "better than chance",
    "reward.short.worse": "worse than chance",
    "reward.short.chance": "no better than chance",
    "reward.short.undefined": "no comparisons",
    "reward.short.not_held_out": "{short}, not tested",
    "reward.short.held_out_unknown": "{short}, perhaps not tested",
    "reward.glance.caption": "At a glance: comparisons that are ranked the wrong way, with {level} "
    "intervals. “Best against next” are the hardest of them. “Refusals” are the prompts whose "
    "best-rewarded completion refuses where it should comply, or the other way round. “Certified” "
    "counts the features with a weight whose judge has a valid certificate.",
    "reward.glance.label": "Error rates by behavior",
    "reward.column.behavior": "Behavior",
    "reward.column.verdict": "Verdict",
    "reward.column.best_next": "Best against next",
    "reward.column.refusals": "Refusals",
    "reward.column.certified": "Certified",
    "reward.cut.behaviors": "The first {shown} of {n} are shown; the JSON has all.",
}
_WHAT = {
    "reward.what.title": "What the reward is",
    "reward.what.lead": "The reward of a response is the base reward, where there is one, plus a "
    "weighted sum of features: how probable a judge finds it that each proposition of the rubric "
    "is true of the response, and that the response belongs to each completion class. Every "
    "behavior, the kind of response that a prompt deserves, has weights of its own.",
    "reward.what.name": "Reward",
    "reward.what.rubric": "Rubric",
    "reward.what.rubric.versioned": "{name}, version {version}",
    "reward.what.judge": "Judge",
    "reward.what.fingerprint": "Fingerprint of the judge",
    "reward.what.orientation": "Orientation",
    "reward.what.orientation.plain": "plain: a proposition counts by the probability that it is "
    "true",
    "reward.what.orientation.rule": "rule: propositions that a behavior requires or desires to be "
    "false count by the probability that they are false",
    "reward.what.orientation.demanded": "demanded: propositions that a behavior wants false count "
    "by the probability that they are false",
    "reward.what.fit": "Fit",
    "reward.what.fit.given": "weights given by hand, not fitted",
    "reward.what.fit.hinge": "hinge loss on comparisons within prompts",
    "reward.what.fit.logistic": "logistic loss on comparisons within prompts",
    "reward.what.data": "Data of the fit",
    "reward.what.hash": "Reward file",
    "reward.what.created": "Made",
    "reward.what.behaviors": "Behaviors",
    "reward.what.certified": "Certified features",
    "reward.what.certified.count": "{n} of the {features} with a weight",
}
PHRASES: dict[str, str] = _PAGE | _VERDICT | _WHAT
