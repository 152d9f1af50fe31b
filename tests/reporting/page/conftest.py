"""Examinations as JSON objects, written by hand: the page is tested on what it is given."""

import re

import pytest
from markupsafe import Markup

from voirdire.reporting.page import html_report
from voirdire.reporting.page.grouping import question_parts
from voirdire.reporting.page.reading import plain_content, read_report
from voirdire.reporting.page.speaker import ExaminationSpeaker


def _annotator(place, *, won, **figures):
    base = {
        "annotator": f"ann-{place + 1}",
        "n_items": 60,
        "advantage_judge": 0.91,
        "advantage_human": 0.93,
        "mean_difference": 0.02,
        "standard_error": 0.031,
        "degrees_of_freedom": 59.0,
        "p_value": 0.0123 if won else 0.4321,
        "rejected": won,
        "rejected_bh": won,
        "n_judge_wins": 4,
        "n_ties": 51,
        "n_human_wins": 5,
        "tie_share": 0.85,
        "exact_p_value": 0.0234,
    }
    return base | figures


@pytest.fixture(scope="session")
def make_row():
    """Make one examination; `won` of `of` annotators are won."""

    def make(judge="gpt", *, won=3, of=4, epsilon=0.15, outcome=None, **figures):
        winning_rate = won / of if of else None
        passed = winning_rate is not None and winning_rate >= 0.5
        base = {
            "question": "label",
            "judge": judge,
            "alignment": "accuracy",
            "epsilon": epsilon,
            "epsilon_mode": "additive",
            "method": "t",
            "n_items": 60,
            "n_annotators": of,
            "winning_rate": winning_rate,
            "winning_rate_bh": winning_rate,
            "passed": passed,
            "outcome": outcome or ("passed" if passed else "failed"),
            "advantage_probability": 0.91,
            "human_advantage": 0.93,
            "annotators": [_annotator(place, won=place < won) for place in range(of)],
            "untested": [],
            "worst_case": {
                "n_failures": 0,
                "winning_rate": winning_rate,
                "advantage_probability": 0.91,
                "passed": passed,
            },
            "controls": [
                _control("constant", "no", 0.0, 0.73),
                _control("random", None, 0.0, 0.66),
                _control("majority_vote", None, 1.0, 1.0),
            ],
            "human_agreement": {
                "alpha": 0.568,
                "low": 0.543,
                "high": 0.592,
                "confidence_level": 0.95,
                "level": "nominal",
                "n_items": 60,
                "n_labels": 240,
                "n_clusters": 60,
                "reason": None,
            },
            "outcome_reasons": [],
            "reasons": [],
            "warnings": [],
            "cautions": [],
            "smallest_epsilon": None,
            "uncertainty": {
                "advantage_low": 0.89,
                "advantage_high": 0.93,
                "human_advantage_low": 0.91,
                "human_advantage_high": 0.95,
                "stability": 0.97,
                "confidence_level": 0.95,
                "n_resamples": 1000,
                "n_units": 60,
                "clustered": False,
                "reason": None,
            },
            "settings": {
                "weights": None,
                "quality": None,
                "expert": None,
                "gold": False,
                "normalize": None,
                "min_items": 30,
                "false_discovery_rate": 0.05,
                "n_clusters": None,
            },
        }
        return base | figures

    return make


def _control(name, label, winning_rate, advantage):
    return {
        "control": name,
        "label": label,
        "winning_rate": winning_rate,
        "advantage_probability": advantage,
        "passed": winning_rate >= 0.5,
    }


@pytest.fixture(scope="session")
def make_content():
    """Put examinations into the JSON object of a run."""

    def make(*rows, **keys):
        content = {"examinations": list(rows), "pooled": [], "dropped": [], "settings": {}}
        return content | {"questions": []} | keys

    return make


@pytest.fixture(scope="session")
def make_part(make_content):
    """Give the first question of a run, sorted for reading."""

    def make(*rows, **keys):
        report = read_report(plain_content(make_content(*rows, **keys)))
        return question_parts(report)[0]

    return make


def coefficient(name, estimate):
    """Make a coefficient of agreement."""
    return {
        "coefficient": name,
        "weights": None,
        "estimate": estimate,
        "low": estimate - 0.04,
        "high": estimate + 0.04,
        "confidence_level": 0.95,
        "n_items": 60,
        "n_raters": 2,
        "n_clusters": 60,
        "reason": None,
    }


@pytest.fixture(scope="session")
def make_question():
    """Make what stands around the test of a question, with κ of people and of judges."""

    def make(human=0.57, judges=None, **keys):
        judges = judges or {"gpt": 0.53}
        names = ["ann-1", "ann-2", *judges]
        kappas = [human, human, *judges.values()]
        base = {
            "question": "label",
            "kind": "boolean",
            "n_items": 60,
            "annotators": ["ann-1", "ann-2", "ann-3", "ann-4"],
            "judges": list(judges),
            "labels": [{"label": "no", "n_human": 144, "share": 0.6}],
            "n_labels": 2,
            "agreement": {
                "confidence_level": 0.95,
                "panel": [coefficient("krippendorff_alpha", human)],
                "ceiling": [coefficient("raw_agreement", 0.8), coefficient("cohen_kappa", human)],
                "judges": [
                    {
                        "judge": name,
                        "coefficients": [
                            coefficient("raw_agreement", 0.78),
                            coefficient("cohen_kappa", kappa),
                        ],
                    }
                    for name, kappa in judges.items()
                ],
                "matrix": {
                    "coefficient": "cohen_kappa",
                    "weights": None,
                    "raters": [
                        {"name": name, "role": "judge" if name in judges else "annotator"}
                        for name in names
                    ],
                    "values": [
                        [None if i == j else min(kappas[i], kappas[j]) for j in range(len(names))]
                        for i in range(len(names))
                    ],
                    "n_items": [[60] * len(names) for _ in names],
                },
            },
            "comparisons": [],
            "diagnosis": None,
        }
        return base | keys

    return make


@pytest.fixture(scope="session")
def said():
    """Speak something in a language and take the markup away."""

    def speak(thing, language="en"):
        speaker = ExaminationSpeaker(language)
        things = thing if isinstance(thing, tuple | list) else (thing,)
        spoken = speaker.phrases["sentence.space"].join(speaker(each) for each in things)
        return Markup(spoken).striptags().replace("\N{NO-BREAK SPACE}", " ")

    return speak


@pytest.fixture(scope="session")
def page_text():
    """Render a page and give its words."""

    def render(content, **options):
        page = html_report(content, **options)
        body = re.sub(r"<(style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
        apart = (
            r'<span class="sub">|<span class="chip|</(?:span|td|th|p|li|h\d|caption|dt|summary)>'
        )
        body = re.sub(apart, lambda tag: f" {tag.group()}", body)
        text = Markup(body).striptags().replace("\N{NO-BREAK SPACE}", " ")
        return " ".join(text.split())

    return render
