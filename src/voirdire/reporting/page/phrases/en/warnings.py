"""Reasons and cautions: `note`, the same for several figures `topic`, and what `todo`; English."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "warnings.title": "What weakens this, and what to do",
    "warnings.none": "Nothing was found that weakens these figures.",
    "warnings.do": "What to do:",
    "note": "{what}.",
    "whom": "Concerns {judges}.",
    "whom.at": "{judge} (ε = {epsilons})",
    "reason.unknown": "the reason was not recorded",
    "reason.answered": "it answered only {n} of {items}",
    "reason.answered_none": "it answered none of {items}",
    "dropped.reason": "{n} × {reason}",
    "note.constant_passes": "a judge that always answers {label} would pass",
    "note.correction": "The outcome depends on the correction for several annotators: ω = "
    "{omega} under Benjamini-Yekutieli, {omega_bh} under Benjamini-Hochberg",
    "note.dropped": "{rows} were set aside and not used: {reasons}",
    "note.failures": "The judge left {failures}; counted as lost ω is {omega}, and the outcome "
    "goes by that",
    "note.few_annotators": "Only {annotators} could be tested; with fewer than three the winning "
    "rate says little",
    "note.few_annotators.none": "No annotator could be tested",
    "note.few_clusters": "The items come from only {clusters}: the errors that allow for this "
    "are themselves uncertain",
    "note.few_items": "Fewer than {few} items for {annotators} (the fewest: {fewest}): the test "
    "has little power, and a judge that fails may be fit",
    "note.like_constant": "ω is {omega}, but the judge is not shown closer to the annotators "
    "than one that always answers {label} (ρ {mine} against {theirs}, {p})",
    "note.many_ties": "For {annotators}, judge and person are equally close on more than {share} "
    "of the items: with few items the t-test then passes judges too easily",
    "note.missed": "Shown within ε = {epsilon} for {n} of {annotators}, and half are needed; the "
    "estimate misses the margin for {missed}",
    "note.missed.constant": "Shown within ε = {epsilon} for {n} of {annotators}, and half are "
    "needed; the estimate misses the margin for {missed}. A judge that always answers {label} "
    "passes",
    "note.near_margin": "The judge passes at ε = {epsilon} but would not have passed below ε = "
    "{smallest}: the outcome is close",
    "note.no_p_values": "no p-value is defined, since a standard error needs two clusters",
    "note.not_judged": "{unjudged} of {items} with annotations were not judged: the outcome "
    "holds for the rest only",
    "note.not_shown": "Shown within ε = {epsilon} for {n} of {annotators}, and half are needed; "
    "the estimate is within the margin for {within}: more items may change this",
    "note.not_shown.constant": "Shown within ε = {epsilon} for {n} of {annotators}, and half are "
    "needed; the estimate is within the margin for {within}: more items may change this. A judge "
    "that always answers {label} passes",
    "note.one_sided": "by majority the annotators put {one} items on one side and {other} on the "
    "other, and {needed} on each are needed",
    "note.random_passes": "A judge that answers at random would pass",
    "note.shown": "Shown within ε = {epsilon} for {n} of {annotators}, and closer to them than "
    "always {label} (ρ {mine} against {theirs}, {p})",
    "note.skewed_labels": "{share} of the annotators’ labels are one and the same, {label}: a "
    "judge that always gives it is often right",
    "note.some_margins": "The outcome depends on ε: the judge passes at some of the margins "
    "examined and not at others",
    "note.strange_annotators": "{annotators} share no label with any other annotator",
    "note.strange_labels": "Answers of the judge are labels that no annotator ever uses (such as "
    "{mine} beside {theirs})",
    "note.similarity": "The verdict hangs on how the similarity of two texts is measured",
    "note.undeclared_labels": "The set of possible labels was not declared; it was taken to be "
    "the {labels} that annotators and judges used",
    "note.undefined_agreement": "how far the annotators agree is undefined ({reason})",
    "note.unpassable": "with {items} and ε = {epsilon} not even the annotators’ majority is "
    "shown within the margin; a judge that always ties needs {needed}",
    "note.unpassable.unknown": "with {items} and ε = {epsilon} not even the annotators’ majority "
    "is shown within the margin",
    "note.unstable": "The result hangs on which items were labelled: with the same items drawn "
    "again, ω reaches one half in {stability} of the draws, which is no chance of passing a new "
    "study",
    "note.unstable.clusters": "The result hangs on which clusters were labelled: with the same "
    "clusters drawn again, ω reaches one half in {stability} of the draws, which is no chance of "
    "passing a new study",
    "note.untestable": "no annotator has {items} to compare",
    "note.untested_annotators": "Not tested, with fewer than {items} each: {annotators}",
    "note.weak_agreement": "agreement among the annotators may be as low as α = {low}, little "
    "more than chance",
    "note.weak_annotators": "The annotators agree weakly (α = {alpha}), and weak annotators let "
    "weak judges pass",
    "topic.constant_passes": "a judge that always gives the same answer would pass",
    "topic.correction": "The outcome depends on the correction for several annotators "
    "(Benjamini-Hochberg would decide otherwise)",
    "topic.failures": "The judge left calls without an answer; the outcome counts them as lost",
    "topic.few_annotators": "Fewer than three annotators could be tested: the winning rate says "
    "little",
    "topic.few_clusters": "The items come from few clusters: the errors that allow for this are "
    "themselves uncertain",
    "topic.few_items": "Some annotators have few items: the test has little power, and a judge "
    "that fails may be fit",
    "topic.like_constant": "the judge is not shown closer to the annotators than one that always "
    "gives the same answer",
    "topic.many_ties": "Judge and person are equally close on most items: with few items the "
    "t-test then passes judges too easily",
    "topic.missed": "The estimate misses the margin",
    "topic.near_margin": "The judge would not have passed at a slightly smaller margin: the "
    "outcome is close",
    "topic.no_p_values": "no p-value is defined, since a standard error needs two clusters",
    "topic.not_judged": "Not every annotated item was judged: the outcome holds for the rest only",
    "topic.not_shown": "The estimate is within the margin, but that is not shown",
    "topic.one_sided": "one of the two labels is the majority’s on too few items",
    "topic.random_passes": "A judge that answers at random would pass",
    "topic.shown": "Shown within the margin, and closer to the annotators than any constant answer",
    "topic.skewed_labels": "Nearly all labels are one and the same: a judge that always gives it "
    "is often right",
    "topic.some_margins": "The outcome depends on ε: the judge passes at some of the margins "
    "examined and not at others",
    "topic.strange_annotators": "An annotator shares no label with any other",
    "topic.strange_labels": "The judge uses labels that no annotator ever uses",
    "topic.similarity": "The verdict hangs on how the similarity of two texts is measured",
    "topic.undeclared_labels": "The set of possible labels was not declared; it was taken to be "
    "all that annotators and judges used",
    "topic.undefined_agreement": "how far the annotators agree is undefined",
    "topic.unpassable": "with so few items and so narrow a margin not even the annotators’ "
    "majority passes",
    "topic.unstable": "The outcome might have been another with other items of the same sort",
    "topic.untestable": "no annotator has enough items to compare",
    "topic.untested_annotators": "Some annotators have too few items to be tested",
    "topic.weak_agreement": "the annotators may agree hardly more than by chance",
    "topic.weak_annotators": "The annotators agree weakly, and weak annotators let weak judges "
    "pass",
    "todo.constant_passes": "Weigh labels by their rarity (<code>--weights imbalance</code>), "
    "declared before looking, or annotate more items with the rare labels.",
    "todo.correction": "Do not switch to the correction that passes; annotate more items.",
    "todo.dropped": "See the appendix for the first place of each reason; correct the file, or "
    "declare what the values mean (<code>--missing</code>, <code>--kind</code>, "
    "<code>--labels</code>), and examine anew.",
    "todo.failures": "Find out why these calls failed. If the judge fails on hard items, only "
    "the figures with failures counted as lost are fair to quote.",
    "todo.few_annotators": "Have at least three people label the items; five are better.",
    "todo.few_clusters": "Sample items from more sources, twenty or more; more items of the same "
    "sources do not help.",
    "todo.few_items": "Annotate more items before concluding that a judge is unfit: at least 50 "
    "per annotator. <code>voirdire power</code> says how many a study needs.",
    "todo.like_constant": "Annotate more items with the rare labels, or weigh labels by their "
    "rarity (<code>--weights imbalance</code>), declared before looking.",
    "todo.many_ties": "The outcome already rests on the exact test; the appendix shows its "
    "p-values under the others.",
    "todo.near_margin": "Say so when you report it, and confirm on fresh items if much depends "
    "on it.",
    "todo.no_p_values": "Take items from at least two, better twenty, clusters, or examine "
    "without clusters if the items are independent.",
    "todo.not_judged": "Judge the remaining items, or say by which rule they were left out.",
    "todo.one_sided": "Annotate more items with the rare label, at least ten on each side.",
    "todo.random_passes": "Choose a smaller margin for the next study, weigh labels by their "
    "rarity, or annotate more items; do not rely on this pass.",
    "todo.skewed_labels": "Look at what the constant control gets. For the next study, declare "
    "<code>--weights imbalance</code> if labels are true or false or a choice, or annotate more "
    "items with the rare labels.",
    "todo.some_margins": "Go by the margin that was written down before the labels were "
    "examined. If none was, fix one now and confirm it on fresh labels.",
    "todo.strange_annotators": "Check whether this is an annotator at all: a column of the file "
    "may have been taken for one (<code>--rater</code> names those that are).",
    "todo.strange_labels": "Check that judge and annotators write labels alike: case, spaces, "
    "“3” and “3.0”.",
    "todo.similarity": "Choose the measure before looking at verdicts, and read pairs of texts "
    "that it calls alike and unlike.",
    "todo.undeclared_labels": "Declare the labels (<code>--labels</code>), so that the figures "
    "do not depend on which judges are examined together.",
    "todo.undefined_agreement": "See that items are labelled by at least two annotators and that "
    "more than one label occurs.",
    "todo.unknown": "See the documentation of voirdire.",
    "todo.unpassable": "Annotate more items before anything is concluded. <code>voirdire "
    "power</code> says how many a study needs.",
    "todo.unstable": "Annotate more items of the same sort; until then treat the outcome as open.",
    "todo.unstable.clusters": "Annotate items from more clusters; until then treat the outcome "
    "as open.",
    "todo.untestable": "Annotate more items: each annotator needs enough that others labelled too.",
    "todo.untested_annotators": "Have them label more items, or accept that nothing is said "
    "about them.",
    "todo.weak_agreement": "Clarify the instructions, train the annotators, and annotate anew; "
    "no judge can be held to people who do not agree.",
    "todo.weak_annotators": "Clarify the instructions or weigh annotators by known quality "
    "(<code>--quality</code>); report the human agreement beside every figure.",
}
