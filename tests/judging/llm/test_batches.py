"""A file is judged through a batch endpoint: nothing is lost, and nothing submitted twice."""

import json
import re
from collections import Counter

import polars as pl
import pytest

from judging.llm.counted_runs import RUBRIC, expected_verdicts, item_line, probability, write_items
from servers.batches import name_of, running_batch_server
from voirdire.errors import CostLimitReachedError, InputError, ServerError
from voirdire.judging import LlmJudge, Price, judge_by_batches, judge_file
from voirdire.rubrics import rubric_from_text

TINY = rubric_from_text(RUBRIC)
PRICE = Price(input=1.0, output=2.0)
A_CALL = (100 * 1.0 + 10 * 2.0) / 1e6
"""What the server says that a call took, at this price."""


@pytest.fixture
def server():
    with running_batch_server() as made:
        made.reply = lambda body: json.dumps(
            {key: probability(name_of(body), key)
             for key in ("sorry", "rude")}
        )  # fmt: skip
        yield made


@pytest.fixture
def run(tmp_path, server):
    """Give what goes on with a run over 60 items."""
    items = write_items(tmp_path / "items.jsonl", 60)

    def go_on(*, source=items, folder="batch", **about):
        settings = {key: about.pop(key) for key in ("max_cost", "probability") if key in about}
        judge = LlmJudge(model="openai/test", base_url=server.url, price=PRICE,
                         **{"probability": "stated", **settings})  # fmt: skip
        out = tmp_path / "out.parquet"
        return judge_by_batches(
            source, out, folder=tmp_path / folder, judge=judge, rubric=TINY, **about
        )

    return go_on


def finish(run, **about):
    """Run the same command until the verdicts are written."""
    for _ in range(30):
        found = run(**about)
        if found.judged is not None:
            return found
    raise AssertionError("it did not end")


def verdicts(path):
    return pl.read_parquet(path).pivot(
        "question", index="item", values="probability", maintain_order=True
    )


def test_a_run_by_batches_writes_what_a_live_run_does_at_half_the_price(tmp_path, run, server):
    first = run()
    second = run()
    found = finish(run)

    assert (first.n_waiting, first.cost) == (40, pytest.approx(40 * A_CALL / 2))
    assert [row.status for row in (*first.batches, *second.batches)] == [
        "validating",
        "in_progress",
    ]
    assert server.live == Counter({f"item-{n}": 1 for n in range(20)})  # the pilot
    assert server.batched == Counter({f"item-{n}": 1 for n in range(20, 60)})
    assert verdicts(tmp_path / "out.parquet").equals(expected_verdicts(60))
    assert (found.judged.n_items, found.judged.calls.n_calls) == (60, 0)
    assert found.judged.calls.cost == pytest.approx(20 * A_CALL + 40 * A_CALL / 2)
    assert [row.status for row in found.batches] == ["taken"]
    assert (len(server.batches), server.n_uploads) == (1, 1)
    assert run().judged.calls.n_calls == 0


def test_a_pilot_that_leaves_nothing_is_in_the_summary_with_what_it_cost(tmp_path, run):
    found = run(source=write_items(tmp_path / "few.jsonl", 5))

    assert found.batches == ()
    assert found.judged.calls.cost == pytest.approx(5 * A_CALL)


def test_the_bodies_are_those_of_the_live_client(tmp_path, run, server):
    run()
    lines = (tmp_path / "batch" / "requests-0001.jsonl").read_text().splitlines()
    judge = LlmJudge(model="openai/test", base_url=server.url, probability="stated")
    server.live_bodies.clear()
    judge_file(tmp_path / "items.jsonl", tmp_path / "live.parquet", judge=judge, rubric=TINY,
               store=False)  # fmt: skip

    def without_fence(body):
        text = json.dumps(body)
        nonce = re.search(r"\b[0-9a-f]{16}\b", text)
        return text if nonce is None else text.replace(nonce[0], "NONCE")

    live = {name_of(b): without_fence(b) for b in server.live_bodies}
    assert len(lines) == 40
    for line in lines:
        request = json.loads(line)
        body = request.pop("body")
        assert request == {
            "custom_id": request["custom_id"], "method": "POST", "url": "/v1/chat/completions"
        }  # fmt: skip
        assert re.fullmatch("[0-9a-f]{40}", request["custom_id"])
        assert without_fence(body) == live[name_of(body)]


def test_what_expired_or_met_a_limit_is_asked_again_and_what_failed_is_a_failure(
    tmp_path, run, server
):
    fates = {25: "expired", 30: "busy", 35: "bad", 40: "unreadable", 45: "twice", 50: "expired"}

    def fate(text, n_before):
        number = int(text.partition("-")[2])
        return fates.get(number, "ok") if not n_before else "ok"

    server.fate = fate
    found = finish(run)

    failed = verdicts(tmp_path / "out.parquet").filter(pl.col("sorry").is_null())["item"].to_list()
    assert failed == ["item-35"]
    assert len(found.batches) == 1  # what was left were few, and the next pilot asked for them
    again = server.live - Counter({f"item-{n}": 1 for n in range(20)})
    assert again == Counter({f"item-{n}": 1 for n in (25, 30, 40, 50)})


def test_many_that_are_missing_are_a_next_batch_or_asked_live(tmp_path, run, server):
    server.fate = lambda text, n_before: "ok" if n_before else "expired"

    found = finish(run)

    assert [row.n_requests for row in found.batches] == [40, 20]
    assert sum(server.live.values()) == 40
    assert verdicts(tmp_path / "out.parquet").equals(expected_verdicts(60))
    server.live.clear()
    (tmp_path / "more.jsonl").write_text("".join(map(item_line, range(60, 100))))
    found = run(source=tmp_path / "more.jsonl", folder="other", live=True)
    assert (found.judged.n_items, sum(server.live.values())) == (40, 40)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_run_that_breaks_off_around_a_submission_submits_nothing_twice(run, server, moment):
    server.breaks = moment
    with pytest.raises(ServerError, match="connection"):
        run()
    found = finish(run)

    assert found.judged.n_items == 60
    assert len(server.batches) == 1
    assert server.batched == Counter({f"item-{n}": 1 for n in range(20, 60)})


def test_without_a_batch_endpoint_the_requests_are_for_another_program(tmp_path, run, server):
    server.has_batches = False
    found = run()
    assert [row.status for row in found.batches] == ["local"]
    assert run().n_waiting == 40

    lines = (tmp_path / "batch" / "requests-0001.jsonl").read_text().splitlines()
    rows = [
        {"id": "v", "custom_id": row["custom_id"], "error": None,
         "response": {"status_code": 200, "body": server.completion(row["body"])}}
        for row in map(json.loads, lines)
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "batch" / "outputs-0001.jsonl").write_text(text)

    assert run().judged.n_items == 60
    assert verdicts(tmp_path / "out.parquet").equals(expected_verdicts(60))


def test_a_batch_that_is_refused_takes_no_other_with_it(tmp_path, run, server, monkeypatch):
    monkeypatch.setattr("voirdire.judging.batch_run._MOST_REQUESTS", 20)
    monkeypatch.setattr("voirdire.judging.batch_run._PILOT_ITEMS", 10)
    run()
    server.batches[0] |= {"status": "failed", "errors": {"data": [{"message": "too long"}]}}
    with pytest.raises(ServerError, match=r"0001.*refused the batch: too long\. Its file"):
        run()
    found = finish(run)

    assert [row.path.stem[-4:] for row in found.batches] == ["0002", "0003", "0004"]
    assert [row.n_requests for row in found.batches] == [20, 10, 10]
    assert Counter({f"item-{n}": 1 for n in range(60)}) == server.live + server.batched


def change_results(server, change):
    """Let the server change the rows of results."""
    keep = server.keep

    def changed(text):
        rows = [json.loads(line) for line in text.splitlines()]
        if "response" not in rows[0]:  # requests
            return keep(text)
        server.keep = keep
        return keep("\n\n".join(json.dumps(row) for row in change(rows)))

    server.keep = changed


BODIES = [None, [], "x", 7, {}, {"choices": None}, {"choices": [{"message": {"content": None}}]}]


def test_whatever_results_hold_each_item_is_answered_or_a_failure(tmp_path, run, server):
    def change(rows):
        for row, body in zip(rows, BODIES, strict=False):
            row["response"]["body"] = body
        for row, status in zip(rows[7:], (10**30, -1, "200", None), strict=False):
            row["response"]["status_code"] = status
        rows[11] |= {"response": None, "error": "boom"}
        return [*rows, {"custom_id": "no hash"}, {"custom_id": 7}, [], None]

    change_results(server, change)
    assert finish(run).judged.n_items == 60
    read = pl.read_parquet(tmp_path / "out.parquet")
    wrong = read.filter(pl.col("failure").is_null()).join(
        expected_verdicts(60).unpivot(index="item", variable_name="question"),
        on=["item", "question"],
    ).filter(pl.col("probability") != pl.col("value"))  # fmt: skip
    assert (read.height, wrong.height) == (120, 0)


def test_odd_names_endless_lists_and_results_that_are_none(tmp_path, run, server):
    keep = server.keep
    server.has_more = True
    server.batches += [{"id": "old", "metadata": "none"}, 7]
    run()
    del server.batches[:2]
    server.has_more = False

    def keep_elsewhere(text):
        server.files["../x y?\r\nz#/"] = text
        return "../x y?\r\nz#/"

    server.keep = lambda text: keep("<html>Try again later.</html>")
    with pytest.raises(ServerError, match="sent what are no results: <html>Try again"):
        finish(run)
    assert not list((tmp_path / "batch").glob("outputs-*"))
    server.batches[0] |= {"status": "finalizing", "output_file_id": None}
    server.batched.clear()
    server.keep = keep_elsewhere
    assert finish(run).judged.n_items == 60
    assert verdicts(tmp_path / "out.parquet").equals(expected_verdicts(60))


def test_a_state_that_is_damaged_and_a_batch_that_is_gone_submit_nothing(tmp_path, run, server):
    run()
    server.has_batches = False
    with pytest.raises(ServerError, match="the server knows its batch batch-0 no more"):
        run()
    server.has_batches = True
    state = tmp_path / "batch" / "requests-0001.json"
    whole = state.read_bytes()
    for damaged in (b"", whole[:40], b"\xff\x00", b"{}", b"[]"):
        state.write_bytes(damaged)
        with pytest.raises(InputError, match="a batch of it may be under way"):
            run()
    state.write_bytes(whole)
    assert finish(run).judged.n_items == 60
    assert len(server.batches) == 1


def test_a_cancelled_batch_keeps_what_is_done(run, server):
    run()
    found = run(cancel=True)
    assert server.batches[0]["status"] == "cancelling"
    assert found.judged is None

    assert finish(run).judged.n_items == 60


def test_it_costs_no_more_than_it_may(tmp_path, run, server):
    with pytest.raises(CostLimitReachedError, match=r"\$0\.0024 beside \$0\.0024 that are spent"):
        run(max_cost=39 * A_CALL)

    assert (server.batches, list((tmp_path / "batch").glob("*"))) == ([], [])
    assert run(max_cost=41 * A_CALL).n_waiting == 20  # it asked for 20 more at once


def test_a_budget_is_refused_where_no_call_says_what_it_took(tmp_path, run, server):
    server.usage = None
    with pytest.raises(InputError, match="the server counts no tokens"):
        run(max_cost=1.0)

    assert (server.batches, list((tmp_path / "batch").glob("*"))) == ([], [])


def test_what_no_batch_can_do_is_refused_in_one_line(tmp_path, run, server):
    with pytest.raises(InputError, match="`judge` must be a model behind OpenAI's chat"):
        judge_by_batches(tmp_path / "items.jsonl", tmp_path / "o.parquet", folder=tmp_path / "b",
                         judge="local")  # fmt: skip
    with pytest.raises(InputError, match="got votes: batches do nothing else"):
        run(probability="vote")
    with pytest.raises(InputError, match="`batch` must be a folder, and"):
        run(folder="items.jsonl")
    with pytest.raises(InputError, match="`store` must be one"):
        run(store=False)
    run()
    with pytest.raises(InputError, match="must be a folder of this judge"):
        run(probability="logprob")
    server.refused = "input file is too large"
    with pytest.raises(ServerError, match="refused the batch: input file is too large"):
        finish(run)
    server.refused = None
    assert finish(run).judged.n_items == 60
