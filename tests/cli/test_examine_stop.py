"""`voirdire examine --stop`: a watched stop decides, and the fixed test describes."""

import json

import numpy as np
import polars as pl
import pytest

from voirdire import studies
from voirdire.rubrics import Question

PEOPLE = ("ana", "ben", "chi")


@pytest.fixture
def write_study(tmp_path):
    """Write labels of three people, a judge's, and the certificate of the stop after 60 items."""

    def write(judge_error):
        rng = np.random.default_rng(0)
        truth = rng.random(60) < 0.5
        people = {who: truth ^ (rng.random(60) < 0.1) for who in PEOPLE}
        judge = (truth ^ (rng.random(60) < judge_error)).tolist()
        items = [f"i{n:02}" for n in range(60)]
        pl.DataFrame({"item": items} | people).write_csv(tmp_path / "people.csv")
        pl.DataFrame({"item": items, "m": judge}).write_csv(tmp_path / "judge.csv")
        question = Question(id="label", kind="boolean", text={"en": "Fair?"})
        plan = studies.WatchPlan.of(question, annotators=PEOPLE, n_items=100)
        labels = {x: {who: bool(people[who][n]) for who in PEOPLE} for n, x in enumerate(items)}
        answers = dict(zip(items, judge, strict=True))
        stop = tmp_path / "stop.json"
        stop.write_text(
            json.dumps(
                studies.stop_record(
                    [studies.watch_judge("m", plan, labels=labels, answers=answers)]
                )
            )
        )
        return ["--humans", tmp_path / "people.csv", "--judges", tmp_path / "judge.csv"], stop

    return write


@pytest.mark.parametrize(("judge_error", "outcome"), [(0.05, "passed"), (0.45, "failed")])
def test_a_stop_decides_and_its_certificate_holds(
    call, write_study, tmp_path, judge_error, outcome
):
    files, stop = write_study(judge_error)
    record = tmp_path / "certificate.json"

    done = call("examine", *files, "--stop", stop, "--certificate", record, "--json", "--gate")

    [row] = done.json["examinations"]
    assert row["outcome"] == outcome
    assert row["because"]["code"] == ("stop_shown" if outcome == "passed" else "stop_not_shown")
    assert done.code == (0 if outcome == "passed" else 3)
    assert call("certify", "check", record, *files).code == 0


def test_the_page_says_that_the_stop_decides(call, write_study):
    files, stop = write_study(0.05)

    done = call("examine", *files, "--stop", stop)

    assert (
        "m passed: shown within ε = .2 for at least 2 of 3 people while they labelled" in done.out
    )
    assert "The stop decides; the test of a fixed number of items describes" in done.out
