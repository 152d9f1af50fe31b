"""The whole page: its form, its numbers, and names that would like to do something."""

import base64
import hashlib
import random
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from voirdire.errors import InputError
from voirdire.reporting import draw_svg, html_report

CAUTIONS = (
    "correction", "failures", "few_annotators", "few_clusters", "few_items", "many_ties",
    "not_judged", "one_sided", "skewed_labels", "strange_annotators", "strange_labels",
    "undeclared_labels", "undefined_agreement", "unstable", "untested_annotators",
    "weak_agreement", "weak_annotators",
)  # fmt: skip
REASONS = (
    "constant_passes", "like_constant", "no_p_values", "unpassable", "untestable",
)  # fmt: skip
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


@pytest.fixture(scope="module")
def full(make_row, make_content, make_question):
    """Give a run with everything in it, every caution and every reason too."""
    rows = [
        make_row(judge, won=won, epsilon=epsilon, alignment=alignment, smallest_epsilon=0.12)
        for alignment in ("accuracy", "hamming")
        for judge in ("gpt", "llama")
        for won, epsilon in ((1, 0.1), (3, 0.2))
    ]
    comparison = {
        "judge_a": "gpt",
        "judge_b": "llama",
        "alignment": "accuracy",
        "confidence_level": 0.95,
        "difference": 0.0417,
        "low": 0.01,
        "high": 0.07,
        "p_value": 0.004,
        "p_adjusted": 0.004,
    }
    diagnosis = {
        "annotators": [{"annotator": "ann-1", "n_items": 60, "agreement": 0.7, "outlier": True}],
        "judges": [
            {
                "judge": "gpt",
                "panel": {"n_unanimous": 40, "n_opposed": 4, "n_split": 20},
                "slices": [
                    {"column": "lang", "value": "zh", "n_items": 20, "gap": 0.1, "worse": True,
                     "gap_elsewhere": 0.0, "difference": 0.1, "low": 0.02, "high": 0.18,
                     "p_value": 0.01, "p_adjusted": 0.02}
                ],
            }
        ],
    }  # fmt: skip
    disputed = {
        "item": "i1",
        "judges": ["gpt"],
        "labels": {"ann-1": "no", "ann-2": "no"},
        "answers": {"gpt": "yes", "llama": "no"},
        "texts": {"prompt": "How?", "language": "en"},
        "reasons": {"gpt": "says how"},
    }
    question = make_question(
        judges={"gpt": 0.53, "llama": 0.4},
        comparisons=[comparison],
        diagnosis=diagnosis,
        disputed=[disputed, disputed | {"item": "i2", "texts": {"language": "zh"}}],
    )
    pooled = {
        "judge": "gpt",
        "alignment": "accuracy",
        "epsilon": 0.1,
        "epsilon_mode": "additive",
        "n_tests": 8,
        "questions": [{"question": "label", "winning_rate": 0.5, "passed": True}],
    }
    dropped = [{"reason": "unknown label", "source": "labels.csv", "line": 7, "value": "maybe"}]
    rows[0]["because"] = note(REASONS[0])
    rows[0]["cautions"] = [note(code) for code in (*CAUTIONS, *REASONS[1:])]
    return make_content(*rows, questions=[question], pooled=[pooled], dropped=dropped)


def note(code):
    return {"code": code, "sentence": "a sentence", "figures": FIGURES}


FIGURES = {
    "annotators": ["eve", "bob"], "clustered": False, "few": 50, "fewest": 31,
    "human_label": "3", "label": "3.0", "low": 0.12, "min_items": 30, "n": 7, "n_annotators": 2,
    "n_clusters": 12, "n_failures": 4, "n_items": 200, "n_labels": 5, "n_unjudged": 17,
    "one": 90, "other": 4, "needed": 10, "alpha": 0.31, "reason": "one label only", "share": 0.93,
    "n_needed": 71, "epsilon": 0.05, "constant": "no", "advantage_probability": 0.7,
    "constant_advantage": 0.6, "p_value": 0.2, "stability": 0.41, "winning_rate": 0.25,
    "winning_rate_bh": 0.75,
}  # fmt: skip


@pytest.fixture(params=["en", "zh"])
def language(request):
    return request.param


def test_the_page_is_well_formed(full, language):
    page = Page(html_report(full, language=language))

    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(page.ids)


def test_the_page_needs_nothing_from_elsewhere(full, language):
    page = html_report(full, language=language)
    found = Page(page)

    assert not {"iframe", "object", "embed", "form", "img"} & set(found.elements)
    script = page[page.index("<script>") + len("<script>") : page.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert found.elements.count("script") == 1
    assert f"script-src 'sha256-{digest}'; base-uri" in page
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]
    sources = [
        value
        for tag, name, value in found.attributes
        if name in ("src", "srcset", "xlink:href", "data") or (name == "href" and tag != "a")
    ]
    assert all(value.startswith(("data:", "#")) for value in sources)
    assert not re.findall(r"url\((?!['\"]?(?:#|data:))", page)
    assert "@import" not in page
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page


def test_without_items_in_dispute_there_is_no_script(full):
    questions = [question | {"disputed": []} for question in full["questions"]]

    page = html_report(full | {"questions": questions})

    assert "q1-items" not in page
    assert "script" not in Page(page).elements
    assert "script-src" not in page


def test_the_language_is_declared(full):
    assert '<html lang="en">' in html_report(full)
    assert '<html lang="zh-Hans">' in html_report(full, language="zh")


def test_headings_do_not_skip_a_level(full):
    levels = [int(tag[1]) for tag in Page(html_report(full)).elements
              if re.fullmatch("h[1-6]", tag)]  # fmt: skip

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_table_heading_has_a_scope(full):
    page = html_report(full)

    assert page.count("<th ") == len(re.findall(r"<th scope=", page))
    assert "<th>" not in page


def test_the_numbers_are_those_of_the_json(full, page_text):
    text = page_text(full)

    for shown in (
        "gpt .25 ✗ failed .75 ✓ passed .91 .89–.93 .93 .91–.95 .12 60",
        "always “no” .00 .00 .73",
        "Annotators among themselves .80 .76–.84 .57 .53–.61",
        "gpt llama – – .04 .01–.07 .004 yes",
        "gpt ann-1 60 4/51/5 .910 .930 .020 .031 59 .012 ✓ .023 .012 ✓ .023",
        "gpt .1 ✗ failed .250 .250 .910 .930 .250 .910 0 97% 60 4",
        "1 unknown label labels.csv:7",
        "i1 gpt: “yes” ; people: “no” × 2 How?",
        "gpt “yes” says how llama “no” ann-1 “no” ann-2 “no” language en",
    ):
        assert shown in text


def numbers(text):
    """List the decimals of a page; Chinese writes the zero before the point."""
    return {float(each) for each in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", text)}


def test_chinese_says_the_same_numbers_in_chinese(full, page_text):
    english, text = page_text(full), page_text(full, language="zh")

    assert numbers(text) == numbers(english)
    assert re.findall(r"[\u4e00-\u9fff]\s*[,;:?!.](?!\d)", text) == []
    own_words = text[: text.rindex("Calderon")]
    assert re.findall(r"(?:[A-Za-z’]{2,} ){4,}", own_words) == []

    assert "gpt 0.25 ✗ 未通过 0.75 ✓ 通过 0.91 0.89–0.93 0.93 0.91–0.95 0.12 60" in text
    assert "标注者之间的 Krippendorff α 为 0.57（95% 置信区间 0.54–0.59）：中等一致。" in text


def test_undefined_figures_are_dashes(make_row, make_content, page_text):
    row = make_row(of=0, won=0, outcome="no_evidence", advantage_probability=None)
    row |= {"human_advantage": None, "human_agreement": None, "controls": [], "uncertainty": None}

    text = page_text(make_content(row))

    assert "gpt – ? no evidence – – 60" in text
    assert "nan" not in text.casefold().split()
    assert "None" not in text


def test_one_figure_is_written_alike_however_it_was_summed(make_row, make_content, page_text):
    exact, summed = (
        page_text(make_content(make_row(advantage_probability=value)))
        for value in (0.725, 0.7250000000000001)
    )

    assert exact == summed


@pytest.fixture(scope="module")
def plain(full):
    """Give what a browser sees of the page with tame names."""
    return Page(html_report(full, title="x", created="x"))


@pytest.mark.ci
@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_ever_text(full, plain, name):
    def by_name(said):
        return {renamed(key): renamed(each) for key, each in said.items()}

    def renamed(value):
        if isinstance(value, dict):
            said = {"labels", "answers", "reasons", "texts"}
            return {key: by_name(each) if key in said and isinstance(each, dict) else renamed(each)
                    for key, each in value.items()}  # fmt: skip
        if isinstance(value, list):
            return [renamed(each) for each in value]
        changes = ("gpt", "ann-1", "label", "no", "i1", "lang", "unknown label", "accuracy")
        return f"{name}{value}" if value in changes else value

    page = html_report(renamed(full), title=name, created=name)

    found = Page(page)
    page.encode()
    assert found.elements.count("script") == 1
    assert "img" not in found.elements
    assert not [each for _, each, _ in found.attributes if each.startswith("on")]
    assert [tag for tag in found.elements if tag not in _DRAWN] == [
        tag for tag in plain.elements if tag not in _DRAWN
    ]
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", page)


_DRAWN = {"svg", "g", "path", "text", "tspan", "defs", "use", "clippath", "rect", "title", "desc",
          "style", "image", "circle", "line", "polygon", "polyline", "lineargradient", "stop",
          "metadata", "li", "span"}  # fmt: skip
"""Elements of figures, which depend on how long a name is."""


def test_a_label_of_a_million_letters_is_shortened(make_row, make_content):
    row = make_row("x" * 1_000_000)
    row["controls"][0]["label"] = "y" * 1_000_000

    assert len(html_report(make_content(row))) < 300_000


def test_the_title_and_the_date_are_shown(full, page_text):
    text = page_text(full, title="Judges of <spring>", created="2025-05-01")

    assert "Judges of <spring> 2 judges examined against 4 annotators" in text
    assert "on 60 items · 2025-05-01 · voirdire" in text


@pytest.mark.parametrize("argument", ["title", "created"])
def test_title_and_date_are_text(full, argument):
    with pytest.raises(InputError, match=f"`{argument}` must be text, got 7"):
        html_report(full, **{argument: 7})


def test_another_language_is_refused(full):
    with pytest.raises(InputError, match="`language` must be one of 'en', 'zh', got 'fr'"):
        html_report(full, language="fr")


def test_the_same_examination_gives_the_same_page(full):
    assert html_report(full) == html_report(full)


def test_simulated_data_are_called_that(full, page_text):
    text = page_text(full | {"settings": {"simulated": True}})

    assert "Simulated data: no person and no model gave these labels." in text


def test_many_judges_have_one_headline_and_folded_sentences(make_row, make_content, page_text):
    rows = [
        make_row(f"judge-{place}", won=3 * (place < 7), uncertainty=None) for place in range(12)
    ]

    page = html_report(make_content(*rows))
    text = page_text(make_content(*rows))

    assert "7 of 12 judges may replace an annotator on label, with a margin" in text
    assert "judge-0, judge-1, judge-2, judge-3, judge-4 and 2 more" in text
    assert page.index('class="headline"') < page.index('<ul class="sentences">')
    assert page.count('<li class="verdict ') == 12


@pytest.mark.edges
@pytest.mark.parametrize(
    ("outcomes", "said", "step"),
    [
        (["passed"], "a may replace an annotator", "voirdire examine --certificate"),
        (["passed", "failed"], "1 of 2 judges may replace", "confirm it on fresh items"),
        (["failed", "failed"], "None of 2 judges has been shown fit", "improve the prompt"),
        (["no_evidence", "no_evidence"], "No evidence about any of 2 judges", "Next:"),
        (["passed", "no_evidence"], "No evidence about: b", "confirm it on fresh items"),
    ],
)
def test_one_sentence_and_one_step_stand_first(
    make_row, make_content, page_text, outcomes, said, step
):
    won = {"passed": 4, "failed": 0, "no_evidence": 0}
    rows = [make_row(judge, won=won[outcome], outcome=outcome)
            for judge, outcome in zip("ab", outcomes, strict=False)]  # fmt: skip

    text = page_text(make_content(*rows))

    assert said in text
    assert step in text
    assert text.index(said) < text.index("Next:") < text.index("The verdicts in words")


def test_a_pass_that_hangs_on_the_items_is_called_close(make_row, make_content, page_text):
    shaky = make_row()["uncertainty"] | {"stability": 0.6}
    rows = [make_row("a", uncertainty=shaky), make_row("b", won=0)]

    text = page_text(make_content(*rows))

    assert "Close, which means that other items might have given another outcome: a." in text
    assert "Label more items before you rely on it." in text


def test_long_tables_are_cut_and_say_so(make_row, make_content, page_text):
    text = page_text(make_content(make_row(of=1_510)))

    assert "1,500 rows of 1,510 are shown; the JSON has all 1,510." in text


def test_several_questions_start_with_a_table_of_all(make_row, make_content, page_text):
    rows = [make_row(name, question=q) for q in ("polite", "true") for name in ("a", "b")]

    text = page_text(make_content(*rows))

    assert "At a glance: verdict by judge and question Judge polite true a ✓ may replace" in text


def places(value, path=()):
    """List the places of a JSON object."""
    yield path
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key, each in ((key, value[key]) for key in keys):
        yield from places(each, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    inner = replaced(value[path[0]], path[1:], new)
    if isinstance(value, dict):
        return value | {path[0]: inner}
    return [inner if place == path[0] else each for place, each in enumerate(value)]


def page_or_error(content):
    try:
        return html_report(content)
    except InputError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("new", [None, [], {}, "x", -1, 0.5, 1e308, True, [None], 10**30])
def test_whatever_stands_anywhere_gives_a_page_or_one_line(full, new):
    rng = random.Random(str(new))
    for path in rng.sample(sorted(places(full), key=str), 20):
        said = page_or_error(replaced(full, path, new))

        assert said.rstrip().endswith("</html>") or "\n" not in said


ODD = ["x", [1], None, -1, 10**400, "<b>" + "x" * 100_000 + "\u202e"]


@pytest.mark.edges
@pytest.mark.parametrize("new", ODD, ids=range(len(ODD)))
def test_odd_figures_do_not_break_the_page(make_row, make_content, new):
    notes = [
        note(code) | {"figures": dict.fromkeys(FIGURES, new)} for code in (*CAUTIONS, *REASONS)
    ]
    row = make_row(outcome="no_evidence", cautions=notes, because=notes[-1], uncertainty=None)

    page = html_report(make_content(row))

    assert page.rstrip().endswith("</html>")
    assert "\u202e" not in page
    assert "<b>x" not in page
    assert max(map(len, re.findall(r"<dt>(.*?)</dt>", page))) < 2_000


def test_settings_are_bounded_in_depth_and_number(make_row, make_content, page_text):
    deep = {}
    for _ in range(400):
        deep = {"in": deep}
    settings = {"deep": deep} | {f"key-{place}": place for place in range(500)}

    text = page_text(make_content(make_row(), settings=settings))

    assert "deep.in.in an object of 1" in text
    assert "key-298 298" in text
    assert "key-299" not in text


@pytest.mark.parametrize("argument", ["title", "created"])
def test_an_empty_heading_is_refused(full, argument):
    with pytest.raises(InputError, match=f"`{argument}` must be text, got ' '"):
        html_report(full, **{argument: " "})


def test_names_that_differ_at_the_end_look_different(make_row, make_content, page_text):
    long = "models/" + "x" * 100
    rows = [make_row(f"{long}-{end}") for end in ("base", "large")]

    text = page_text(make_content(*rows))

    assert "x-base may replace" in text
    assert "x-large may replace" in text


def test_names_that_differ_in_what_cannot_be_seen_look_different(make_row, make_content, page_text):
    text = page_text(make_content(make_row("gpt"), make_row("g\u200bpt")))

    assert "g\\u200bpt may replace" in text


def test_many_judges_are_cut_and_counted(make_row, make_content, page_text):
    rows = [make_row(f"j{place}", uncertainty=None, annotators=[]) for place in range(103)]

    text = page_text(make_content(*rows))

    assert "The first 100 of 103 judges in the order of ρ are shown; the JSON has all" in text


def test_many_margins_are_cut_and_counted(make_row, make_content, page_text):
    rows = [make_row(epsilon=place / 100, uncertainty=None) for place in range(25)]

    text = page_text(make_content(*rows))

    assert "The 20 smallest of 25 margins are shown; the JSON has all 25." in text


def test_many_warnings_are_cut_and_counted(make_row, make_content, page_text):
    cautions = [{"code": f"code-{place}", "sentence": f"mind {place}"} for place in range(130)]

    text = page_text(make_content(make_row(cautions=cautions)))

    assert "The first 100 of 130 warnings are shown; the JSON has all 130 warnings." in text


@pytest.mark.ci
def test_figures_are_drawn_for_the_first_questions_only(make_row, make_content):
    page = html_report(make_content(*(make_row(question=f"q-{place}") for place in range(22))))

    assert page.count("Figures are drawn for the first questions only") == 2
    assert page.count('class="plot advantage"') == 20


def test_gold_labels_are_told_without_anybody_left_out(make_row, make_content, page_text):
    row = make_row(settings={"gold": True})
    tale = page_text(make_content(row)).partition("Glossary Alternative")[0]

    assert tale.startswith("Is a judge as close to the gold labels as the annotators are?")
    assert "left out" not in tale.replace("failed calls left out", "")
    assert "The gold labels are taken as the truth." in tale
    assert "accuracy: whether the label equals the reference’s" in page_text(make_content(row))


def test_untested_annotators_have_a_dash(full, page_text):
    assert "ann-1 60 .70 – – – –" in page_text(full)


def test_a_smallest_margin_without_evidence_is_marked(make_row, make_content, page_text):
    text = page_text(make_content(make_row(outcome="no_evidence", smallest_epsilon=0.12)))

    assert "A smallest ε with ? lies where these labels are no evidence" in text
    assert ".12 ? no evidence" in text


@pytest.mark.ci
def test_only_none_is_zero_percent_and_only_all_is_a_hundred(make_row, make_content, page_text):
    written = {0.0: "0%", 0.004: "<1%", 0.01: "1%", 0.43: "43%", 0.99: "99%", 0.996: ">99%",
               1.0: "100%", None: "–"}  # fmt: skip
    rows = [make_row(f"judge {place}") for place in range(len(written))]
    for row, share in zip(rows, written, strict=True):
        row["uncertainty"] = row["uncertainty"] | {"stability": share}

    text = page_text(make_content(*rows))

    shown = re.findall(r"judge (\d) \.15 ✓ passed (?:[.\d]+ )*(\S+) 60 4", text)
    assert shown == [(str(place), words) for place, words in enumerate(written.values())]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_figure_of_the_page_is_the_one_that_plot_draws(make_row, make_content, language):
    content = make_content(make_row("评判员😀"))

    page = html_report(content, language=language)

    drawn = draw_svg("advantage", content, language=language, width_px=720, name="q1-rho")
    assert f'<div class="drawing">{drawn}</div>' in page
