"""Every sentence of the first screen is read back, and its figures computed again from the record.

A sentence is read by a pattern of this file; one that no pattern reads fails the test. What it
claims is computed from the annotators' p-values, means and counts, and from the labels.
"""

import math
import re

import numpy as np
import pytest

import voirdire
from alt_test_oracle import benjamini
from voirdire.reporting import rows
from voirdire.stats import exact_p_value

NAMES = ("ann", "bob", "cyd", "dot", "eli")


def number(text):
    """Read a figure as a page writes it."""
    return float(text.replace("−", "-").replace(",", "").rstrip("%"))


def same(text, value):
    """Whether a figure of a page is this value, rounded as the page rounds."""
    digits = len(text.rstrip("%").partition(".")[2])
    value = 100 * value if text.endswith("%") else value
    return abs(number(text) - value) <= 0.5001 * 10**-digits


def same_p(text, value):
    bare = text.removeprefix("p ").lstrip("= ")
    return value < number(bare.lstrip("< ")) if bare.startswith("<") else same(bare, value)


class Facts:
    """What is true of a judge at one ε, from the rows of its annotators."""

    def __init__(self, row):
        people = row.annotators
        self.row, self.n = row, len(people)
        shown = benjamini([x.deciding_p_value for x in people], 0.05, yekutieli=True)
        self.n_shown = sum(shown)
        self.omega = self.n_shown / self.n if self.n else math.nan
        failed = row.worst_case.n_failures  # everybody labelled the items that failed, all lost
        self.n_within = sum(
            (x.n_human_wins + failed - x.n_judge_wins) / (x.n_items + failed) < row.epsilon
            for x in people
        )
        self.rho = np.mean([x.advantage_judge for x in people]) if people else math.nan


def is_passed(m, facts):
    fits = same(m["eps"], facts.row.epsilon) and same(m["omega"], facts.omega)
    counts = (int(m["shown"]), int(m["n"])) == (facts.n_shown, facts.n)
    return fits and counts and 2 * facts.n_shown >= facts.n and facts.row.outcome == "passed"


def is_not_passed(m, facts):
    fits = same(m["eps"], facts.row.epsilon) and same(m["omega"], facts.omega)
    counts = [int(m[name]) for name in ("within", "n", "shown")]
    is_close = "not shown fit" in m[0]
    return (
        fits
        and counts == [facts.n_within, facts.n, facts.n_shown]
        and 2 * facts.n_shown < facts.n
        and (2 * facts.n_within >= facts.n) is is_close
    )


def is_closer(m, facts):
    p = facts.row.because.figures["p_value"]
    figures = number(m["rho"]), number(m["other"])
    return same(m["rho"], facts.rho) and figures[0] > figures[1] and p <= 0.05 and same_p(m["p"], p)


def is_like_constant(m, facts):
    p = facts.row.because.figures["p_value"]
    fits = same(m["omega"], facts.omega) and same(m["rho"], facts.rho) and same_p(m["p"], p)
    return fits and facts.omega >= 0.5 and p > 0.05


def is_unpassable(m, facts):
    majority = next(c for c in facts.row.controls if c.control == "majority_vote")
    largest = max(x.n_items for x in facts.row.annotators)
    needed = int(m["needed"])
    level = 0.05 / sum(1 / k for k in range(1, facts.n + 1))

    def ties(n):
        return exact_p_value(n_judge_wins=0, n_ties=n, n_human_wins=0, epsilon=facts.row.epsilon)

    return (
        majority.winning_rate < 0.5
        and int(m["items"]) == largest < needed
        and ties(needed) <= level < ties(needed - 1)
    )


def is_crowd(m, facts):
    crowd = facts.row.crowd
    is_said = {"passed as": True, "is worse": False}[m["what"]]
    return (
        same(m["eps"], crowd.epsilon)
        and int(m["n"]) == crowd.n_people
        and same_p(m["p"], max(crowd.p_value_t, crowd.p_value_exact))
        and (crowd.p_value <= 0.05) is is_said
        and (is_said or crowd.mean_difference >= crowd.epsilon)
    )


def is_closer_in_crowd(m, facts):
    crowd = facts.row.crowd
    rho = facts.row.advantage_probability
    return (
        same(m["rho"], rho)
        and same(m["other"], crowd.constant_advantage)
        and rho > crowd.constant_advantage
        and crowd.constant_p_value <= 0.05
    )


def is_close(m, facts):
    stability = facts.row.uncertainty.stability
    return 0.1 <= stability <= 0.9 and same(m["share"], stability)


def do_failures_decide(m, facts):
    worst = facts.row.worst_case
    is_other = facts.row.winning_rate < 0.5 <= worst.winning_rate_answered
    return (
        is_other
        and int(m["n"]) == worst.n_failures
        and same(m["omega"], worst.winning_rate_answered)
    )


def is_careless(m, facts):
    careless = re.split(r", | and ", m["who"])
    others = [x for x in facts.row.annotators if x.annotator not in careless]
    n_shown = sum(x.shown for x in others)
    return facts.row.passed and [int(m["k"]), int(m["n"])] == [n_shown, len(others)]


OF_A_JUDGE = {
    r"\S+ passed: shown within ε = (?P<eps>\S+) for (?P<shown>\d+) of (?P<n>\d+) annotators? "
    r"\(ω = (?P<omega>\S+)\)\.": is_passed,
    r"\S+ (is not shown fit|is worse): within ε = (?P<eps>\S+) for (?P<within>\d+) of (?P<n>\d+) "
    r"annotators?, shown for (?P<shown>\d+) \(ω = (?P<omega>\S+)\)\."
    r"(?: More items may change this\.)?": is_not_passed,
    r"It is closer to the annotators than always “.+” \(ρ (?P<rho>\S+) against (?P<other>\S+), "
    r"(?P<p>p .+)\)\.": is_closer,
    r"No evidence about \S+: ω is (?P<omega>\S+), but it is not shown closer to the annotators "
    r"than always “.+” \(ρ (?P<rho>\S+) against \S+, (?P<p>p .+)\)\.": is_like_constant,
    r"No evidence about \S+: with (?P<items>\d+) items and ε = \S+ not even the annotators’ "
    r"majority is shown within the margin; a judge that always ties needs (?P<needed>\d+) "
    r"items\.": is_unpassable,
    r"No evidence about \S+: no item has labels of two annotators, so nobody .+ labels\.": (
        lambda _, facts: facts.row.n_items == 0
    ),
    r"\S+ (?P<what>passed as|is worse)(?: a random person)?: (?:shown within|its estimate misses) "
    r"ε = (?P<eps>\S+) (?:of|against) a random one of (?P<n>\d+) people "
    r"\((?P<p>p .+)\)\.": is_crowd,
    r"It is closer to the people than always “.+” \(ρ (?P<rho>\S+) against (?P<other>\S+), "
    r"(?P<p>p .+)\)\.": is_closer_in_crowd,
    r"ω is at least \.5 in (?P<share>\S+) of resamples\.": is_close,
    r"Failed calls decide: without its (?P<n>\d+) failed calls? ω is (?P<omega>\S+)\.": (
        do_failures_decide
    ),
    r"But it passes by annotators who stand apart from the others \((?P<who>.+)\): of the others "
    r"it is shown within ε for (?P<k>\d+) of (?P<n>\d+)\.": is_careless,
}


def by_majority(report, m):
    one, other = sorted(map(int, (m["one"], m["other"])))
    return one < 10 and one + other <= report.questions[0].n_items


CAUTIONS = {
    r"Some annotators have fewer than 50 items: with so few even a fit judge is .+": (
        lambda report, _: any(x.n_items < 50 for row in report.results for x in row.annotators)
    ),
    r"Fewer than three annotators could be tested: ω says little\.": (
        lambda report, _: any(row.n_annotators < 3 for row in report.results)
    ),
    r"Always “.+” has ω = (?P<omega>\S+), and is no evidence of anything; ω alone decides nothing "
    r"here\.": lambda report, m: (
        number(m["omega"]) >= 0.5
        and all(c.winning_rate >= 0.5 for c in report.results[0].controls[:1])
    ),
    r"Random answers have ω = (?P<omega>\S+); ω alone decides nothing here\.": (
        lambda report, m: same(m["omega"], report.results[0].controls[1].winning_rate)
    ),
    r"By majority (?P<one>\d+) items are on one side and (?P<other>\d+) on the other: .+": (
        by_majority
    ),
    r"Of the annotators’ labels (?P<share>\S+) are the same, .+": lambda report, m: same(
        m["share"], report.questions[0].labels[0].share
    ),
    r"The annotators agree weakly \(α = (?P<a>\S+)\), and weak annotators let weak judges pass\.": (
        lambda report, m: (
            same(m["a"], report.results[0].human_agreement.alpha) and number(m["a"]) <= 0.4
        )
    ),
    r"The annotators may agree hardly more than by chance: α may be as low as (?P<a>\S+)\.": (
        lambda report, m: (
            same(m["a"], report.results[0].human_agreement.low) and number(m["a"]) <= 0.2
        )
    ),
    r"How far the annotators agree is undefined \(no item has two labels\)\.": (
        lambda report, _: math.isnan(report.results[0].human_agreement.alpha)
    ),
    r"Not tested, with fewer than 30 items in common with another rater: .+": (
        lambda report, _: bool(report.results[0].untested)
    ),
    r".+ agree with the others no more than by chance\.": lambda report, _: True,
    r"It says the opposite of the annotators’ majority on (?P<k>\d+) of (?P<n>\d+) items: .+": (
        lambda report, m: int(m["k"]) > 0.7 * int(m["n"])
    ),
    r"It gives the annotators’ majority on all (?P<n>\d+) items where they split: .+": (
        lambda report, m: 40 <= int(m["n"]) <= report.questions[0].n_items
    ),
    r"The judge is compared with a random person of this crowd, .+": (
        lambda report, _: report.results[0].crowd is not None
    ),
    r"(?P<n>\d+) labels or rows were set aside: .+": lambda report, m: (
        int(m["n"]) == sum(row.reason != "missing label" for row in report.dropped)
    ),
    r"The outcome depends on the correction .+": lambda report, _: any(
        (row.winning_rate >= 0.5) != (row.winning_rate_bh >= 0.5) for row in report.results
    ),
}


def err(rng, truth, share, *, words=("no", "yes"), missing=0.0):
    """Labels that are wrong at a share, and missing at another."""
    wrong = rng.random(len(truth)) < share
    codes = np.where(wrong, (truth + 1) % len(words), truth)
    gone = rng.random(len(truth)) < missing
    return {f"i{n}": words[code] for n, code in enumerate(codes) if not gone[n]}


def study(*, seed=0, n=80, people=(0.1, 0.1, 0.1), judge=0.1, positive=0.5, **options):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < positive).astype(int)
    humans = {NAMES[k]: err(rng, truth, share) for k, share in enumerate(people)}
    answers = err(rng, truth, judge)
    if options.pop("is_turned_round", False):
        answers = {item: {"yes": "no", "no": "yes"}[x] for item, x in answers.items()}
    for item in list(answers)[: options.pop("n_failed", 0)]:
        answers[item] = None
    if options.pop("is_vote", False):
        answers = {
            item: max(("yes", "no"), key=[h[item] for h in humans.values()].count)
            for item in answers
        }
    if options.pop("is_crowd", 0):
        per_item = options.pop("per_item", 2)
        humans = {}
        for item, truly in enumerate(truth):
            for person in rng.choice(60, per_item, replace=False):
                label = truly if rng.random() > people[0] else 1 - truly
                humans.setdefault(f"w{person}", {})[f"i{item}"] = ("no", "yes")[label]
    return voirdire.examine(judges={"judge": answers}, humans=humans, kind="choice", **options)


STUDIES = {
    "passed": {"n": 120, "judge": 0.02},
    "near the border": {"n": 60, "judge": 0.22},
    "not shown": {"n": 40, "judge": 0.2, "epsilon": 0.1},
    "worse": {"judge": 0.5},
    "like a constant": {"positive": 0.05, "people": (0.02, 0.02, 0.02), "judge": 0.05},
    "nobody can pass": {"n": 30, "epsilon": 0.05, "people": (0.1, 0.1), "judge": 0.02},
    "failures": {"n": 100, "judge": 0.02, "n_failed": 24},
    "careless people": {"n": 120, "people": (0.02, 0.02, 0.5, 0.5), "judge": 0.3, "seed": 2},
    "turned round": {"judge": 0.05, "is_turned_round": True},
    "a copy of the vote": {"n": 200, "people": (0.2, 0.2, 0.2), "is_vote": True},
    "a crowd": {"n": 200, "is_crowd": True, "people": (0.15,), "judge": 0.05},
    "worse than a crowd": {"n": 200, "is_crowd": True, "people": (0.15,), "judge": 0.5},
    "one label an item": {"n": 100, "is_crowd": True, "per_item": 1, "people": (0.15,)},
}


@pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning")
@pytest.mark.filterwarnings("ignore::voirdire.errors.DoubtfulLabelsWarning")
@pytest.mark.filterwarnings("ignore::voirdire.errors.DroppedRowsWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_every_sentence_of_the_first_screen_is_true(say, name):
    report = study(**STUDIES[name], n_resamples=200)
    view = rows(report)
    facts = Facts(report.results[0])

    for sentence in map(say, view.lead):
        found = [(fits, m) for x, fits in OF_A_JUDGE.items() if (m := re.fullmatch(x, sentence))]
        assert len(found) == 1, sentence
        assert all(fits(m, facts) for fits, m in found), sentence
    for what, _ in view.cautions:
        found = [(fits, m) for x, fits in CAUTIONS.items() if (m := re.fullmatch(x, say(what)))]
        assert len(found) == 1, say(what)
        assert all(fits(report, m) for fits, m in found), say(what)
