"""The page in a real browser: nothing moves, nothing is asked for, nothing runs over the edge."""

from collections import Counter

import pytest

from voirdire.reporting import html_report

pytestmark = pytest.mark.slow

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "a\u202eb\u2066c",
    "x" * 1_000_000,
    "标注员 שלום",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
]
WIDTHS = (360, 390, 1280)


def _row(judge, annotators, *, won, epsilon):
    won = min(won, len(annotators))
    return {
        "question": annotators[0] if annotators[0] in HOSTILE else "label",
        "judge": judge,
        "alignment": "accuracy",
        "epsilon": epsilon,
        "epsilon_mode": "additive",
        "n_items": 60,
        "winning_rate": won / len(annotators),
        "winning_rate_bh": won / len(annotators),
        "passed": 2 * won >= len(annotators),
        "outcome": "passed" if 2 * won >= len(annotators) else "failed",
        "because": {"code": "", "sentence": ""},
        "advantage_probability": 0.9,
        "human_advantage": 0.93,
        "annotators": [
            {
                "annotator": name,
                "n_items": 60,
                "advantage_judge": 0.9,
                "advantage_human": 0.93,
                "mean_difference": 0.03,
                "standard_error": 0.02,
                "degrees_of_freedom": 59,
                "p_value": 0.01,
                "rejected": place < won,
                "rejected_bh": place < won,
                "n_judge_wins": 4,
                "n_ties": 50,
                "n_human_wins": 6,
                "tie_share": 0.83,
            }
            for place, name in enumerate(annotators)
        ],
        "worst_case": {"passed": 2 * won >= len(annotators)},
        "controls": [
            {"control": "constant", "label": judge, "winning_rate": 0.0, "passed": False},
            {"control": "random", "winning_rate": 0.0, "passed": False},
            {"control": "majority_vote", "winning_rate": 1.0, "passed": True},
        ],
        "cautions": [{"code": judge, "sentence": judge, "figures": {}}],
    }


def _content(judges, annotators):
    rows = [
        _row(judge, annotators, won=won, epsilon=epsilon)
        for judge in judges
        for won, epsilon in ((0, 0.05), (1, 0.1), (3, 0.15), (4, 0.2), (4, 0.3))
    ]
    question = {
        "question": rows[0]["question"],
        "diagnosis": {
            "judges": [
                {
                    "judge": judge,
                    "panel": {"n_unanimous": 40, "n_opposed": 3},
                }
                for judge in judges
            ]
        },
    }
    dropped = [{"reason": judge, "source": judge, "item": judge} for judge in judges]
    return {"examinations": rows, "questions": [question], "dropped": dropped}


TAME = _content([f"judge-{place}" for place in range(8)], [f"ann-{place}" for place in range(5)])
WILD = _content(HOSTILE, HOSTILE[::-1][:5])


def _changed(content, **keys):
    return content | {"examinations": [row | keys for row in content["examinations"]]}


def _undefined(row):
    return [each | {"winning_rate": None, "passed": False} for each in row["controls"]]


LARGE = _content([f"judge-{place}" for place in range(50)], [f"ann-{place}" for place in range(20)])
TWO = _content(["judge"], ["ann", "bob"])
UNUSUAL = {
    "large": LARGE,
    "undefined controls": _changed(TAME, controls=_undefined(TAME["examinations"][0])),
    "gold": _changed(
        {"examinations": [_row("judge", ["ann", "bob", "eve"], won=2, epsilon=0.0)]},
        settings={"gold": True},
    ),
    "two annotators": TWO
    | {
        "questions": [
            TWO["questions"][0]
            | {
                "diagnosis": {
                    "annotators": [{"annotator": x, "outlier": False} for x in ("ann", "bob")]
                }
            }
        ]
    },
    "failures": _changed(
        TAME,
        outcome="failed",
        passed=True,
        worst_case={"n_failures": 14, "winning_rate": 0.2, "passed": False},
    ),
}
WORDS = {
    "large": "None of 50 judges has been shown fit",
    "undefined controls": "is undefined here.",
    "gold": "judge may replace an annotator",
    "two annotators": "At least three annotators who share items are needed",
    "failures": "with its 14 failed calls left out",
}


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("width", WIDTHS)
def test_unusual_studies_fit_and_say_what_they_are(opened, tmp_path, case, width):
    path = tmp_path / "report.html"
    path.write_text(html_report(UNUSUAL[case]), encoding="utf-8")
    page, done = opened(path, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert WORDS[case] in page.inner_text("body").replace("\N{NO-BREAK SPACE}", " ")
    assert done["messages"] == []


@pytest.fixture(scope="module", params=["tame", "wild", "chinese"])
def document(request, tmp_path_factory):
    content = WILD if request.param == "wild" else TAME
    language = "zh" if request.param == "chinese" else "en"
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html_report(content, language=language), encoding="utf-8")
    return path


def test_the_page_asks_for_nothing_and_says_nothing(opened, document):
    page, done = opened(document)
    page.wait_for_timeout(200)

    assert [url for url in done["requests"] if not url.startswith("data:")] == [document.as_uri()]
    assert done["messages"] == []
    assert done["dialogs"] == []
    assert page.evaluate("document.scripts.length + document.images.length") == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("unfolded", [False, True])
def test_nothing_runs_over_the_edge(opened, document, width, unfolded):
    page, _ = opened(document, width=width)
    if unfolded:
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_that_are_too_wide_scroll_by_themselves_and_say_so(opened, document):
    page, _ = opened(document, width=360)

    table = page.locator(".wide:has(table.judges)").first
    assert table.evaluate("each => each.scrollWidth > each.clientWidth")
    assert table.evaluate("each => getComputedStyle(each).overflowX") == "auto"
    assert page.locator(".hint").first.is_visible()
    table.focus()
    assert table.evaluate("each => document.activeElement === each")


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2: (lighter + .05) / (darker + .05)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_paper(opened, document, scheme):
    page, _ = opened(document, scheme=scheme)
    colour = "each => getComputedStyle(each).color"
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")

    for where in ("body", ".meta", "summary", "td .mark", "figcaption", ".chip.depends"):
        assert contrast(page.locator(where).first.evaluate(colour), paper) >= 4.5, where


def test_dark_is_dark_and_light_is_light(opened, document):
    papers = {}
    for scheme in ("light", "dark"):
        page, _ = opened(document, scheme=scheme)
        papers[scheme] = page.evaluate(
            "(style => [style.backgroundColor, style.color])(getComputedStyle(document.body))"
        )

    assert luminance(papers["light"][0]) > 0.8 > 0.1 > luminance(papers["light"][1])
    assert luminance(papers["dark"][0]) < 0.1 < 0.6 < luminance(papers["dark"][1])


def test_everything_is_unfolded_in_print(opened, document):
    page, _ = opened(document)
    hidden = """() => [...document.querySelectorAll('details')].filter(details =>
        [...details.children].every(child => child.tagName === 'SUMMARY'
            || !child.checkVisibility())).length"""

    folded = page.evaluate(hidden)
    page.emulate_media(media="print")

    assert folded > 0
    assert page.evaluate(hidden) == 0
    assert len(page.pdf()) > 10_000


def test_chinese_is_drawn_with_real_letters(opened, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html_report(TAME, language="zh"), encoding="utf-8")
    page, _ = opened(path)

    # every letter on a canvas of its own: boxes for missing letters would all look the same
    drawn = page.evaluate(
        """() => [...new Set(document.body.textContent.match(/[\\u4e00-\\u9fff]/g))].slice(0, 60)
        .map(letter => {
            const canvas = new OffscreenCanvas(24, 24), context = canvas.getContext('2d');
            context.font = '20px ' + getComputedStyle(document.body).fontFamily;
            context.fillText(letter, 0, 20);
            return context.getImageData(0, 0, 24, 24).data.join();
        })"""
    )

    assert len(drawn) == 60
    assert max(Counter(drawn).values()) == 1


def test_figures_follow_the_page_into_the_dark(opened, document):
    fills = {}
    for scheme in ("light", "dark"):
        page, _ = opened(document, scheme=scheme)
        fills[scheme] = page.locator(".drawing svg text").first.evaluate(
            "each => getComputedStyle(each).fill"
        )

    assert fills["light"] != fills["dark"]
