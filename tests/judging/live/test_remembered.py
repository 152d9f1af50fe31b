"""A bounded memory of answers."""

import numpy as np

from voirdire.judging.live.answers import LiveAnswer
from voirdire.judging.live.remembered import Remembered


def answer(number):
    return LiveAnswer(probabilities=np.array([number]))


def test_what_was_used_longest_ago_is_given_up_first():
    memory = Remembered(2)
    memory.put(b"a", answer(0.1))
    memory.put(b"b", answer(0.2))

    memory.get(b"a")
    memory.put(b"c", answer(0.3))

    assert memory.get(b"b") is None
    assert memory.get(b"a").probabilities.tolist() == [0.1]
    assert memory.get(b"c").probabilities.tolist() == [0.3]


def test_a_newer_answer_takes_the_place_of_an_older_one():
    memory = Remembered(2)

    for number in (0.1, 0.2, 0.3):
        memory.put(b"a", answer(number))
    memory.put(b"b", answer(0.4))

    assert memory.get(b"a").probabilities.tolist() == [0.3]


def test_a_memory_of_none_keeps_none():
    memory = Remembered(0)

    memory.put(b"a", answer(0.1))

    assert memory.get(b"a") is None
