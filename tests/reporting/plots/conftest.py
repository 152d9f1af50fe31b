"""Made-up results in the shape of `voirdire examine --json`, for figures."""

import math

import numpy as np
import pytest

CONTROLS = (
    ("constant", "no", 0.0, 0.61),
    ("random", None, 0.0, 0.45),
    ("majority_vote", None, 1.0, 1.0),
)


def examination(judge, points, *, epsilon=0.2, outcome=None, mode="additive", **given):
    """Make one examination from (annotator, ρ of the judge, ρ of the annotator, rejected)."""
    judge_mean = float(np.mean([point[1] for point in points]))
    human_mean = float(np.mean([point[2] for point in points]))
    rate = float(np.mean([point[3] for point in points]))
    names = ("annotator", "advantage_judge", "advantage_human", "rejected")
    controls = ("control", "label", "winning_rate", "advantage_probability")
    return {
        "question": "polite",
        "judge": judge,
        "alignment": "accuracy",
        "epsilon": epsilon,
        "epsilon_mode": mode,
        "winning_rate": rate,
        "passed": rate >= 0.5,
        "outcome": outcome or ("passed" if rate >= 0.5 else "failed"),
        "because": {"code": "", "sentence": "", "figures": {}},
        "advantage_probability": judge_mean,
        "human_advantage": human_mean,
        "annotators": [
            dict(zip(names, point, strict=True))
            | {"n_items": 60, "p_value": 0.01, "rejected_bh": point[3]}
            for point in points
        ],
        "worst_case": {"passed": rate >= 0.5},
        "controls": [
            dict(zip(controls, row, strict=True)) | {"passed": row[2] >= 0.5} for row in CONTROLS
        ],
        "uncertainty": {
            "advantage_low": judge_mean - 0.05,
            "advantage_high": judge_mean + 0.04,
            "clustered": False,
            "confidence_level": 0.95,
        },
    } | given


@pytest.fixture
def make_study():
    """Make an object like `examine --json` prints: judges that get worse one by one."""

    def make(
        judges=("best", "fair", "poor"),
        annotators=("ann", "bob", "eve", "kim"),
        *,
        epsilons=(0.1, 0.2, 0.3),
        question="polite",
        mode="additive",
    ):
        rows = []
        for place, judge in enumerate(judges):
            ours = 0.95 - 0.5 * place / max(len(judges), 2)
            for epsilon in epsilons:
                points = []
                for which, name in enumerate(annotators):
                    theirs = 0.7 + 0.2 * which / len(annotators)
                    judged = ours - 0.01 * which
                    points.append((name, judged, theirs, judged > theirs - epsilon))
                rows.append(
                    examination(judge, points, epsilon=epsilon, mode=mode, question=question)
                )
        found = {
            "question": question,
            "kind": "choice",
            "annotators": list(annotators),
            "judges": list(judges),
        }
        return {
            "examinations": rows,
            "pooled": [],
            "questions": [found],
            "dropped": [],
            "settings": {},
        }

    return make


@pytest.fixture
def make_examination_of():
    """Make one examination from (annotator, ρ of the judge, ρ of the annotator, rejected)."""
    return examination


@pytest.fixture
def make_power():
    """Make the dict of a power analysis: 3 annotators at two ε."""

    def make(wanted=0.8):
        rows = [
            {
                "n_items": n_items,
                "n_annotators": 3,
                "epsilon": epsilon,
                "power": min(n_items / 100 + epsilon, 1.0),
                "standard_error": 0.02,
                "route": "assumptions",
            }
            for epsilon in (0.1, 0.2)
            for n_items in (20, 50, 80)
        ]
        return {"wanted_power": wanted, "rows": rows, "smallest_sizes": [], "settings": {}}

    return make


@pytest.fixture
def by_gid():
    """Find the artists of axes by the start of their id, in the order of the ids' numbers."""

    def find(axes, prefix):
        found = {}
        for artist in axes.findobj(lambda each: str(each.get_gid() or "").startswith(prefix)):
            found[artist.get_gid()] = artist
        number = lambda gid: int(gid.rpartition("-")[2]) if gid[-1].isdigit() else math.inf  # noqa: E731
        return [found[gid] for gid in sorted(found, key=number)]

    return find


@pytest.fixture
def written():
    """List every text of a figure that can be seen."""
    from matplotlib.text import Text

    def list_texts(figure):
        return [
            text.get_text()
            for text in figure.findobj(Text)
            if text.get_visible() and text.get_text()
        ]

    return list_texts
