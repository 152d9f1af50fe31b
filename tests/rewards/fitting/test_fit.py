"""A fit against one in plain loops."""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

from rewards.fitting import fit_oracle as oracle
from rewards.fitting.fit_cases import RUBRIC, judged_of, labelled_case, row_of
from voirdire.errors import InputError, NoDataError, UncertifiedWarning
from voirdire.rewards import FitSettings, fit_reward, read_comparisons
from voirdire.rubrics import rubric_from_text, rubric_to_yaml

ORDER = {"*": "ideal > less_good > poor"}


def fit(case, *, judged=None, rubric=RUBRIC, from_classes=False, **settings):
    """Fit with the orders of the cases, quickly, and without the warning on certificates."""
    given = {"orders": ORDER, "l2": 0.01, "n_resamples": 0} | settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        return fit_reward(
            case.rows,
            rubric=rubric,
            verdicts=case.judged if judged is None else judged,
            settings=FitSettings(**given),
            from_classes=from_classes,
        )


def weights_of(found, behavior="answer"):
    return np.array(list(found.model.behaviors[behavior].weights.values()))


# Against the loops --------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("equal_prompts", [False, True])
@pytest.mark.parametrize("l2", [0.003, 0.1])
def test_hinge_weights_are_those_of_coordinate_ascent_on_pairs_by_loops(base, equal_prompts, l2):
    case = labelled_case(3, base=base)

    found = fit(case, l2=l2, equal_prompts=equal_prompts)

    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    v = oracle.pair_weights(case, pairs, equal_prompts=equal_prompts)
    w = oracle.hinge_weights(d, c, v, l2=l2)
    row = found.behaviors[0]
    best = oracle.objective(w, d, c, v, l2=l2)
    assert row.n_pairs == len(pairs)
    assert row.n_prompts == len({case.rows[a]["prompt"] for a, _ in pairs})
    assert row.n_items == len({end for pair in pairs for end in pair})
    assert row.objective == pytest.approx(best, abs=1e-6)
    assert row.bound <= best + 1e-9
    assert weights_of(found) == pytest.approx(w, abs=2e-4)
    gains = 1 - c + d @ weights_of(found)
    assert row.error_rate_fitted == pytest.approx(oracle.error_rate(gains, v))


def test_fixed_and_ignored_weights_leave_the_rest_to_be_fitted():
    case = labelled_case(5, base=True)
    held = {"useful": 1.5, "answer.ideal": -0.5}

    found = fit(case, l2=0.02, fixed=held, ignored=["long"])

    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    free = [0, 2, 5]
    gaps = c - d[:, 1] * 1.5 - d[:, 4] * -0.5
    w = oracle.hinge_weights(d[:, free], gaps, np.full(len(c), 1 / len(c)), l2=0.02)
    assert weights_of(found)[free] == pytest.approx(w, abs=2e-4)
    assert weights_of(found)[[1, 3, 4]].tolist() == [1.5, 0, -0.5]
    origins = [row.origin for row in found.behaviors[0].weights]
    assert origins == ["fitted", "fixed", "fitted", "ignored", "fixed", "fitted"]


def test_signs_hold_weights_on_their_side_of_zero():
    case = labelled_case(6)
    signs = {"useful": "negative", "rude": "positive"}  # both against what the data say

    found = fit(case, l2=0.02, signs=signs)

    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    lower, upper = np.full(6, -np.inf), np.full(6, np.inf)
    upper[1], lower[2] = 0, 0
    v = np.full(len(c), 1 / len(c))
    w = oracle.held_hinge_weights(d, c, v, l2=0.02, lower=lower, upper=upper)
    assert weights_of(found) == pytest.approx(w, abs=1e-3)
    assert weights_of(found)[1] == pytest.approx(0, abs=1e-6)
    assert weights_of(found)[1] <= 0
    assert weights_of(found)[2] >= 0


AGAINST = {"*": "poor > less_good > ideal"}
"""Labels that say the contrary of what the rubric demands."""

DEMANDED = [1, 1, -1, 0, 1, -1]
"""polite desired, useful required, rude unacceptable, long allowed; ideal and poor."""


def against_demands(model):
    """Name the propositions whose unwanted state is paid for, and classes above the best one."""
    found = []
    for behavior, row in model.behaviors.items():
        about, demands = model.feature_set(behavior), model.rubric.behavior(behavior).demands
        for name, is_flipped in zip(about.propositions, about.flipped, strict=True):
            pays = -row.weights[name] if is_flipped else row.weights[name]
            if pays * {True: 1, False: -1, None: 0}[demands[name].demanded] < 0:
                found.append(f"{behavior}:{name}")
        best = row.weights[about.classes[0]]
        found += [name for name in about.classes if row.weights[name] > best]
    return found


@pytest.mark.edges
@pytest.mark.parametrize("orientation", ["plain", "demanded"])
def test_signs_of_the_rubric_leave_no_weight_that_pays_against_a_demand(orientation):
    free = fit(two_behaviors(), orders=AGAINST, orientation=orientation)
    held = fit(two_behaviors(), orders=AGAINST, orientation=orientation, signs="rubric")

    assert len(against_demands(free.model)) >= 6
    assert against_demands(held.model) == []
    assert held.model.settings["signs"] == {"*": "rubric"}


def test_with_signs_of_the_rubric_the_objective_is_that_of_highs():
    case = labelled_case(8)

    found = fit(case, l2=0, orders=AGAINST, signs="rubric").behaviors[0]

    pairs = [(b, a) for a, b in oracle.pairs_of(case.rows)]
    d, c = oracle.differences(case, pairs)
    n, k = d.shape
    sides = {1: (0, None), -1: (None, 0), 0: (None, None)}
    optimum = linprog(
        np.concatenate([np.zeros(k), np.full(n, 1 / n)]),
        A_ub=-np.hstack([d, np.eye(n)]),
        b_ub=-c,
        bounds=[*(sides[sign] for sign in DEMANDED), *[(0, None)] * n],
        method="highs",
    )
    free = fit(case, l2=0, orders=AGAINST).behaviors[0]
    assert found.objective == pytest.approx(optimum.fun, abs=1e-6)
    assert found.objective > free.objective + 0.01


def test_signs_of_the_rubric_are_for_features_without_a_sign_of_their_own():
    case = labelled_case(9)
    held = {"*": "rubric", "useful": "negative", "answer.poor": "positive", "rude": "rubric"}

    found = fit(case, l2=0.02, orders=AGAINST, signs=held, ignored=["polite"])

    pairs = [(b, a) for a, b in oracle.pairs_of(case.rows)]
    d, c = oracle.differences(case, pairs)
    lower, upper = np.full(6, -np.inf), np.full(6, np.inf)
    lower[0] = upper[0] = lower[4] = lower[5] = upper[1] = upper[2] = 0
    v = np.full(len(c), 1 / len(c))
    w = oracle.held_hinge_weights(d, c, v, l2=0.02, lower=lower, upper=upper)
    assert weights_of(found) == pytest.approx(w, abs=1e-3)
    assert w[1] < -0.1


def test_nothing_is_fitted_where_every_weight_is_given():
    case = labelled_case(7)
    given = dict.fromkeys(["polite", "useful", "rude", "long", "ideal", "poor"], 1.0)

    found = fit(case, fixed=given)

    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    row = found.behaviors[0]
    assert weights_of(found).tolist() == [1.0] * 6
    assert row.objective == row.bound
    assert row.objective == pytest.approx(np.maximum(c - d @ np.ones(6), 0).mean())


def test_margins_are_those_of_the_better_label():
    case = labelled_case(8)

    found = fit(case, l2=0.05, margin=0.5, margins={"ideal": 3.0})

    pairs = oracle.pairs_of(case.rows)
    d, _ = oracle.differences(case, pairs)
    c = np.array([3.0 if case.rows[a]["label"] == "ideal" else 0.5 for a, _ in pairs])
    w = oracle.hinge_weights(d, c, np.full(len(c), 1 / len(c)), l2=0.05)
    assert weights_of(found) == pytest.approx(w, abs=2e-4)


def test_the_same_fit_twice_is_the_same_reward():
    case = labelled_case(9, base=True)

    one, other = (fit(case, l2=None, n_resamples=50) for _ in range(2))

    assert one.model.content_hash == other.model.content_hash
    assert repr(one.behaviors) == repr(other.behaviors)


def test_the_order_of_rows_changes_no_weight():
    case = labelled_case(10)
    turned = dataclasses.replace(case, rows=case.rows[::-1])

    one, other = fit(case), fit(turned)

    assert weights_of(one) == pytest.approx(weights_of(other), abs=1e-6)
    assert one.model.data_hash == other.model.data_hash


# By hand ------------------------------------------------------------------------------------------


def test_two_prompts_by_hand():
    # Useful puts the better one ahead by 1 in both prompts; all else is equal. The hinge loss of w
    # is max(0, 1 - d·w) with d = 1 in `useful` and in `ideal`, -1 in `poor`: with λ/2·|w|² the
    # least is at w = min(1/λ, 1/3)·(1, 1, -1), here 1/3 each, with objective 3/2·.12/9 = .02.
    rows = [row_of(k, k // 2, ("ideal", "poor")[k % 2]) for k in range(4)]
    judged = judged_of([[0.5, 1, 0, 0.5], [0.5, 0, 0, 0.5]] * 2)

    found = fit(dataclasses.replace(labelled_case(0), rows=rows, judged=judged), l2=0.12)

    row = found.behaviors[0]
    assert weights_of(found) == pytest.approx([0, 1 / 3, 0, 0, 1 / 3, -1 / 3], abs=1e-6)
    assert row.objective == pytest.approx(0.02, abs=1e-6)
    assert row.error_rate.value == 0
    assert row.is_separable
    assert [one.feature for one in row.weights if one.origin == "undetermined"] == [
        "polite",
        "rude",
        "long",
    ]
    reward = found.model.behaviors["answer"]
    # Rule rewards are 1/3·1 + 1/3·1 and -1/3.
    assert reward.mean == pytest.approx(1 / 6, abs=1e-6)
    assert reward.mean_ideal == pytest.approx(2 / 3, abs=1e-6)
    assert reward.standard_deviation == pytest.approx(np.std([2, 2, -1, -1], ddof=1) / 3, abs=1e-6)


def test_class_weights_add_up_to_zero_and_no_word_is_lost_on_it():
    found = fit(labelled_case(11, n_prompts=30))

    assert abs(weights_of(found)[4:].sum()) < 1e-6
    assert not any("apart" in note for note in found.notes)


def test_two_propositions_that_always_agree_are_said_to_be_told_apart_by_nothing():
    case = labelled_case(12, n_prompts=30)
    values = case.judged.probabilities.copy()
    values[:, 3] = values[:, 0]

    found = fit(case, judged=judged_of(values))

    [said] = [note for note in found.notes if "apart" in note]
    assert said.endswith("in ways that no comparison tells apart, in answer")
    assert weights_of(found)[0] == pytest.approx(weights_of(found)[3], abs=1e-6)


def test_separable_comparisons_are_said_to_be_so():
    case = labelled_case(13, noise=0.0)

    found = fit(case, l2=0.1)

    assert found.behaviors[0].is_separable
    assert found.behaviors[0].notes[0] == (
        "there are weights that rank every comparison right: the size of the fitted ones follows "
        "from margin and λ, not from the data"
    )


# λ and the error rate -----------------------------------------------------------------------------


def test_the_error_rate_is_that_of_fits_without_the_prompt():
    case = labelled_case(14, n_prompts=8, base=True)
    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    prompts = np.array([case.rows[a]["prompt"] for a, _ in pairs])

    found = fit(case, l2=0.05, n_folds=len(set(prompts)))

    gains = np.empty(len(c))
    for prompt in set(prompts):
        held = prompts == prompt
        v = np.full((~held).sum(), 1 / (~held).sum())
        w = oracle.hinge_weights(d[~held], c[~held], v, l2=0.05)
        gains[held] = 1 - c[held] + d[held] @ w
    row = found.behaviors[0]
    assert row.error_rate.value == pytest.approx(oracle.error_rate(gains))
    assert row.error_rate_base.value == pytest.approx(oracle.error_rate(1 - c))


def test_test_prompts_are_in_no_fit_and_give_the_error_rate():
    case = labelled_case(15, n_prompts=16, base=True)
    for place, row in enumerate(case.rows):
        row["split"] = "test" if place // 4 < 6 else "train"

    found = fit(case, l2=0.05)

    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    test = np.array([case.rows[a]["split"] == "test" for a, _ in pairs])
    w = oracle.hinge_weights(d[~test], c[~test], np.full((~test).sum(), 1 / (~test).sum()), l2=0.05)
    row = found.behaviors[0]
    assert weights_of(found) == pytest.approx(w, abs=2e-4)
    assert row.n_pairs == (~test).sum()
    assert row.error_rate.value == pytest.approx(oracle.error_rate(1 - c[test] + d[test] @ w))
    assert row.error_rate_base.value == pytest.approx(oracle.error_rate(1 - c[test]))
    assert len(found.model.settings["prompt_hashes"]) == row.n_prompts


def test_lambda_is_the_one_with_the_least_held_out_loss():
    case = labelled_case(16, n_prompts=20, noise=1.5)

    found = fit(case, l2=None)

    row = found.behaviors[0]
    assert sorted(row.l2_path) == pytest.approx([10.0**k for k in range(-6, 1)])
    assert row.l2 == min(row.l2_path, key=row.l2_path.get)


def test_the_error_rate_of_a_fold_is_under_the_lambda_that_other_folds_choose():
    case = labelled_case(1, n_prompts=4, n_each=6, noise=1.5)
    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    prompts = np.array([case.rows[a]["prompt"] for a, _ in pairs])

    row = fit(case, l2=None, n_folds=2).behaviors[0]

    def hold_out(held, l2):
        kept = [one for one in case.rows if one["prompt"] in prompts[~held]]
        w = weights_of(fit(dataclasses.replace(case, rows=kept), l2=l2))
        return 1 - c[held] + d[held] @ w, np.maximum(c - d @ w, 0)[held].sum() / len(c)

    l2s = sorted(row.l2_path, reverse=True)
    first, *others = sorted(set(prompts))
    for partner in others:  # four prompts make two folds in three ways: the losses say which
        in_one = np.isin(prompts, [first, partner])
        one, two = ([hold_out(held, l2) for l2 in l2s] for held in (in_one, ~in_one))
        losses = np.array([[loss for _, loss in fold] for fold in (one, two)])
        if losses.sum(axis=0) == pytest.approx([row.l2_path[l2] for l2 in l2s], abs=1e-5):
            break
    least_of_one, least_of_two = losses.argmin(axis=1)
    gains = np.concatenate([one[least_of_two][0], two[least_of_one][0]])
    least = losses.sum(axis=0).argmin()
    flattering = np.concatenate([one[least][0], two[least][0]])
    assert row.error_rate.value == pytest.approx(oracle.error_rate(gains))
    assert row.error_rate.value > oracle.error_rate(flattering) + 0.05


def test_few_prompts_get_a_lambda_of_a_hundredth_and_a_note():
    found = fit(labelled_case(17, n_prompts=6), l2=None)

    row = found.behaviors[0]
    assert (row.l2, dict(row.l2_path)) == (0.01, {})
    assert any("too few to choose λ by cross-validation" in note for note in row.notes)


def test_one_prompt_has_no_held_out_error_rate():
    found = fit(labelled_case(18, n_prompts=1, n_each=6), n_resamples=50)

    row = found.behaviors[0]
    assert row.n_prompts == 1
    assert np.isnan(row.error_rate.value)
    assert row.error_rate_fitted >= 0


def test_behaviors_are_fitted_apart():
    answers = labelled_case(19)
    both = labelled_case(19)
    n_rows = len(both.rows)
    for place in range(n_rows):
        both.rows.append(
            both.rows[place]
            | {"id": f"i{n_rows + place}", "prompt": f"other {place // 4}", "behavior": "refuse"}
        )
    values = np.concatenate([both.judged.probabilities, 1 - both.judged.probabilities])

    one = fit(answers, n_resamples=50)
    two = fit(both, judged=judged_of(values), n_resamples=50)

    assert [row.behavior for row in two.behaviors] == ["answer", "refuse"]
    assert repr(one.behaviors[0]) == repr(two.behaviors[0])
    assert repr(one.behaviors[0].weights) == repr(two.behaviors[0].weights)


# What is compared ---------------------------------------------------------------------------------


def test_classes_stand_in_for_labels():
    case = labelled_case(20, n_prompts=30)

    found = fit(case, from_classes=True, orders={}, l2=0.05)

    # `ideal` is useful and not rude, both from .5 on.
    values = case.judged.probabilities
    ideal = (values[:, 1] >= 0.5) & (values[:, 2] < 0.5)
    expected = sum(
        case.rows[a]["prompt"] == case.rows[b]["prompt"] and ideal[a] and not ideal[b]
        for a in range(len(case.rows))
        for b in range(len(case.rows))
    )
    assert found.behaviors[0].n_pairs == expected
    assert found.model.settings["from_classes"]


def test_declared_pairs_are_enough():
    rows = [
        {
            "prompt": f"prompt {k}",
            "chosen": f"good {k}",
            "rejected": f"bad {k}",
            "behavior": "answer",
            "margin": 2.0,
        }
        for k in range(4)
    ]
    data = read_comparisons(rows)
    values = [
        [0.5, 1, 0, 0.5] if "good" in item.response else [0.5, 0, 0, 0.5] for item in data.items
    ]
    judged = dataclasses.replace(judged_of(values), items=tuple(item.id for item in data.items))
    case = dataclasses.replace(labelled_case(0), rows=data, judged=judged)

    found = fit(case, l2=0.12, orders={})

    # As by hand with margin 2: twice the weights; the best class is `ideal`, which they are of.
    assert weights_of(found) == pytest.approx([0, 2 / 3, 0, 0, 2 / 3, -2 / 3], abs=1e-6)
    assert found.model.behaviors["answer"].mean_ideal == pytest.approx(4 / 3, abs=1e-6)


def test_an_order_can_be_turned_around():
    case = labelled_case(21)

    up = fit(case)
    down = fit(case, orders={"answer": "poor > less_good > ideal"})

    assert weights_of(down) == pytest.approx(-weights_of(up), abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"orders": {"answeer": "a > b"}}, "`orders` must name behaviors .*Did you mean `answer`"),
        ({"margins": {"idael": 2}}, "`margins` must name labels of the orders.*`ideal`"),
        ({"ignored": ["polit"]}, "Did you mean `polite`"),
        ({"use_base": True}, "`use_base` must be false for comparisons, got true"),
    ],
)
def test_a_setting_that_fits_no_data_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        fit(labelled_case(0), **settings)


def test_labels_alone_compare_nothing():
    case = labelled_case(0)
    for row in case.rows:
        row["label"] = "ideal"

    with pytest.raises(NoDataError, match="all of its completions have the label 'ideal'"):
        fit(case)


def test_behaviors_without_comparisons_are_said():
    found = fit(labelled_case(0))

    assert found.notes[0] == "behavior refuse gets no weights: no completion is of it"


def test_a_judge_that_says_the_same_of_everything_leaves_every_weight_at_zero():
    case = labelled_case(26)
    judged = judged_of(np.full_like(case.judged.probabilities, 0.3))

    found = fit(case, judged=judged, l2=None, n_resamples=50)

    row = found.behaviors[0]
    assert {each.origin for each in row.weights} == {"undetermined"}
    assert weights_of(found).tolist() == [0.0] * 6
    assert row.objective == pytest.approx(1.0)  # every comparison falls short by its margin
    assert [row.error_rate.value, row.error_rate_fitted] == pytest.approx([0.5, 0.5])
    assert not any("apart" in note for note in found.notes)
    assert "no comparison depends on polite, useful" in " ".join(row.notes)


@pytest.mark.ci
def test_the_order_of_the_rows_changes_neither_the_hash_nor_a_figure():
    case = labelled_case(5, n_prompts=20, base=True)
    turned = dataclasses.replace(case, rows=case.rows[::-1])

    found, again = (fit(each, l2=None, n_resamples=50) for each in (case, turned))

    row, other = found.behaviors[0], again.behaviors[0]
    assert found.model.data_hash == again.model.data_hash
    assert row.l2 == other.l2
    assert row.l2_path == pytest.approx(other.l2_path)
    assert row.error_rate.value == pytest.approx(other.error_rate.value)
    for one, same in zip(row.weights, other.weights, strict=True):
        assert dataclasses.astuple(one.weight) == pytest.approx(
            dataclasses.astuple(same.weight), abs=1e-5
        )


def test_base_rewards_far_beyond_the_margin_are_said():
    case = labelled_case(22, base=True)
    for row in case.rows:
        row["base_reward"] *= 100

    found = fit(case)

    pairs = oracle.pairs_of(case.rows)
    apart = np.mean(
        [abs(case.rows[a]["base_reward"] - case.rows[b]["base_reward"]) for a, b in pairs]
    )
    said = f"on average, {apart:.0f} times the margin"
    assert any(said in note for note in found.behaviors[0].notes)
    ignored = fit(case, use_base=False)
    assert not any("times the margin" in note for note in ignored.behaviors[0].notes)
    assert np.isnan(ignored.behaviors[0].error_rate_base.value)


def test_classes_whose_order_nobody_declared_are_not_guessed():
    rubric = dataclasses.replace(
        RUBRIC,
        behaviors=tuple(
            dataclasses.replace(
                row,
                classes=tuple(
                    dataclasses.replace(one, name=name)
                    for one, name in zip(row.classes, ("blue", "red"), strict=True)
                ),
            )
            for row in RUBRIC.behaviors
        ),
    )
    case = labelled_case(23)

    with pytest.raises(InputError, match="`orders` must say which classes of 'answer' are better"):
        fit(case, rubric=rubric, orders={})
    found = fit(case, rubric=rubric, orders={"answer": ORDER["*"]})

    assert found.model.settings["orders"] == {"answer": ORDER["*"]}


def test_behaviors_whose_weights_are_not_told_apart_are_named_in_one_note():
    values = labelled_case(24).judged.probabilities.copy()
    values[:, 2] = 0  # ideal is `useful and not rude`, or `polite and not rude`

    found = fit(two_behaviors(), judged=judged_of(values))
    held = fit(two_behaviors(), judged=judged_of(values), fixed={"useful": 1, "polite": 1})

    [said] = [note for note in found.notes if "apart" in note]
    assert said.endswith("in answer, refuse")
    assert not [note for note in held.notes if "apart" in note]


# Features by name ---------------------------------------------------------------------------------


def two_behaviors():
    case = labelled_case(24)
    for place, row in enumerate(case.rows):
        row["behavior"] = ("answer", "refuse")[place // 4 % 2]
    return case


def given_weights(**settings):
    model = fit(two_behaviors(), **settings).model
    return {name: dict(row.weights) for name, row in model.behaviors.items()}


def test_a_feature_is_named_in_all_behaviors_and_in_one():
    found = given_weights(
        fixed={"rude": -2, "ideal": 1, "refuse.ideal": 2, "answer:polite": 3}, ignored=["polite"]
    )

    assert list(found["answer"]) == [
        "polite", "useful", "rude", "long", "answer.ideal", "answer.poor",
    ]  # fmt: skip
    assert (found["answer"]["rude"], found["refuse"]["rude"]) == (-2, -2)
    assert (found["answer"]["answer.ideal"], found["refuse"]["refuse.ideal"]) == (1, 2)
    assert (found["answer"]["polite"], found["refuse"]["polite"]) == (3, 0)


def test_where_nobody_has_said_which_class_is_best_signs_of_the_rubric_leave_classes_free():
    text = rubric_to_yaml(RUBRIC).replace("ideal:", "fine:")
    case = labelled_case(8)

    found = fit(case, rubric=rubric_from_text(text), signs="rubric", l2=0, orders=AGAINST)

    weights = found.model.behaviors["answer"].weights
    assert weights["answer.fine"] < -0.01
    assert weights["answer.poor"] > 0.01
    assert against_demands(found.model) == ["answer.poor"]


def test_a_sign_may_hold_in_one_behavior_only():
    free = given_weights()
    turned = {"polite": "negative" if free["answer"]["polite"] > 0 else "positive"}
    kept = {"refuse:polite": "positive" if free["refuse"]["polite"] > 0 else "negative"}

    found = given_weights(signs=turned | kept)

    assert found["answer"]["polite"] == pytest.approx(0, abs=1e-6)
    assert found["refuse"]["polite"] == pytest.approx(free["refuse"]["polite"], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("polit", "`polite`"),
        ("answer.idael", "`answer.ideal`"),
        ("refuse:polit_e", ""),
        ("refuse:useful", ""),  # the behavior says nothing of it
    ],
)
def test_an_unknown_feature_is_refused_with_the_nearest(name, hint):
    with pytest.raises(InputError, match=f"got '{name}'.*{hint}"):
        fit(two_behaviors(), ignored=[name])
