"""The whole page and the chapter: their form, their numbers, and names that would like to act."""

import copy
import random
import re
from html.parser import HTMLParser

import pytest

from voirdire.errors import InputError
from voirdire.reporting import reward_chapter, reward_report

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "{0.__class__}",
    "</style></svg><script>alert(2)</script>",
    "a\u202eb\u2066c\u2069",
    "\ud800",
    "\x00\x1b[31m",
    "' onmouseover='alert(3)",
    "标注员 שלום",
    "<!--",
    "x" * 100_000,
]
VOID = {"meta", "link", "br", "img", "hr", "input", "col", "wbr"}
WORDS = {"signal", "against", "kind", "schema"}


class Page(HTMLParser):
    """What a browser would see: elements, attributes and ids."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.ids, self.open, self.attributes = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(params=["en", "zh"])
def language(request):
    return request.param


def hostile(value, rng, key=""):
    """Put hostile text in the place of every text that is not a word of the schema."""
    if isinstance(value, dict):
        renamed = {f"behavior-{n}": each for n, each in enumerate(value)} if key == "?" else value
        return {name: hostile(each, rng, name) for name, each in renamed.items()}
    if isinstance(value, list):
        return [hostile(each, rng, key) for each in value]
    if isinstance(value, str) and key not in WORDS:
        return rng.choice(HOSTILE)
    return value


def test_the_page_is_well_formed(content, rendered, language):
    page = Page(rendered(content, language=language))

    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(page.ids)


def test_the_page_needs_nothing_from_elsewhere(light, language):
    text = reward_report(light, language=language)
    page = Page(text)

    assert not {"script", "iframe", "object", "embed", "form", "img"} & set(page.elements)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    sources = [
        value
        for tag, name, value in page.attributes
        if name in ("src", "srcset", "xlink:href", "data") or (name == "href" and tag != "a")
    ]
    assert all(value.startswith(("data:", "#")) for value in sources)
    assert not re.search(r"url\((?!#)|@import", text)


@pytest.mark.parametrize("seed", range(2))
def test_hostile_text_stays_text(light, seed):
    language = ("en", "zh")[seed]
    bad = hostile(light, random.Random(seed))
    bad["dropped"] = [{"reason": text, "source": text, "value": text} for text in HOSTILE]

    text = reward_report(bad, language=language, title=HOSTILE[0], created=HOSTILE[1])
    page = Page(text)

    assert page.open == []
    assert "script" not in page.elements
    assert "img" not in page.elements
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "x" * 500 not in text
    text.encode("utf-8")


def test_no_word_is_left_in_braces_or_as_a_key(content, page_text, language):
    text = page_text(content, language=language)

    assert not re.search(r"[{}]|\breward\.[a-z]+\.|Undefined|None\b(?! of)|nan\b", text)


def test_the_figures_of_the_json_are_on_the_page(content, page_text):
    text = page_text(content, language="en")

    overall = next(
        row
        for row in content["error_rates"]
        if (row["behavior"], row["signal"], row["against"]) == (None, "total", "all")
    )["rate"]
    low, high = 100 * overall["low"], 100 * overall["high"]
    assert f"{100 * overall['value']:.1f}% of 1,940 comparisons the wrong way" in text
    assert f"(95% interval {low:.1f}–{high:.1f}%)" in text
    for row in content["refusals"]:
        assert f"{100 * row['rate']['value']:.1f}%" in text
    for name in ("hard_refuse", "soft_refuse", "comply", "xstest-should-refuse", "apology"):
        assert name in text


@pytest.mark.ci
def test_the_level_of_intervals_is_that_of_the_examination(light, page_text):
    light["settings"]["confidence_level"] = 0.9

    text = page_text(light)

    assert "90% interval" in text
    assert "95% interval" not in text


def test_the_same_examination_gives_the_same_bytes(light):
    first = reward_report(light)

    assert first == reward_report(copy.deepcopy(light))


def test_without_a_base_reward_there_is_one_reward(without_base, page_text, language):
    text = page_text(without_base, language=language)

    assert {"en": "Base + rules", "zh": "基础 + 规则"}[language] not in text
    assert {"en": "Rules alone", "zh": "仅规则"}[language] in text


def test_what_the_json_calls_total_without_a_base_reward_are_the_rules(
    content, page_text, language
):
    for name in ("error_rates", "refusals", "bench"):
        content[name] = [row for row in content[name] if row["signal"] == "total"]
    words = {"en": ("Base + rules", "base + rules", "Rules alone"), "zh": ("基础 + 规则", "仅规则")}

    text = page_text(content, language=language)

    *wrong, right = words[language]
    assert not [each for each in wrong if each in text]
    assert right in text


def test_a_benchmark_without_base_rewards_is_about_the_rules(content, page_text):
    content["bench"] = [row for row in content["bench"] if row["signal"] == "total"]

    text = page_text(content)

    assert "Base + rules" in text  # of the comparisons
    accuracy = next(row["accuracy"] for row in content["bench"] if row["subset"] is None)
    assert f"All pairs – – {accuracy['value']:.1%}" in text


def test_the_fewest_keys_make_a_page(minimal, page_text, language):
    page = Page(reward_report(minimal, language=language))
    text = page_text(minimal, language=language)

    assert page.open == []
    assert "svg" not in page.elements
    assert {"en": "no comparisons", "zh": "没有比较"}[language] in text
    assert {"en": "weights given by hand", "zh": "权重由人给定"}[language] in text


@pytest.mark.edges
@pytest.mark.parametrize("part", ["error_rates", "refusals", "drives", "bench", "notes", "dropped"])
def test_any_part_may_stand_alone(light, minimal, part):
    assert Page(reward_report(minimal | {part: light[part]})).open == []


def test_undefined_figures_are_dashes(light, page_text):
    def undefined(value):
        if isinstance(value, dict):
            return {name: undefined(each) for name, each in value.items()}
        if isinstance(value, list):
            return [undefined(each) for each in value]
        return None if isinstance(value, float) else value

    parts = ("error_rates", "refusals", "bench", "drives")
    gone = light | {part: undefined(light[part]) for part in parts}

    text = page_text(gone)

    assert "–" in text
    assert "nan" not in text


def test_many_behaviors_and_subsets_are_cut_and_it_is_said(light, page_text):
    many = [row | {"behavior": f"behavior-{n}"} for n in range(30) for row in light["drives"][:1]]
    light["drives"] = many
    light["bench"] = [
        row | {"subset": f"subset-{n}"} for n in range(150) for row in light["bench"][:3]
    ]

    text = page_text(light)

    assert "The first 20 of 31 behaviors are shown" in text
    assert "The first 100 of 150 subsets are shown" in text
    assert "subset-120" not in text


def test_the_chapter_is_one_article_with_ids_of_its_own(light, language):
    chapter = reward_chapter(light, language=language)
    page = Page(chapter)

    assert page.open == []
    assert page.elements[0] == "article"
    assert page.ids[0] == "reward"
    assert len(page.ids) == len(set(page.ids))
    assert all(name.startswith("reward") for name in page.ids)
    assert not {"html", "head", "style", "script", "h1"} & set(page.elements)


def test_the_chapter_goes_into_a_template_unescaped(minimal):
    assert hasattr(reward_chapter(minimal), "__html__")


def test_titles_and_dates_are_shown(minimal, page_text):
    text = page_text(minimal, title="My reward", created="2026-03-04")

    assert "My reward" in text
    assert "2026-03-04" in text
    assert "Does this reward rank" not in text


def test_simulated_data_are_declared(minimal, page_text):
    assert "Simulated data" not in page_text(minimal)
    assert "Simulated data" in page_text(minimal | {"settings": {"simulated": True}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"title": " "}, "`title` must be text"),
        ({"created": 7}, "`created` must be text"),
        ({"language": "fr"}, "`language` must be"),
        ({"source": "mine.json"}, "mine.json: "),
    ],
)
def test_options_that_break_a_rule_are_refused(light, options, message):
    light["n_items"] = None if "source" in options else light["n_items"]

    with pytest.raises(InputError, match=message):
        reward_report(light, **options)
