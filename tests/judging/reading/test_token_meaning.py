"""What single tokens say: by table, and against whole strings."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from voirdire.judging.reading.token_meaning import NO, OPEN, OTHER, YES, Meanings, token_meaning

YES_TOKENS = ["true", " true", "True", "TRUE", "t", "tr", "Tru", "true,", "true}", "\n\ttrue\n}"]
NO_TOKENS = ["false", " false", "False", "f", " fal", "false,", 'false,"b":', "FALSE}", "false.5"]
OPEN_TOKENS = ["", " ", "\n  ", "\t"]
OTHER_TOKENS = [
    '"true', '"', "yes", "no", "null", "1", "0", "0.9", "truely", "true_", "falsehood", "true1",
    "tea", "fx", "trui", "untrue", ":true", "是", "true是", "tｒue", "<eos>", "}", ",",
]  # fmt: skip


@pytest.mark.parametrize(
    ("token", "meaning"),
    [(token, YES) for token in YES_TOKENS]
    + [(token, NO) for token in NO_TOKENS]
    + [(token, OPEN) for token in OPEN_TOKENS]
    + [(token, OTHER) for token in OTHER_TOKENS],
)
def test_a_token_where_a_value_begins(token, meaning):
    assert token_meaning(token) == meaning
    assert token_meaning(token, lead="  ") == meaning  # the taken one brought white space along


@pytest.mark.parametrize(
    ("lead", "token", "meaning"),
    [
        (":", ":true", YES),
        (": ", ":  False,", NO),
        (":", " : true", YES),
        (":", ":", OPEN),
        (":", " ", OPEN),
        (":", "", OPEN),
        (":", "true", OTHER),  # without the colon it is no value
        (":", "::true", OTHER),
        (":", ':"true', OTHER),
        ('":', '":true', YES),
        ('":', '" : t', YES),
        ('":', '"', OPEN),
        ('":', '":', OPEN),
        ('":', ' ":true', OTHER),  # the white space would belong to the key
        ('":', '"true', OTHER),
        ('ogy":', 'ogy": fa', NO),
        ('ogy":', "og", OPEN),
        ('ogy":', 'ogies":true', OTHER),
        ('ogy":', "true", OTHER),
        ('true,"b":', 'true,"b":false', NO),
        ('true,"b":', 'false,"b":false', OTHER),  # another answer to the question before
    ],
)
def test_a_token_that_begins_before_the_value(lead, token, meaning):
    assert token_meaning(token, lead=lead) == meaning


@given(
    lead=st.sampled_from(["", " ", ":", ": ", '":', '" : ', 'y":', '{"ab":', '1,"b" :\n']),
    token=st.text(alphabet='truefalsTRUEFALSyb1,{":_ \n', max_size=12),
)
@example(lead='y":', token='y":true')
def test_meanings_follow_from_the_text_that_would_stand_there(lead, token):
    before, quote, _ = lead.rpartition('"')
    closed = '"' in lead
    key = before + quote if closed else ""
    pattern = r"\s*:\s*" if ":" in lead.removeprefix(key) else r"\s*"
    value = re.fullmatch(re.escape(key) + pattern + r"(\S.*)", token, re.DOTALL)
    unfinished = re.escape(key) + (r"\s*(:\s*)?" if ":" in pattern else r"\s*")
    is_open = key.startswith(token) or re.fullmatch(unfinished, token) is not None
    if value and not is_open:
        word = value[1].lower()
        expected = OTHER
        for said, meaning in (("true", YES), ("false", NO)):
            if said.startswith(word) or re.match(rf"{said}\b", word):
                expected = meaning
    else:
        expected = OPEN if is_open else OTHER

    assert token_meaning(token, lead=lead) == expected


def test_meanings_are_remembered_and_bounded(monkeypatch):
    monkeypatch.setattr("voirdire.judging.reading.token_meaning._MOST_TOKENS", 3)
    meanings = Meanings(":")

    found = [meanings[f":{word}"] for word in ("true", "false", "x", "true", "y", "", "true")]

    assert found == [YES, NO, OTHER, YES, OTHER, OPEN, YES]
    assert len(meanings) <= 3
