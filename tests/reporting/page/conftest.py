"""Examinations as JSON objects, written by hand: the page is tested on what it is given."""

import json
import re
from functools import lru_cache
from types import SimpleNamespace

import pytest
from markupsafe import Markup

from sketched_figures import are_drawn, drawn, sketched_figures  # noqa: F401  # fixtures
from voirdire.reporting import html_report

PLACES = {
    "agreement": r'id="q1-rests".*?<p>(.*?)</p>',
    "annotators": r'id="q1-diagnosis".*?<p>(.*?)</p>',
    "controls": r'id="q1-controls".*?<ul>(.*?)</ul>',
    "differences": r'id="q1-differences".*?<p>(.*?)</p>',
    "judge": r'<details class="judge"[^>]*>.*?<p>(.*?)</p>',
    "paper": r'<blockquote class="paper">.*?<p>(.*?)</p>',
    "references": r'<ul class="references">(.*?)</ul>',
    "verdict": r'<li class="verdict .*?<p>(.*?)</p>',
    "warnings": r'<dl class="warnings">(.*?)</dl>',
}
"""Where on the page the words of one subject stand."""


def words(markup):
    """Take the markup away, and the spaces that only keep a line together."""
    apart = re.sub(r"</(?:li|p|dt|dd)>", " ", markup)
    text = Markup(apart).striptags().replace("\N{NO-BREAK SPACE}", " ")
    return " ".join(text.split())


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
            "because": {"code": "", "sentence": "", "figures": {}},
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
            },
            "comparisons": [],
            "diagnosis": None,
        }
        return base | keys

    return make


@lru_cache(maxsize=4)
def _page(content, language, _drawn):
    return html_report(content, language=language)


@pytest.fixture(scope="session")
def read(make_content):
    """Read what the page says at some place about the first question, or its first judge."""

    def read_place(place, *rows, language="en", **keys):
        page = _page(json.dumps(make_content(*rows, **keys)), language, are_drawn())
        found = re.findall(PLACES[place], page, flags=re.DOTALL)
        return words(" ".join(found if place == "warnings" else found[:1]))

    return read_place


@pytest.fixture(scope="session")
def verdicts_of(make_content):
    """Read the verdicts of the page, in their order."""

    def read_verdicts(*rows, language="en", **keys):
        page = html_report(make_content(*rows, **keys), language=language)
        item = r'<li class="verdict (\w+)">(.*?)</div>\s*</li>'
        return [_verdict(*found) for found in re.findall(item, page, flags=re.DOTALL)]

    return read_verdicts


@pytest.fixture(scope="session")
def verdict_of(verdicts_of):
    """Read the only verdict of the page."""

    def read_verdict(*rows, **keys):
        [verdict] = verdicts_of(*rows, **keys)
        return verdict

    return read_verdict


def _verdict(state, markup):
    chip, _, told = markup.partition("<div>")
    told, _, todo = told.partition("</p>")
    sentence, *more = told.split('<span class="more">')
    return SimpleNamespace(
        state=state,
        short=words(chip).partition(" ")[2],  # after a mark for the eye
        sentence=words(sentence),
        more=" ".join(words(each) for each in more),
        todo=words(todo).removeprefix("What to do: "),
    )


@pytest.fixture(scope="session")
def page_text():
    """Render a page and give its words."""

    def render(content, **options):
        page = html_report(content, **options)
        body = re.sub(r"<(style|svg|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
        apart = (
            r'<span class="sub">|<span class="chip|</(?:span|td|th|p|li|h\d|caption|dt|summary)>'
        )
        body = re.sub(apart, lambda tag: f" {tag.group()}", body)
        return words(body)

    return render
