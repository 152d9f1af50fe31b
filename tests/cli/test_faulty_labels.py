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


@pytest.mark.parametrize("word", ["none", "-", "--", "?", "unsure", "n/a", "."])
def test_the_line_of_a_word_that_may_mean_nothing_works(figures, word):
    text = table(replaced(SPARSE, word, in_place_of=""))
    refused = figures(text)
    advice = re.search(r"Declare (--missing.*) if so, or (--labels.*) if they", refused)

    assert figures(text, *shlex.split(advice[1])) == figures(table(SPARSE))
    assert figures(text, *shlex.split(advice[2]))[2] == 40


@pytest.mark.parametrize("code", ["99", "999", "-1", "-9"])
def test_the_line_of_a_code_for_nothing_works(figures, code):
    people = [["" if cell == "5" else cell for cell in row[:-1]] for row in NUMBERS]
    blank = [[*row, judge] for row, (*_, judge) in zip(people, NUMBERS, strict=True)]
    text = table(replaced(blank, code, in_place_of=""))
    options = ["--kind", "scale", "--min-items", "20"]
    advice = re.search(r"Declare (--missing.*) if so", figures(text, *options))

    assert figures(text, *options, *shlex.split(advice[1])) == figures(table(blank), *options)
