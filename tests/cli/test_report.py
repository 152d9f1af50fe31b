"""`voirdire report`: a page from the JSON of an examination."""

import json

import pytest

from sketched_figures import drawn, sketched_figures  # noqa: F401  # fixtures


@pytest.fixture
def examination(call, files, tmp_path):
    """Write what `voirdire examine --json` prints of the study."""
    done = call("examine", *files, "--epsilon", "0.2", "--json")
    path = tmp_path / "examination.json"
    path.write_text(done.out, encoding="utf-8")
    return path


def test_a_page_is_written_and_its_size_said(call, examination, tmp_path):
    page = tmp_path / "page.html"

    done = call("report", examination, "--output", page)

    assert (done.code, done.err) == (0, "")
    assert done.out == f"{page}: {page.stat().st_size / 1e3:.0f} kB\n"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "may replace an annotator" in text


def test_without_output_it_is_report_html_in_this_folder(call, examination, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    call("report", examination)

    assert (tmp_path / "report.html").is_file()


def test_chinese_title_and_date(call, examination, tmp_path):
    page = tmp_path / "page.html"

    call(
        *("report", examination, "-o", page, "--report-language", "zh"),
        *("--title", "<春天>", "--created", "2025-05-01"),
    )

    text = page.read_text(encoding="utf-8")
    assert '<html lang="zh-Hans">' in text
    assert "<title>&lt;春天&gt;</title>" in text
    assert "2025-05-01" in text
    assert "可以代替标注者" in text


def test_from_standard_input_to_standard_output(execute, examination):
    done = execute("report", "-", "-o", "-", stdin=examination.read_bytes())

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("<!doctype html>")
    assert done.out.rstrip().endswith("</html>")


def test_an_older_page_is_replaced(call, examination, tmp_path):
    page = tmp_path / "page.html"
    ours = '<!doctype html>\n<meta name="generator" content="voirdire 0.1.0">\n<title>old</title>'
    page.write_text(ours, encoding="utf-8")

    call("report", examination, "-o", page)

    assert "<title>old" not in page.read_text(encoding="utf-8")


def test_somebodys_data_are_not_replaced(call, examination, assert_one_line):
    before = examination.read_bytes()

    done = call("report", examination, "-o", examination)

    assert_one_line(done, "`--output` must not replace", "which is no HTML page")
    assert examination.read_bytes() == before


def test_a_missing_file_is_one_line(call, tmp_path, assert_one_line):
    done = call("report", tmp_path / "nowhere.json")

    assert_one_line(done, "must be a file that exists", "nowhere.json:")


def test_a_folder_is_one_line(call, tmp_path, assert_one_line):
    done = call("report", tmp_path)

    assert_one_line(done, "must be a file, or the folder of a training run, got a folder")


def test_a_path_that_no_file_can_have_is_one_line(call, assert_one_line):
    done = call("report", "a\0b")

    assert_one_line(done, "must be a file that can be read")


@pytest.mark.edges
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must hold a result, got an empty file"),
        ("label\nyes\n", "must be a result of voirdire"),
        ('{"examinations": []}', "must hold at least one examination"),
    ],
)
def test_another_file_is_one_line_with_its_name(call, tmp_path, assert_one_line, text, words):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")

    done = call("report", path, "-o", tmp_path / "page.html")

    assert_one_line(done, f"{path}:", words)
    assert not (tmp_path / "page.html").exists()


def test_a_wrong_value_is_one_line_with_its_place(call, examination, tmp_path, assert_one_line):
    content = json.loads(examination.read_text(encoding="utf-8"))
    content["examinations"][0]["epsilon"] = "a\nb"
    examination.write_text(json.dumps(content), encoding="utf-8")

    done = call("report", examination, "-o", tmp_path / "page.html")

    assert_one_line(done, "$.examinations[0].epsilon must be a number, got")


def test_the_output_must_be_in_a_folder_that_exists(call, examination, tmp_path, assert_one_line):
    done = call("report", examination, "-o", tmp_path / "no" / "page.html")

    assert_one_line(done, "must be in a folder that can be written to")


def test_another_language_is_wrong_usage(call, examination):
    done = call("report", examination, "--report-language", "fr")

    assert done.code == 2
    assert "'fr'" in done.err


def test_a_title_that_is_no_text_is_wrong_usage(call, examination, tmp_path):
    done = call("report", examination, "-o", tmp_path / "page.html", "--title", "\udcff")

    assert done.code == 2
    assert "UTF-8" in done.err
