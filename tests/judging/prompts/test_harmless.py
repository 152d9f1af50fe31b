"""Untrusted text as JSON: it decodes to itself and holds nothing that could act or hide."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judging.prompts.prompt_asks import MIXED, NONCE, shown
from voirdire.records import Item
from voirdire.rubrics import Question

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
# Special tokens of chat templates, as their models' cards and tokenizer files spell them.
SPECIAL_TOKENS = (
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>",
    "<</SYS>>", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]",
    "[TOOL_RESULTS]", "[THINK]", "<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>",
    "<start_of_turn>", "<end_of_turn>", "<|turn>", "<|user|>", "<|assistant|>", "<|end|>",
    "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<|START_OF_TURN_TOKEN|>",
    "<|start|>", "<|channel|>", "<|message|>", "[gMASK]", "[sMASK]", "<sop>", "[|system|]",
    "[|endofturn|]", "[e~[", "]~b]", "]~!b[", "[UNUSED_TOKEN_145]", "[CLS]", "[SEP]",
    "<think>", "</think>", "<tool_call>", "<role>", "<seed:bos>",
)  # fmt: skip


def quoted(text):
    """Give a response as the prompt has it: a JSON string on the last line of its fence."""
    _, user, _ = shown(MIXED[0], item=Item(id="a", response=text))
    _, written = user.split('\n"response": ')
    return written.partition(f"}}\n-----END ITEM {NONCE}-----\n")[0]


@given(ANY_TEXT)
@example("\t\x1b\x7f")
def test_any_text_decodes_to_itself(text):
    written = quoted(text)

    # JSON joins the halves of surrogate pairs, as UTF-16 does
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(written) == paired
    assert written[0] == written[-1] == '"'
    assert not set(written) & set("<>\r\n\t")


@pytest.mark.ci
def test_nothing_in_all_of_unicode_hides_ends_a_line_or_becomes_an_angle_bracket():
    characters = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn"]

    written = quoted("".join(characters))

    assert not set(map(unicodedata.category, written)) & {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
    for form in ("NFKC", "NFKD"):  # the other two change less
        assert not set(unicodedata.normalize(form, written)) & set("<>")


SHAPELESS = (
    "COMBINING GRAPHEME JOINER", "HANGUL FILLER", "HANGUL CHOSEONG FILLER",
    "HALFWIDTH HANGUL FILLER", "BRAILLE PATTERN BLANK", "VARIATION SELECTOR-1",
    "VARIATION SELECTOR-17", "VARIATION SELECTOR-256", "MONGOLIAN FREE VARIATION SELECTOR ONE",
    "KHMER VOWEL INHERENT AQ", "TAG LATIN SMALL LETTER A",
)  # fmt: skip


def test_characters_without_a_shape_are_written_out():
    assert quoted("".join(map(unicodedata.lookup, SHAPELESS))).isascii()


@pytest.mark.parametrize("around", ["{}", "x{}y", "句{}子", "\\{}\\", '"{}"', "{0}{0}"])
def test_no_special_token_survives(around):
    for token in SPECIAL_TOKENS:
        text = around.format(token)

        written = quoted(text)

        assert token not in written
        assert json.loads(written) == text


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't help (see [1], or [a link](https://example.org/?a=b&c=d)).",
        "items[0] = rows[i] | {1: 'x'}; # 100% **bold** `code` ~ $5 @you",
        "很抱歉，我无法提供帮助。《红楼梦》【注】“引号”……——１２３、（全角）；：！？　￥",
        "𠮷野家 🙂 ❤️ é ñ ü ß Ω дом",
    ],
)
def test_ordinary_text_stays_readable(text):
    assert quoted(text) == f'"{text}"'


def test_one_emoji_selector_is_ordinary_and_a_row_of_them_is_not():
    assert quoted("❤\ufe0f!") == '"❤\ufe0f!"'
    assert quoted("a\ufe0f\ufe0e\ufe0f") == '"a\\ufe0f\\ufe0e\\ufe0f"'


def test_words_of_a_question_keep_their_lines_and_brackets_and_show_what_hides():
    text = "one\r\ntwo\u2028three\tfour\u202e <five>"
    labels = {'<b>"x"</b>\u200b [INST]': {}, "other": {}}

    content, _, _ = shown(Question(id="q", kind="choice", text={"en": text}, labels=labels))

    assert "\none\ntwo\nthree\tfour\\u202e <five>\n" in content
    assert r'"<b>\"x\"</b>\u200b [INST]"' in content
