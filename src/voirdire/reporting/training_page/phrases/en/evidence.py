"""The figures with their tables, what paid, every step, and what could not be read, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_WHAT = {
    "training.what.title": "What paid, and who answered",
    "training.what.reward": "Reward",
    "training.what.hash": "Reward file",
    "training.what.rubric": "Rubric",
    "training.what.judge": "Judge",
    "training.what.answered": "Judges of the cascade",
    "training.what.answered.share": "{name}: {share}",
    "training.what.answered.moved": "{name}: {share} (at first {start}, at last {end})",
    "training.what.fingerprint": "Fingerprint of its verdicts",
    "training.what.threshold": "True from a probability of",
    "training.what.judged": "Judged",
    "training.judged.final_answer": "the final answer",
    "training.judged.with_reasoning": "the answer with its reasoning",
    "training.judged.whole_turn": "the whole turn",
    "training.what.certificates": "Certificates",
    "training.what.certificates.unknown": "not recorded with the run; the reward file holds "
    "those of its judge",
    "training.what.certificates.count": "for {n} of the {propositions}",
    "training.what.behaviors": "Behaviors",
    "training.what.centered": "Centred",
    "training.what.centered.yes": "each behavior’s mean is taken off its rule rewards",
    "training.what.framework": "Trained with",
    "training.what.created": "Began",
    "training.what.writers": "Processes that wrote",
    "training.what.reference": "Reference run",
    "training.what.reference.none": "none; alarms compare with the beginning of the run itself",
    "training.what.reference.same": "{name}, {steps}, under the same reward",
    "training.what.reference.other": "{name}, {steps}, under another reward ({reward}): its "
    "rewards are not on the same scale",
    "training.what.versions": "Versions",
}
_CERTIFICATES = {
    "training.certificates.title": "What proof the judge carries",
    "training.certificates.lead": "A certificate records an examination: the judge was held "
    "against people, under a margin fixed beforehand. It holds for that judge, that rubric and "
    "texts such as those that were labelled.",
    "training.certificates.unknown": "What certificates this reward had was not recorded with the "
    "run. The reward file holds those of its judge.",
    "training.certificates.nothing": "No proposition pays.",
    "training.certificates.all": "<strong>Valid certificates vouch for the judge</strong> of all "
    "{propositions}.",
    "training.certificates.some": "<strong>Valid certificates vouch for the judge of {n} of the "
    "{propositions}.</strong> There is none for {list}.",
    "training.certificates.none": "<strong>No valid certificate vouches for the judge</strong> of "
    "any of the {propositions}.",
    "training.certificates.fold": "What the certificates say of {propositions}",
    "training.certificates.label": "Certificates by proposition",
    "training.certificates.caption": "Those that pay come first. ω is the share of annotators "
    "against whom the judge holds its own at the margin ε; it passes from .5 on.",
    "training.certificates.cut": "The first {shown} of {n} are shown.",
    "training.column.certificate": "Certificate",
    "training.column.shown": "What was shown",
    "training.column.mark": "Its hash",
    "training.certificate.passed": "valid",
    "training.certificate.failed": "examined, and not good enough",
    "training.certificate.no_evidence": "examined, and too little evidence",
    "training.certificate.other_judge": "for another judge, or other settings of it",
    "training.certificate.other_rubric": "for another rubric",
    "training.certificate.no_judge": "for none: weights given by hand, for any judge",
    "training.certificate.none": "never examined",
    "training.certificate.shown": "ω = {omega} at ε = {epsilon}, {alignment}, {annotators}, "
    "{items}",
}
_REWARD = {
    "training.reward.title": "The reward",
    "training.reward.figure": "Mean reward of each step; the band is a standard deviation of the "
    "step’s rewards to either side. Triangles mark where alarms began.",
    "training.thinned": "Each point is the mean of {n} steps.",
    "training.parts.fold": "The same in numbers",
    "training.parts.caption": "Means over equal parts of the run.",
    "training.parts.label": "Figures by part of the run",
    "training.column.steps": "Steps",
    "training.column.completions": "Completions",
    "training.column.reward": "Reward",
    "training.column.sd": "Standard deviation",
    "training.column.rule": "Rule part",
    "training.column.base": "Base part",
    "training.column.reference": "Reference run",
    "training.column.without": "Without a reward",
    "training.column.missing": "Share",
    "training.column.length": "Mean length",
    "training.column.correlation": "Correlation with the reward",
    "training.column.flat": "Groups of equal rewards",
    "training.column.proposition": "Proposition",
    "training.column.behavior": "Behavior",
    "training.column.class": "Class",
    "training.column.pays": "Pays",
    "training.column.start": "First {edge}",
    "training.column.end": "Last {edge}",
    "training.column.change": "Change",
}
_MOVES = {
    "training.propositions.title": "The propositions",
    "training.propositions.lead": "The mean probability, over the completions of a step, that a "
    "proposition is true. Shown are those with an alarm, then those that moved most.",
    "training.propositions.figure": "Beside each name: the means of the first and of the last "
    "{edge}.",
    "training.propositions.fold": "All {propositions} in numbers",
    "training.propositions.label": "Propositions: first and last steps",
    "training.propositions.caption": "Mean probabilities. The reference run is taken at the steps "
    "where this run ends.",
    "training.propositions.cut": "The first {shown} of {n} are shown.",
    "training.classes.title": "The classes",
    "training.classes.lead": "How well responses follow the behavior that their prompt deserves: "
    "mean probabilities of the classes, which sum to 1.",
    "training.classes.figure": "Shares of the classes over each other.",
    "training.classes.fold": "All classes in numbers",
    "training.classes.label": "Classes: first and last steps",
    "training.classes.caption": "Mean probabilities of the classes.",
    "training.classes.cut": "The first {shown} of {n} are shown.",
    "training.length.title": "The length",
    "training.length.lead": "A reward that pays for length grows with it. The correlation is "
    "taken within each step, so that learning over time does not count.",
    "training.length.figure": "Mean reward above, mean length below, the steps at the same places.",
    "training.missing.title": "Missing rewards",
    "training.missing.lead": "A completion whose judge failed or was late has no reward; it is "
    "never given a 0 instead.",
    "training.missing.figure": "Share of the completions without a reward.",
}
_ENDING = {
    "training.steps.title": "Every step",
    "training.steps.fold": "Figures of {steps}",
    "training.steps.label": "Figures by step",
    "training.steps.cut": "The first and the last {half} of {n} steps are shown; the files of the "
    "run have all.",
    "training.dropped.title": "What could not be read",
    "training.dropped.none": "All of the run could be read.",
    "training.dropped.fold": "{pieces} left out",
    "training.dropped.cut": "The first {shown} are shown.",
    "training.glossary.title": "Glossary",
    "training.glossary.step.word": "Step",
    "training.glossary.step": "One round of training: the model answers prompts, the answers are "
    "paid, the model is changed.",
    "training.glossary.reward.word": "Reward",
    "training.glossary.reward": "A number for a completion: the base reward, where there is one, "
    "plus a weighted sum of what the judge says of it.",
    "training.glossary.proposition.word": "Proposition",
    "training.glossary.proposition": "A question about a completion that is answered by true or "
    "false.",
    "training.glossary.class.word": "Class",
    "training.glossary.class": "How well a completion follows its behavior, from ideal to "
    "disallowed.",
    "training.glossary.group.word": "Group",
    "training.glossary.group": "The completions of one prompt in one step. They are paid relative "
    "to each other: where all are paid alike, nothing is learnt.",
    "training.glossary.reference.word": "Reference run",
    "training.glossary.reference": "An earlier training that this one is held against.",
}
PHRASES: dict[str, str] = _WHAT | _CERTIFICATES | _REWARD | _MOVES | _ENDING
