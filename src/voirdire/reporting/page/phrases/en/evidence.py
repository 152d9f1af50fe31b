"""What the verdict rests on, differences between judges, and the diagnosis, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

_EVIDENCE = {
    "rests.title": "What it rests on: how far people agree",
    "agreement.alpha": "Among the annotators, Krippendorff’s α is {alpha}: <b>{word}</b> "
    "agreement.",
    "agreement.none": "No coefficient of agreement among the annotators applies to this question.",
    "agreement.undefined": "How far the annotators agree is undefined for these labels.",
    "agreement.matrix": "Every two raters",
    "agreement.word.strong": "strong",
    "agreement.word.fair": "fair",
    "agreement.word.moderate": "moderate",
    "agreement.word.weak": "weak",
    "agreement.word.hardly": "hardly any",
    "agreement.means.strong": "The people are a firm yardstick.",
    "agreement.means.fair": "The people are a usable yardstick, with cases on which they differ.",
    "agreement.means.moderate": "People differ on a good part of the items; a judge can only be "
    "held to what they share.",
    "agreement.means.weak": "People differ on much of it: a judge that is little better than "
    "guessing may be as close to them as they are to each other. Clarify the instructions, or "
    "take better trained annotators, before relying on a pass.",
    "agreement.means.hardly": "There is next to nothing that a judge could be held to. Clarify "
    "what is asked before examining any judge.",
    "ceiling.row": "Annotators among themselves",
    "table.ceiling": "Agreement with the annotators, beside the human ceiling (first row)",
    "table.ceiling.label": "Agreement and human ceiling",
    "coefficient.raw_agreement": "Raw agreement",
    "coefficient.cohen_kappa": "Cohen’s κ",
    "coefficient.gwet_ac": "Gwet’s AC",
    "coefficient.majority_agreement": "With the others’ majority (one left out)",
    "coefficient.majority_kappa": "κ with the others’ majority (one left out)",
    "coefficient.panel_majority_kappa": "κ with the majority of all",
    "bar.title": "Why a fixed bar would have misled",
    "bar.judge": "{judge} (κ = {kappa}, ε = {epsilon})",
    "bar.judge.majority": "{judge} (κ = {kappa} with single annotators, {majority} with their "
    "majority, ε = {epsilon})",
    "bar.passed.one": "Measured against the usual bar of κ ≥ {bar}, one would have turned down a "
    "judge that passes: {judges}.",
    "bar.passed.many": "Measured against the usual bar of κ ≥ {bar}, one would have turned down "
    "judges that pass: {judges}.",
    "bar.weights": "κ is taken with {weights} here.",
    "bar.passed.low": "But the annotators agree with each other only at κ = {human}: by that bar "
    "they themselves would have to go, and the test asks for no more than closeness to them, "
    "within the margin.",
    "bar.passed.high": "The annotators agree with each other at κ = {human}. The test asks for "
    "closeness to them within the margin that was accepted for the lower cost.",
    "bar.failed.one": "Measured against the usual bar of κ ≥ {bar}, one would have accepted a "
    "judge that has not been shown fit: {judges}.",
    "bar.failed.many": "Measured against the usual bar of κ ≥ {bar}, one would have accepted "
    "judges that have not been shown fit: {judges}.",
    "bar.failed.low": "The annotators agree with each other at κ = {human}, yet the judge is not "
    "shown to come close enough within the margin.",
    "bar.failed.high": "But the annotators agree with each other at κ = {human}: whoever puts "
    "such a judge in their place may lose quality that the bar does not see.",
    "bar.close.one": "{judges} is about as close to them as they are to each other.",
    "bar.close.many": "{judges} are about as close to them as they are to each other.",
    "bar.far.one": "{judges} is further from them, by more than .1 in κ, and passes because the "
    "margin is wide: there, the question is whether so wide a margin is a good bargain.",
    "bar.far.many": "{judges} are further from them, by more than .1 in κ, and pass because the "
    "margin is wide: there, the question is whether so wide a margin is a good bargain.",
    "bar.why": "A fixed bar compares a judge with an ideal; this test compares it with the people "
    "whom it would replace.",
    "controls.title": "What a judge would get that knows nothing, or that votes with the majority",
    "controls.lead": "Three controls take the same test. If one that knows nothing passes, "
    "passing means nothing.",
    "controls.none": "No controls were run: whether a judge that always gives the same answer "
    "would pass too is not known.",
    "controls.differ": "Judges did not answer the same items; each control is given where it "
    "tells most: one that knows nothing where it does best, the majority vote where it does worst.",
    "control.constant.fails": "A judge that always answers {label} does not pass, not even at ε = "
    "{epsilon} (ω = {omega}, ρ = {rho}). Its ρ is what one gets for knowing nothing about the "
    "items.",
    "control.constant.passes": "<b>A judge that always answers {label} passes at ε = "
    "{passing}</b> (at ε = {epsilon}, ω = {omega}, ρ = {rho}). There, passing says nothing about "
    "any judge, and no outcome is “passed”.",
    "control.constant.undefined": "What a judge that always answers {label} would get is "
    "undefined here.",
    "control.random.fails": "A judge that answers at random, as often as people give each label, "
    "does not pass, not even at ε = {epsilon} (ω = {omega}, ρ = {rho}).",
    "control.random.passes": "<b>A judge that answers at random passes at ε = {passing}</b> (at ε "
    "= {epsilon}, ω = {omega}, ρ = {rho}). There, passing takes no knowledge of the items.",
    "control.random.undefined": "What a judge that answers at random would get is undefined here.",
    "control.majority_vote.passes": "The majority vote of the annotators themselves passes at ε = "
    "{passing} (at ε = {epsilon}, ω = {omega}, ρ = {rho}): a judge that is good enough can pass "
    "this test.",
    "control.majority_vote.fails": "<b>The majority vote of the annotators does not pass</b> (at "
    "ε = {epsilon}, ω = {omega}, ρ = {rho}): a judge as good as their majority would not have "
    "been shown fit with these labels. More items are needed.",
    "control.majority_vote.fails.reference": "The majority vote of the annotators does not pass "
    "(at ε = {epsilon}, ω = {omega}, ρ = {rho}).",
    "control.majority_vote.undefined": "What the majority vote of the annotators would get is "
    "undefined here.",
    "control.name.constant": "always {label}",
    "control.name.random": "at random",
    "control.name.majority_vote": "majority vote",
    "control.alarm": "this control passes",
    "differences.title": "Differences between judges",
    "differences.counted": "Of {pairs} of judges, {clear} differ in ρ beyond chance (p &lt; .05 "
    "after Holm’s correction).",
    "differences.nobody": "Of {pairs} of judges, none differs in ρ beyond chance (p &lt; .05 "
    "after Holm’s correction). Do not read the order of the judges as a ranking.",
    "differences.alone": "{best}, which has the highest ρ, is ahead of each of the others beyond "
    "chance.",
    "differences.rivals": "{best} has the highest ρ, but is not told apart from {rivals}.",
    "differences.one_clear": "{better} is closer to the annotators than {worse}: ρ is higher by "
    "{difference} ({level} interval {interval}, {p}).",
    "differences.one_unclear": "{better} and {worse} are not told apart: ρ differs by "
    "{difference} ({level} interval {interval}, {p}).",
    "differences.one_undefined": "{better} and {worse} cannot be compared: {reason}.",
    "differences.table": "The table of {n}",
    "table.differences": "ρ of A minus ρ of B on the items that both answered, with {level} "
    "intervals; the clearest differences first",
}
_DIAGNOSIS = {
    "diagnosis.title": "Diagnosis: where it goes wrong",
    "diagnosis.annotators": "Annotators who stand apart",
    "diagnosis.judges": "Judge by judge",
    "diagnosis.judges.lead": "Departing from people where they all agree is worse than departing "
    "where they split. The yardstick is how often one annotator opposes the others who agree.",
    "diagnosis.undrawn": "Confusions and slices are drawn for the first {n} judges; those of the "
    "others are in the JSON.",
    "diagnosis.cut": "The diagnosis of the remaining {n} is in the JSON.",
    "outlier.nobody": "No annotator stands apart: each agrees with the others about as much as "
    "the others agree among themselves.",
    "outlier.nobody.tested": "Of the annotators who could be tested, none stands apart: each "
    "agrees with the others about as much as the others agree among themselves.",
    "outlier.untested": "Whether an annotator stands apart takes at least three who share items.",
    "outlier.some": "Of {annotators}, {n} could not be tested: that takes items shared with at "
    "least two others.",
    "outlier.one": "{annotator} stands apart: agreement with the others is {agreement}, where "
    "these agree among themselves at {others} ({p}).",
    "outlier.todo": "Look at that annotator’s labels before trusting the outcome. A careless "
    "annotator makes it easier for any judge to pass; a careful one among careless people stands "
    "apart too.",
    "outlier.table": "Every annotator beside the others",
    "table.outliers": "Agreement of each annotator with the others, and of these among themselves",
    "panel.unanimous": "Of {items} on which all annotators agree, it departs from them on "
    "{against} ({share}).",
    "panel.yardstick.more": "Where the others all agree, it opposes them in {judge} of cases, an "
    "annotator in {human}: look at these items first.",
    "panel.yardstick.alike": "Where the others all agree, it opposes them in {judge} of cases, an "
    "annotator in {human}.",
    "panel.yardstick.less": "Where the others all agree, it opposes them in {judge} of cases, an "
    "annotator in {human}: no more often than a person does.",
    "panel.split.known": "On {items} on which people split, it gives the most frequent label on "
    "{follows}, and always a label that somebody gave.",
    "panel.split": "On {items} on which people split, it gives the most frequent label on "
    "{follows}, and a label that nobody gave on {nobody}.",
    "slices.nowhere": "On none of {slices} does it fall further behind the annotators than on the "
    "rest, beyond chance.",
    "slices.one": "{column} = {value} (difference {difference}, {p})",
    "slices.worse": "It falls further behind the annotators than elsewhere on {slices}.",
    "slices.todo": "Keep people on these items, or improve the judge there and examine it anew on "
    "fresh labels.",
    "table.opposed": "The first {shown} of {n} on which it opposes annotators who all agree",
    "table.opposed.label": "Items on which the judge opposes a unanimous panel",
}
PHRASES: dict[str, str] = _EVIDENCE | _DIAGNOSIS
