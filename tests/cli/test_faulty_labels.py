"""Files of labels as people have them: the figures of the clean file, or a way out that works."""

import random
import re
import shlex

import pytest

HEADER = ["item", "ann", "bob", "cem", "gpt"]


def made_rows(labels, *, n_items=40, agree=0.8):
    """Make rows of three people and a judge who agree mostly; the same ones each time."""
    draw = random.Random(36)
    rows = []
    for number in range(n_items):
        truth = draw.choice(labels)
        cells = [truth if draw.random() < agree else draw.choice(labels) for _ in range(4)]
        rows.append([f"t{number}", *cells])
    return rows


WORDS = made_rows(["toxic", "fine"])
NUMBERS = made_rows(["1", "2", "3", "4", "5"])


def table(rows, *, header=HEADER, mark=","):
    return "\n".join(map(mark.join, [header, *rows])) + "\n"


@pytest.fixture
def figures(call, tmp_path):
    """Examine a file; give what decides, or the message."""

    def examine(text, *options, name="labels.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = call("examine", "--humans", path, "--judge-column", "gpt", *options, "--json")
        if done.code == 1:
            return done.err
        assert done.code in (0, 3)
        (result,) = done.json["examinations"]
        return result["winning_rate"], result["advantage_probability"], result["n_items"]

    return examine


COLUMNS = list(zip(*NUMBERS, strict=True))[1:]
SUMS = [str(sum(map(int, column))) for column in COLUMNS]
MEANS = [f"{sum(map(int, column)) / 40:.2f}" for column in COLUMNS]


@pytest.mark.parametrize(
    "text",
    [
        table([*NUMBERS, ["Total", *SUMS], ["Mean", *MEANS]]),
        "sep=;\n" + table(NUMBERS, mark=";"),
        f"# wave 2, by ann\nRatings of 2026\n\n{table([*NUMBERS[:9], ['# pause'], *NUMBERS[9:]])}",
        table([[*row, "", ""] for row in NUMBERS], header=[*HEADER, "", ""]),
        table([*NUMBERS[:20], HEADER, *NUMBERS[20:]]),
    ],
)
def test_rows_that_are_no_data_change_no_figure(figures, text):
    assert figures(text, "--kind", "scale") == figures(table(NUMBERS), "--kind", "scale")


def replaced(rows, word, *, in_place_of):
    return [[word if cell == in_place_of else cell for cell in row] for row in rows]


# each third item lacks the label of one person
SPARSE = [
    ["" if number % 3 == 0 and at == 1 + number // 3 % 3 else cell for at, cell in enumerate(row)]
    for number, row in enumerate(WORDS)
]


@pytest.mark.parametrize("word", ["NA", "NaN", "null"])
def test_what_programs_write_for_nothing_is_no_answer(figures, word):
    assert figures(table(replaced(SPARSE, word, in_place_of=""))) == figures(table(SPARSE))


@pytest.mark.parametrize("word", ["none", "-", "--", "?", "unsure", "n/a", "."])
def test_the_line_of_a_word_that_may_mean_nothing_works(figures, word):
    text = table(replaced(SPARSE, word, in_place_of=""))
    refused = figures(text)
    advice = re.search(r"Declare (--missing.*) if so, or (--labels.*) if they", refused)

    assert figures(text, *shlex.split(advice[1])) == figures(table(SPARSE))
    assert figures(text, *shlex.split(advice[2]))[2] == 40


WORDING = {"1": "awful", "2": "bad", "3": "fair", "4": "good", "5": "great"}


@pytest.mark.parametrize(
    "write",
    [
        lambda number: f"{number},0",
        lambda number: f"{number}/5",
        lambda number: f"{number} out of 5",
        lambda number: f"{number} - {WORDING[number]}",
        lambda number: f"{number}: {WORDING[number]}",
        lambda number: f"{number}.00",
        lambda number: f"{number} stars",
    ],
)
def test_numbers_as_people_write_them_change_no_figure(figures, write):
    rows = [[name, *map(write, cells)] for name, *cells in NUMBERS]

    clean = figures(table(NUMBERS), "--alignment", "neg_rmse")
    assert figures(table(rows, mark=";"), "--alignment", "neg_rmse") == clean
    assert figures(table(rows, mark="\t"), "--kind", "scale", name="labels.tsv") == clean


@pytest.mark.parametrize("code", ["99", "999", "-1", "-9"])
def test_the_line_of_a_code_for_nothing_works(figures, code):
    people = [["" if cell == "5" else cell for cell in row[:-1]] for row in NUMBERS]
    blank = [[*row, judge] for row, (*_, judge) in zip(people, NUMBERS, strict=True)]
    text = table(replaced(blank, code, in_place_of=""))
    options = ["--kind", "scale", "--min-items", "20"]
    advice = re.search(r"Declare (--missing.*) if so", figures(text, *options))

    assert figures(text, *options, *shlex.split(advice[1])) == figures(table(blank), *options)


@pytest.mark.parametrize(
    ("people", "judge"), [("{}/5", "{}/10"), ("{}/5", "{}0"), ("{}0%", "{}0"), ("{}0", "{}0%")]
)
def test_two_ways_to_write_a_scale_are_no_study(call, tmp_path, people, judge):
    cells = [1 + n % 5 for n in range(40)]
    for name, form in (("humans", people), ("judges", judge)):
        raters = ("ann", "bob") if name == "humans" else ("gpt",)
        rows = [",".join([f"i{n}", *(form.format(x) for _ in raters)]) for n, x in enumerate(cells)]
        text = "\n".join([",".join(["item", *raters]), *rows]) + "\n"
        (tmp_path / f"{name}.csv").write_text(text)

    done = call(
        *("examine", "--humans", tmp_path / "humans.csv"),
        *("--judges", tmp_path / "judges.csv", "--kind", "scale"),
    )

    assert done.code == 1
    assert "must be of one scale" in done.err


# Votes, truth values and tables in other forms ----------------------------------------------------

VOTES = made_rows(["A", "B", "tie"])


@pytest.mark.parametrize(
    "forms",
    [
        ("1", "2", "0"),
        ("[[A]]", "[[B]]", "[[C]]"),
        ("A>B", "B>A", "A=B"),
        ("A >> B", "A<B", "B=A"),
        ("[A]", "[b]", "Tie (both bad)"),
    ],
)
def test_votes_in_other_forms_are_votes(figures, forms):
    words = dict(zip(("A", "B", "tie"), forms, strict=True))
    rows = [[item, *map(words.get, cells)] for item, *cells in VOTES]

    found = figures(table(rows), "--kind", "pairwise")

    assert found == figures(table(VOTES), "--kind", "pairwise")


@pytest.mark.parametrize("forms", [("1", "0", "-1"), ("A>C", "B>A", "A=A")])
def test_votes_that_may_mean_either_side_are_no_study(figures, forms):
    words = dict(zip(("A", "B", "tie"), forms, strict=True))
    rows = [[item, *map(words.get, cells)] for item, *cells in VOTES]

    assert "cannot be read" in figures(table(rows), "--kind", "pairwise")


def test_truth_values_of_two_languages_are_asked_about(figures):
    rows = made_rows(["yes", "no"])
    rows[3][1:3], rows[7][4] = ["ja", "nein"], "oui"

    message = figures(table(rows))

    assert "must be in one language, got 'ja' beside 'yes', 'nein' beside 'no'" in message


def test_a_header_that_lacks_a_name_is_said(figures):
    assert "write the name that it lacks" in figures(table(WORDS, header=HEADER[1:]))


@pytest.mark.parametrize("corner", ["rater", "item"])
def test_a_table_with_raters_in_rows_is_said_to_be_turned(figures, corner):
    turned = list(map(list, zip(*WORDS, strict=True)))
    rows = [[name, *row] for name, row in zip(HEADER[1:], turned[1:], strict=True)]

    message = figures(table(rows, header=[corner, *turned[0]]))

    assert "raters were rows and items columns" in message
