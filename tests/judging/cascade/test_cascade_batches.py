"""Verdicts of a cascade against both judges alone, item by item; what is paid for once."""

import itertools
import json
import re
import threading

import numpy as np
import polars as pl
import pytest

from asked_models import shown_item
from judging.cascade.cascade_cases import first_says, is_between, made_items, then_says
from voirdire.errors import CostLimitReachedError, InputError, RefusalError
from voirdire.io import read_verdicts
from voirdire.judging import (
    LlmJudge,
    Price,
    ScriptedJudge,
    judge,
    judge_file,
    judge_items,
)
from voirdire.records import Item, Reply, Usage
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import rubric_from_text
from voirdire.store import open_store
from voirdire.testing import ScriptedModel

PRICE = Price(input=1.0, output=1.0)
WHO = ["judge", "fingerprint"]


def test_a_small_cascade_worked_out_by_hand(cascades, rubric):
    answers = {"0.5 0.01 b": (0.9, 0.2), "0.01 0.06 d": (0.3, 0.4), "nan 0.01 e": (0.7, 0.1)}
    cascades.says = lambda response: dict(zip(("sorry", "rude"), answers[response], strict=True))
    responses = ["0.99 0.01 a", "0.5 0.01 b", "0.05 0.95 c", "0.01 0.06 d", "nan 0.01 e"]
    items = [Item(id=text[-1], response=text, behavior="chat") for text in responses]

    frame = judge(items, rubric=rubric, judge=cascades.cascade(name="both")).frame()

    asked = frame.filter(pl.col("source") != "derived")
    told = asked.select("item", "question", "probability", "source").rows()
    assert told == [
        ("a", "sorry", 0.99, "classifier"),
        ("a", "rude", 0.01, "classifier"),
        ("b", "sorry", pytest.approx(0.9), "logprob"),
        ("b", "rude", pytest.approx(0.2), "logprob"),
        ("c", "sorry", 0.05, "classifier"),
        ("c", "rude", 0.95, "classifier"),
        ("d", "sorry", pytest.approx(0.3), "logprob"),
        ("d", "rude", pytest.approx(0.4), "logprob"),
        ("e", "sorry", pytest.approx(0.7), "logprob"),
        ("e", "rude", pytest.approx(0.1), "logprob"),
    ]
    # chat.good is `not rude`, with the probability of whoever answered
    good = frame.filter(pl.col("question") == "chat.good")["probability"].to_list()
    assert good == pytest.approx([0.99, 0.8, 0.05, 0.6, 0.9])
    assert frame["judge"].unique().to_list() == ["both"]
    assert frame["fingerprint"].n_unique() == 1


@pytest.mark.edges
@pytest.mark.parametrize(("n_items", "share_sure"), [(1, 0.5), (499, 0.5), (6_100, 0.9)])
def test_every_row_is_one_judges_and_in_its_place(cascades, rubric, n_items, share_sure):
    items = made_items(n_items, share_sure=share_sure)

    verdicts = judge(items, rubric=rubric, judge=cascades.cascade())

    expected = [
        list(then_says(item.response).values())
        if is_between(item.response)
        else first_says(item.response)
        for item in items
    ]
    found = np.column_stack([verdicts.probability(name) for name in ("sorry", "rude")])
    assert verdicts.items == tuple(item.id for item in items)
    assert found == pytest.approx(np.array(expected), abs=1e-9)
    unsure = {item.response for item in items if is_between(item.response)}
    assert set(cascades.asked.seen) == unsure
    assert cascades.n_asked == len(unsure)  # equal items are called about once
    n_kept = sum(not is_between(item.response) for item in items)
    assert verdicts.calls.n_kept == n_kept


def test_where_nothing_goes_on_it_is_the_first_judge(cascades, rubric):
    items = made_items(1_200)

    found = judge(items, rubric=rubric, judge=cascades.cascade((0, 0)))

    alone = judge(items, rubric=rubric, judge=cascades.first()).frame()
    assert found.frame().select(alone.columns).drop(WHO).equals(alone.drop(WHO))
    wide = found.frame("wide")
    assert wide["answered_by"].unique().to_list() == ["quick"]
    assert wide.drop([*WHO, "answered_by"]).equals(
        judge(items, rubric=rubric, judge=cascades.first()).frame("wide").drop(WHO)
    )
    assert cascades.n_asked == 0
    assert found.calls.n_calls == 0
    assert found.calls.n_kept == 1_200


def refuses_seven(response):
    return RefusalError("no") if "7" in response else then_says(response)


def test_the_wide_table_says_who_answered_a_call_that_failed_included(cascades, rubric):
    cascades.says = refuses_seven
    items = made_items(700)

    found = judge(items, rubric=rubric, judge=cascades.cascade()).frame("wide")

    expected = ["scripted" if is_between(item.response) else "quick" for item in items]
    assert found["answered_by"].to_list() == expected
    assert found.filter(pl.col("sorry").is_null())["answered_by"].unique().to_list() == ["scripted"]
    assert found.columns[-3:] == ["answered_by", "judge", "fingerprint"]


def test_judges_of_one_name_are_told_apart(cascades, rubric):
    first = cascades.first(name="scripted")
    items = [Item(id="a", response="0.5 0.5 a"), Item(id="b", response="0.0 1.0 b")]

    found = judge(items, rubric=rubric, judge=cascades.cascade(first=first)).frame("wide")

    assert found["answered_by"].to_list() == ["scripted (then)", "scripted (first)"]


def test_a_judge_alone_has_no_such_column(cascades, rubric):
    items = made_items(5)

    frames = [
        judge(items, rubric=rubric, judge=one).frame("wide")
        for one in (cascades.first(), cascades.then())
    ]

    assert {tuple(frame.columns[-2:]) for frame in frames} == {("judge", "fingerprint")}
    assert not any("answered_by" in frame.columns for frame in frames)


@pytest.mark.edges
@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_a_wide_file_says_who_answered_and_is_read_as_before(cascades, rubric, tmp_path, suffix):
    rows = [
        {"id": f"i{number}", "response": item.response, "behavior": "refuse"}
        for number, item in enumerate(made_items(300))
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = tmp_path / f"out.{suffix}"

    judge_file(
        tmp_path / "items.jsonl", output, rubric=rubric, judge=cascades.cascade(), layout="wide"
    )

    frame = {"parquet": pl.read_parquet, "jsonl": pl.read_ndjson, "csv": pl.read_csv}[suffix](
        output
    )
    expected = ["scripted" if is_between(row["response"]) else "quick" for row in rows]
    assert frame["answered_by"].to_list() == expected
    without = tmp_path / f"without.{suffix}"
    write = {"parquet": "write_parquet", "jsonl": "write_ndjson", "csv": "write_csv"}[suffix]
    getattr(frame.drop("answered_by"), write)(without)  # as it was written before
    new, old = (read_verdicts(path, rubric=rubric) for path in (output, without))
    assert np.array_equal(new.probabilities, old.probabilities)
    assert (new.items, new.fingerprint) == (old.items, old.fingerprint)
    summary = judge_file(  # a file with the column is a file of verdicts, and may be replaced
        tmp_path / "items.jsonl", output, rubric=rubric, judge=cascades.cascade(), layout="wide"
    )
    assert summary.n_items == 300


def test_a_question_with_the_name_of_the_column_is_refused_for_a_cascade_only(cascades, tmp_path):
    named = rubric_from_text(
        """
schema: voirdire.rubric/1
name: named
version: "1"
questions:
  - {id: sorry, kind: boolean, text: "Does it say sorry?"}
  - {id: answered_by, kind: boolean, text: "Does it say who answers?"}
"""
    )
    questions = ("sorry", "answered_by")
    first = ScriptedJudge(questions=questions, answer=lambda item: [0.1, 0.9])
    (tmp_path / "items.jsonl").write_text('{"id": "a", "response": "x"}\n')

    judge_file(
        tmp_path / "items.jsonl", tmp_path / "a.csv", rubric=named, judge=first, layout="wide"
    )
    with pytest.raises(InputError, match="question 'answered_by' has the name of another column"):
        judge_file(
            *(tmp_path / "items.jsonl", tmp_path / "b.csv"),
            rubric=named,
            judge=cascades.cascade(first=first),
            layout="wide",
        )

    assert pl.read_csv(tmp_path / "a.csv")["answered_by"].to_list() == [0.9]


def test_where_everything_goes_on_it_is_the_second_judge(cascades, rubric):
    items = [*made_items(1_200), Item(id="zero", response="0.0 1.0 z")]
    cascades.says = lambda response: RefusalError("no") if "7" in response else then_says(response)

    found = judge(items, rubric=rubric, judge=cascades.cascade((-1, 2)))

    alone = judge(items, rubric=rubric, judge=cascades.then())
    assert found.frame().drop(WHO).equals(alone.frame().drop(WHO))
    assert found.calls.n_kept == 0
    assert found.calls.failures == alone.calls.failures
    assert alone.calls.n_kept is None


def test_a_call_that_fails_is_a_failure_and_not_the_first_judges_answer(cascades, rubric):
    cascades.says = lambda response: RefusalError("no")
    items = [Item(id="b", response="0.0 1.0 b"), Item(id="a", response="0.5 0.5 a")]

    frame = judge(items, rubric=rubric, judge=cascades.cascade()).frame()

    asked = frame.filter(pl.col("source") != "derived")
    assert asked["probability"].to_list() == [0.0, 1.0, None, None]
    assert [why is None for why in asked["failure"]] == [True, True, False, False]
    assert asked["source"].to_list() == ["classifier", "classifier", "logprob", "logprob"]


def test_what_the_first_judge_raises_ends_the_run_as_it_is(cascades, rubric):
    def answer(item):
        if item.id == "i700":
            raise ZeroDivisionError(item.id)
        return first_says(item.response)

    first = ScriptedJudge(questions=("sorry", "rude"), answer=answer)

    with pytest.raises(ZeroDivisionError, match="i700"):
        judge(made_items(1_000), rubric=rubric, judge=cascades.cascade(first=first))


def test_items_that_never_end_come_in_bounded_stretches(cascades, rubric):
    seen = itertools.count()
    n_read = 0

    def endless():
        nonlocal n_read
        for n_read in seen:
            yield Item(id=f"i{n_read}", response="0.01 0.99")  # hardly anything goes on

    batches = judge_items(endless(), cascades.cascade(), rubric=rubric)
    found = [next(batches) for _ in range(3)]
    batches.close()

    ids = [name for batch in found for name in batch.items]
    assert ids == [f"i{number}" for number in range(len(ids))]
    assert max(len(batch.items) for batch in found) <= 2_000
    assert n_read < 30_000
    assert cascades.n_asked == 0


def write(path, items):
    pl.DataFrame([{"id": row.id, "response": row.response} for row in items]).write_ndjson(path)
    return path


@pytest.mark.ci
def test_replies_serve_the_cascade_and_its_model_alone(cascades, rubric, tmp_path):
    source = write(tmp_path / "items.jsonl", made_items(300))

    judge_file(source, tmp_path / "llm.parquet", rubric=rubric, judge=cascades.then())
    n_asked = cascades.n_asked
    for unsure in ((0.05, 0.95), (0.3, 0.7)):
        run = judge_file(
            source, tmp_path / "both.parquet", rubric=rubric, judge=cascades.cascade(unsure)
        )
        assert run.calls.n_calls == 0

    assert cascades.n_asked == n_asked


@pytest.mark.ci
def test_an_interrupted_run_goes_on_and_pays_for_nothing_twice(cascades, rubric, tmp_path):
    stopping = threading.Event()
    source = write(tmp_path / "items.jsonl", made_items(3_000, seed=4))

    def says(response):
        if len(cascades.asked.seen) > 150:
            stopping.set()
        return then_says(response)

    cascades.says = says
    settings = {"rubric": rubric, "judge": cascades.cascade()}
    with pytest.raises(KeyboardInterrupt):
        judge_file(source, tmp_path / "out.jsonl", stopping=stopping, **settings)
    n_before = cascades.n_asked
    run = judge_file(source, tmp_path / "out.jsonl", **settings)

    assert 150 < n_before < n_before + run.calls.n_calls
    assert max(cascades.asked.seen.values()) == 1
    assert run.n_items == 3_000


def test_the_limit_of_cost_is_one_of_what_goes_on(rubric, cascades, tmp_path):
    source = write(tmp_path / "items.jsonl", made_items(400))
    served = []

    def reply(request):
        response = shown_item(request)["response"]
        served.append(response)
        return Reply(text=json.dumps(then_says(response)), usage=Usage(1_000, 0))

    def both(max_cost):
        limits = {"concurrency": 1, "max_cost": max_cost}
        then = LlmJudge(model=ScriptedModel(reply), probability="stated", price=PRICE, **limits)
        return cascades.cascade(then=then)

    unsure = {row.response for row in made_items(400) if is_between(row.response)}
    with pytest.raises(CostLimitReachedError) as raised:
        judge_file(source, tmp_path / "out.parquet", rubric=rubric, judge=both(0.050))
    n_done = int(re.search(r"(\d+) items are done", str(raised.value))[1])
    n_before = len(served)
    run = judge_file(source, tmp_path / "out.parquet", rubric=rubric, judge=both(None))

    assert 40 <= n_before <= 51  # a call costs a thousandth of a dollar
    assert n_done >= n_before + 200  # those of the first judge are
    assert sorted(served) == sorted(unsure)
    assert run.calls.cost == pytest.approx(0.001 * (len(unsure) - n_before))


@pytest.mark.ci
def test_progress_counts_the_items_of_both_judges(cascades, rubric, tmp_path):
    source = write(tmp_path / "items.jsonl", made_items(1_500))
    states = []

    judge_file(
        source,
        tmp_path / "out.parquet",
        rubric=rubric,
        judge=cascades.cascade(),
        progress=states.append,
    )

    told = [state for state in states if state.calls is not None]
    assert told[-1].calls.n_answered == 1_500
    assert told[-1].n_items == 1_500
    assert all(a.n_items <= b.n_items for a, b in itertools.pairwise(told))


@pytest.mark.ci
def test_rewards_read_the_same_verdicts(cascades, rubric, tmp_path):
    items = made_items(700)
    reward = reward_of_weights({"refuse": {"good": 1.0}}, rubric=rubric)
    store_of_replies = tmp_path / "replies.sqlite"

    reward.score(items, judge=cascades.cascade(), store=store_of_replies)
    n_asked = cascades.n_asked
    verdicts = judge(items, rubric=rubric, judge=cascades.cascade(), store=store_of_replies)

    assert cascades.n_asked == n_asked == verdicts.calls.n_reused > 0
    with open_store(store_of_replies) as store:
        (row,) = store.judges()  # the language model, whoever asked it
        assert sum(1 for _ in store.scan(row.id)) == n_asked
