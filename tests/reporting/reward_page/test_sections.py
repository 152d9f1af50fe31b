"""The sentences of the sections, against figures worked out by hand."""

import re

import pytest


@pytest.fixture
def text_of(minimal, page_text):
    """Give the words of a page about a few parts: most figures are not drawn."""

    def render(language="en", **parts):
        return page_text(minimal | parts, language=language)

    return render


def error(value):
    return {
        "behavior": None, "signal": "rules", "against": "all", "tie_share": value,
        "rate": {"value": value, "low": None, "high": None, "n": 9, "n_prompts": 9},
    }  # fmt: skip


def test_a_share_has_a_decimal_and_0_is_none(text_of):
    values = (0, 0.0004, 0.0625, 0.9996, 1, None)

    text = text_of(error_rates=[error(value) for value in values])

    shown = re.findall(r"All behaviors All comparisons Rules alone \S+ (\S+) 9", text)
    assert shown == ["0%", "<0.1%", "6.2%", ">99.9%", "100%", "–"]


def drive(feature, share, **figures):
    base = {"behavior": "comply", "feature": feature, "weight": 1.0, "share": share}
    return base | {"is_certified": True} | figures


@pytest.fixture
def drives(text_of):
    """Give the words of a page about what drives one behavior."""

    def render(*rows, rate=0.2):
        rates = [
            {"behavior": "comply", "signal": "rules", "against": "all", "rate": {"value": rate}}
        ]
        return text_of(drives=list(rows), error_rates=rates)

    return render


def test_the_fewest_features_that_make_up_half_are_named(drives):
    text = drives(drive("a", 0.2), drive("b", 0.25), drive("comply.ideal", 0.3), drive("c", 0.25))

    assert "ideal and b make up 55% of the spread." in text
    order = [text.rindex(f" {words} – 1.00") for words in ("ideal class", "b", "c", "a")]
    assert order == sorted(order)


def test_dead_contradictory_and_uncertified_features_are_named(drives):
    text = drives(
        drive("strong", 0.9, is_certified=False),
        drive("against", 0.1, is_contradictory=True, demand="undesired"),
        drive("comply.poor", 0.1, is_contradictory=True, demand=""),
        drive("dead", 0.0, is_dead=True, weight=0.0, is_certified=False),
    )

    assert "Contradictory: against." in text
    assert "Classes out of order: poor." in text
    assert "Dead: dead." in text
    assert "Not certified, and among the strongest: strong." in text


def test_a_feature_without_which_the_reward_ranks_better_is_named(drives):
    worse = drive("worse", 0.5, error_rate_without=0.15)
    fine = drive("fine", 0.5, error_rate_without=0.3)

    named = drives(worse, fine)
    slightly = drives(worse | {"error_rate_without": 0.198}, fine)

    assert "Without worse the error rate would be lower: 15.0% instead of 20.0%." in named
    assert "would be lower" not in slightly


@pytest.mark.edges
@pytest.mark.parametrize(
    ("demand", "english", "chinese"),
    [
        ("required false", "required false", "必须为假"),
        ("core required false", "required false, core", "必须为假"),
        ("allowed", "allowed", "允许"),
        ("tomorrow", "tomorrow", "tomorrow"),
    ],
)
def test_demands_are_in_the_words_of_rubrics(text_of, demand, english, chinese):
    rows = [drive("apology", 1.0, demand=demand)]

    assert f"apology {english} 1.00" in text_of(drives=rows)
    assert re.search(rf"apology {chinese}\S* 1\.00", text_of("zh", drives=rows))


def test_the_worst_refusals_are_named(text_of, content):
    refusals = content["refusals"]

    text = text_of(refusals=refusals, error_rates=content["error_rates"])

    assert "missed refusals on soft_refuse, by the judge, on 12.5% of 40 prompts" in text
    told = [row | {"by": "labels"} for row in refusals]
    by_labels = text_of(refusals=told, error_rates=content["error_rates"])
    assert "missed refusals on soft_refuse, by the labels, on 12.5% of 40 prompts" in by_labels
    for row in refusals:
        row["rate"] |= {"value": 0.0}
    none = text_of(refusals=refusals, error_rates=content["error_rates"])
    assert "Under base + rules there is none." in none


def test_the_benchmark_starts_with_all_pairs(text_of, content):
    text = text_of(bench=content["bench"][::-1])

    assert "Base + rules is right on 84.1% of 740 pairs" in text
    all_pairs, mean, first = (
        text.index(words) for words in ("All pairs ", "Mean over subsets ", " donotanswer ")
    )
    assert all_pairs < mean < first


def test_the_paragraph_says_whether_the_prompts_were_used(content, minimal, page_text):
    kept = {name: content[name] for name in ("reward", "n_prompts", "settings", "is_held_out")}

    held_out = page_text(minimal | kept)
    used = page_text(minimal | kept | {"is_held_out": False})

    assert "(local) gives to the propositions" in held_out
    assert "180 prompts, none of which was used in the fit" in held_out
    assert "some or all of which were used in the fit" in used


def test_notes_are_in_the_language_of_the_page(text_of):
    known = {
        "code": "few_prompts",
        "sentence": "Few prompts.",
        "figures": {"least": 30, "prompts": {"comply": 3}},
    }
    unknown = {"code": "tomorrow", "sentence": "A new sentence.", "figures": {}}
    older = known | {"figures": {}}

    chinese, english = (text_of(word, notes=[known, unknown, older]) for word in ("zh", "en"))

    assert (
        "有比较的提示词不足 30 个：comply。对这么少的提示词重抽样，区间偏窄。 "
        "A new sentence. Few prompts."
    ) in chinese
    assert "Few prompts. A new sentence. Few prompts." in english


def test_a_note_with_many_features_is_shown_to_its_end_with_its_command(rendered, minimal):
    features = ", ".join(f"soft_refuse:encourage_professional_help_{k}" for k in range(8))
    sentence = f"8 weights pay for {features} & more; `voirdire fit --signs rubric` rules it out."
    note = {"code": "contradictory_features", "sentence": sentence, "figures": {}}

    page = rendered(minimal | {"notes": [note]})

    assert "_7 &amp; more; <code>voirdire fit --signs rubric</code> rules it out.</bdi>" in page


def test_nonsense_that_outranks_real_responses_is_shown_with_its_texts(text_of, content):
    text = text_of(degenerate=content["degenerate"])
    chinese = text_of("zh", degenerate=content["degenerate"])

    assert "comply the prompt itself 1.50 1.25 .50 62% 100% 24" in text
    assert "How do I bake bread? How do I bake bread? 1.50 Mix flour" in text
    assert "comply 提示词本身 1.50 1.25 0.50 62% 100% 24" in chinese
    assert "Nonsense beside real responses" not in text_of(degenerate=[])
