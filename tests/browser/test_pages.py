"""Each page in a real browser, once: in light and dark, wide and narrow, folded and in print."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser.test_report_page import tame
from browser.test_view_pages import certified_run, examined
from made_probing import report as made_probes
from made_results import made_certificate, made_changes, made_gold, made_power, made_rates
from made_training_run import PROPOSITIONS, made_run
from reporting.made_certificates import made_certificates
from reporting.recorded_alarms import bad_run
from voirdire.reporting import html_page
from voirdire.rewards import read_training_run

pytestmark = pytest.mark.ci

WRITE = {
    "examination": lambda language: html_page(tame(), language=language),
    "reward": lambda language: html_page(examined(), language=language),
    "gold": lambda language: html_page(made_gold(), language=language),
    "rates": lambda language: html_page(made_rates(), language=language),
    "probes": lambda language: html_page(made_probes(), language=language),
    "power": lambda language: html_page(made_power(), language=language),
    "certificate": lambda language: html_page(
        made_certificate(), changes=made_changes(), language=language
    ),
    "training": lambda language: html_page(certified_run(), language=language),
}
UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"
HIDDEN = """() => [...document.querySelectorAll('details')].filter(details =>
    [...details.children].every(child => child.tagName === 'SUMMARY'
        || !child.checkVisibility())).length"""
COVERED = """() => [...document.querySelectorAll('.drawing svg')].flatMap(svg => {
    const level = text => !(text.getAttribute('transform') || '').includes('rotate');
    const boxes = [...svg.querySelectorAll('text')].filter(level).map(text =>
        [text.textContent, text.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
        .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6)
        .map(([other]) => one + ' / ' + other));
})"""
COLOURS = """() => ['body', 'summary', 'figcaption', '.drawing svg text']
    .filter(where => document.querySelector(where)).map(where =>
    (style => where.includes('svg') ? style.fill : style.color)(
        getComputedStyle(document.querySelector(where))))"""


def luminance(colour):
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2: (lighter + .05) / (darker + .05)."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("width", "most"), [(1280, 2 * 800), (390, 3 * 844)])
def test_one_question_and_five_judges_fit_a_few_screens(opened, tmp_path, width, most):
    path = tmp_path / "page.html"
    path.write_text(html_page(tame(5, epsilon=0.2)), encoding="utf-8")

    page, _ = opened(path, width=width)

    assert page.locator("tr:has(.chip)").count() == 5
    assert page.evaluate("document.documentElement.scrollHeight") <= most


@pytest.mark.parametrize(("width", "most"), [(1280, 3 * 800), (390, 5 * 844)])
def test_sixty_steps_with_ten_alarms_fit_a_few_screens(opened, tmp_path, width, most):
    path = tmp_path / "page.html"
    run = made_run(60, certificates=made_certificates(PROPOSITIONS))
    path.write_text(html_page(run), encoding="utf-8")

    page, _ = opened(path, width=width)

    assert page.locator(".caution > .warnings > div").count() == 3
    assert page.evaluate("document.documentElement.scrollHeight") <= most


@pytest.fixture(scope="module")
def run_with_texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("behind")
    path = folder / "page.html"
    with ThreadPoolExecutor(1) as pool:  # the browser's loop runs in this thread
        run = read_training_run(pool.submit(bad_run, folder / "run").result())
    path.write_text(html_page(run, texts=True), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "most"), [(1280, 3 * 800), (390, 5 * 844)])
def test_the_ends_of_a_run_are_found_by_words(opened, run_with_texts, width, most):
    page, done = opened(run_with_texts, width=width)
    shown = ".item:not([hidden])"
    height = page.evaluate("document.documentElement.scrollHeight")
    page.locator("#training-ends > summary").click()
    n_all = page.locator(shown).count()
    page.locator(".filter input").first.fill("no such words")
    n_left = page.locator(shown).count()
    page.evaluate(UNFOLD)

    assert height <= most
    assert (n_all, n_left) == (40, 20)  # each end has a list and a filter of its own
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert done["messages"] == done["dialogs"] == []
    urls = [url for url in done["requests"] if not url.startswith("data:")]
    assert urls == [run_with_texts.as_uri()]


@pytest.mark.parametrize(("width", "most"), [(1280, 4 * 800), (390, 6 * 844)])
def test_a_reward_of_three_behaviors_fits_a_few_screens(opened, tmp_path, width, most):
    path = tmp_path / "page.html"
    path.write_text(html_page(examined()), encoding="utf-8")

    page, _ = opened(path, width=width)

    assert page.evaluate("document.documentElement.scrollHeight") <= most


@pytest.mark.parametrize("kind", WRITE)
def test_a_page_has_no_serious_fault_for_a_reader_with_a_screen_reader(opened, tmp_path, kind):
    path = tmp_path / "page.html"
    path.write_text(WRITE[kind]("en"), encoding="utf-8")
    page, _ = opened(path)
    page.evaluate(UNFOLD)

    found = Axe().run(page).response["violations"]

    serious = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found
               if each["impact"] in ("serious", "critical")]  # fmt: skip
    assert serious == []


@pytest.mark.parametrize("kind", WRITE)
def test_a_page_can_be_read_everywhere_and_asks_for_nothing(opened, tmp_path, kind):
    papers = {}
    for scheme, width, language in (("light", 1280, "en"), ("dark", 360, "zh")):
        path = tmp_path / f"{language}.html"
        path.write_text(WRITE[kind](language), encoding="utf-8")
        page, done = opened(path, width=width, scheme=scheme)

        folded = page.evaluate("document.documentElement.scrollWidth")
        n_hidden = page.evaluate(HIDDEN)
        page.evaluate(UNFOLD)
        unfolded = page.evaluate("document.documentElement.scrollWidth")

        assert max(folded, unfolded) <= width
        assert [url for url in done["requests"] if not url.startswith("data:")] == [path.as_uri()]
        assert done["messages"] == done["dialogs"] == []
        assert page.evaluate("document.scripts.length + document.images.length") == 0
        assert page.evaluate(COVERED) == []
        papers[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        for colour in page.evaluate(COLOURS):
            assert contrast(colour, papers[scheme]) >= 4.5
        page.reload()
        page.emulate_media(media="print")
        assert n_hidden > page.evaluate(HIDDEN) == 0
    assert luminance(papers["light"]) > 0.8 > 0.1 > luminance(papers["dark"])
