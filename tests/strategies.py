"""Hypothesis strategies: sparse annotation studies of every kind.

Only the shape of a study is drawn; its labels come from numpy under a drawn seed, which keeps
generation fast and lets shrinking work on the shape.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

KINDS = ("choice", "scale", "continuous", "multilabel")
ALIGNMENTS = {
    "choice": ("accuracy",),
    "scale": ("accuracy", "neg_rmse"),
    "continuous": ("neg_rmse",),
    "multilabel": ("accuracy", "jaccard", "jaccard_macro", "jaccard_slots", "hamming"),
}
CATEGORIES = ("yes", "no", "不确定", "<b>maybe</b>", "Can't tell")
MULTILABELS = ("hate", "insult", "自伤", "sexual", "violence", "<i>other</i>", "weapons")


@dataclass(frozen=True)
class Study:
    """One judge and a sparse panel; `labels` is the declared universe, items are in `items`."""

    kind: str
    humans: dict[str, dict[str, Any]]
    judge: dict[str, Any]
    labels: tuple[Any, ...] | None
    items: tuple[str, ...]


@st.composite
def sparse_humans(
    draw,
    kind,
    *,
    annotators=(2, 7),
    items=(3, 60),
    missing=(0.0, 0.15, 0.5),
    judges_miss=True,
):
    """A `Study` of one kind.

    Annotators and items lie in the given ranges; `missing` lists the shares of absent labels to
    choose from. Half of the absent labels are left out, the others are None (or NaN where labels
    are floats). Every annotator has a label, and the first item has the judge and two annotators.
    """
    n_annotators = draw(st.integers(*annotators), label="annotators")
    n_items = draw(st.integers(*items), label="items")
    n_labels = draw(
        st.integers(1, 7) if kind == "multilabel" else st.integers(2, 5), label="labels"
    )
    skew = draw(st.sampled_from((0.3, 1.0, 5.0)), label="skew")
    noise = draw(st.sampled_from((0.0, 0.1, 0.4, 1.0)), label="noise")
    judge_noise = draw(st.sampled_from((0.0, 0.1, 0.4, 1.0)), label="judge_noise")
    gap = draw(st.sampled_from(missing), label="missing")
    container = draw(st.sampled_from((list, frozenset)), label="container")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))

    sample = _sampler(kind, n_labels, skew, container, rng)
    truth = sample(n_items)
    ids = tuple(f"item-{i}" for i in range(n_items))
    gone = (lambda: float("nan")) if kind == "continuous" else (lambda: None)

    def answers(share_noise, share_gap, forced):
        own = sample(n_items)
        absent = rng.random(n_items) < share_gap
        absent[forced] = False
        noisy, left_out = rng.random(n_items) < share_noise, rng.random(n_items) < 0.5
        result = {}
        for i in rng.permutation(n_items):
            if not absent[i]:
                result[ids[i]] = own[i] if noisy[i] else truth[i]
            elif not left_out[i]:
                result[ids[i]] = gone() if rng.random() < 0.5 else None
        return result

    humans = {}
    for k in range(n_annotators):
        forced = 0 if k < 2 else int(rng.integers(n_items))
        humans[f"h{k}"] = answers(noise, gap, forced)
    judge = answers(judge_noise, gap if judges_miss else 0.0, 0)
    labels = {"choice": CATEGORIES, "multilabel": MULTILABELS}.get(kind)
    return Study(kind, humans, judge, labels and labels[:n_labels], ids)


def _sampler(kind, n_labels, skew, container, rng):
    """A function that draws n labels of a kind."""
    if kind == "multilabel":
        rates = rng.beta(skew, 2.0, n_labels)

        def multilabels(n):
            hits = rng.random((n, n_labels)) < rates
            return [container(MULTILABELS[k] for k in np.flatnonzero(row)) for row in hits]

        return multilabels
    if kind == "continuous":
        return lambda n: rng.normal(3.0, 1.0, n).round(1).tolist()
    values = list(CATEGORIES[:n_labels]) if kind == "choice" else [1, 2, 3, 4, 5]
    shares = rng.dirichlet(np.full(len(values), skew))
    return lambda n: [values[k] for k in rng.choice(len(values), n, p=shares)]


def studies(**shape):
    """A `Study` of any kind."""
    return st.sampled_from(KINDS).flatmap(lambda kind: sparse_humans(kind, **shape))


@st.composite
def aligned_studies(draw, **shape):
    """A `Study` with the name of an alignment that suits it."""
    study = draw(studies(**shape))
    return study, draw(st.sampled_from(ALIGNMENTS[study.kind]), label="alignment")


def epsilons():
    """An epsilon and how it is meant."""
    return st.tuples(
        st.sampled_from((0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)),
        st.sampled_from(("additive", "multiplicative")),
    )


@st.composite
def qualities(draw, study):
    """A quality above 0 for every annotator of a study."""
    return {name: draw(st.sampled_from((0.25, 0.5, 0.7, 1.0, 2.0))) for name in study.humans}


@st.composite
def item_clusters(draw, study):
    """A cluster for every item of a study, from one cluster to one per item."""
    n = draw(st.integers(1, len(study.items)), label="clusters")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="cluster seed"))
    return {item: f"c{rng.integers(n)}" for item in study.items}
