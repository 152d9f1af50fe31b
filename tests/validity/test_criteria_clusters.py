"""Criteria are examined with their prompts as clusters: size of the test, coverage of figures."""

import math

import numpy as np
import pytest

from voirdire.stats import alt_test, pairwise_f1
from voirdire.studies import TestPlan as Plan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning"),
]

N, N_PROMPTS, N_PEOPLE, RIGHT = 400, 60, 3, 0.85


def drawn(rng, *, right, shared=0.9):
    """Draw criteria whose judge errs for whole prompts: a share of them falls together."""
    sizes = rng.integers(5, 25, N_PROMPTS)
    clusters = np.repeat(np.arange(N_PROMPTS), sizes)
    truth = rng.random(clusters.size) < 0.6
    people = np.where(
        rng.random((clusters.size, N_PEOPLE)) < RIGHT, truth[:, None], ~truth[:, None]
    )
    of_prompt = rng.random(N_PROMPTS) < right
    is_shared = rng.random(clusters.size) < shared
    is_right = np.where(is_shared, of_prompt[clusters], rng.random(clusters.size) < right)
    return np.where(is_right, truth, ~truth).astype(int), people.astype(int), clusters


def boundary(epsilon):
    """Give how often a judge may be right that is just not within ε of a person.

    Against the two others a person and a judge have the alignment 1, 1/2 or 0; who is at least as
    close as the other is counted: with p for the judge and q for people, and both others' labels
    right or wrong, P(judge at least as close) - P(person at least as close) = -ε.
    """
    q = RIGHT

    def advantage(p):
        both, none = q * q, (1 - q) * (1 - q)
        better, worse = p * (1 - q), (1 - p) * q  # only where the others agree
        return (both - none) * (better - worse)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if advantage(middle) < -epsilon else (low, middle)
    return low


def test_the_test_keeps_its_size_by_prompt_and_not_by_criterion():
    right = boundary(0.15)
    rejected = {True: 0, False: 0}
    for seed in range(N):
        judge, people, clusters = drawn(np.random.default_rng(seed), right=right)
        for clustered in rejected:
            [found] = alt_test(
                judge,
                people,
                clusters=clusters if clustered else None,
                plan=Plan(epsilon=0.15, n_resamples=0),
            )
            rejected[clustered] += found.annotators[0].rejected
    share, allowed = rejected[True] / N, 3 * math.sqrt(0.05 * 0.95 / N)

    assert share <= 0.05 + allowed
    assert rejected[False] / N > 0.12  # what the caution warns of


def test_intervals_cover_by_prompt():
    right = 0.8
    q, p = RIGHT, right
    yes, no = 0.6, 0.4
    a = yes * p * q + no * (1 - p) * (1 - q)
    d = no * p * q + yes * (1 - p) * (1 - q)
    truth = 0.5 * (2 * a / (2 * a + 1 - a - d) + 2 * d / (2 * d + 1 - a - d))
    covered = {True: 0, False: 0}
    for seed in range(N):
        judge, people, clusters = drawn(np.random.default_rng(10_000 + seed), right=right)
        for clustered in covered:
            found = pairwise_f1(judge, people, clusters=clusters if clustered else None)
            covered[clustered] += found.low <= truth <= found.high

    assert covered[True] / N >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / N)
    assert covered[False] / N < 0.85
