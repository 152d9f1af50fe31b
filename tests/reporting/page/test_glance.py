"""Questions that go together: their table, their sections, and how many items there are."""

import re

import pytest

from voirdire.reporting import html_report

TABLE = re.compile(r'<table class="glance">.*?</table>', re.DOTALL)


def examined(question, judge, annotators, *, n_items=60):
    return {
        "question": question,
        "judge": judge,
        "alignment": "accuracy",
        "epsilon": 0.2,
        "epsilon_mode": "additive",
        "n_items": n_items,
        "n_annotators": len(annotators),
        "winning_rate": 1.0,
        "passed": True,
        "outcome": "passed",
        "because": {"code": "", "sentence": ""},
        "advantage_probability": 0.9,
        "human_advantage": 0.9,
        "worst_case": {"passed": True},
        "annotators": [
            {
                "annotator": name,
                "n_items": n_items,
                "advantage_judge": 0.9,
                "advantage_human": 0.9,
                "p_value": 0.01,
                "rejected": True,
                "rejected_bh": True,
            }
            for name in annotators
        ],
    }


def content(*rows, **settings):
    return {"examinations": list(rows), "settings": settings}


@pytest.fixture(scope="module")
def two_studies():
    few = [examined(q, j, ["ann", "bob"], n_items=50) for q in ("a", "b") for j in ("x", "y")]
    many = [examined(f"p{n}", "z", ["cid", "dan"], n_items=90) for n in range(8)]
    return content(*few, *many)


def test_questions_without_a_judge_in_common_have_tables_of_their_own(two_studies):
    page = html_report(two_studies)

    [table] = TABLE.findall(page)  # of a single judge the list of questions has the verdicts
    assert ("p0" in table, ">z<" in table) == (False, False)
    assert table.count("<tr>") == 1 + 2  # judges go down
    assert "–</td>" not in table
    assert (
        len(re.findall(r"<summary><h2>[^\n]*p\d[^\n]*</h2> <span class=\"chip passed", page)) == 8
    )


def test_a_sentence_says_how_many_questions_each_judge_passes(two_studies):
    page = html_report(two_studies)

    sentences = re.findall(r'<p class="headline glances">(.*?)</p>', page)
    several, one = (re.sub(r"<[^>]*>", "", each).replace("\xa0", " ") for each in sentences)
    assert several.strip() == (
        "2 of 2 judges may replace an annotator on at least one of 2 questions, with a margin of "
        "ε = .2: x on 2 and y on 2. Closest to the annotators is x, with the highest ρ on 2 of 2 "
        "questions."
    )
    assert one.strip() == (
        "z may replace an annotator on 8 of 8 questions, with a margin of ε = .2. It is closest to "
        "the annotators on p0 (ρ = .90)."
    )


def test_a_chip_that_names_a_margin_is_explained():
    wide, narrow = (examined("a", "x", ["ann", "bob"]) | {"epsilon": e} for e in (0.2, 0.1))
    narrow |= {"outcome": "failed", "passed": False, "winning_rate": 0.0}

    means = "means that the judge passes at every margin examined from that ε up"

    assert means in html_report(content(narrow, wide))
    assert means not in html_report(content(wide))


def test_a_question_that_one_judge_was_not_asked_stays_in_the_table():
    rows = [examined("a", j, ["ann", "bob"]) for j in ("x", "y")] + [
        examined("b", "x", ["ann", "bob"])
    ]

    [table] = TABLE.findall(html_report(content(*rows)))

    assert table.count("–</td>") == 1


def test_sections_are_folded_where_questions_are_many(two_studies):
    page = html_report(two_studies)

    assert page.count('<details class="body">') == 10
    assert page.count('class="headline"') == 10


@pytest.mark.ci
def test_items_of_two_studies_add_up_and_those_of_one_do_not(two_studies, page_text):
    def n_items(given):
        return int(re.search(r"examined against .*? on (\d+) items", page_text(given))[1])

    one = content(*(examined(q, "x", ["ann", "bob"], n_items=n) for q, n in (("a", 50), ("b", 60))))
    linked = content(
        examined("a", "x", ["ann", "bob"]),
        examined("b", "x", ["cid", "dan"]),
        examined("c", "x", ["bob", "cid"]),
    )

    assert n_items(two_studies) == 140
    assert n_items(one) == 60
    assert n_items(linked) == 60


@pytest.mark.edges
@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["local"], "of the judges only local is real"),
        (["<b>"], "of the judges only &lt;b&gt; is real"),
        ([], "no person and no model gave these labels"),
        ("local", "no person and no model gave these labels"),
        (None, "no person and no model gave these labels"),
    ],
)
def test_the_notice_names_the_judges_that_are_real(named, said):
    row = examined("a", "local", ["ann", "bob"])

    page = html_report(content(row, simulated=True, real_judges=named))

    notice = page[page.index('<p class="notice">') : page.index("</header>")]
    assert said in re.sub(r"<[^>]*>", "", notice)
