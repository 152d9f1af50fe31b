"""The appendix and the glossary, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "others.title": "Under other alignments",
    "others.lead": "The verdict goes by the first alignment. The same figures under the others "
    "show whether it hangs on how closeness is measured.",
    "appendix.title": "Appendix: every number",
    "appendix.lead": "Folded here so as not to be in the way; opened in print.",
    "appendix.family": "{question}, {alignment}: every judge, margin and annotator",
    "appendix.judges": "By judge and margin",
    "appendix.judges.label": "Figures by judge and margin",
    "appendix.annotators": "By judge and annotator. Under each margin: p of the test that decides "
    "(✓ the judge holds its own under Benjamini-Yekutieli; † Benjamini-Hochberg decides "
    "otherwise), below it the exact test’s p.",
    "appendix.annotators.label": "Figures by judge and annotator",
    "appendix.pooled": "All questions under one false discovery rate",
    "appendix.pooled.lead": "A stricter reading: the p-values of all questions corrected together.",
    "appendix.dropped": "Set aside: {n}",
    "appendix.dropped.label": "Labels set aside, by reason",
    "appendix.dropped.none": "Nothing was set aside.",
    "appendix.dropped.more": "And {n} other reasons; the JSON lists every row.",
    "appendix.settings": "Settings",
    "glossary.title": "Glossary",
    "glossary.alternative_annotator_test.word": "Alternative annotator test",
    "glossary.alternative_annotator_test": "A statistical test of whether a judge may take the "
    "place of one annotator: each is left out in turn, and judge and annotator are held against "
    "the rest, or against an expert or gold labels.",
    "glossary.item.word": "Item",
    "glossary.item": "What is judged: a text, or a prompt with a response.",
    "glossary.annotator.word": "Annotator",
    "glossary.annotator": "A person who labelled items.",
    "glossary.judge.word": "Judge",
    "glossary.judge": "Whatever labels items without being one of the annotators: a large "
    "language model, a classifier, a rule.",
    "glossary.alignment.word": "Alignment",
    "glossary.alignment": "The score of how close one rater’s label of an item is to those of the "
    "other annotators, or to the reference’s.",
    "glossary.epsilon.word": "ε, the margin",
    "glossary.epsilon": "How much worse than an annotator a judge may be and still take the "
    "place, because it costs less. Usual values: .2 where annotators are experts, .15 where they "
    "are skilled, .1 for a crowd. Fixed before the labels are examined.",
    "glossary.advantage_probability.word": "ρ, the advantage probability",
    "glossary.advantage_probability": "How often the judge is at least as close to the others (or "
    "the reference) as an annotator, averaged over annotators. It ranks judges and decides "
    "nothing.",
    "glossary.winning_rate.word": "ω, the winning rate",
    "glossary.winning_rate": "The share of annotators against whom the judge holds its own, after "
    "correction for testing several. From .5 on the judge passes, if it still does with failed "
    "calls counted as lost.",
    "glossary.outcome.word": "Outcome",
    "glossary.outcome": "“Passed”: ω ≥ .5 on data where knowing nothing does not suffice. "
    "“Failed”: not shown to be good enough, which is not to say that it was shown to be bad. “No "
    "evidence”: these labels cannot tell.",
    "glossary.tie.word": "Tie",
    "glossary.tie": "An item on which judge and annotator are equally close to the others. It "
    "counts for both.",
    "glossary.control.word": "Control",
    "glossary.control": "A judge that knows nothing (one label for everything, or labels at "
    "random) or everything (the majority vote), under the same test.",
    "glossary.ceiling.word": "Human ceiling",
    "glossary.ceiling": "How far each annotator agrees with the others, averaged. It is what "
    "people reach, not the most that can be reached.",
    "glossary.kappa.word": "Cohen’s κ",
    "glossary.kappa": "Agreement of two raters beyond chance: 0 is chance, 1 is perfect.",
    "glossary.alpha.word": "Krippendorff’s α",
    "glossary.alpha": "Agreement of any number of raters beyond chance, with missing labels "
    "allowed.",
    "glossary.gwet_ac.word": "Gwet’s AC",
    "glossary.gwet_ac": "Agreement beyond chance, less sensitive to skewed labels than κ.",
    "glossary.false_discovery_rate.word": "False discovery rate",
    "glossary.false_discovery_rate": "The expected share of wrong wins among the annotators whom "
    "a judge wins. The procedure of Benjamini and Yekutieli keeps it at q whatever the dependence.",
    "glossary.interval.word": "Interval",
    "glossary.interval": "Values that the data are compatible with, found by drawing the items "
    "(or clusters) anew many times.",
    "glossary.stability.word": "Stability",
    "glossary.stability": "The share of such draws in which the judge passes. It is no p-value: "
    "it says how often the decision would be made again.",
}
