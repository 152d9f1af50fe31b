import io

import pytest

from voirdire.errors import InputError
from voirdire.io import read_labels


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
            {"columns": {"rater": "x", "annotator": "y"}},
            r"`columns` must name each column once, got 'rater' and 'annotator'",
        ),
    ],
)
def test_a_declaration_that_breaks_its_rule_is_refused(declared, message):
    with pytest.raises(InputError, match=message):
        read_labels(
            io.BytesIO(b"item,ann\n1,yes\n"),
            **{"format": "csv", "role": "annotator", "kind": "choice", **declared},
        )


def test_our_names_for_a_column_are_synonyms(read):
    columns = {"value": "answer", "judge": "model"}

    table = read("item,model,answer\n1,gpt,yes\n", role="judge", columns=columns)

    assert table.frame.select("item", "rater", "label").rows() == [("1", "gpt", "yes")]


def test_a_declared_rater_goes_before_the_name_of_the_file(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("item,label\n1,yes\n")

    table = read_labels(path, role="judge", kind="choice")
    named = read_labels(path, role="judge", kind="choice", rater_name="gpt")

    assert table.frame["rater"].to_list() == ["file"]
    assert named.frame["rater"].to_list() == ["gpt"]
