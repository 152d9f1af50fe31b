"""The alternative annotator test for a user with two dicts or two data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from voirdire._validation import check_epsilons, shorten
from voirdire.errors import InputError
from voirdire.studies.plan import PlanFields, TestPlan
from voirdire.studies.whole_study import examine

if TYPE_CHECKING:
    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.stats import AltTestResult
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.aligning import Labels

__all__ = ["alt_test", "outperforms_humans"]


def alt_test(
    judge: Labels,
    humans: Labels,
    *,
    epsilon: float | None = None,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    kind: QuestionKind | None = None,
    labels: Sequence[Any] | None = None,
    gold: Labels | None = None,
    clusters: Mapping[Any, Any] | None = None,
    question: str = "label",
    plan: TestPlan | None = None,
    **settings: Unpack[PlanFields],
) -> AltTestResult:
    """Examine whether a judge may replace human annotators.

    One annotator at a time is left out, and the judge is asked to be at least as close to the
    others as that annotator is, up to a margin ε for being cheaper [1]_. The judge passes if it
    wins at least half of the annotators; read `outcome`, which also says when a pass means
    nothing.

    Parameters
    ----------
    judge : mapping, data frame or file
        The judge's labels, ``{item: label}``, or a pandas, polars or pyarrow frame with columns
        `item` and `label`.
    humans : mapping, data frame or file
        The annotators' labels, ``{annotator: {item: label}}``, or a frame: long (`item`,
        `annotator`, `label`) or wide (`item` and one column per annotator). A label is a text, a
        number, a truth value, or a list or set of texts for multi-label questions; None, nan,
        empty text and "can't tell" are missing.
    epsilon : float, optional
        The margin; .2 for experts, .15 for skilled annotators, .1 for crowd workers.
    alignment : str or callable, optional
        How close two labels are: ``"accuracy"``, ``"neg_rmse"`` (numbers), ``"similarity"``
        (texts), ``"jaccard"``, ``"jaccard_macro"``, ``"jaccard_slots"``, ``"hamming"`` (sets), or
        a function of two arrays of labels that returns the score of each pair.
    kind : {"boolean", "choice", "multilabel", "scale", "text"}, optional
        What the question asks for: ``"choice"`` reads numbers as names, ``"scale"`` text as
        numbers, ``"boolean"`` words such as yes and no as truth values. By default what the
        alignment needs, or what the labels leave no choice about.
    labels : sequence, optional
        The label universe. An annotator's label outside it is dropped and listed; a judge's is a
        failure. Without it the universe is the union over annotators and judges.
    gold : mapping or data frame, optional
        Gold labels ``{item: label}`` that do so; see `outperforms_humans`.
    clusters : mapping, optional
        ``{item: cluster}`` for items that share a source; errors become cluster-robust.
    question : str, optional
        Name of the question, for the results.
    plan : TestPlan, optional
        Margins, method, weights and sizes of the test.
    **settings
        Fields of `TestPlan`, each of which counts before that of `plan`: `epsilon_mode`,
        `method`, `weights`, `quality`, `expert`, `normalize`, `similarity`, `min_items` (30),
        `min_annotators`, `false_discovery_rate`, `family`, `n_resamples`, `confidence_level`,
        `seed`. See `voirdire.studies.TestPlan`.

    Returns
    -------
    AltTestResult
        Of one judge at one ε; `voirdire.examine` takes several of each.

    Raises
    ------
    InputError
        If labels, names or settings break a rule above; the message says which.
    NoDataError
        If nothing is left to examine: no annotations, or no item in common with a judge.

    Warns
    -----
    DegenerateDataWarning
        If no annotator has enough items, so that ω is nan and the outcome ``"no_evidence"``.
    DroppedRowsWarning, DoubtfulLabelsWarning
        As `voirdire.examine` does.

    Notes
    -----
    A judge's missing label and a `voirdire.records.Failure` count as failures: left out of
    the main figures, lost in `worst_case`, which decides the outcome. Annotated items that the
    judge was not asked about are counted in `cautions`; labels that were set aside are listed in
    `dropped`. `voirdire.examine` takes other names of columns, thresholds, several questions, and
    finds what stands around the test.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for
       LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs",
       ACL 2025, arXiv 2501.10970.

    Examples
    --------
    >>> import voirdire
    >>> truth = {f"t{i}": "yes" if i % 3 else "no" for i in range(60)}
    >>> wrong = {"yes": "no", "no": "yes"}
    >>> humans = {
    ...     name: {t: wrong[x] if int(t[1:]) % 10 == slip else x for t, x in truth.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> result = voirdire.alt_test(truth, humans, epsilon=0.2)
    >>> result.winning_rate, result.advantage_probability, result.outcome
    (1.0, 1.0, 'passed')
    """
    if isinstance(judge, Mapping) and judge and all(isinstance(x, Mapping) for x in judge.values()):
        msg = (
            "`judge` must map items to labels, got a mapping of mappings. Examine several judges "
            "with examine(judges=..., humans=...)."
        )
        raise InputError(msg)
    margins = check_epsilons((plan or TestPlan()).epsilon if epsilon is None else epsilon)
    if len(margins) > 1:
        msg = (
            f"`epsilon` must be one number, got {len(margins)}. Examine several margins with "
            "examine(judges=..., humans=..., epsilon=[...])."
        )
        raise InputError(msg)
    found = examine(
        judges=judge,
        humans=humans,
        alignment=alignment,
        kind=kind,
        labels=labels,
        gold=gold,
        clusters=False if clusters is None else clusters,
        questions=[question],
        plan=plan,
        around=False,
        epsilon=margins[0],
        **settings,
    )
    if len(found.results) > 1:
        names = ", ".join(repr(shorten(name)) for name in found.judges)
        msg = f"`judge` must hold one judge's labels, got {names}. Use examine(judges=...)."
        raise InputError(msg)
    return replace(found.results[0], dropped=found.dropped)


def outperforms_humans(
    judge: Labels, humans: Labels, *, gold: Labels, **settings: Any
) -> AltTestResult:
    """Examine whether a judge is closer to gold labels than the annotators are.

    The gold labels stand for "the others", and ε is 0: what is tested is superiority, not
    replaceability.

    Parameters
    ----------
    judge, humans
        As in `alt_test`.
    gold : mapping or data frame
        Gold labels ``{item: label}``.
    **settings
        Any other argument of `alt_test` but `epsilon`.

    Returns
    -------
    AltTestResult
        With `epsilon` 0.

    Raises
    ------
    InputError
        As `alt_test` does.

    Examples
    --------
    >>> gold = {f"t{i}": i % 2 for i in range(200)}
    >>> humans = {
    ...     name: {t: 1 - x if int(t[1:]) % 5 == slip else x for t, x in gold.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> outperforms_humans(gold, humans, gold=gold).outcome
    'passed'
    """
    if "epsilon" in settings:
        msg = (
            f"`epsilon` must be left out: it is 0 here, got {settings['epsilon']!r}. Use alt_test."
        )
        raise InputError(msg)
    return alt_test(judge, humans, gold=gold, epsilon=0.0, **settings)
