import pytest

from voirdire.errors import InputError
from voirdire.io.request import Request


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"role": "human"}, r"`role` must be one of 'annotator', 'judge', got 'human'"),
        ({"kind": "binary"}, r"`kind` must be one of .*'boolean'.*, got 'binary'"),
        ({"threshold": 50}, r"`threshold` must be in \[0, 1\], got 50\. Write 50% as 0\.5\."),
        ({"threshold": float("nan")}, r"`threshold` must be in \[0, 1\], got nan"),
        ({"separator": ""}, r"`separator` must be text, got ''"),
        ({"raters": "ann"}, r"`raters` must be a sequence of text, got 'ann'"),
        ({"raters": []}, r"`raters` must name at least one column, each once, got \[\]"),
        ({"raters": ["a", "a"]}, r"`raters` must name at least one column, each once"),
        ({"missing": [1]}, r"`missing` must be a sequence of text, got \[1\]"),
        ({"labels": "yes"}, r"`labels` must be a sequence of at least one label, got 'yes'"),
        ({"labels": []}, r"`labels` must be a sequence of at least one label, got \[\]"),
        ({"kind": "scale", "labels": ["x"]}, r"`labels` must be finite numbers .* got 'x'"),
        ({"kind": "scale", "labels": [float("inf")]}, r"must be finite numbers .* got inf"),
        ({"kind": "scale", "labels": [True]}, r"must be finite numbers .* got True"),
        ({"columns": {"text": "x"}}, r"`columns` must map our names .* got the key 'text'"),
        (
            {"columns": {"rater": "x", "judge": "y"}},
            r"`columns` must name each column once, got 'rater' and 'judge'",
        ),
    ],
)
def test_a_declaration_that_breaks_its_rule_is_refused(declared, message):
    with pytest.raises(InputError, match=message):
        Request(**{"role": "annotator", "kind": "choice", **declared})


def test_our_names_for_a_column_are_synonyms():
    request = Request(role="judge", kind="choice", columns={"value": "answer", "judge": "model"})

    assert request.column_named("label") == "answer"
    assert request.column_named("rater") == "model"
    assert request.column_named("item") is None


def test_a_declared_rater_goes_before_the_name_of_the_file():
    given = {"role": "judge", "kind": "choice", "default_rater": "file"}

    assert Request(**given).single_rater == "file"
    assert Request(**given, rater_name="gpt").single_rater == "gpt"
