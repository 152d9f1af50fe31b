"""Notes, the paragraph and the table for a paper, the appendix and the glossary, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_NOTES = {
    "reward.notes.title": "What to know before training with it",
    "reward.notes.none": "Nothing beyond what stands above.",
    "reward.notes.more": "And {n} more; the JSON has all.",
}
_PAPER = {
    "reward.paper.title": "For your paper",
    "reward.paper.lead": "A paragraph and a table to paste. <code>voirdire examine-reward "
    "--table</code> writes the table as Markdown.",
    "reward.paper.fold": "The paragraph and the table",
    "reward.paper.what": "The reward is rule-based (Mu et al., 2024): per behavior a weighted sum "
    "of the probabilities that a judge ({judge}) gives to the propositions and completion classes "
    "of the rubric {rubric}.",
    "reward.paper.what.base": "The reward is rule-based (Mu et al., 2024): the base reward plus, "
    "per behavior, a weighted sum of the probabilities that a judge ({judge}) gives to the "
    "propositions and completion classes of the rubric {rubric}.",
    "reward.paper.data": "It was examined on {comparisons} between {completions} of {prompts}, "
    "none of which was used in the fit.",
    "reward.paper.data.used": "It was examined on {comparisons} between {completions} of "
    "{prompts}; some or all of these were used in the fit, so that the figures do not test it.",
    "reward.paper.data.unknown": "It was examined on {comparisons} between {completions} of "
    "{prompts}; whether these were used in the fit is not known.",
    "reward.paper.error": "It ranks {error} of the comparisons the wrong way ({level} interval "
    "{ends}), ties counting half.",
    "reward.paper.error.base": "It ranks {error} of the comparisons the wrong way ({level} "
    "interval {ends}), ties counting half, against {base} for the base reward alone "
    "({base_ends}).",
    "reward.paper.bench": "On the benchmark it prefers the chosen response in {accuracy} of "
    "{pairs} ({ends}).",
    "reward.paper.interval": "Intervals of error rates are percentiles of {n} bootstrap resamples "
    "of prompts; where all of these agree, exact bounds over prompts.",
    "reward.paper.interval.plain": "Intervals come from resampling prompts.",
    "reward.paper.certified": "Of the {features} with a weight, {n} rest on a judge with a valid "
    "certificate of the alternative annotator test.",
    "reward.paper.software": "The computations were done with voirdire {version}.",
    "reward.paper.table": "Share of comparisons that each reward ranks the wrong way, with {level} "
    "intervals; “best/next” compares the best label with the next one only.",
    "reward.paper.table.label": "Table for a paper",
    "reward.paper.best_next": "best/next",
    "reward.reference.mu": "T. Mu et al. (2024). Rule Based Rewards for Language Model Safety. "
    "<cite>NeurIPS 2024</cite>. arXiv:2411.01111.",
}
_APPENDIX = {
    "reward.appendix.title": "Appendix",
    "reward.appendix.dropped": "Set aside: {n}",
    "reward.appendix.dropped.none": "Nothing was set aside.",
    "reward.appendix.dropped.label": "Rows set aside, by reason",
    "reward.appendix.dropped.more": "And {n} other reasons; the JSON lists every row.",
    "reward.appendix.settings": "Settings of the examination",
    "reward.appendix.reward": "The reward file",
    "reward.column.count": "Rows",
}
_GLOSSARY = {
    "reward.glossary.title": "Glossary",
    "reward.glossary.reward.word": "Reward",
    "reward.glossary.reward": "A number for a response to a prompt; training makes responses with "
    "a high one more likely.",
    "reward.glossary.base_reward.word": "Base reward",
    "reward.glossary.base_reward": "The number that another reward model gives, such as one of "
    "helpfulness; the rules are added to it.",
    "reward.glossary.behavior.word": "Behavior",
    "reward.glossary.behavior": "The kind of response that a prompt deserves, such as a refusal "
    "or an answer.",
    "reward.glossary.completion.word": "Completion",
    "reward.glossary.completion": "One response to a prompt.",
    "reward.glossary.label.word": "Label",
    "reward.glossary.label": "How well a completion follows its behavior, from ideal downwards.",
    "reward.glossary.comparison.word": "Comparison",
    "reward.glossary.comparison": "Two completions of one prompt, the first better than the "
    "second.",
    "reward.glossary.proposition.word": "Proposition",
    "reward.glossary.proposition": "A question about a response that is answered by true or false.",
    "reward.glossary.feature.word": "Feature",
    "reward.glossary.feature": "A number that the reward weighs: the probability of a proposition "
    "or of a completion class.",
    "reward.glossary.weight.word": "Weight",
    "reward.glossary.weight": "What a feature adds to the reward when it goes from 0 to 1.",
    "reward.glossary.error_rate.word": "Error rate",
    "reward.glossary.error_rate": "The share of comparisons in which the worse completion gets "
    "the higher reward, a tie counting half.",
    "reward.glossary.centred.word": "Centred reward",
    "reward.glossary.centred": "A reward less the mean reward of the best label’s completions of "
    "the same prompt.",
    "reward.glossary.certificate.word": "Certificate",
    "reward.glossary.certificate": "The record of an examination that showed a judge fit to answer "
    "a question in place of a person. It holds for that judge and that rubric only.",
    "reward.glossary.router.word": "Router",
    "reward.glossary.router": "Whatever decides which behavior a prompt deserves.",
    "reward.glossary.policy.word": "Policy",
    "reward.glossary.policy": "The model that is trained.",
    "reward.glossary.interval.word": "Interval",
    "reward.glossary.interval": "Values that the data are compatible with, found by drawing the "
    "prompts anew many times.",
}
PHRASES: dict[str, str] = _NOTES | _PAPER | _APPENDIX | _GLOSSARY
