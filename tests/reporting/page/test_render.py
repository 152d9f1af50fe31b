"""The whole page: its form, its numbers, and names that would like to do something."""

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from voirdire.reporting import html_page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}{0.__class__}",
    "</style></svg><script>alert(2)</script>",
    "a\u202eb\u2066c\u2069\ud800\x00\x1b[31m",
    "' onmouseover='alert(3)",
    "<!-- 标注员 שלום",
]
VOID = {"meta", "link", "br", "img", "hr", "input", "col", "wbr"}


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


@pytest.fixture(scope="module", params=["en", "zh"])
def page(request, full):
    return html_page(full, language=request.param)


@pytest.fixture(scope="module")
def several(make_examination):
    return make_examination(questions=("polite", "true"), epsilon=0.2)


def test_the_page_is_well_formed(page):
    found = Page(page)

    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    links = [value for tag, name, value in found.attributes if (tag, name) == ("a", "href")]
    assert {link.removeprefix("#") for link in links} <= set(found.ids)
    levels = [int(tag[1]) for tag in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.count("<th ") == len(re.findall("<th scope=", page))


def test_without_items_in_dispute_there_is_no_script(full):
    questions = tuple(replace(question, disputed=()) for question in full.questions)

    page = html_page(replace(full, questions=questions))

    assert "script" not in Page(page).elements


def test_both_languages_have_the_same_numbers(full, page_text):
    def numbers(text):  # Chinese writes the zero before the point
        return {float(each) for each in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", text)}

    english, chinese = (page_text(full, language=language) for language in ("en", "zh"))

    assert numbers(english) == numbers(chinese)
    assert re.findall(r"[\u4e00-\u9fff]\s*[,;:?!.](?!\d)", chinese) == []
    own_words = chinese[: chinese.rindex("Calderon")]
    assert re.findall(r"(?:[A-Za-z’]{2,} ){5,}", own_words) == []


def renamed(value, name, old):
    """Put a name before every text of a record that is one of the old ones."""
    if is_dataclass(value):
        parts = {x.name: renamed(getattr(value, x.name), name, old) for x in fields(value)}
        return replace(value, **parts)
    if isinstance(value, dict):
        return {renamed(key, name, old): renamed(x, name, old) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(renamed(each, name, old) for each in value)
    return f"{name}{value}" if isinstance(value, str) and value in old else value


@pytest.mark.ci
@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_ever_text(full, name):
    old = {"gpt", "ann-1", "label", "no", "i1", "lang", "hamming", *full.results[0].untested}

    plain, page = (
        html_page(full, title="x"),
        html_page(renamed(full, name, old), title=name),
    )

    found = Page(page)
    page.encode()
    assert found.elements == Page(plain).elements
    assert not [each for _, each, _ in found.attributes if each.startswith("on")]
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", page)


def test_long_names_are_shortened_and_differ_where_they_do(several):
    long = "models/" + "x" * 1_000_000
    rows = tuple(replace(row, judge=f"{long}-{row.judge}") for row in several.results)

    page = html_page(replace(several, results=rows))

    assert len(page) < 500_000
    assert {"x-good", "x-fair", "x-poor"} <= set(re.findall(r"x-\w+", page))


def test_the_title_is_shown(full, page_text):
    text = page_text(full, title="Judges of <spring>")

    assert "Judges of <spring> 2 judges examined against 5 annotators on 60 items · " in text


def test_settings_are_bounded_in_length_and_number(several, page_text):
    settings = {"deep": [{"in": list(range(900))}]}
    settings |= {f"key-{place}": place for place in range(500)}

    text = page_text(replace(several, settings=settings))

    assert 'deep [{"in": [0, 1, 2,' in text
    assert " 450, " not in text
    assert "key-298 298" in text
    assert "key-299" not in text


def test_questions_are_folded_where_they_are_many(make_examination):
    few, many = (
        html_page(make_examination({"a": 0.1}, questions=tuple(f"q{n}" for n in range(size))))
        for size in (2, 4)
    )

    assert len(re.findall(r'<details id="q\d" open', few)) == 2
    assert len(re.findall(r'<details id="q\d"(?! open)', many)) == 4
