"""Scales, the router, the policy's pre-flight and the benchmark, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_SIDE_BY_SIDE = {
    "reward.scales.title": "The behaviors side by side",
    "reward.scales.lead": "Weights are fitted to differences within a behavior, so each behavior "
    "has an origin and a scale of its own. Within a prompt that does not matter; a method that "
    "compares rewards across prompts sees it.",
    "reward.scales.alike": "The means lie within one standard deviation of each other.",
    "reward.scales.apart": "The means lie {gap} apart, from {low} for {lowest} to {high} for "
    "{highest}, which is {ratio} times the usual standard deviation: for methods that compare "
    "across prompts use <code>voirdire score --center</code>.",
    "reward.scales.uneven": "{wide} spreads its rewards {ratio} times as much as {narrow}.",
    "reward.scales.figure": "Rule rewards of each behavior: range, mean ± standard deviation, and "
    "the means of the best label and of the worst.",
    "reward.scales.table": "Rule rewards by behavior",
    "reward.scales.fold": "The table of scales",
    "reward.column.deviation": "SD",
    "reward.column.lowest": "Lowest",
    "reward.column.highest": "Highest",
    "reward.column.best": "Best label",
    "reward.column.worst": "Worst label",
    "reward.column.base_deviation": "SD of base",
    "reward.router.title": "The behavior router",
    "reward.router.lead": "Something has to say which behavior a prompt deserves before the "
    "reward can be taken. A wrong choice brings the wrong weights.",
    "reward.router.right": "It chose as declared for {right} of {prompts} ({share}).",
    "reward.router.unrouted": "For {prompts} it chose none: these get no reward.",
    "reward.router.cost": "With its choices {routed} of the comparisons are ranked the wrong way, "
    "with the declared behaviors {error}.",
    "reward.router.worst": "The most costly mistake: {behavior} under the weights of {other}, with "
    "{error} ranked the wrong way.",
    "reward.router.confusion": "Prompts by their behavior (rows) and the one chosen (columns)",
    "reward.router.costs": "Share of a behavior’s comparisons (rows) ranked the wrong way under "
    "the weights of each behavior (columns)",
    "reward.router.cut": "The tables are too large for a page; the JSON has them.",
    "reward.router.none": "The items name no routed behavior, so the router was not examined.",
}
_POLICY = {
    "reward.policy.title": "Pre-flight on the policy’s own responses",
    "reward.policy.lead": "The reward on a sample of what the policy writes before training: "
    "{responses} in {groups} of {size} on average.",
    "reward.policy.flat": "In {share} of the groups all rewards are the same: a method that "
    "compares within groups learns nothing from them.",
    "reward.policy.flat.many": "That is more than half: sample larger groups, harder prompts, or "
    "at a higher temperature.",
    "reward.policy.flat.none": "In every group the rewards differ: each teaches something.",
    "reward.policy.missing": "{responses} got no reward. The adapter of each framework says what "
    "becomes of them.",
    "reward.policy.ratio": "Within groups the rules spread the reward {ratio} times as much as the "
    "base reward does ({rules} against {base}).",
    "reward.policy.ratio.drowned": "The base reward hardly counts beside them: weigh it up, or fit "
    "the rules with it inside the difference.",
    "reward.policy.ratio.drowning": "The rules hardly count beside it: their weights are too small "
    "for this base reward.",
    "reward.policy.ratio.even": "Neither drowns the other.",
    "reward.policy.step": "A training step of {responses} takes {calls}, {cost} and {seconds}.",
    "reward.policy.cost.unknown": "an unknown price",
    "reward.policy.seconds.unknown": "an unknown time",
    "reward.policy.calls.unknown": "an unknown number of calls",
    "reward.policy.free": "no money",
    "reward.policy.table": "The policy’s rewards by behavior",
    "reward.policy.classes": "The classes of the policy’s responses, the most probable one "
    "counting",
    "reward.policy.fold": "By behavior and class",
    "reward.policy.none": "No responses of the policy were given. Give a sample with "
    "<code>--policy</code> before training: a reward that ranks well can still teach nothing.",
    "reward.column.flat": "Groups all the same",
    "reward.column.responses": "Responses",
    "reward.column.groups": "Groups",
    "reward.column.class": "Class",
}
_BENCH = {
    "reward.bench.title": "Benchmark",
    "reward.bench.lead": "Pairs of a chosen and a rejected response. Accuracy is the share in "
    "which the chosen one gets the higher reward, a tie counting half; .5 is guessing.",
    "reward.bench.overall": "{signal} is right on {accuracy} of {pairs} ({level} interval {ends}).",
    "reward.bench.against": "{signal} is right on {accuracy} of {pairs} ({level} interval {ends}), "
    "the base reward alone on {base} ({base_ends}).",
    "reward.bench.table": "Accuracy by subset, with {level} intervals",
    "reward.bench.label": "Accuracy on the benchmark",
    "reward.bench.all": "All pairs",
    "reward.bench.mean": "Mean over subsets",
    "reward.bench.cut": "The first {shown} of {n} subsets are shown; the JSON has all.",
    "reward.column.subset": "Subset",
    "reward.column.pairs": "Pairs",
}
PHRASES: dict[str, str] = _SIDE_BY_SIDE | _POLICY | _BENCH
