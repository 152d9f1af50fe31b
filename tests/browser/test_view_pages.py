"""Pages of rewards and of training runs in a real browser: nothing is asked for, all of it fits."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from made_training_run import PROPOSITIONS, made_run
from reporting.made_certificates import made_certificates
from voirdire.reporting import from_json, html_page
from voirdire.studies import RewardExamination

pytestmark = pytest.mark.slow

JSON = Path(__file__).parents[1] / "reporting" / "examined_reward.json"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "a\u202eb\u2066c",
    "x" * 20_000,
    "标注员 שלום",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
)
FIXED = {"signal", "against", "kind", "schema", "by"}
FOLDED = """() => [...document.querySelectorAll('details')].filter(details =>
    [...details.children].every(child => child.tagName === 'SUMMARY'
        || !child.checkVisibility())).length"""


def hostile(value, key="", count=None):
    """Put hostile text, one after the other, in the place of every name."""
    count = [0] if count is None else count
    if isinstance(value, dict):
        return {name: hostile(each, name, count) for name, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, key, count) for each in value]
    if isinstance(value, str) and key not in FIXED:
        count[0] += 1
        return HOSTILE[count[0] % len(HOSTILE)]
    return value


def examined(change=lambda content: content):
    """Read the examination of a reward that is kept in a file."""
    return from_json(change(json.loads(JSON.read_text(encoding="utf-8"))), RewardExamination)


def bare(content):
    """Leave nothing in the lists of a result."""
    return {key: [] if isinstance(value, list) else value for key, value in content.items()}


def certified_run():
    return made_run(40, certificates=made_certificates(PROPOSITIONS))


def wild_run():
    names = {"propositions": HOSTILE, "behaviors": HOSTILE[:3], "classes": HOSTILE}
    run = made_run(300, name=HOSTILE[0], folder=f"{HOSTILE[1]}/{HOSTILE[4]}", **names)
    words = {"judge": HOSTILE[6], "rubric": HOSTILE[7], "reward_hash": "y" * 500}
    return replace(run, dropped=HOSTILE, framework=HOSTILE[3], versions={HOSTILE[0]: "1"}, **words)


RESULTS = {
    "reward": examined,
    "reward-wild": lambda: examined(hostile),
    "reward-bare": lambda: examined(bare),
    "training": certified_run,
    "training-wild": wild_run,
    "training-bare": lambda: made_run(1, alarms=False, gone={0}),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write the page of a result in a language."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name, language="en"):
        path = folder / f"{name}-{language}.html"
        if not path.exists():
            path.write_text(html_page(RESULTS[name](), language=language), encoding="utf-8")
        return path

    return write


@pytest.fixture(params=RESULTS)
def document(request, written):
    return written(request.param)


def test_the_page_asks_for_nothing_and_says_nothing(opened, document):
    page, done = opened(document)
    page.wait_for_timeout(200)

    assert [url for url in done["requests"] if not url.startswith("data:")] == [document.as_uri()]
    assert done["messages"] == []
    assert done["dialogs"] == []
    assert page.evaluate("document.scripts.length + document.images.length") == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_runs_over_the_edge(opened, document, width):
    page, _ = opened(document, width=width)

    widths = [page.evaluate("document.documentElement.scrollWidth")]
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    widths.append(page.evaluate("document.documentElement.scrollWidth"))

    assert max(widths) <= width


def test_everything_is_unfolded_in_print(opened, written):
    page, _ = opened(written("training"))

    folded = page.evaluate(FOLDED)
    page.emulate_media(media="print")

    assert folded > 0
    assert page.evaluate(FOLDED) == 0
    assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("name", ["reward", "training"])
def test_chinese_is_drawn_with_real_letters(opened, written, name):
    page, _ = opened(written(name, "zh"))

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


def test_lines_follow_the_page_into_the_dark(opened, written):
    strokes = set()
    for scheme in ("light", "dark"):
        page, _ = opened(written("training"), scheme=scheme)
        strokes.add(page.locator("svg.chart polyline").first.evaluate(
            "each => getComputedStyle(each).stroke"
        ))  # fmt: skip

    assert len(strokes) == 2
