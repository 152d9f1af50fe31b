"""`voirdire certify check`: exit 3 where anything is not as it was certified."""

import json
import re

import polars as pl
import pytest


@pytest.fixture
def certificate(call, files, tmp_path):
    """Write the certificate of the good judge under two margins."""
    path = tmp_path / "certificate.json"
    margins = ["--epsilon", "0.1", "--epsilon", "0.2", "--epsilon-reason", "skilled"]
    done = call("examine", *files, "--only", "good", *margins, "--certificate", path)
    assert done.code == 0, done
    return path


@pytest.mark.ci
def test_a_certificate_holds_for_its_files_in_any_format_and_order(call, files, certificate):
    done = call("certify", "check", certificate, *files)
    assert (done.code, done.said) == (0, "")
    assert "The certificate holds: labels, judges, settings and outcomes are the same." in done.out

    shuffled = [x if n % 2 == 0 else x.with_suffix(".parquet") for n, x in enumerate(files)]
    for old, new in zip(files[1::2], shuffled[1::2], strict=True):
        pl.read_csv(old).sample(fraction=1, shuffle=True, seed=1).write_parquet(new)
    done = call("certify", "check", certificate, *shuffled, "--json")
    assert done.code == 0
    assert done.json["holds"]
    assert done.json["changes"] == []
    assert done.json["certificate"] == json.loads(certificate.read_text())["content_hash"]


def test_answers_to_what_nobody_labelled_are_not_in_the_certificate(call, files, tmp_path):
    for path in files[1::2]:
        frame = pl.read_csv(path).with_columns(question=pl.lit("polite"))
        if path.stem == "judges":
            frame = pl.concat([frame, frame.with_columns(question=pl.lit("rude"))])
        frame.write_csv(path)
    call("examine", *files, "--certificate", tmp_path / "record.json")

    done = call("certify", "check", tmp_path / "record.json", *files)

    assert (done.code, done.said) == (0, "")


@pytest.mark.ci
@pytest.mark.parametrize("side", ["humans", "judges"])
def test_one_changed_label_exits_3_and_is_named(call, files, certificate, tmp_path, side):
    path = tmp_path / f"{side}.csv"
    rater = "ann" if side == "humans" else "good"
    lines = path.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if f",{rater}," in line)
    item, rater, label = lines[place].split(",")
    lines[place] = f"{item},{rater},{'no' if label == 'yes' else 'yes'}"
    path.write_text("\n".join(lines))

    page = tmp_path / "certificate.html"
    done = call("certify", "check", certificate, *files, "--report", page)

    assert "does not hold" in page.read_text("utf-8")
    assert done.code == 3
    assert "The certificate does not hold (" in done.out
    what = "data" if side == "humans" else "judge good"
    assert re.search(
        rf"^Certified: sha256:.*\nNow: sha256:.*\n+What\s*\n─+\n{what}", done.out, re.M
    )


def test_declared_settings_must_be_those_of_the_certificate(call, files, certificate):
    declared = ["--epsilon", "0.1", "--epsilon", "0.2", "--epsilon-reason"]
    assert call("certify", "check", certificate, *files, *declared, "skilled").code == 0

    done = call("certify", "check", certificate, *files, *declared, "experts")
    assert done.code == 3
    assert "Certified: skilled\nNow: experts\n" in done.out
    assert "\nsetting epsilon_reason\n" in done.out


def test_a_rubric_that_the_certificate_does_not_name_is_a_change(call, files, certificate):
    done = call("certify", "check", certificate, *files, "--rubric", "safety", "--json")

    assert done.code == 3
    (change,) = done.json["changes"]
    assert (change["what"], change["certified"]) == ("rubric", None)


def test_what_the_certificate_says_is_no_option(call, files, certificate):
    done = call("certify", "check", certificate, *files, "--kind", "boolean")

    assert done.code == 2
    assert "--kind must be left out: the certificate says it." in done.err


def test_an_edited_or_missing_certificate_is_an_error(call, files, certificate, assert_one_line):
    certificate.write_text(certificate.read_text().replace('"passed"', '"failed"', 1))
    assert_one_line(call("certify", "check", certificate, *files), "one that was changed")

    certificate.unlink()
    assert_one_line(call("certify", "check", certificate, *files), "must be a file that exists")


def test_judges_are_needed(call, files, certificate):
    done = call("certify", "check", certificate, *files[:2])

    assert done.code == 2
    assert "`--judges` must be given" in done.err
