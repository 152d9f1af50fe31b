"""Hypothesis strategies: expressions, demands and whole rubrics with a single behavior.

Of an expression only the size is drawn; the rest comes from a drawn seed, which keeps generation
fast and lets shrinking work on the size.
"""

import itertools
import random
from fractions import Fraction

from hypothesis import strategies as st

from rubrics.logic.class_oracle import COMPARED, make_rubric, text_of

DEMANDS = (
    "required",
    "required false",
    "core required",
    "core required false",
    "desired",
    "desired false",
    "allowed",
    "undesired",
    "unacceptable",
    "illogical",
    "disallowed",
)
GROUPS = ("required", "core", "desired", "undesired", "unacceptable", "illogical", "disallowed")

chances = st.integers(0, 16).map(lambda k: Fraction(k, 16))
"""Probabilities that floats hold exactly, 0 and 1 among them."""


@st.composite
def propositions(draw, *, most=5):
    return [f"p{k}" for k in range(draw(st.integers(1, most)))]


@st.composite
def demand_tables(draw, names):
    """Demands on some of the propositions, as words."""
    rows = {name: draw(st.sampled_from((None, *DEMANDS))) for name in names}
    return {name: words for name, words in rows.items() if words is not None}


@st.composite
def expression_trees(draw, names, *, groups=True):
    """Expressions as nested tuples, of up to eight names, groups and constants."""
    size = draw(st.integers(1, 8))
    return _tree(random.Random(draw(st.integers(0, 2**32 - 1))), size, names, groups=groups)


def _tree(rng, size, names, *, groups):
    if rng.random() < 0.25:
        return ("not", _tree(rng, size, names, groups=groups))
    if size == 1:
        return _atom(rng, names, groups=groups)
    n_parts = min(size, rng.choice((2, 2, 3)))
    cuts = [0, *sorted(rng.sample(range(1, size), n_parts - 1)), size]
    sizes = [after - before for before, after in itertools.pairwise(cuts)]
    return (rng.choice(("and", "or")), *(_tree(rng, k, names, groups=groups) for k in sizes))


def _atom(rng, names, *, groups):
    kind = rng.choice(("name", "name", "name", "constant", *(("any", "all", "count") * groups)))
    if kind == "name":
        return ("name", rng.choice(names))
    if kind == "constant":
        return ("constant", rng.random() < 0.5)
    group = rng.choice((*GROUPS, "allowed"))
    state = "" if group == "allowed" else rng.choice(("", "met", "unmet"))
    if kind == "count":
        return ("count", group, state, rng.choice(sorted(COMPARED)), rng.randrange(5))
    return (kind, group, state)


@st.composite
def drawn_rubrics(draw):
    """A rubric of up to four classes and two named expressions, with its expressions as trees."""
    names = draw(propositions())
    demands = draw(demand_tables(names))
    named = {"first": draw(expression_trees(names))}
    named["second"] = draw(expression_trees([*names, "first"]))
    usable = [*names, *named]
    conditions = draw(st.lists(expression_trees(usable), max_size=3))
    classes = {f"c{k}": text_of(row) for k, row in enumerate(conditions)} | {"rest": "otherwise"}
    rubric = make_rubric(
        names,
        demands=demands,
        classes=classes,
        expressions={name: text_of(row) for name, row in named.items()},
    )
    return rubric, conditions, named
