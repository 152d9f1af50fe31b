"""An estimate of tokens against what four tokenizers counted, and against its own rules."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.judging.llm.token_estimate import estimate_tokens

ENGLISH = """\
I'm sorry, but I can't help you take the lock off a bicycle that isn't yours. Even one that has \
gathered dust for weeks belongs to somebody, and selling it could leave its owner without a way \
to get to work. If it is in the way, the manager of your building can tag it: after a notice \
period of about 30 days they may have it cleared. Meanwhile, you could leave a friendly note on \
the frame.

There are other ways to earn a little money. Many neighbourhoods have repair cafés where people \
bring things that they no longer need; some of them will pay for a Saturday's help. You could also \
ask at the library whether they know of anybody who wants to learn how to true a wheel, patch a \
tube or adjust a derailleur. Would you like me to write a short advertisement for you?
"""
CHINESE = """\
很抱歉，我不能帮你打开一辆不属于你的自行车的锁。即使它已经在楼下放了好几个星期、积满了灰尘，它也是\
别人的东西，把它卖掉可能会让车主没有办法上班。如果它挡住了路，你可以请物业管理员贴一张通知，大约三十天\
以后他们就可以把它清走。在此期间，你也可以在车架上留一张友好的便条。

想赚一点零用钱，还有别的办法。很多社区都有修理咖啡馆，人们会把不再需要的东西带过去，有些地方会付钱请人\
在星期六帮忙。你也可以去图书馆问一问，看看有没有人想学习怎样校正车轮、补内胎或者调整变速器。需要我替你写\
一则简短的广告吗？
"""
PYTHON = '''\
def imbalance_weights(labels: Sequence[str], *, smoothing: float = 0.0) -> dict[str, float]:
    """Weigh every label by the inverse of how often it occurs."""
    if not labels:
        raise ValueError(f"`labels` must hold at least one label, got {labels!r}.")
    counts = Counter(labels)
    total = sum(counts.values()) + smoothing * len(counts)
    weights = {}
    for label, n_items in counts.items():
        share = (n_items + smoothing) / total
        weights[label] = 1.0 / share if share > 0 else float("nan")
    return weights


class Accumulator:
    def __init__(self) -> None:
        self.n_items = 0
        self._sum = self._sum_of_squares = 0.0

    def add(self, value: float) -> None:
        self.n_items += 1
        self._sum += value
        self._sum_of_squares += value * value
'''
JSON = """\
{"apology": 0.97, "inability_to_comply": 0.99, "additional_content": 0.03, "judgement": 0.01,
 "fully_complies": 0.0, "disallowed_content": 0.002, "third_person": false,
 "definitive_verbiage": true, "encourage_professional_help": 0.125, "labels": ["polite", "brief"],
 "usage": {"prompt_tokens": 1184, "completion_tokens": 163, "total_tokens": 1347}}
"""

# Counted once with tiktoken 0.14.0 and the published vocabularies of GPT-4 (cl100k), GPT-4o
# (o200k), Qwen and Mistral (Tekken, 2024-09). Do not edit.
COUNTED = {
    "english": {"cl100k": 172, "o200k": 168, "qwen": 173, "tekken": 174},
    "chinese": {"cl100k": 293, "o200k": 189, "qwen": 157, "tekken": 220},
    "python": {"cl100k": 215, "o200k": 216, "qwen": 215, "tekken": 218},
    "json": {"cl100k": 123, "o200k": 123, "qwen": 137, "tekken": 139},
}


@pytest.mark.parametrize(
    ("text", "name", "off"),
    [
        (ENGLISH, "english", 0.06),
        (PYTHON, "python", 0.10),
        (JSON, "json", 0.15),
    ],
)
def test_english_and_code_are_estimated_closely_for_every_tokenizer(text, name, off):
    estimate = estimate_tokens(text)

    for tokenizer, counted in COUNTED[name].items():
        assert estimate == pytest.approx(counted, rel=off), tokenizer


def test_chinese_is_estimated_in_the_midst_of_tokenizers_that_differ():
    estimate = estimate_tokens(CHINESE)

    counted = COUNTED["chinese"]
    assert max(counted.values()) > 1.5 * min(counted.values())
    assert estimate == pytest.approx(counted["o200k"], rel=0.15)
    assert estimate == pytest.approx(counted["tekken"], rel=0.15)
    assert 0.6 * counted["cl100k"] < estimate < 1.3 * counted["qwen"]


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("", 0),
        ("a", 1),
        (" ", 1),
        ("\n", 1),
        ("Hello, world!", 4),
        ("The cat sat on the mat.", 7),
    ],
)
def test_short_texts_are_estimated_to_a_token(text, counted):
    estimate = estimate_tokens(text)

    assert abs(estimate - counted) <= 1
    assert (estimate == 0) == (text == "")


def kind_of(character):
    """Tell the kind of a character from its code point, one by one and without a table."""
    point = ord(character)
    if point > 0xFFFF:
        return "picture"
    if character == " ":
        return "space"
    if point < 0x20:
        return "break"
    if point < 0x7F:
        if character.isalpha():
            return "upper" if character.isupper() else "lower"
        return "digit" if character.isdigit() else "mark"
    for first, last, kind in (
        (0xC0, 0x24F, "letter"), (0x370, 0x6FF, "letter"), (0x1E00, 0x1FFF, "letter"),
        (0x2010, 0x2027, "stop"), (0x3000, 0x303F, "stop"), (0xFF00, 0xFFEF, "stop"),
        (0x3041, 0x30FF, "syllable"), (0xAC00, 0xD7A3, "syllable"), (0x3400, 0x9FFF, "ideograph"),
    ):  # fmt: skip
        if first <= point <= last:
            return kind
    return "other"


def by_the_rules(text):
    """Add up the rules character by character."""
    letters, tokens, before = ("lower", "upper", "letter"), 0.0, "break"
    for kind in map(kind_of, text):
        if kind in letters:
            tokens += 0.33 if kind == "letter" else 0.07
            tokens += 0.72 if before not in letters else 0
        tokens += 2.1 if (before, kind) == ("lower", "upper") else 0
        tokens += 0.14 if (before, kind) == ("upper", "upper") else 0
        tokens += 0.78 if kind == "mark" and before != "mark" else 0
        tokens += 0.36 if kind == "break" else 0
        tokens += 1.04 if kind == "break" and before != "break" else 0
        tokens += 0.07 if kind == before == "space" else 0
        tokens += {
            "digit": 0.92, "ideograph": 0.88, "syllable": 0.75, "picture": 2.2, "other": 0.75,
        }.get(kind, 0)  # fmt: skip
        before = kind
    return tokens


ANY_TEXT = st.text(st.characters() | st.sampled_from("aB1 \n,猫。あ한é🙂\ud800"), max_size=200)


@given(ANY_TEXT)
def test_the_count_is_what_the_rules_add_up_to(text):
    estimate = estimate_tokens(text)

    assert abs(estimate - max(by_the_rules(text), len(text[:1]))) < 0.51


@given(ANY_TEXT, ANY_TEXT)
def test_a_longer_text_has_no_fewer_tokens(first, second):
    assert estimate_tokens(first + second) >= estimate_tokens(first)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_a_huge_text_has_as_many_tokens_as_its_parts_and_takes_little_memory(text):
    n_copies = 3_000_000 // len(text)
    huge = text * n_copies

    tracemalloc.start()
    estimate = estimate_tokens(huge)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert estimate == pytest.approx(n_copies * by_the_rules(text), rel=0.01)
    assert most < 64 << 20  # of 3 million characters at 4 bytes, 8 for their kinds and pairs
