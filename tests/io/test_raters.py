"""Columns of a wide table: nobody votes who is no rater."""

import pytest

from voirdire.errors import InputError

# Three people and a judge; ann and bob split on 12 items, so that cem decides.
ANN = [n % 2 for n in range(60)]
BOB = [(n + (n % 5 == 1)) % 2 for n in range(60)]
CEM = [(n + (n % 7 == 2)) % 2 for n in range(60)]
JUDGE = [(n + (n % 9 == 3)) % 2 for n in range(60)]
MAJORITY = [int(a + b + c > 1) for a, b, c in zip(ANN, BOB, CEM, strict=True)]
WORDS = ("no", "yes")
PEOPLE = {"ann": ANN, "bob": BOB, "cem": CEM}


def written(columns, words=WORDS):
    header = ",".join(["item", *columns])
    cells = [[words[v] if isinstance(v, int) else v for v in column] for column in columns.values()]
    rows = [",".join([f"i{n}", *map(str, row)]) for n, row in enumerate(zip(*cells, strict=True))]
    return "\n".join([header, *rows]) + "\n"


def scores(column):
    return [str(1 + 2 * value + n % 3) for n, value in enumerate(column)]


STRAY = {
    "majority": MAJORITY,
    "gold": ANN,
    "Consensus label": MAJORITY,
    "ground_truth": BOB,
    "is_train": [n % 3 % 2 for n in range(60)],
    "has_image": ANN,
    "split": ["yes", "no", "no"] * 20,
    "label": MAJORITY,
    "Expert Label": ANN,
    "label_final": MAJORITY,
    "adjudication": BOB,
    "ann_confidence": ANN,
    # by its content alone
    "vote": MAJORITY,
    "any": [max(row) for row in zip(ANN, BOB, CEM, strict=True)],
    "same": [int(len({*row}) == 1) for row in zip(ANN, BOB, CEM, strict=True)],
    "unanimous": [row[0] if len({*row}) == 1 else "" for row in zip(ANN, BOB, CEM, strict=True)],
    "urgent": [n % 11 % 2 for n in range(60)],
    "note": [f"see {n}" for n in range(60)],
    "hint": [f"see {n % 9}" for n in range(60)],
    "duration_ms": [str(900 + n) for n in range(60)],
    "annotation_time": [str(n / 7) for n in range(60)],
}


@pytest.mark.parametrize("stray", STRAY)
@pytest.mark.parametrize("place", [0, 3])
def test_a_stray_column_is_asked_about(read, stray, place):
    columns = [*PEOPLE.items(), ("gpt", JUDGE)]
    columns.insert(place, (stray, STRAY[stray]))

    with pytest.raises(InputError) as refused:
        read(written(dict(columns)), judge_columns=["gpt"])

    assert f"`{stray}`" in str(refused.value)
    assert str(refused.value).endswith("Name the raters: --rater ann,bob,cem")
    found = read(written(dict(columns)), judge_columns=["gpt"], raters=["ann,bob,cem"])
    assert found.raters == ["ann", "bob", "cem"]


@pytest.mark.parametrize(
    "stray",
    [
        {"fold": [str(1 + n % 5) for n in range(60)]},
        {"confidence": [str(1 + n % 4) for n in range(60)]},
        {"worst": [min(row) for row in zip(*map(scores, PEOPLE.values()))]},  # noqa: B905
        {"ø": [f"{sum(map(int, row)) / 3:.1f}" for row in zip(*map(scores, PEOPLE.values()))]},  # noqa: B905
        {"reading": [str(100 + n) for n in range(60)]},  # outside of the others' values
        {"overall": [sum(map(int, row)) / 3 for row in zip(*map(scores, PEOPLE.values()))]},  # noqa: B905
    ],
    ids=lambda stray: next(iter(stray)),
)
def test_a_stray_column_beside_ratings_is_asked_about(read, stray):
    columns = {name: scores(column) for name, column in PEOPLE.items()}

    with pytest.raises(InputError, match=rf"`{next(iter(stray))}`.*--rater ann,bob,cem$"):
        read(written(columns | stray), kind="scale")


def test_truths_may_be_written_in_two_ways(read):
    columns = {"ann": ANN, "bob": ["TRUE" if v else "FALSE" for v in BOB], "cem": CEM}

    assert read(written(columns), kind="boolean").raters == ["ann", "bob", "cem"]


def test_raters_who_agree_are_raters(read):
    assert read(written(dict.fromkeys(("ann", "bob", "cem"), ANN))).raters == ["ann", "bob", "cem"]
    assert read(written({"a": ANN, "b": ANN, "c": BOB, "d": CEM})).raters == ["a", "b", "c", "d"]
    few = {"ann": [0, 1, 1, 0], "bob": [0, 1, 0, 0], "cem": [0, 1, 1, 0]}
    assert read(written(few)).raters == ["ann", "bob", "cem"]


def test_a_column_that_seldom_shows_what_it_is_is_said(read):
    ann = [n % 2 for n in range(40)]
    bob, cem = list(ann), list(ann)
    for place in (3, 8, 21):
        bob[place] = 1 - bob[place]
    cem[30] = 1 - cem[30]
    columns = {"ann": ann, "bob": bob, "cem": cem}
    columns["dan"] = [int(sum(row) > 1) for row in zip(ann, bob, cem, strict=True)]

    found = read(written(columns))

    assert found.raters == ["ann", "bob", "cem", "dan"]
    assert "'dan' is always the majority of the others" in found.notes


@pytest.mark.parametrize(
    "names",
    [
        ("helpful_ann", "helpful_bob", "safe_ann", "safe_bob", "helpful_gpt"),
        ("ann: helpful", "bob: helpful", "ann: safe", "bob: safe", "gpt: helpful"),
        ("q1 - ann", "q1 - bob", "q2 - ann", "q2 - bob", "q1 - gpt"),
        ("helpfulAnn", "helpfulBob", "safeAnn", "safeBob", "helpfulGpt"),
        ("ann1", "bob1", "ann2", "bob2", "gpt1"),
        ("helpfulann", "helpfulbob", "safeann", "safebob", "helpfulgpt"),
        ("annhelpful", "bobhelpful", "annsafe", "bobsafe", "gpthelpful"),
        ("helpfulann", "helpfulbob", "safeann", "safebob", "helpfulgpt", "safegpt"),
        ("ann", "bob", "ann_safe", "bob_safe", "gpt"),
        ("very_helpful__ann", "very_helpful__bob", "safe__ann", "safe__bob", "very_helpful__gpt"),
    ],
)
def test_several_questions_in_one_table_are_no_panel(read, names):
    text = written(dict(zip(names, (ANN, BOB, BOB, CEM, JUDGE, ANN), strict=False)))

    with pytest.raises(InputError, match="look like 2 questions") as refused:
        read(text, judge_columns=[names[4]])

    paste = str(refused.value).partition("--rater ")[2]
    assert paste.partition(" --judge-column")[0].strip("'") == ",".join(names[:2])
    found = read(text, raters=[",".join(names[:2])], judge_columns=[names[4]])
    assert found.raters == [*names[:2]]


@pytest.mark.parametrize(
    "names",
    [
        ("rater_1", "rater_2", "rater_3"),
        ("a_x", "b_x", "c_x"),
        ("raterone", "ratertwo", "ratertri"),
        ("maria", "marie", "julia", "julie"),
    ],
)
def test_numbered_raters_are_of_one_question(read, names):
    columns = dict(zip(names, (ANN, BOB, CEM, ANN), strict=False))

    assert read(written(columns)).raters == [*names]


def test_a_name_with_a_comma_is_one_name(read):
    text = 'item,"Li, Wei",bob,cem\n1,yes,no,no\n2,no,no,no\n'

    assert read(text, raters=["Li, Wei", "bob,cem"]).raters == ["Li, Wei", "bob", "cem"]


def test_one_rater_beside_a_column_that_is_none_is_named(read):
    rows = [f"i{n},{'yes' if n % 3 else 'no'},{n % 5}\n" for n in range(30)]

    with pytest.raises(InputError, match=r"none: `confidence` \(by .*the rater \(--rater ann\)"):
        read("item,ann,confidence\n" + "".join(rows))


def test_columns_of_judges_are_asked_about_alike(read):
    text = written({"gpt": JUDGE, "mini": ANN, "gold": BOB})

    with pytest.raises(InputError, match=r"`gold` \(by its name\).* --judge-column gpt,mini$"):
        read(text, role="judge")
    assert read(text, role="judge", judge_columns=["gpt,mini"]).raters == ["gpt", "mini"]


def test_a_hundred_thousand_rows_with_a_stray_column_are_refused_in_a_moment(read):
    columns = {name: column * 400 for name, column in PEOPLE.items()}

    with pytest.raises(InputError, match=r"`vote` .which is the majority of the others"):
        read(written(columns | {"vote": MAJORITY * 400}))
