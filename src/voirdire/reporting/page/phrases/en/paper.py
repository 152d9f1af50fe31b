"""The paragraph for a paper, in English."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, str] = {
    "paper.title": "For your paper",
    "paper.lead": "A paragraph to paste. Fill in the brackets: when the margin ε was fixed, and "
    "why.",
    "paper.fold": "The paragraph",
    "paper.what": "We examined whether {judges} may stand in for a human annotator with the "
    "alternative annotator test (Calderon et al., 2025), for the question {question}, on {items} "
    "labelled by {annotators}.",
    "paper.answered": "Not every judge answered all of them: {judges}.",
    "paper.answered.judge": "{judge} answered {n}",
    "paper.design.leave_one_out": "Each annotator with at least {min_items} was left out in turn; "
    "judge and annotator were compared by their alignment with the remaining annotators "
    "({alignment}).",
    "paper.design.gold": "Each annotator with at least {min_items} was compared with the judge by "
    "their alignment with {others} ({alignment}).",
    "paper.design.expert": "Each annotator with at least {min_items} was compared with the judge "
    "by their alignment with {others} ({alignment}).",
    "paper.null.additive": "For each annotator, the null hypothesis was that the judge’s "
    "advantage probability, the share of items on which it is aligned at least as well, is lower "
    "than the annotator’s by ε or more.",
    "paper.null.multiplicative": "For each annotator, the null hypothesis was that the judge’s "
    "advantage probability, the share of items on which it is aligned at least as well, is at "
    "most (1 − ε) times the annotator’s.",
    "paper.test": "It was tested with {test}, controlling the false discovery rate over "
    "annotators at q = {q} (Benjamini &amp; Yekutieli, 2001); the winning rate ω is {share} for "
    "whom it was rejected, and a judge passes at ω ≥ .5 both with failed calls left out and with "
    "them lost.",
    "paper.share.count": "the share of annotators",
    "paper.share.weight": "the share by weight of annotators",
    "paper.test.t": "one-sided paired t-tests",
    "paper.test.exact": "an exact unconditional one-sided test on wins, ties and losses",
    "paper.test.clustered": "one-sided paired t-tests with standard errors robust to {clusters} "
    "(Liang &amp; Zeger, 1986)",
    "paper.variant.weights": "Items were weighted by the inverse frequency of their majority "
    "label.",
    "paper.variant.quality": "Annotators were weighted by their quality, as known beforehand.",
    "paper.variant.normalize.zscore": "Each rater’s numbers were standardised beforehand.",
    "paper.variant.normalize.rank": "Each rater’s numbers were replaced by their ranks beforehand.",
    "paper.variant.superiority": "With ε = 0 and gold labels this is a test of superiority over "
    "the annotators.",
    "paper.margin.one": "The margin was ε = {all} [fixed before the labels were examined, because "
    "…].",
    "paper.margin.reason": "The margin ε = {all} was fixed before the labels were examined: "
    "{reason}.",
    "paper.margin.many": "The margin was ε = [{all}] [fixed before the labels were examined, "
    "because …]; the other margins show how sensitive the outcome is.",
    "paper.software": "The computations were done with voirdire {version}.",
    "paper.agreement": "The annotators agreed at Krippendorff’s α = {alpha}.",
    "paper.interval.alpha": "Its interval is symmetric in Fisher’s z, with an error from what "
    "each item contributes.",
    "paper.interval.alpha.clusters": "Its interval is symmetric in Fisher’s z, with an error from "
    "what each cluster contributes.",
    "paper.interval.items": "Intervals of ρ are bias-corrected and accelerated (BCa) bootstrap "
    "intervals ({n} resamples of the items), their tails widened as the t distribution is wider "
    "than the normal.",
    "paper.interval.clusters": "Intervals of ρ are bias-corrected and accelerated (BCa) bootstrap "
    "intervals ({n} resamples of the clusters), their tails widened as the t distribution is "
    "wider than the normal.",
    "paper.result": "For {judge}, ρ = {rho}, against {human} for the annotators themselves; "
    "{rates}.",
    "paper.result.failures": "For {judge}, ρ = {rho}, against {human} for the annotators "
    "themselves; {rates}; these figures leave {failures} out.",
    "paper.rate": "ω = {omega} at ε = {epsilon} ({details})",
    "paper.won": "{won} of {annotators}",
    "paper.worst": "ω = {worst} with failed calls lost",
    "paper.worst.series": "with failed calls lost, ω = {omegas}",
    "paper.silent": "no evidence at ε = {epsilons} because {reasons}",
    "paper.outcome.passed": "passed",
    "paper.outcome.failed": "failed",
    "paper.outcome.no_evidence": "no evidence",
    "paper.result.series": "ω = {omegas} at ε = {epsilons}, passed at {passing}",
    "paper.result.series.none": "ω = {omegas} at ε = {epsilons}, passed at none of them",
    "paper.result.more": "The figures of a further {n} are in the supplement.",
    "paper.controls": "Under the same test at ε = {epsilon}, a judge that always answers {label} "
    "reached ω = {constant}, random labels ω = {random}, and the majority vote ω = {majority}.",
    "paper.controls.none": "No controls were run.",
    "reference.calderon": "N. Calderon, R. Reichart and R. Dror (2025). The Alternative Annotator "
    "Test for LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs. "
    "<cite>ACL 2025</cite>. arXiv:2501.10970.",
    "reference.benjamini": "Y. Benjamini and D. Yekutieli (2001). The control of the false "
    "discovery rate in multiple testing under dependency. <cite>The Annals of Statistics</cite> "
    "29(4), 1165–1188.",
    "reference.liang": "K.-Y. Liang and S. L. Zeger (1986). Longitudinal data analysis using "
    "generalized linear models. <cite>Biometrika</cite> 73(1), 13–22.",
}
