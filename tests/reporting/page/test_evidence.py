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


def test_a_pass_below_the_bar_is_explained_by_the_people(read, make_row, make_question):
    question = make_question(human=0.57, judges={"gpt": 0.53})

    assert read("bar", make_row(), questions=[question]) == (
        "The usual threshold of κ ≥ .6 would have rejected a judge that passes: gpt (κ = .53, ε = "
        ".15). But the annotators agree with each other only at κ = .57: that threshold would "
        "reject them too. The test only asks whether the judge is as close to them, within the "
        "margin. gpt is about as close to them as they are to each other. A fixed threshold "
        "compares a judge with an ideal; this test compares it with the people whom it would "
        "replace."
    )


def test_a_judge_that_the_margin_carries_is_not_called_close(read, make_row, make_question):
    question = make_question(human=0.57, judges={"gpt": 0.3})

    spoken = read("bar", make_row(), questions=[question])

    assert (
        "gpt is further from them, by more than .1 in κ, and passes because the margin is wide"
        in spoken
    )
    assert "about as close" not in spoken


def test_a_failure_above_the_bar_is_explained_too(read, make_row, make_question):
    question = make_question(human=0.85, judges={"gpt": 0.65})

    spoken = read("bar", make_row(won=0), questions=[question])

    assert "would have accepted a judge that has not been shown fit: gpt (κ = .65" in spoken
    assert "But the annotators agree with each other at κ = .85" in spoken


@pytest.mark.parametrize(("won", "kappa"), [(3, 0.7), (0, 0.4)])
def test_where_bar_and_test_agree_nothing_is_said(read, make_row, make_question, won, kappa):
    question = make_question(human=0.57, judges={"gpt": kappa})

    assert read("bar", make_row(won=won), questions=[question]) == ""


def test_a_figure_beside_the_bar_gets_a_third_digit(read, make_row, make_question):
    question = make_question(human=0.57, judges={"gpt": 0.5983})

    spoken = read("bar", make_row(), questions=[question])

    assert "κ = .598" in spoken


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


def test_the_best_judge_is_named_with_those_not_told_apart(read, make_row, make_question):
    rows = [
        make_row(name, advantage_probability=rho)
        for name, rho in (("a", 0.9), ("b", 0.88), ("c", 0.6))
    ]
    pairs = [pair("a", "b", 0.02, 0.4), pair("c", "a", -0.3, 0.0001), pair("b", "c", 0.28, 0.0002)]

    spoken = read("differences", *rows, questions=[make_question(comparisons=pairs)])

    assert spoken == (
        "Of 3 pairs of judges, 2 differ in ρ beyond chance (p < .05 after Holm’s correction). "
        "a has the highest ρ, but does not differ beyond chance from b."
    )


@pytest.mark.parametrize(
    ("difference", "p", "words"),
    [
        (
            -0.1,
            0.003,
            (
                "b is closer to the annotators than a: ρ is higher by .10 (95% interval .08–.12, "
                "p = .003)."
            ),
        ),
        (
            0.01,
            0.6,
            (
                "a and b do not differ beyond chance: ρ differs by .01 (95% interval −.01 to .03, "
                "p = .600)."
            ),
        ),
    ],
)
def test_two_judges_are_compared_in_one_sentence(
    read, make_row, make_question, difference, p, words
):
    question = make_question(comparisons=[pair("a", "b", difference, p)])

    assert read("differences", make_row("a"), questions=[question]) == words


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


def test_kappa_with_the_majority_of_all_is_given_beside_the_bar(
    read, page_text, make_content, make_row, make_question
):
    question = make_question(human=0.57, judges={"gpt": 0.53})
    [judge] = question["agreement"]["judges"]
    judge["coefficients"].append(judge["coefficients"][1] | {"coefficient": "panel_majority_kappa",
                                                             "estimate": 0.58})  # fmt: skip

    spoken = read("bar", make_row(), questions=[question])

    assert (
        "gpt (κ = .53 with single annotators, .58 with their majority, ε = .15). But the "
        "annotators agree with each other only at κ = .57"
    ) in spoken
    table = page_text(make_content(make_row(), questions=[question]))
    assert "gpt .78 .74–.82 .53 .49–.57 .58 .49–.57" in table


def test_a_judge_above_the_bar_with_the_majority_was_not_turned_down(read, make_row, make_question):
    question = make_question(human=0.57, judges={"gpt": 0.53})
    [judge] = question["agreement"]["judges"]
    judge["coefficients"].append(judge["coefficients"][1] | {"coefficient": "panel_majority_kappa",
                                                             "estimate": 0.63})  # fmt: skip

    assert read("bar", make_row(), questions=[question]) == ""


def test_weights_of_kappa_are_named_beside_the_bar(read, make_row, make_question):
    question = make_question(human=0.57, judges={"gpt": 0.53})
    for each in question["agreement"]["ceiling"]:
        each["weights"] = "quadratic"

    spoken = read("bar", make_row(), questions=[question])

    assert "κ is taken with quadratic weights here." in spoken


def test_a_difference_that_is_undefined_has_a_reason(read, make_row, make_question):
    undefined = pair("a", "b", 0, None) | {"difference": None, "reason": "no common item"}
    question = make_question(comparisons=[undefined])

    assert (
        read("differences", make_row("a"), questions=[question])
        == "a and b cannot be compared: no common item."
    )
