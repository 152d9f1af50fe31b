"""Trouble that is told a few times, and without any text of a response."""

import logging

import pytest

from voirdire.rewards.live.said_once import SaidOnce

HOSTILE = "OPEN SESAME\x1b[2J"


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, logger="said")
    return SaidOnce(logging.getLogger("said"))


def raised(error, cause=None):
    try:
        if cause is not None:
            raise error from cause
        raise error
    except type(error) as caught:
        return caught


def caused():
    try:
        try:
            raise KeyError(HOSTILE)
        except KeyError as error:
            raise ValueError(HOSTILE) from error
    except ValueError as error:
        return error


def test_an_exception_is_told_by_type_and_place_without_its_message(said, caplog):
    said.error("the reward failed", caused())

    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.exc_info is None
    lines = record.getMessage().splitlines()
    assert lines[0] == "the reward failed, the message left out:"
    assert lines[1] == "KeyError"
    assert lines[2].endswith("in caused")
    assert lines[3] == "ValueError"
    assert "OPEN SESAME" not in caplog.text


def test_what_comes_again_is_told_at_every_power_of_ten(said, caplog):
    for _ in range(1_000):
        said.error("the reward failed", raised(ValueError(HOSTILE)))

    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 4
    assert told[1] == "the reward failed, for the 10th time: ValueError"
    assert told[3] == "the reward failed, for the 1,000th time: ValueError"


def test_another_kind_is_told_for_itself(said, caplog):
    said.error("the reward failed", raised(ValueError()))
    said.error("the reward failed", raised(TypeError()))
    said.error("nothing is recorded", raised(ValueError()))

    assert len(caplog.records) == 3


def test_an_exception_that_was_never_raised_can_be_told(said, caplog):
    said.error("the reward failed", TimeoutError())

    assert caplog.records[0].getMessage().endswith("TimeoutError")


def test_a_circle_of_causes_ends(said, caplog):
    first, second = raised(ValueError()), raised(KeyError())
    first.__cause__, second.__cause__ = second, first

    said.error("the reward failed", first)

    assert len(caplog.records) == 1


def test_reasons_are_told_once_and_then_counted(said, caplog):
    for _ in range(30):
        said.missing(["late", "late", "no verdict"], name="safe", n_items=8)

    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "safe: no reward for 2 of 8 completions: late",
        "safe: no reward for 1 of 8 completions: no verdict",
        "safe: no reward for 10 completions so far: late",
        "safe: no reward for 10 completions so far: no verdict",
    ]


def test_kinds_without_end_are_told_for_a_while(said, caplog):
    for number in range(10_000):
        said.missing([f"unknown behavior '{number}'"], name="safe", n_items=1)

    assert len(caplog.records) < 120
