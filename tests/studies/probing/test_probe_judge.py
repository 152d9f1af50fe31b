"""What is asked of a judge, and what is found beside the probes of items."""

import json
from collections import Counter

import msgspec
import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact

from asked_models import Asked, shown_item
from servers.faulty import faulty_server  # noqa: F401  # a fixture
from studies.probing.constructed import RUBRIC_TEXT, Constructed, make_items
from voirdire.errors import CostLimitReachedError, InputError, NoDataError
from voirdire.judging import JuryJudge, LlmJudge, Price
from voirdire.models import load_model
from voirdire.records import Item, Message, as_plain
from voirdire.rubrics import rubric_from_text
from voirdire.studies import ProbeSettings, estimate_probing, probe_judge
from voirdire.testing import ScriptedModel

RUBRIC = rubric_from_text(RUBRIC_TEXT)
PAIRS = rubric_from_text(
    """
schema: voirdire.rubric/1
name: pairs
version: "1"
questions:
  - {id: better, kind: pairwise, text: "Which response is better?"}
"""
)


def settings(*only, **more):
    return ProbeSettings(only=only, n_items=None, n_swaps=999, **more)


def pair_items(n_items):
    return [
        Item(
            id=f"p{number}",
            prompt=(Message(role="user", content="Which one?"),),
            response=f"The first answer number {number}.",
            other=f"The second answer number {number}.",
        )
        for number in range(n_items)
    ]


def judge_of(answer, **more):
    asked = Asked(answer)
    return LlmJudge(model=asked.model, **more), asked


# Position -------------------------------------------------------------------------------------


def preferring(share_first):
    """Takes the response that is shown first for so many of the pairs, else the one named first."""

    def answer(shown):
        number = int("".join(filter(str.isdigit, shown["response_a"])))
        if number % 10 < 10 * share_first:
            return {"better": "A"}
        return {"better": "A" if "first" in shown["response_a"] else "B"}

    return answer


@pytest.mark.edges
@pytest.mark.parametrize(("share", "shift"), [(0.0, 0.0), (0.3, 0.3), (1.0, 1.0)])
def test_primacy_is_the_share_of_pairs_judged_by_their_place(share, shift):
    judge, _ = judge_of(preferring(share))

    report = probe_judge(
        pair_items(40), judge, rubric=PAIRS, settings=settings("position"), store=False
    )

    [found] = report.probes
    assert found.shift == pytest.approx(shift)
    assert found.is_found == (share > 0)
    change = found.questions[0].change
    # A judge that goes by place changes its choice whenever the order changes.
    assert change.flip_rate.estimate == pytest.approx(share)


def test_recency_has_the_other_sign():
    judge, _ = judge_of(lambda shown: {"better": "B"})

    report = probe_judge(
        pair_items(30), judge, rubric=PAIRS, settings=settings("position"), store=False
    )

    assert report.probes[0].shift == -1


# Prompts --------------------------------------------------------------------------------------


def by_number(shown):
    number = int("".join(filter(str.isdigit, shown["response"])) or 0)
    return dict.fromkeys(("helpful", "polite", "correct"), number % 7 / 7)


def numbered(n_items):
    return [
        Item(
            id=f"i{k}", prompt=(Message(role="user", content="Say."),), response=f"Say number {k}."
        )
        for k in range(n_items)
    ]


def test_other_prompts_are_compared_with_the_usual_one():
    def answer(request):
        item = shown_item(request)
        found = by_number(item)
        keys = json.loads(request.schema)["properties"]
        if request.messages[0].content.startswith("你"):  # it is another judge in Chinese
            found = {name: 1 - value for name, value in found.items()}
        return {key: found[key] for key in keys}

    judge = LlmJudge(model=ScriptedModel(answer))

    report = probe_judge(
        numbered(30), judge, rubric=RUBRIC, settings=settings("order", "prompt"), store=False
    )

    names = [row.probe for row in report.probes]
    orders = [f"order/questions_{number}" for number in (1, 2, 3)]
    assert names == [*orders, "prompt/single", "prompt/zh", "prompt/reworded"]
    assert [row.probe for row in report.found] in (["prompt/zh"], [])


# Beside the probes ----------------------------------------------------------------------------


def test_self_preference_is_the_ratio_of_false_positives():
    items = make_items(120)  # every other one by its own model
    truth = {item.id: int(item.id[1:]) % 3 == 0 for item in items}

    class Fond(Constructed):
        def probabilities(self, items):
            def passes(item):
                number = int(item.id.partition("+")[0][1:])
                own = item.metadata["model"] == "own"
                return truth[f"i{number}"] or number % (2 if own else 5) == number % 2 == 0

            return np.array([[0.9 if passes(item) else 0.1] * 3 for item in items])

    tied = {f"i{number}" for number in range(6, 120, 7)}  # two people who disagree settle nothing
    rows = [
        {
            "item": item,
            "question": "polite",
            "rater": rater,
            "label": label != (rater == "bob" and item in tied),
        }
        for rater in ("ann", "bob")
        for item, label in truth.items()
    ]
    report = probe_judge(
        items, Fond("fond"), rubric=RUBRIC, humans=pl.DataFrame(rows),
        settings=settings("bandwagon", author="model", own="own"),
    )  # fmt: skip

    [found] = report.self_preference
    assert report.is_biased == found.is_found == (found.p_value <= 0.05)
    failed = [item for item in items if not truth[item.id] and item.id not in tied]
    hits = Counter(
        item.metadata["model"]
        for item in failed
        if int(item.id[1:]) % (2 if item.metadata["model"] == "own" else 5)
        == int(item.id[1:]) % 2
        == 0
    )
    n_own = sum(item.metadata["model"] == "own" for item in failed)
    assert (found.question, found.n_own, found.n_others) == ("polite", n_own, len(failed) - n_own)
    assert found.own_rate.estimate == hits["own"] / n_own
    table = [[hits["own"], hits["other"]], [n_own - hits["own"], found.n_others - hits["other"]]]
    assert found.p_value == pytest.approx(fisher_exact(table).pvalue)


# What is asked --------------------------------------------------------------------------------


def test_the_estimate_is_what_is_then_called(tmp_path):
    judge, _ = judge_of(by_number)
    chosen = settings("authority", "prompt")
    store = tmp_path / "replies.sqlite"

    n_versions, estimates = estimate_probing(
        numbered(15), judge, rubric=RUBRIC, settings=chosen, store=store
    )
    report = probe_judge(numbered(15), judge, rubric=RUBRIC, settings=chosen, store=store)
    again = probe_judge(numbered(15), judge, rubric=RUBRIC, settings=chosen, store=store)

    assert n_versions == report.n_judged
    assert sum(row.n_calls for row in estimates) == sum(row.n_calls for row in report.calls)
    assert sum(row.n_calls for row in again.calls) == 0
    assert as_plain(again.probes) == as_plain(report.probes)


@pytest.mark.ci
def test_a_limit_of_cost_holds_for_all_prompts_together(faulty_server, monkeypatch):  # noqa: F811
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    faulty_server.answer = lambda item, key, form: 0.3

    def probed(**limits):
        judge = LlmJudge(
            model=load_model("openai/test", base_url=faulty_server.url),
            probability="stated",
            price=Price(input=1.0, output=1.0),
            concurrency=1,
            **limits,
        )
        return probe_judge(
            numbered(8), judge, rubric=RUBRIC, settings=settings("order", "prompt"), store=False
        )

    costs = [row.cost for row in probed().calls]

    assert len(costs) == 8
    with pytest.raises(CostLimitReachedError):
        probed(max_cost=1.2 * max(costs))  # enough for any one prompt, and not for all
    probed(max_cost=1.2 * sum(costs))


def test_repeats_are_asked_anew_and_the_rest_once():
    judge, asked = judge_of(by_number)

    probe_judge(
        numbered(6), judge, rubric=RUBRIC, settings=settings("bandwagon", n_runs=3), store=False
    )

    plain = [
        n for text, n in asked.seen.items() if text.startswith("Say number") and "\n" not in text
    ]
    assert plain == [3] * 6
    assert {n for text, n in asked.seen.items() if "\n" in text} == {1}


def test_a_jury_is_probed_as_one_judge():
    one, two = judge_of(by_number, name="one")[0], judge_of(by_number, name="two")[0]

    report = probe_judge(
        numbered(12), JuryJudge(judges=(one, two)), rubric=RUBRIC,
        settings=settings("bandwagon", "prompt"), store=False,
    )  # fmt: skip

    assert report.judge == "one & two"
    assert [row.probe for row in report.probes] == ["bandwagon/majority"]


def test_judges_of_a_jury_that_are_files_are_asked_anew_too(faulty_server, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    faulty_server.answer = lambda item, key, form: 0.3
    cascade = tmp_path / "cascade.yaml"
    cascade.write_text(
        "schema: voirdire.cascade/1\ncascade:\n  first: local\n  then: {model: openai/test, "
        f"base_url: '{faulty_server.url}', probability: stated}}\n  unsure: [0, 1]\n"
    )
    jury = JuryJudge(judges=(cascade, "local"))

    report = probe_judge(
        make_items(4), jury, settings=settings("bandwagon"), store=tmp_path / "replies.sqlite"
    )

    items, repeat = report.calls
    assert (items.n_calls, repeat.n_calls) == (4 * 5, 4)


def test_items_are_drawn_with_the_seed():
    judge = Constructed("judge", noise=0.0)
    ids = [
        tuple(
            probe_judge(
                make_items(50), judge, rubric=RUBRIC,
                settings=ProbeSettings(only=["bandwagon"], n_items=10, seed=seed, n_swaps=99),
            ).probes[0].questions[0].change.n_items
            for _ in range(1)
        )
        for seed in (0, 1)
    ]  # fmt: skip

    assert ids == [(10,), (10,)]


def test_items_called_as_versions_are_refused():
    one, two = make_items(2)
    version = msgspec.structs.replace(two, id=f"{one.id}+bandwagon/majority")

    with pytest.raises(InputError, match="must not have ids of versions"):
        probe_judge([one, two, version], Constructed("judge"), rubric=RUBRIC)


def test_labels_on_other_items_are_refused_before_anything_is_asked():
    judge, asked = judge_of(by_number)
    labels = pl.DataFrame(
        [{"item": "nobody", "question": "polite", "rater": x, "label": True} for x in "ab"]
    )

    with pytest.raises(InputError, match="on the items that are probed"):
        probe_judge(
            [msgspec.structs.replace(x, metadata={"by": "me"}) for x in numbered(5)], judge,
            rubric=RUBRIC, settings=settings("prompt", author="by", own="me"), humans=labels,
            store=False,
        )  # fmt: skip

    assert not asked.seen


@pytest.mark.edges
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"only": ["verbostiy"]}, "got 'verbostiy'. Perhaps 'verbosity' is meant"),
        ({"n_items": 1}, "n_items"),
        ({"author": "model"}, "must be given together"),
        ({"least_effect": 1.0}, "least_effect"),
        ({"without": ["bandwagon"]}, "must leave at least one probe"),
        ({"only": ["position"]}, "must leave at least one probe"),
        ({"author": "model", "own": "nobody"}, "which no item has"),
        ({"author": "model", "own": "own"}, "`humans` must be given"),
    ],
)
def test_what_cannot_be_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        probe_judge(
            make_items(5), Constructed("judge"), rubric=RUBRIC,
            settings=ProbeSettings(**{"only": ["bandwagon"]} | more),
        )  # fmt: skip


def test_labels_without_a_column_of_authors_are_refused():
    labels = pl.DataFrame([{"item": "i0", "question": "polite", "rater": "ann", "label": True}])

    with pytest.raises(InputError, match="`humans` must come with `author` and `own`"):
        probe_judge(make_items(5), Constructed("judge"), rubric=RUBRIC, humans=labels)


def test_one_item_is_too_few():
    with pytest.raises(NoDataError, match="at least two items"):
        probe_judge(make_items(1), Constructed("judge"), rubric=RUBRIC)
