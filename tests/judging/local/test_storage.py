"""Judges on disk: what is saved is what is loaded, and hostile files do no harm."""

import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import voirdire
from voirdire.errors import InputError
from voirdire.judging import LocalJudge, distill_judge, load_local_judge
from voirdire.records import Item
from voirdire.rubrics import Question, Rubric

ITEMS = [
    Item(id=str(index), response=f"{'Sorry, no.' if index % 2 else 'Yes, here.'} Part {index}.")
    for index in range(40)
]

RUBRIC = Rubric(
    name="one",
    version="1",
    questions=(Question(id="apology", kind="boolean", text={"en": "Does it apologise?"}),),
)


@pytest.fixture(scope="module")
def judge():
    texts = {"apology": {"en": "Does it apologise?", "zh": "有道歉吗？"}}
    return distill_judge(
        ITEMS, [[index % 2] for index in range(40)], questions=["apology"], n_folds=3,
        rubric_name="safety", question_texts=texts,
    )  # fmt: skip


@pytest.fixture
def saved(judge, tmp_path):
    path = tmp_path / "judge.npz"
    judge.save(path)
    return path


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def as_npy(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


def with_header(path, **changes):
    parts = parts_of(path)
    header = json.loads(np.load(io.BytesIO(parts["header.npy"])).tobytes())
    header.update(changes)
    text = json.dumps(header).encode()
    parts["header.npy"] = as_npy(np.frombuffer(text, dtype="u1"))
    write_parts(path, parts)


def test_a_saved_judge_loads_as_the_same_judge(judge, saved):
    loaded = LocalJudge.load(saved)

    assert loaded.fingerprint == judge.fingerprint
    assert loaded.card.to_dict() == judge.card.to_dict()
    assert loaded.question_texts == judge.question_texts
    assert loaded.card.rubric_name == "safety"
    assert (loaded.probabilities(ITEMS) == judge.probabilities(ITEMS)).all()
    assert load_local_judge(saved).fingerprint == judge.fingerprint


def test_a_judge_from_before_there_were_thresholds_says_yes_from_a_half_on(judge, tmp_path):
    earlier = replace(judge, thresholds={})
    earlier.save(tmp_path / "earlier.npz")
    with_header(tmp_path / "earlier.npz", thresholds={})

    loaded = load_local_judge(tmp_path / "earlier.npz")
    found = voirdire.judge(ITEMS, judge=loaded, rubric=RUBRIC)

    assert (loaded.thresholds, loaded.fingerprint) == ({}, earlier.fingerprint)
    assert found.threshold == 0.5


@pytest.mark.parametrize("thresholds", [{"apology": 1.0}, {"other": 0.5}, {"apology": "a"}])
def test_thresholds_that_mean_nothing_are_refused(saved, thresholds):
    with_header(saved, thresholds=thresholds)

    with pytest.raises(
        InputError, match=r"a local judge must have thresholds|must be a local judge"
    ):
        LocalJudge.load(saved)


def test_saving_twice_gives_the_same_bytes(judge, saved, tmp_path):
    judge.save(tmp_path / "again.npz")

    assert (tmp_path / "again.npz").read_bytes() == saved.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.npz", "judge.npz"]


@pytest.mark.parametrize("name", ["columns", "ngrams", "scales", "cues", "intercepts"])
def test_any_changed_weight_changes_the_fingerprint(judge, name):
    values = getattr(judge.weights, name).copy()
    values.flat[values.size // 2] += 1

    changed = replace(judge, weights=replace(judge.weights, **{name: values}))

    assert changed.fingerprint != judge.fingerprint


def test_calibrator_name_and_questions_are_in_the_fingerprint(judge):
    (calibrator,) = judge.calibrators
    changes = [
        {"calibrators": (replace(calibrator, intercept=calibrator.intercept + 0.25),)},
        {"name": "other"},
        {"questions": ("regret",)},
    ]

    prints = {replace(judge, **change).fingerprint for change in changes}

    assert len(prints | {judge.fingerprint}) == 4


def test_a_weight_that_was_changed_in_the_file_is_noticed(saved):
    parts = parts_of(saved)
    scales = np.load(io.BytesIO(parts["scales.npy"]))
    parts["scales.npy"] = as_npy(scales * 2)
    write_parts(saved, parts)

    with pytest.raises(InputError, match="fingerprint of its content, got another"):
        LocalJudge.load(saved)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.npz: no such file"):
        load_local_judge(tmp_path / "nowhere.npz")


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04 nothing", b"not a zip file at all" * 100],
    ids=["empty", "cut", "text"],
)
def test_what_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "judge.npz"
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"judge\.npz: must be a local judge"):
        LocalJudge.load(path)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="must be a local judge"):
        LocalJudge.load(tmp_path)


@pytest.mark.parametrize("cut", [0.2, 0.6, 0.95])
def test_a_cut_file_is_refused(saved, cut):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(cut * len(content))])

    with pytest.raises(InputError, match="local judge"):
        LocalJudge.load(saved)


def test_a_damaged_byte_anywhere_is_refused_or_harmless(judge, saved):
    content = saved.read_bytes()
    for place in range(0, len(content), len(content) // 60):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            loaded = LocalJudge.load(saved)
        except InputError:
            continue
        assert loaded.fingerprint == judge.fingerprint


@pytest.mark.parametrize("name", ["header", "columns", "ngrams", "scales", "cues", "intercepts"])
def test_a_missing_part_is_refused(saved, name):
    parts = parts_of(saved)
    del parts[f"{name}.npy"]
    write_parts(saved, parts)

    with pytest.raises(
        InputError, match=r"a local judge must have thresholds|must be a local judge"
    ):
        LocalJudge.load(saved)


class Trap:
    def __reduce__(self):
        return (print, ("ran",))


@pytest.mark.parametrize("name", ["header", "ngrams"])
def test_a_pickle_is_never_run(saved, name, capsys):
    parts = parts_of(saved)
    parts[f"{name}.npy"] = as_npy(np.array([Trap()], dtype=object))
    write_parts(saved, parts)

    with pytest.raises(InputError, match="local judge"):
        LocalJudge.load(saved)
    assert capsys.readouterr().out == ""
    assert b"print" in pickle.dumps(Trap())


@pytest.mark.edges
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ngrams", np.zeros((3, 1), dtype="f8")),
        ("ngrams", np.zeros((3, 1), dtype="i1")),
        ("scales", np.zeros(2, dtype="f4")),
        ("scales", np.array([np.nan], dtype="f4")),
        ("scales", np.array([1e30], dtype="f4")),
        ("cues", np.zeros((2, 3, 1), dtype="f4")),
        ("intercepts", np.zeros((1, 2, 1), dtype="f4")),
        ("columns", np.zeros((2, 2), dtype="i4")),
        ("header", np.zeros(4, dtype="f8")),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.dtype}{value.shape}",
)
def test_wrong_types_shapes_and_values_are_refused(saved, name, values):
    parts = parts_of(saved)
    parts[f"{name}.npy"] = as_npy(values)
    write_parts(saved, parts)

    with pytest.raises(InputError, match="local judge"):
        LocalJudge.load(saved)


@pytest.mark.parametrize("place", ["first", "last", "order"])
def test_columns_outside_of_the_table_are_refused(saved, place):
    parts = parts_of(saved)
    columns = np.load(io.BytesIO(parts["columns.npy"]))
    changes = {"first": (0, -1), "last": (-1, 2**30), "order": (1, columns[0])}
    where, value = changes[place]
    columns[where] = value
    parts["columns.npy"] = as_npy(columns)
    write_parts(saved, parts)

    with pytest.raises(InputError, match="rising columns"):
        LocalJudge.load(saved)


@pytest.mark.ci
def test_a_zip_bomb_is_not_unpacked(saved):
    parts = parts_of(saved)
    parts["header.npy"] = as_npy(np.zeros(40 * 2**20, dtype="u1"))
    write_parts(saved, parts)

    with pytest.raises(InputError, match=r"'header' of type u1 and shape .* or shorter"):
        LocalJudge.load(saved)


@pytest.mark.parametrize("change", [lambda part: part[:-1], lambda part: part + bytes(1)])
def test_an_array_of_another_size_than_it_declares_is_refused(saved, change):
    parts = parts_of(saved)
    parts["scales.npy"] = change(parts["scales.npy"])
    write_parts(saved, parts)

    with pytest.raises(InputError, match="'scales' of the declared size"):
        LocalJudge.load(saved)


def test_an_array_that_claims_to_be_huge_is_refused(saved):
    parts = parts_of(saved)
    honest = parts["ngrams.npy"]
    start = honest.index(b"'shape': (") + len(b"'shape': (")
    end = honest.index(b",", start)
    claim = b"9" * (end - start + 12)
    # The padding of the npy header takes up what the number needs more.
    header_end = honest.index(b"\n")
    lie = honest[:start] + claim + honest[end : header_end - 12] + honest[header_end:]
    parts["ngrams.npy"] = lie
    write_parts(saved, parts)

    with pytest.raises(InputError, match="'ngrams' of type i1"):
        LocalJudge.load(saved)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "voirdire.local-judge/2"}, "judge/1', got 'voirdire.local-judge/2'"),
        ({"schema": 7}, "must be of schema 'voirdire.local-judge/1', got 7"),
        ({"features_version": 999}, "features version"),
        ({"questions": []}, "must name its questions"),
        ({"questions": ["a", "a"]}, "must name its questions"),
        ({"questions": "apology"}, "must name its questions"),
        (
            {"questions": [str(i) for i in range(2_000)]},
            "its questions, each once and at most 1000",
        ),
        ({"questions": ["a", "b"]}, "must have 2 calibrators, got 1"),
        ({"calibrators": []}, "must have 1 calibrators, got 0"),
        ({"calibrators": [{"method": "magic"}]}, "must be a local judge"),
        ({"calibrators": None}, "must be a local judge"),
        ({"card": {}}, "judge's card"),
        ({"fingerprint": "sha256:0"}, "fingerprint of its content"),
    ],
)
def test_a_wrong_header_is_refused(saved, changes, message):
    with_header(saved, **changes)

    with pytest.raises(InputError, match=message):
        LocalJudge.load(saved)


def test_nothing_is_left_behind_when_saving_fails(judge, tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *a, **k: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        judge.save(tmp_path / "judge.npz")

    assert list(tmp_path.iterdir()) == []
