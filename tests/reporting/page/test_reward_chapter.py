"""The examination of a reward as a chapter of the page about its judge."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import voirdire
from voirdire.reporting import from_json, html_page
from voirdire.studies import Examination

REWARD = Path(__file__).parents[1] / "examined_reward.json"


@pytest.fixture(scope="module")
def content():
    judge = {item: item % 2 for item in range(60)}
    humans = {
        name: {item: 1 - x if item % 12 == slip else x for item, x in judge.items()}
        for slip, name in enumerate(["ann", "bob", "eve"])
    }
    return Examination(results=(voirdire.alt_test(judge, humans),))


@pytest.fixture(scope="module")
def reward():
    return from_json(REWARD.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def small_reward(reward):
    """Leave out what takes long to draw."""
    return replace(reward, drives=())


def test_without_a_reward_the_page_says_nothing_of_one(content):
    page = html_page(content)

    assert 'id="reward"' not in page
    assert 'href="#reward"' not in page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_chapter_stands_behind_the_questions_and_every_link_leads_somewhere(
    content, reward, language
):
    page = html_page(content, reward=reward, language=language)

    assert page.count("<!doctype html>") == 1
    assert page.index('id="examination"') < page.index('<article id="reward"')
    assert page.index('<article id="reward"') < page.index('id="settings"')
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
