"""What the verdict rests on, in words."""

import pytest


@pytest.fixture
def read_diagnosis(read, make_row, make_question):
    """Read what the page says about one part of the diagnosis."""

    def read_part(place, *, language="en", **parts):
        parts = {"annotators": [], "judges": []} | parts
        return read(
            place, make_row(), questions=[make_question(diagnosis=parts)], language=language
        )

    return read_part


@pytest.fixture
def read_panel(read_diagnosis):
    """Read what the page says of a judge and the votes of a panel."""

    def read_counts(**counts):
        return read_diagnosis("judge", judges=[{"judge": "gpt", "panel": counts}])

    return read_counts


@pytest.mark.edges
@pytest.mark.parametrize(
    ("alpha", "word"),
    [(0.85, "strong"), (0.7, "fair"), (0.568, "moderate"), (0.3, "weak"), (0.1, "hardly any")],
)
def test_alpha_comes_with_a_plain_word(read, make_row, alpha, word):
    agreement = make_row()["human_agreement"] | {"alpha": alpha, "low": 0.1, "high": 0.9}

    spoken = read("agreement", make_row(human_agreement=agreement))

    assert f"Krippendorff’s α is {alpha:.2f}".replace("0.", ".") in spoken
    assert f"(95% interval .10–.90): {word} agreement." in spoken


@pytest.mark.parametrize(
    "agreement", [None, {"alpha": None, "level": "nominal", "reason": "one label"}]
)
def test_undefined_agreement_is_said(read, make_row, agreement):
    spoken = read("agreement", make_row(human_agreement=agreement))

    assert "coefficient of agreement" in spoken or "undefined" in spoken


def test_controls_that_fail_are_what_one_gets_for_nothing(read, make_row):
    spoken = read("controls", make_row())

    assert spoken == (
        "A judge that always answers “no” does not pass, not even at ε = .15 (ω = .00, ρ = .73). "
        "This ρ is reached without any knowledge of the items. A judge that answers at random, as "
        "often as people give each label, does not pass, not even at ε = .15 (ω = .00, ρ = .66). "
        "The majority vote of the annotators themselves passes at ε = .15 (at ε = .15, ω = 1.00, "
        "ρ = 1.00): a judge that is good enough can pass this test."
    )


def test_controls_that_pass_take_the_meaning_away(read, make_row):
    controls = [
        control | {"passed": control["control"] != "majority_vote"}
        for control in make_row()["controls"]
    ]

    spoken = read("controls", make_row(controls=controls))

    assert "A judge that always answers “no” passes at ε = .15" in spoken
    assert "A judge that answers at random passes at ε = .15" in spoken
    assert "The majority vote of the annotators does not pass" in spoken


def test_without_controls_that_is_said(read, make_row):
    assert "No controls were run" in read("controls", make_row(controls=[]))


def pair(a, b, difference, p):
    return {
        "judge_a": a,
        "judge_b": b,
        "alignment": "accuracy",
        "difference": difference,
        "low": difference - 0.02,
        "high": difference + 0.02,
        "p_value": p,
        "p_adjusted": p,
        "confidence_level": 0.95,
    }


def test_pairs_that_differ_beyond_chance_are_counted(read, make_row, make_question):
    rows = [
        make_row(name, advantage_probability=rho)
        for name, rho in (("a", 0.9), ("b", 0.88), ("c", 0.6))
    ]
    pairs = [pair("a", "b", 0.02, 0.4), pair("c", "a", -0.3, 0.0001), pair("b", "c", 0.28, 0.0002)]

    spoken = read("differences", *rows, questions=[make_question(comparisons=pairs)])

    assert spoken == (
        "Of 3 pairs of judges, 2 differ in ρ beyond chance (p < .05 after Holm’s correction)."
    )


def test_an_annotator_who_stands_apart_is_named(read_diagnosis):
    row = {
        "annotator": "eve",
        "agreement": 0.61,
        "agreement_of_others": 0.83,
        "p_value": 0.0004,
        "outlier": True,
    }

    spoken = read_diagnosis("annotators", annotators=[row])

    assert spoken.startswith(
        "eve differs from the others: the agreement with them is .61, while they agree among "
        "themselves at .83 (p < .001)."
    )


def test_nobody_standing_apart_is_said(read_diagnosis):
    spoken = read_diagnosis(
        "annotators", annotators=[{"annotator": "eve", "p_value": 0.4, "outlier": False}]
    )

    assert spoken.startswith("No annotator differs from the others")


def test_opposing_people_who_agree_is_held_against_what_people_do(read_panel):
    panel = {
        "n_unanimous": 100,
        "n_opposed": 20,
        "n_split": 40,
        "n_split_with_majority": 25,
        "n_split_with_tied": 5,
        "n_human_chances": 320,
        "n_human_opposed": 16,
        "n_judge_opposed": 64,
    }

    # 16/320 = 5%, 64/320 = 20%
    assert read_panel(**panel) == (
        "Of 100 items on which all annotators agree, it disagrees with them on 20 (20%). Where the "
        "others all agree, it disagrees with them in 20% of cases, an annotator in 5%. Look at "
        "these items first. On 40 items on which people split, it gives the most frequent label on "
        "30, and always a label that somebody gave."
    )


def test_a_difference_within_noise_is_not_called_one(read_panel):
    panel = {
        "n_unanimous": 17,
        "n_opposed": 2,
        "n_human_chances": 100,
        "n_human_opposed": 8,
        "n_judge_opposed": 13,
    }

    assert "in 13% of cases, an annotator in 8%." in read_panel(**panel)


def test_untested_annotators_are_not_reported_as_fine(read_diagnosis):
    pair = [{"annotator": name, "outlier": False} for name in ("ann", "bob")]

    assert read_diagnosis("annotators", annotators=pair) == (
        "At least three annotators who share items are needed to say whether one differs from the "
        "others."
    )
    assert read_diagnosis("annotators", annotators=pair, language="zh").startswith(
        "至少要有三名标注者标注同一批条目"
    )


def test_some_untested_annotators_are_counted(read_diagnosis):
    rows = [
        {"annotator": "ann", "p_value": 0.5, "outlier": False},
        {"annotator": "bob", "outlier": False},
    ]

    spoken = read_diagnosis("annotators", annotators=rows)

    assert spoken.startswith("Of the annotators who could be tested, none differs")
    assert "Of 2 annotators, 1 could not be tested" in spoken


def undefined(row):
    return [each | {"winning_rate": None, "advantage_probability": None, "passed": False}
            for each in row["controls"]]  # fmt: skip


def test_undefined_controls_are_not_said_to_fail(read, make_row):
    row = make_row()

    spoken = read("controls", row | {"controls": undefined(row)})

    assert "The result of a judge that always answers “no” is undefined here." in spoken
    assert "pass" not in spoken
    assert "–" not in spoken


def test_the_majority_vote_is_no_upper_bound_beside_gold_labels(read, make_row):
    row = make_row(settings={"gold": True})
    controls = [each | {"passed": False} for each in row["controls"]]

    spoken = read("controls", row | {"controls": controls})

    assert "The majority vote of the annotators does not pass (at ε = .15" in spoken
    assert "as good as their majority" not in spoken


def test_controls_are_taken_from_the_judge_on_whose_items_they_do_best(read, make_row):
    other = make_row("llama", n_items=40)
    other["controls"] = [
        each | ({"winning_rate": 0.75, "passed": True} if each["control"] == "constant" else {})
        for each in other["controls"]
    ]

    spoken = read("controls", make_row("gpt"), other)

    assert "A judge that always answers “no” passes at ε = .15 (at ε = .15, ω = .75" in spoken
    assert "Judges did not answer the same items" in spoken
