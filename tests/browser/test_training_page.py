"""The page of a training run in a real browser: nothing is asked for, nothing over the edge."""

from collections import Counter
from dataclasses import replace

import pytest

from made_training_run import PROPOSITIONS, made_run
from reporting.training_page.made_certificates import made_certificates
from voirdire.reporting import training_report

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "a\u202eb\u2066c",
    "x" * 100_000,
    "标注员 שלום",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
)
WIDTHS = (360, 390, 1280)


def wild_run():
    names = {"propositions": HOSTILE, "behaviors": HOSTILE[:3], "classes": HOSTILE}
    run = made_run(300, name=HOSTILE[0], folder=f"{HOSTILE[1]}/{HOSTILE[4]}", **names)
    said = {"judge": HOSTILE[6], "rubric": HOSTILE[7], "reward_hash": "y" * 500}
    said["certificates"] = made_certificates(HOSTILE)
    return replace(run, dropped=HOSTILE, framework=HOSTILE[3], versions={HOSTILE[0]: "1"}, **said)


def certified_run():
    return made_run(40, certificates=made_certificates(PROPOSITIONS))


RUNS = {
    "tame": certified_run,
    "wild": wild_run,
    "chinese": certified_run,
    "bare": lambda: made_run(1, alarms=False, gone={0}),
}


def page_of(case):
    language = "zh" if case == "chinese" else "en"
    return training_report(RUNS[case](), language=language)


@pytest.fixture(scope="module", params=RUNS)
def document(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "training.html"
    path.write_text(page_of(request.param), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tame(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "training.html"
    path.write_text(page_of("tame"), encoding="utf-8")
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


def test_figures_that_are_too_wide_scroll_by_themselves(opened, tame):
    page, _ = opened(tame, width=360)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    part = page.locator(".drawing").first
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

    for where in ("body", ".meta", "summary", ".what dt", "figcaption", ".kind-of", "code",
                  ".bullets li", ".warnings dd"):  # fmt: skip
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
    path = tmp_path / "training.html"
    path.write_text(page_of("chinese"), encoding="utf-8")
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


def test_figures_follow_the_page_into_the_dark(opened, tame):
    fills = {}
    for scheme in ("light", "dark"):
        page, _ = opened(tame, scheme=scheme)
        fills[scheme] = page.locator(".drawing svg text").first.evaluate(
            "each => getComputedStyle(each).fill"
        )

    assert fills["light"] != fills["dark"]


def test_no_text_of_a_figure_lies_over_another(opened, document):
    page, _ = opened(document)
    covered = page.evaluate(
        """() => [...document.querySelectorAll('.drawing svg')].flatMap(svg => {
            const boxes = [...svg.querySelectorAll('text')].map(text =>
                [text.textContent, text.getBoundingClientRect()]);
            return boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
                .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
                    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6)
                .map(([other]) => one + ' / ' + other));
        })"""
    )

    assert covered == []
