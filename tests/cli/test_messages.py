"""Errors of the library in the words of the command line."""

import pytest


@pytest.mark.edges
@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("--min-items", 1), "`--min-items` must be a whole number of at least 2, got 1."),
        (("--resamples", 7), "`--resamples` must be 0 or at least 100, got 7."),
        (("--expert", "zoe"), "`--expert` must be one of the annotators"),
        (("--quality", "ann=1"), "`--quality` must name every annotator"),
        (("--column", "item=text"), "Correct `--column`."),
        (("--rater", "zoe"), "Correct `--rater`."),
        (("--kind", "scale", "--labels", "a,b"), "--kind 'choice'"),
        (("--humans", "none.csv"), "`--humans` must be a file that exists, got 'none.csv'"),
    ],
)
def test_arguments_become_options(call, files, typed, message):
    done = call("examine", *files, *typed)

    assert done.code == 1
    assert message in done.err


def test_a_column_of_a_file_stays_as_it_is(call, files, tmp_path):
    (tmp_path / "h.csv").write_text("item,annotator\n1,ann\n")

    done = call("examine", *files, "--humans", tmp_path / "h.csv")

    assert "column `label`" in done.err
    assert "--label" not in done.err
