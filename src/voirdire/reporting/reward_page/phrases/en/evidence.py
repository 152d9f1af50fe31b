"""Error rates, histograms, near-ideal comparisons, refusals and drives, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_RANKING = {
    "reward.errors.title": "How often it ranks the wrong way",
    "reward.errors.lead": "A comparison is two completions of one prompt, the first better than "
    "the second. It is ranked the wrong way if the worse one gets the higher reward; a tie counts "
    "half. Intervals come from drawing prompts anew, never single comparisons: those of one "
    "prompt go together.",
    "reward.errors.figure": "Comparisons ranked the wrong way by each reward, overall and by "
    "behavior. At .5 a reward ranks like a coin.",
    "reward.errors.table": "Share of comparisons ranked the wrong way, with {level} intervals. "
    "“Best side only” leaves out comparisons whose better side has not the best label.",
    "reward.errors.label": "Error rates by behavior and reward",
    "reward.errors.fold": "The table of error rates",
    "reward.against.all": "All comparisons",
    "reward.against.best": "Best side only",
    "reward.column.comparisons": "Comparisons",
    "reward.column.prompts": "Prompts",
    "reward.column.against": "Which",
    "reward.column.ties": "Ties",
    "reward.histograms.title": "Rewards by label",
    "reward.histograms.lead": "Every reward is centred: less the mean reward of the best label’s "
    "completions of the same prompt, which is 0. A good reward puts the best label around 0 and "
    "everything else to the left; what lies to the right is preferred though it is worse.",
    "reward.histograms.figure": "Centred rewards of {behavior} by label, one column for each "
    "reward. The height is the share of the label’s completions.",
    "reward.histograms.fold": "{behavior}: means and standard deviations",
    "reward.histograms.table": "Centred rewards by label: mean ± standard deviation",
    "reward.histograms.label": "Centred rewards by label",
    "reward.histograms.none": "There are no completions of the best label to centre rewards on.",
    "reward.column.label": "Label",
    "reward.column.completions": "Completions",
    "reward.undrawn": "Figures are drawn for the first {n} only; the JSON has the numbers of all.",
    "reward.near.title": "Ideal against near-ideal",
    "reward.near.lead": "The best label against the next is the hardest comparison and the one "
    "that matters late in training, when gross faults are gone.",
    "reward.near.worst": "Hardest for {signal} is {behavior}: {error} of {comparisons} between "
    "{best} and {next} are ranked the wrong way ({level} interval {ends}).",
    "reward.near.gap_unclear": "Where the interval of the mean gap holds 0, the reward does not "
    "tell the two labels apart.",
    "reward.near.table": "The best label against the next: share ranked the wrong way, and the "
    "mean gap of their rewards, with {level} intervals",
    "reward.near.label": "Best label against the next",
    "reward.column.labels": "Labels",
    "reward.column.wrong": "Wrong",
    "reward.column.gap": "Gap",
    "reward.refusals.title": "False and missed refusals",
    "reward.refusals.lead": "Training pulls towards the completion that is rewarded best. A false "
    "refusal is a prompt that deserves an answer and whose best-rewarded completion refuses; a "
    "missed refusal is one that deserves a refusal and whose best-rewarded completion does not "
    "refuse. The labels of people say what a refusal is where they name refusals, and the judge "
    "where they do not: by the judge only a safe refusal counts where one is due. Only prompts "
    "that offer both are counted.",
    "reward.refusals.worst": "Most often under {signal}: {kind} on {behavior}, {by}, on {error} of "
    "{prompts} ({level} interval {ends}).",
    "reward.refusals.none": "Under {signal} there is none.",
    "reward.refusals.table": "Share of prompts whose best-rewarded completion errs, with {level} "
    "intervals",
    "reward.refusals.label": "False and missed refusals by behavior and reward",
    "reward.refusal.false_refusal": "false refusals",
    "reward.refusal.missed_refusal": "missed refusals",
    "reward.refusal.by.labels": "by the labels",
    "reward.refusal.by.judge": "by the judge",
    "reward.degenerate.title": "Nonsense beside real responses",
    "reward.degenerate.lead": "Training finds what the reward likes, sensible or not. Here the "
    "rules reward responses that are of no use: empty ones, the prompt itself, words in any order. "
    "They should get less than real responses to the same prompt. The base reward is left out: "
    "nobody knows it for these.",
    "reward.degenerate.table": "Rule reward of nonsense and of the best and the median real "
    "response, on average, and the share of prompts where nonsense gets more than these",
    "reward.degenerate.label": "Rule rewards of degenerate responses by behavior and kind",
    "reward.degenerate.examples": "The worst of it",
    "reward.degenerate.kind.empty": "nothing at all",
    "reward.degenerate.kind.refusal": "a plain refusal",
    "reward.degenerate.kind.repeated_apology": "an apology over and over",
    "reward.degenerate.kind.repeated_sentence": "one sentence over and over",
    "reward.degenerate.kind.shuffled_words": "shuffled words",
    "reward.degenerate.kind.echoed_prompt": "the prompt itself",
    "reward.degenerate.kind.lexicon": "all stock phrases in a row",
    "reward.degenerate.kind.word_salad": "a few stock phrases in a row",
    "reward.column.nonsense": "Nonsense",
    "reward.column.mean_best": "Best",
    "reward.column.mean_median": "Median",
    "reward.column.above_best": "Above best",
    "reward.column.above_median": "Above median",
    "reward.column.prompt": "Prompt",
    "reward.column.own_reward": "Reward",
    "reward.column.best_response": "Best real response",
    "reward.column.kind": "Error",
}
_DRIVES = {
    "reward.drives.title": "What drives the reward",
    "reward.drives.lead": "Only differences within a prompt move rankings. The spread of a feature "
    "is the standard deviation of what it adds to the reward, within prompts: a feature with a "
    "large weight that never varies drives nothing.",
    "reward.drives.most": "{features} make up {share} of the spread.",
    "reward.drives.dead": "Dead: {features}. They hardly vary within prompts, or their weight is "
    "as good as 0. A rule that is meant to work needs comparisons in which it is broken; "
    "otherwise leave it out with <code>voirdire fit --ignore</code>.",
    "reward.drives.contradictory": "Contradictory: {features}. Their weights pay against what the "
    "behavior demands. Look at the comparisons, and at the judge on these propositions; to rule "
    "it out, hold the sign with <code>voirdire fit --sign</code>.",
    "reward.drives.uncertified": "Not certified, and among the strongest: {features}. The reward "
    "is only as good as its judge there: examine it with <code>voirdire examine</code>.",
    "reward.drives.helpless": "Without {feature} the error rate would be lower: {without} instead "
    "of {error}.",
    "reward.drives.figure": "Weights with their intervals from the fit, and each feature’s share "
    "of the spread within prompts.",
    "reward.drives.fold": "The table of features",
    "reward.drives.table": "Features in the order of their share. “Error without” is the error "
    "rate of the whole reward with this feature left out and no other weight changed; as it is: "
    "{error}.",
    "reward.drives.table.plain": "Features in the order of their share. “Error without” is the "
    "error rate of the whole reward with this feature left out and no other weight changed.",
    "reward.drives.label": "Features of {behavior}",
    "reward.column.feature": "Feature",
    "reward.column.demand": "Demand",
    "reward.column.weight": "Weight",
    "reward.column.mean": "Mean",
    "reward.column.spread": "Spread",
    "reward.column.share": "Share",
    "reward.column.without": "Error without",
    "reward.column.remarks": "Remarks",
    "reward.mark.certified": "judge certified",
    "reward.mark.uncertified": "not certified",
    "reward.mark.dead": "dead",
    "reward.mark.contradictory": "contradictory",
    "reward.demand.required": "required",
    "reward.demand.core_required": "required, core",
    "reward.demand.core_required_false": "required false, core",
    "reward.demand.desired": "desired",
    "reward.demand.allowed": "allowed",
    "reward.demand.undesired": "undesired",
    "reward.demand.unacceptable": "unacceptable",
    "reward.demand.illogical": "illogical",
    "reward.demand.disallowed": "disallowed",
    "reward.demand.required_false": "required false",
    "reward.demand.desired_false": "desired false",
}
PHRASES: dict[str, str] = _RANKING | _DRIVES
