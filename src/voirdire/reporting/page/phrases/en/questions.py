"""A question: its kind, alignment and margins, and the columns of tables, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "question.fold": "Margins, agreement, controls, and where the judge goes wrong",
    "question.title": "Question: {question}",
    "question.labels": "The annotators’ labels:",
    "question.labels.more": "and {n} rarer ones",
    "question.undrawn": "Figures are drawn for the first questions only; the JSON has the numbers "
    "of all.",
    "kind.boolean": "true or false",
    "kind.choice": "one label of several",
    "kind.multilabel": "a set of labels",
    "kind.scale": "a number on a scale",
    "kind.text": "free text",
    "alignment.accuracy": "{name}: the share of the others who gave the same label",
    "alignment.neg_rmse": "{name}: the root mean squared distance to the others’ numbers, negative",
    "alignment.similarity": "{name}: the mean similarity to the others’ texts",
    "alignment.jaccard": "{name}: the mean overlap with the others’ label sets",
    "alignment.jaccard_macro": "{name}: the mean overlap with the others, of labels given and of "
    "labels withheld",
    "alignment.jaccard_slots": "{name}: the overlap with the others’ label sets, with a slot for "
    "labels withheld",
    "alignment.hamming": "{name}: the share of labels decided as the others did",
    "alignment.accuracy.reference": "{name}: whether the label equals the reference’s",
    "alignment.neg_rmse.reference": "{name}: the distance to the reference’s number, negative",
    "alignment.similarity.reference": "{name}: the similarity to the reference’s text",
    "alignment.jaccard.reference": "{name}: the overlap with the reference’s label set",
    "alignment.jaccard_macro.reference": "{name}: the overlap with the reference, of labels given "
    "and of labels withheld",
    "alignment.jaccard_slots.reference": "{name}: the overlap with the reference’s label set, "
    "with a slot for labels withheld",
    "alignment.hamming.reference": "{name}: the share of labels decided as the reference did",
    "alignment.own": "{name}: a function of the user’s own",
    "margins.title": "How much hangs on the margin",
    "margins.lead": "ω, the winning rate, is the share of annotators against whom the judge holds "
    "its own at a margin; from .5 on it passes, if it still does with failed calls counted as "
    "lost. ρ, the advantage probability, is how often the judge is at least as close to the "
    "others as the annotator left out; it ranks judges and decides nothing. “ρ of people” is the "
    "same for the annotator.",
    "margins.lead.reference": "ω, the winning rate, is the share of annotators against whom the "
    "judge holds its own at a margin; from .5 on it passes, if it still does with failed calls "
    "counted as lost. ρ, the advantage probability, is how often the judge is at least as close "
    "to the reference labels as an annotator; it ranks judges and decides nothing. “ρ of people” "
    "is the same for the annotator.",
    "margins.multiplicative": "The margin is multiplicative: the judge’s advantage must exceed (1 "
    "− ε) times the annotator’s.",
    "figure.winning_rate": "Winning rate ω against the margin ε. A line at or above .5 passes. "
    "Where it crosses .5 within the range, the verdict hangs on the margin.",
    "figure.winning_rate.failures": "Winning rate ω against the margin ε, failed calls left out. "
    "A line at or above .5 passes if ω also reaches .5 with failed calls counted as lost. Where "
    "it crosses .5 within the range, the verdict hangs on the margin.",
    "figure.advantage": "Advantage probability ρ with its interval, beside the annotators’ own.",
    "figure.scatter": "One point per annotator: how often the judge (to the right) and that "
    "annotator (upwards) is at least as close to the others. On the line they are even. Below it "
    "the judge is at least as good as the person; in the band above it is worse, but by less than "
    "the margin; beyond the band it is worse by more. A full point is an annotator whom the judge "
    "wins, beyond chance.",
    "figure.scatter.reference": "One point per annotator: how often the judge (to the right) and "
    "that annotator (upwards) is at least as close to the reference labels. On the line they are "
    "even. Below it the judge is at least as good as the person; in the band above it is worse, "
    "but by less than the margin; beyond the band it is worse by more. A full point is an "
    "annotator whom the judge wins, beyond chance.",
    "figure.scatter.fold": "Annotator by annotator",
    "figure.ceiling": "Agreement with the annotators, judge by judge, beside that of the "
    "annotators with each other: what people reach, not the most that can be reached.",
    "figure.agreement": "Cohen’s κ between every two raters, annotators first. A judge that fits "
    "in looks like one of the annotators’ rows.",
    "figure.confusion.sets": "Label by label: how often judge and annotator both gave it, only "
    "the judge did, or only the annotator.",
    "figure.confusion": "Rows: what annotators answered. Columns: what the judge answered to the "
    "same items.",
    "figure.slices": "Its lead over the annotators on each slice, minus that elsewhere; left of 0 "
    "it does worse.",
    "table.omega": "ω by judge and margin (✓ passed, ✗ failed, ? no evidence; ! a control "
    "passes), in the order of ρ.",
    "table.omega.failures": "ω leaves failed calls out; to pass, it must also reach .5 with them "
    "counted as lost.",
    "table.omega.smallest": "A smallest ε with ? lies where these labels are no evidence: ω would "
    "reach .5 there, which is no pass.",
    "table.omega.controls": "Controls are given where they tell most: on the items of the judge "
    "for which a control that knows nothing does best, and the majority vote worst.",
    "table.omega.stability": "In brackets the share of resamples in which the judge passes, where "
    "it lies between 10% and 90%: there the outcome hangs on the items drawn.",
    "table.omega.label": "Winning rates by judge and margin",
    "table.cut.judges": "The first {shown} of {n} in the order of ρ are shown; the JSON has all "
    "{n}.",
    "table.cut.margins": "The {shown} smallest of {n} margins are shown; the JSON has all {n}.",
    "table.cut.warnings": "The first {shown} of {n} are shown; the JSON has all {n}.",
    "cell.stability": "({share})",
    "weights.linear": "linear weights",
    "weights.quadratic": "quadratic weights",
    "weights.jaccard": "Jaccard weights",
    "column.judge": "Judge",
    "column.annotator": "Annotator",
    "column.annotators": "Annotators",
    "column.rater": "Rater",
    "column.items": "Items",
    "column.question": "Question",
    "column.alignment": "Alignment",
    "column.outcome": "Outcome",
    "column.omega_at": "ω at ε =",
    "column.rho": "ρ",
    "column.rho_human": "ρ of people",
    "column.rho_f": "ρᶠ",
    "column.rho_h": "ρʰ",
    "column.rho_a": "ρ of A",
    "column.rho_b": "ρ of B",
    "column.smallest": "Smallest ε",
    "column.failed_calls": "Failed calls",
    "column.difference": "Difference",
    "column.interval": "Interval",
    "column.p": "p",
    "column.p_at": "p at {epsilon}",
    "column.p_holm": "p (Holm)",
    "column.beyond": "Beyond chance",
    "column.agreement": "Agrees with others",
    "column.agreement_of_others": "Others agree",
    "column.apart": "Stands apart",
    "column.panel": "All annotators",
    "column.judge_label": "Judge’s label",
    "column.omega_bh": "ω (BH)",
    "column.omega_worst": "ω, failures lost",
    "column.rho_worst": "ρ, failures lost",
    "column.omega_pooled": "ω, pooled",
    "column.omega_alone": "ω, alone",
    "column.stability": "Stability",
    "column.tests": "Tests",
    "column.count": "Labels",
    "column.wins_ties_losses": "Wins/ties/losses",
    "column.error": "SE",
    "column.df": "df",
}
