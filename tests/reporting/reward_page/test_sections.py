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


@pytest.mark.edges
@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0123, "12 ms"), (0.9996, "1 s"), (12, "12 s"), (119.6, "120 s"), (180, "3 min"),
     (9000, "2.5 h"), (None, "an unknown time")],
)  # fmt: skip
def test_time_is_in_the_unit_that_suits_it(text_of, content, seconds, shown):
    text = text_of(policy=content["policy"] | {"step_seconds": seconds})

    assert f" and {shown}." in text


@pytest.mark.parametrize(
    ("cost", "shown", "chinese"),
    [(1234.5, "$1,234.50", "1,234.50 美元"), (0.004, "less than $0.01", "不到 0.01 美元")],
)
def test_money_below_a_cent_is_a_bound(text_of, content, cost, shown, chinese):
    policy = content["policy"] | {"step_cost": cost}

    assert f"takes 512 calls, {shown} and 12 s." in text_of(policy=policy)
    assert chinese in text_of("zh", policy=policy)


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


def scale(behavior, mean, deviation):
    return {"behavior": behavior, "mean": mean, "standard_deviation": deviation}


def test_scales_that_are_apart_or_uneven_are_told(text_of):
    text = text_of(scales=[scale("a", -3.0, 1.0), scale("b", 2.0, 1.0), scale("c", 0.0, 2.5)])

    assert "The means lie 5.00 apart, from −3.00 for a to 2.00 for b, which is 5.0 times" in text
    assert "c spreads its rewards 2.5 times as much as a." in text


def test_scales_that_are_alike_are_told(text_of):
    rows = [scale("a", 0.0, 1.0), scale("b", 0.5, 1.0)]

    assert "The means lie within one standard deviation of each other." in text_of(scales=rows)
    assert "The means lie" not in text_of(scales=rows[:1])


def test_the_pre_flight_says_what_a_step_costs(text_of, content):
    text = text_of(policy=content["policy"])

    assert "4,096 responses in 512 groups of 8 on average." in text
    assert "In 29% of the groups all rewards are the same" in text  # 147 of 512
    assert "3.5 times as much as the base reward does (2.14 against .61). Both count" in text
    assert "A training step of 512 responses takes 512 calls, $0.18 and 12 s." in text


@pytest.mark.edges
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_without_variance": 300}, "That is more than half"),
        ({"n_without_variance": 0}, "In every group the rewards differ"),
        ({"spread_ratio": 12.0}, "The base reward hardly counts beside them"),
        ({"spread_ratio": 0.05}, "The rules hardly count beside it"),
        ({"step_cost": None}, "an unknown price"),
        ({"step_cost": 0.0}, "512 calls, no money and 12 s"),
        ({"step_calls": 12.3}, "takes 13 calls"),
        ({"group_size": 7.5}, "groups of 7.5 on average"),
    ],
)
def test_the_pre_flight_says_what_to_do(text_of, content, change, words):
    assert words in text_of(policy=content["policy"] | change)


def test_the_hardest_comparisons_and_refusals_are_named(text_of, content):
    near, refusals = content["near_ideal"], content["refusals"]

    text = text_of(near_ideal=near, refusals=refusals, error_rates=content["error_rates"])

    assert (
        "Hardest for base + rules is soft_refuse: 47.5% of 80 comparisons between “ideal” and "
        "“less_good”"
    ) in text
    assert "missed refusals on soft_refuse, by the judge, on 12.5% of 40 prompts" in text
    told = [row | {"by": "labels"} for row in refusals]
    by_labels = text_of(refusals=told, error_rates=content["error_rates"])
    assert "missed refusals on soft_refuse, by the labels, on 12.5% of 40 prompts" in by_labels
    for row in refusals:
        row["rate"] |= {"value": 0.0}
    none = text_of(refusals=refusals, error_rates=content["error_rates"])
    assert "Under base + rules there is none." in none


def test_labels_keep_their_order_and_their_numbers(text_of, content):
    rows = [row for row in content["histograms"] if row["behavior"] == "hard_refuse"]

    text = text_of(histograms=rows, error_rates=content["error_rates"])

    labels = "ideal|less_good|unacceptable|illogical|disallowed"
    shown = re.findall(rf"({labels}) (?:\S+ ± \S+ )+(\d+)", text)
    assert shown == [
        ("ideal", "120"), ("less_good", "60"), ("unacceptable", "60"), ("illogical", "60"),
        ("disallowed", "60"),
    ]  # fmt: skip  # 60 prompts with 2 ideal completions


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

    assert "comply a plain refusal 1.50 1.25 .50 62% 100% 24" in text
    assert "How do I bake bread? I'm sorry, but I can't help with that. 1.50 Mix flour" in text
    assert "comply 一句拒绝 1.50 1.25 0.50 62% 100% 24" in chinese
    assert "Nonsense beside real responses" not in text_of(degenerate=[])
