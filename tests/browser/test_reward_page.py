"""The page of a reward in a real browser: nothing is asked for, nothing runs over the edge."""

import json
from collections import Counter
from pathlib import Path

import pytest

from voirdire.reporting import reward_report

pytestmark = pytest.mark.slow

JSON = Path(__file__).parents[1] / "reporting" / "reward_page" / "examination.json"
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "a\u202eb\u2066c",
    "x" * 20_000,
    "标注员 שלום",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
]
WIDTHS = (360, 390, 1280)
WORDS = {"signal", "against", "kind", "schema"}


def hostile(value, key="", count=None):
    """Put hostile text, one after the other, in the place of every name."""
    count = [0] if count is None else count
    if isinstance(value, dict):
        return {name: hostile(each, name, count) for name, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, key, count) for each in value]
    if isinstance(value, str) and key not in WORDS:
        count[0] += 1
        return HOSTILE[count[0] % len(HOSTILE)]
    return value


def content_of(case):
    content = json.loads(JSON.read_text(encoding="utf-8"))
    if case == "wild":
        return hostile(content)
    if case == "bare":
        keys = ("schema", "reward", "n_items", "n_prompts", "n_comparisons", "is_held_out")
        return {key: content[key] for key in keys}
    return content


@pytest.fixture(scope="module", params=["tame", "wild", "chinese", "bare"])
def document(request, tmp_path_factory):
    language = "zh" if request.param == "chinese" else "en"
    path = tmp_path_factory.mktemp("page") / "reward.html"
    text = reward_report(content_of(request.param), language=language)
    path.write_text(text, encoding="utf-8")
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


@pytest.fixture(scope="module")
def tame(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "reward.html"
    path.write_text(reward_report(content_of("tame")), encoding="utf-8")
    return path


def test_tables_that_are_too_wide_scroll_by_themselves(opened, tame):
    page, _ = opened(tame, width=360)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    part = page.locator(".wide:has(table.features)").first
    assert part.evaluate("each => each.scrollWidth > each.clientWidth")
    assert part.evaluate("each => getComputedStyle(each).overflowX") == "auto"


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2: (lighter + .05) / (darker + .05)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_paper(opened, tame, scheme):
    page, _ = opened(tame, scheme=scheme)
    colour = "each => getComputedStyle(each).color"
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")

    for where in ("body", ".meta", "summary", ".what dt", ".flag.bad", ".flag.good",
                  ".flag.still"):  # fmt: skip
        assert contrast(page.locator(where).first.evaluate(colour), paper) >= 4.5, where


def test_everything_is_unfolded_in_print(opened, tame):
    page, _ = opened(tame)
    hidden = """() => [...document.querySelectorAll('details')].filter(details =>
        [...details.children].every(child => child.tagName === 'SUMMARY'
            || !child.checkVisibility())).length"""

    folded = page.evaluate(hidden)
    page.emulate_media(media="print")

    assert folded > 0
    assert page.evaluate(hidden) == 0
    assert len(page.pdf()) > 10_000


def test_chinese_is_drawn_with_real_letters(opened, tmp_path):
    path = tmp_path / "reward.html"
    path.write_text(reward_report(content_of("bare"), language="zh"), encoding="utf-8")
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
