"""Unusual examinations in a real browser: names that would act, many judges, Chinese letters."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from voirdire.reporting import html_page
from voirdire.studies import examine

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


@cache
def judged(judges, annotators, *, epsilon=0.2, labels=("no", "yes")):
    """Examine judges from good to poor on sixty items; nothing is said of single items."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)

    def slips(share):
        codes = np.where(rng.random(60) < share, 1 - truth, truth)
        return {f"i{item}": labels[code] for item, code in enumerate(codes)}

    found = examine(
        humans={name: slips(0.12) for name in annotators},
        judges={name: slips(place / len(judges) / 2) for place, name in enumerate(judges)},
        kind="choice",
        questions=[labels[1]],
        epsilon=epsilon,
    )
    questions = tuple(replace(each, disputed=()) for each in found.questions)
    return replace(found, questions=questions)


def tame(n_judges=8, epsilon=(0.05, 0.1, 0.15, 0.2, 0.3)):
    """Examine judges with plain names."""
    judges = tuple(f"judge-{place}" for place in range(n_judges))
    return judged(judges, tuple(f"ann-{place}" for place in range(5)), epsilon=epsilon)


def written(tmp_path, examination, language="en"):
    path = tmp_path / "page.html"
    path.write_text(html_page(examination, language=language), encoding="utf-8")
    return path


UNUSUAL = {
    "hostile": lambda: judged(HOSTILE, tuple(f"{name}2" for name in HOSTILE[1:]),
                              labels=("no", HOSTILE[0])),
    "large": lambda: judged(tuple(f"judge-{n}" for n in range(50)),
                            tuple(f"annotator-{n}" for n in range(20))),
    "two annotators": lambda: judged(("judge",), ("ann", "bob")),
}  # fmt: skip


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("width", WIDTHS)
def test_unusual_studies_stay_within_the_page_and_do_nothing(opened, tmp_path, case, width):
    path = written(tmp_path, UNUSUAL[case]())
    page, done = opened(path, width=width)
    folded = page.evaluate("document.documentElement.scrollWidth")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    assert max(folded, page.evaluate("document.documentElement.scrollWidth")) <= width
    assert [url for url in done["requests"] if not url.startswith("data:")] == [path.as_uri()]
    assert done["messages"] == done["dialogs"] == []
    assert page.evaluate("document.scripts.length + document.images.length") == 0


def test_tables_that_are_too_wide_scroll_by_themselves_and_say_so(opened, tmp_path):
    page, _ = opened(written(tmp_path, tame()), width=360)
    page.locator("#q1-agreement > summary").click()

    table = page.locator("#q1-agreement .wide").first
    assert table.evaluate("each => each.scrollWidth > each.clientWidth")
    assert table.evaluate("each => getComputedStyle(each).overflowX") == "auto"
    assert page.locator("#q1-agreement .hint").first.is_visible()
    table.focus()
    assert table.evaluate("each => document.activeElement === each")
