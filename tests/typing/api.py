"""The public Python face as a type checker sees it: checked by mypy --strict, never executed."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, assert_type

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console

import voirdire
from voirdire import (
    AltTestResult,
    AnnotatorResult,
    Certificate,
    Dropped,
    Failure,
    Item,
    Rubric,
    Verdicts,
    stats,
)
from voirdire.io import ItemBatch, LabelTable, join_tables, read_labels
from voirdire.judging import JudgingSettings, judge_file
from voirdire.reporting import (
    ResultTables,
    html_page,
    to_json,
)
from voirdire.rubrics import class_probabilities
from voirdire.stats import (
    AgreementResult,
    Caution,
    ControlResult,
    JudgeDifference,
    KrippendorffResult,
    PanelAgreement,
    PowerResult,
    PowerRow,
    TTest,
    Uncertainty,
    WorstCase,
)
from voirdire.studies import (
    Examination,
    PooledResult,
    QuestionFindings,
    TestPlan,
    certify,
    examine,
    pool_questions,
)

humans: dict[str, dict[str, str]] = {"ann": {"t1": "yes"}, "bob": {"t1": "no"}}
judge: dict[str, str] = {"t1": "yes"}
numbers: dict[str, dict[int, float]] = {"ann": {1: 2.5}, "bob": {1: 3.0}}
sets: dict[str, dict[int, list[str]]] = {"ann": {1: ["hate"]}, "bob": {1: []}}
failing: dict[str, str | Failure | None] = {"t1": Failure(reason="timeout"), "t2": None}


def same_length(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.char.str_len(first) == np.char.str_len(second), dtype=np.float64)


# One judge and one ε give one result.
assert_type(voirdire.alt_test(judge, humans), AltTestResult)
assert_type(voirdire.alt_test(judge, humans, epsilon=0.1), AltTestResult)
assert_type(voirdire.outperforms_humans(judge, humans, gold=judge), AltTestResult)

# Every kind of label, every setting.
voirdire.alt_test({1: 2.5}, numbers, alignment="neg_rmse")
voirdire.alt_test({1: ["hate"]}, sets, alignment="hamming", labels=["hate", "insult"])
voirdire.alt_test({1: {"hate"}}, sets, alignment="jaccard")
voirdire.alt_test({1: True}, {"ann": {1: False}}, kind="boolean")
voirdire.alt_test(failing, humans, epsilon_mode="multiplicative")
voirdire.alt_test(judge, humans, weights="imbalance", clusters={"t1": 1}, seed=3)
voirdire.alt_test(judge, humans, quality={"ann": 1.0, "bob": 0.5}, expert="ann")
voirdire.alt_test(judge, humans, alignment="similarity", similarity=same_length)
voirdire.alt_test(judge, humans, alignment=same_length, question="polite")
voirdire.alt_test(judge, humans, min_items=10, min_annotators=3, false_discovery_rate=0.1)

# Data frames of three libraries.
voirdire.alt_test(pl.DataFrame(), pl.DataFrame())
voirdire.alt_test(pd.DataFrame(), pd.DataFrame())
voirdire.alt_test(pa.table({}), pa.table({}))
voirdire.examine(judges={"j": pl.DataFrame()}, humans=humans, epsilon=[0.1, 0.2])

# Closed sets of words are closed.
voirdire.alt_test(judge, humans, alignment="kappa")  # type: ignore[arg-type]
voirdire.alt_test(judge, humans, "accuracy")  # type: ignore[call-arg, arg-type]


def read_a_result(result: AltTestResult) -> None:
    assert_type(result.question, str)
    assert_type(result.judge, str)
    assert_type(result.alignment, str)
    assert_type(result.epsilon, float)
    assert_type(result.epsilon_mode, Literal["additive", "multiplicative"])
    assert_type(result.n_items, int)
    assert_type(result.n_annotators, int)
    assert_type(result.winning_rate, float)
    assert_type(result.winning_rate_bh, float)
    assert_type(result.advantage_probability, float)
    assert_type(result.human_advantage, float)
    assert_type(result.passed, bool)
    assert_type(
        result.outcome, Literal["passed", "passed_as_random_person", "failed", "no_evidence"]
    )
    assert_type(
        result.finding,
        Literal["passed", "passed_as_random_person", "not_shown", "worse", "no_evidence"],
    )
    assert_type(result.t_test, TTest)
    assert_type(result.because, Caution)
    assert_type(result.annotators, tuple[AnnotatorResult, ...])
    assert_type(result.untested, tuple[str, ...])
    assert_type(result.worst_case, WorstCase)
    assert_type(result.controls, tuple[ControlResult, ...])
    assert_type(result.human_agreement, KrippendorffResult | None)
    assert_type(result.cautions, tuple[Caution, ...])
    assert_type(result.warnings, tuple[str, ...])
    assert_type(result.dropped, tuple[Dropped, ...])
    assert_type(result.settings, dict[str, Any])
    result.winning_rate = 1.0  # type: ignore[misc]


def read_an_annotator(person: AnnotatorResult) -> None:
    assert_type(person.annotator, str)
    assert_type(person.n_items, int)
    assert_type(person.advantage_judge, float)
    assert_type(person.advantage_human, float)
    assert_type(person.p_value, float)
    assert_type(person.exact_p_value, float)
    assert_type(person.tie_share, float)
    assert_type(person.shown, bool)
    assert_type(person.rejected, bool)
    assert_type(person.rejected_bh, bool)


def examine_files(path: str, frame: pl.DataFrame) -> None:
    table = read_labels(path, role="annotator", kind="multilabel", labels=["a"], separator="|")
    assert_type(table, LabelTable)
    assert_type(table.frame, pl.DataFrame)
    assert_type(table.dropped, tuple[Dropped, ...])
    judges = read_labels(frame, role="judge", kind="multilabel", source_name="judges")
    assert_type(join_tables([judges, judges]), LabelTable)

    plan = TestPlan(epsilon=[0.1, 0.2], seed=1)
    found = examine(
        humans=table, judges=judges, alignment=["jaccard", "hamming"], plan=plan, labels=["a"]
    )
    assert_type(found, Examination)
    assert_type(found.results, tuple[AltTestResult, ...])
    assert_type(found.pooled, tuple[PooledResult, ...])
    assert_type(found.judges, tuple[str, ...])
    assert_type(found.of_judge("j"), tuple[AltTestResult, ...])
    assert_type(pool_questions(found.results), PooledResult)
    assert_type(to_json(found), str)
    Console().print(ResultTables(found, details=True))

    record = certify(found, humans=table, judges=judges, population="chats")
    assert_type(record, Certificate)
    assert_type(record.outcomes, Mapping[str, str])
    assert_type(record.content_hash, str)
    assert_type(to_json(record), str)

    read_labels(path, role="annotator", kind="pairwise")
    read_labels(path, role="human", kind="choice")  # type: ignore[arg-type]
    TestPlan(epsilon_mode="relative")  # type: ignore[arg-type]
    examine(humans=table, judges=judges, alignment=["kappa"])  # type: ignore[list-item]


def catch(error: voirdire.VoirdireError) -> None:
    as_value: type[ValueError] = voirdire.InputError
    ours: type[voirdire.InputError] = voirdire.NoDataError
    assert_type(voirdire.__version__, str)
    assert_type(Failure().reason, str)
    assert_type(Dropped(reason="r", source="s").place(), str)
    del as_value, ours, error


def around_the_test(found: Examination, result: AltTestResult) -> None:
    assert_type(voirdire.examine(humans=humans, judges={"mine": judge}, kind="choice"), Examination)
    [question] = found.questions
    assert_type(question, QuestionFindings)
    assert_type(question.comparisons, tuple[JudgeDifference, ...])
    if question.agreement is not None:
        assert_type(question.agreement.ceiling, tuple[AgreementResult, ...])
    assert_type(result.smallest_epsilon, float | None)
    assert_type(result.uncertainty, Uncertainty | None)
    assert_type(html_page(found, language="zh"), str)
    assert_type(voirdire.plot(found, "q1-scatter-1"), Figure)
    voirdire.plot(found, language="fr")  # type: ignore[arg-type]


def plan() -> None:
    planned = voirdire.power(human_noise=0.3, judge_noise=0.2, n_annotators=[3, 4])
    assert_type(planned, PowerResult)
    assert_type(planned.rows, tuple[PowerRow, ...])
    voirdire.power(judge_noise=0.2)  # type: ignore[call-arg]


def coefficients(labels: NDArray[np.int64]) -> None:
    assert_type(stats.cohen_kappa(labels[:, 0], labels[:, 1], weights="quadratic"), AgreementResult)
    assert_type(stats.gwet_ac(labels), AgreementResult)
    assert_type(stats.fleiss_kappa(labels), AgreementResult)
    assert_type(stats.raw_agreement(labels), AgreementResult)
    panel = stats.measure_panel(labels, labels[:, 0], level="nominal")
    assert_type(panel, PanelAgreement)
    assert_type(stats.compare_judges(labels, labels), list[JudgeDifference])


def ask(rubric: Rubric) -> None:
    items = voirdire.read_items("items.jsonl").items
    assert_type(items, tuple[Item, ...])
    assert_type(voirdire.load_rubric("safety"), Rubric)
    assert_type(voirdire.judge(items, rubric=rubric), Verdicts)
    assert_type(voirdire.judge(items).frame("wide"), pl.DataFrame)
    assert_type(voirdire.stream_items("items.jsonl"), Iterator[ItemBatch])
    judge_file("items.jsonl", "out.csv", settings=JudgingSettings(workers=2), layout="wide")
    found = class_probabilities(rubric, "comply", probabilities=[[0.5]])
    assert_type(found.classes, tuple[str, ...])
