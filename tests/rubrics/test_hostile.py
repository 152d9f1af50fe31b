"""Files that somebody wrote to do harm: refused at once, and nothing in them runs or acts."""

import os
import subprocess

import pytest

from voirdire.errors import RubricError
from voirdire.rubrics import load_rubric, rubric_from_text

MOST_BYTES = 256 * 1024
HEAD = 'schema: voirdire.rubric/1\nname: small\nversion: "1"\n'
ASKED = "questions:\n  - {id: apology, kind: boolean, text: Sorry}\n"


@pytest.fixture
def write(tmp_path):
    """Write bytes to a file."""

    def written(data):
        path = tmp_path / "hostile.yaml"
        path.write_bytes(data)
        return path

    return written


@pytest.fixture
def ran(monkeypatch):
    """List what was called of the things that such a file would call."""
    calls = []

    def note(*args, **kwargs):
        calls.append(args)

    monkeypatch.setattr(os, "system", note)
    monkeypatch.setattr(subprocess, "Popen", note)
    return calls


TAGS = [
    "!!python/object/apply:os.system ['touch OWNED']",
    "!!python/object/new:os.system ['touch OWNED']",
    "!!python/object:os.system {command: touch OWNED}",
    "!!python/name:os.system",
    "!!python/module:antigravity",
    "!!python/object/apply:subprocess.Popen [['touch', 'OWNED']]",
    '!!python/object/apply:builtins.eval [\'__import__("os").system("touch OWNED")\']',
    "!<tag:yaml.org,2002:python/object/apply:os.system> ['touch OWNED']",
    "!!python/tuple [touch OWNED]",
]


@pytest.mark.parametrize("tag", TAGS)
def test_no_tag_runs_anything(tag, ran, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(RubricError, match=r"^<text>:4:14: a rubric must be without tags, got '!"):
        rubric_from_text(f"{HEAD}description: {tag}\n{ASKED}")

    assert ran == []
    assert list(tmp_path.iterdir()) == []


def test_the_spy_would_have_seen_it(ran):
    """The tags above do run where a loader lets them: the test before this one can fail."""
    import yaml

    yaml.unsafe_load(TAGS[0])

    assert ran == [("touch OWNED",)]


def test_a_billion_laughs_are_not_laughed():
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")

    with pytest.raises(RubricError) as caught:
        rubric_from_text("\n".join(lines), source="laughs.yaml")

    assert str(caught.value).startswith("laughs.yaml:1:4: a rubric must be without anchors")
    assert len(caught.value.problems) == 9 + 8 * 9


def test_an_alias_to_itself_ends():
    with pytest.raises(RubricError, match="without anchors, got '&a'"):
        rubric_from_text("a: &a [*a]\n")


def test_a_megabyte_is_not_parsed(write, monkeypatch):
    path = write((HEAD + ASKED + "#" * 79 + "\n").encode().ljust(1_000_000, b"#"))

    def parse(*args, **kwargs):
        raise AssertionError

    monkeypatch.setattr("yaml.SafeLoader", parse)

    with pytest.raises(
        RubricError,
        match=r"hostile\.yaml: a rubric must be at most 262,144 bytes, got more\.",
    ):
        load_rubric(path)


def test_the_limit_itself_is_allowed(write):
    whole = (HEAD + ASKED + "# ").encode()

    rubric = load_rubric(write(whole.ljust(MOST_BYTES, b"x")))

    assert rubric.name == "small"
    with pytest.raises(RubricError, match="got more"):
        load_rubric(write(whole.ljust(MOST_BYTES + 1, b"x")))


def test_text_in_memory_has_the_same_limit():
    with pytest.raises(RubricError, match="at most 262,144 bytes"):
        rubric_from_text(HEAD + "# " + "文" * 100_000 + "\n")


def test_a_device_without_an_end_is_not_read_to_it():
    with pytest.raises(RubricError, match="/dev/zero: must be a regular file"):
        load_rubric("/dev/zero")


@pytest.mark.edges
@pytest.mark.parametrize(
    ("opening", "column"), [("[", 17), ("{a: ", 65), ("- ", 33), ("? ", 33), ("[{a: ", 41)]
)
def test_deep_nesting_is_refused_at_the_level_that_is_too_deep(opening, column):
    text = opening * (MOST_BYTES // len(opening) - 1)

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    last = caught.value.problems[-1]
    assert last.message.startswith("a rubric must be at most 16 levels deep")
    assert (last.line, last.column) == (1, column)


def test_deep_indentation_is_refused():
    text = "".join(f"{' ' * level}a:\n" for level in range(300))

    with pytest.raises(RubricError, match=r"^<text>:17:17: .* at most 16 levels"):
        rubric_from_text(text)


def test_sixteen_levels_are_not_too_deep():
    with pytest.raises(RubricError, match="a rubric must be a mapping"):
        rubric_from_text("[" * 16 + "]" * 16)


@pytest.mark.edges
@pytest.mark.parametrize("line", ["k{n}: !x\n", "k{n}: 1\n", "k{n}: 1\nk{n}: 2\n"])
def test_a_file_of_nothing_but_problems_stops_after_a_hundred(line):
    with pytest.raises(RubricError) as caught:
        rubric_from_text("".join(line.format(n=n) for n in range(8_000)))

    assert len(caught.value.problems) == 100


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"name: a\nversion: \x00", "2:10", "without control characters, got U+0000"),
        (b"name: a\x1b[2J", "1:8", "got U+001B"),
        (b"name: \xc2\x85", "1:7", "got U+0085"),
        ("name: a\u2028b".encode(), "1:8", "got U+2028"),
        ("name: é\ufeff".encode(), "1:8", "got U+FEFF"),
        (b"\xff\xfen\x00a\x00m\x00e\x00", "1:1", "must be UTF-8, got byte 0xff"),
        ("名: é\nname: é".encode() + b"\xe9", "2:8", "must be UTF-8, got byte 0xe9"),
        (b"name: \xed\xa0\x80", "1:7", "must be UTF-8, got byte 0xed"),
        (b"name: \xc0\xaf", "1:7", "must be UTF-8, got byte 0xc0"),
        (b"a\r\nb\rc: \x07", "3:4", "got U+0007"),
    ],
)
def test_bytes_and_characters_that_are_no_text(data, place, words, write):
    with pytest.raises(RubricError) as caught:
        load_rubric(write(data))

    assert f"hostile.yaml:{place}: " in str(caught.value)
    assert words in str(caught.value)


def test_half_a_character_in_memory_is_refused():
    with pytest.raises(RubricError, match="1:7: text must be UTF-8"):
        rubric_from_text("name: \ud800")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_byte_order_marks_and_line_ends_are_formatting(mark, line_end, write):
    plain = rubric_from_text(HEAD + ASKED)

    found = load_rubric(write(mark + (HEAD + ASKED).encode().replace(b"\n", line_end)))

    assert found == plain
    assert found.content_hash == plain.content_hash


def test_lines_are_counted_in_files_of_every_line_end(write):
    text = (HEAD + "tresh: 1\n" + ASKED).encode()

    for line_end in (b"\n", b"\r\n", b"\r"):
        with pytest.raises(RubricError, match=r"hostile\.yaml:4:1: "):
            load_rubric(write(text.replace(b"\n", line_end)))


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "class_rule: a\u202eb\n" + ASKED,
        HEAD + "a\u202eb: x\n" + ASKED,
        HEAD + "description: {a\u202eb: x}\n" + ASKED,
        HEAD + "description: &a\u202eb x\n" + ASKED,
        HEAD + "description: *a\u202eb\n" + ASKED,
        HEAD + "questions: [{id: a\u202eb, kind: boolean, text: x}]\n",
        HEAD + ASKED + "expressions: {x: a\u202eb}\n",
        HEAD + ASKED + "behaviors: {b: {demands: {a\u202eb: required}}}\n",
        HEAD + ASKED + "behaviors: {b: {demands: {apology: a\u202eb}}}\n",
        HEAD + ASKED + "behaviors: {a\u202eb: 3}\n",
        "a\u202eb\n",
    ],
)
def test_what_turns_the_direction_of_writing_is_shown_as_its_number(text):
    with pytest.raises(RubricError) as caught:
        rubric_from_text(text, source="a\u202eb.yaml")

    for shown in (str(caught.value), *map(str, caught.value.problems)):
        assert "\u202e" not in shown
        assert shown.startswith("a\\u202eb.yaml:")


def test_a_long_word_is_shown_short():
    with pytest.raises(RubricError) as caught:
        rubric_from_text(HEAD + f"class_rule: {'x' * 100_000}\n" + ASKED)

    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["a" * 5_000, "a\0b", "", "."])
def test_names_that_no_file_can_have_are_our_error(name):
    with pytest.raises(ValueError, match=r"must be a file"):
        load_rubric(name)
