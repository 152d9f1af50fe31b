"""The words that hint at something, which are data: none of them may be written in vain."""

import pytest

from voirdire.judging.local.cue_words_en import ENGLISH_CUES
from voirdire.judging.local.cue_words_zh import CHINESE_CUES
from voirdire.judging.local.cues import HINTS, find_hints
from voirdire.judging.local.tokens import find_tokens, read_characters


def test_both_languages_hint_at_the_same_things():
    assert list(ENGLISH_CUES) == list(CHINESE_CUES) == list(HINTS)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "parting"), [(ENGLISH_CUES, ", "), (CHINESE_CUES, "，")], ids=["en", "zh"]
)
def test_every_phrase_is_found_and_hints_at_what_it_is_listed_for(words, parting):
    for index, name in enumerate(HINTS):
        for phrase in filter(None, words[name].split(parting)):
            _, hints = find_hints(find_tokens(read_characters([f"xx {phrase} yy"])))

            assert index in hints.tolist(), (name, phrase)
