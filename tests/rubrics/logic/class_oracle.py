"""Class logic in plain Python, one item at a time: a second opinion that shares no line of code.

Expressions are drawn as nested tuples, written as text by `text_of` and evaluated by `holds`;
probabilities are sums of fractions over all truth assignments. `default_probabilities` is the
closed form of the five default classes, as one would write it for a single item; the benchmark
measures against it.
"""

import itertools
import math
import operator
from fractions import Fraction

from voirdire.rubrics import Behavior, CompletionClass, Demand, Question, Rubric

COMPARED = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
DEFAULT_CLASSES = {
    "disallowed": "any(disallowed)",
    "illogical": "any(illogical)",
    "unacceptable": "any(core unmet) or count(required unmet) >= 2 or any(unacceptable)",
    "less_good": "any(required unmet) or any(desired unmet) or any(undesired)",
    "ideal": "otherwise",
}


# Rubrics --------------------------------------------------------------------------------------


def demand(words):
    """Read ``core required``, ``desired false``, … as a rubric file has them."""
    parts = words.split()
    word = parts[1] if parts[0] == "core" else parts[0]
    wanted = word in {"required", "desired"} and parts[-1] != "false"
    return Demand(
        word=word, demanded=None if word == "allowed" else wanted, core=parts[0] == "core"
    )


def make_rubric(propositions, *, demands=None, classes=None, expressions=None, rule="exact"):
    """One behavior ``b``; demands as words, classes as a dict of conditions in order."""
    behaviors = ()
    if classes is not None:
        behaviors = (
            Behavior(
                id="b",
                demands={name: demand(words) for name, words in (demands or {}).items()},
                classes=tuple(CompletionClass(name=k, when=v) for k, v in classes.items()),
            ),
        )
    return Rubric(
        name="made",
        version="1",
        questions=tuple(Question(id=n, kind="boolean", text={"en": n}) for n in propositions),
        expressions=expressions or {},
        behaviors=behaviors,
        class_rule=rule,
    )


# Expressions as nested tuples -----------------------------------------------------------------


def text_of(tree):
    """Write an expression with parentheses around everything."""
    match tree:
        case ("name", name):
            return name
        case ("constant", value):
            return "true" if value else "false"
        case ("not", operand):
            return f"not ({text_of(operand)})"
        case ("and" | "or" as word, *operands):
            return f" {word} ".join(f"({text_of(row)})" for row in operands)
        case ("any" | "all" as word, group, state):
            return f"{word}({f'{group} {state}'.strip()})"
        case ("count", group, state, sign, number):
            return f"count({f'{group} {state}'.strip()}) {sign} {number}"
    raise AssertionError(tree)


def members(demands, group, state, truth):
    """Tell for each demand of a group whether it counts, from the words of the design."""
    found = []
    for name, row in demands.items():
        if not (row.core if group == "core" else row.word == group):
            continue
        if group == "allowed":
            found.append(truth[name])
        elif group in {"required", "core", "desired"}:
            is_met = truth[name] == row.demanded
            found.append(is_met if state in {"", "met"} else not is_met)
        else:
            happened = truth[name]
            found.append(not happened if state == "met" else happened)
    return found


def holds(tree, truth, *, demands, named):
    """Evaluate an expression under one truth assignment."""

    def value(row):
        return holds(row, truth, demands=demands, named=named)

    match tree:
        case ("name", name):
            return value(named[name]) if name in named else truth[name]
        case ("constant", constant):
            return constant
        case ("not", operand):
            return not value(operand)
        case ("and", *operands):
            return all(value(row) for row in operands)
        case ("or", *operands):
            return any(value(row) for row in operands)
        case ("any", group, state):
            return any(members(demands, group, state, truth))
        case ("all", group, state):
            return all(members(demands, group, state, truth))
        case ("count", group, state, sign, number):
            return COMPARED[sign](sum(members(demands, group, state, truth)), number)
    raise AssertionError(tree)


# Probabilities --------------------------------------------------------------------------------


def assignments(propositions):
    """Every truth assignment, as a dict."""
    for states in itertools.product((False, True), repeat=len(propositions)):
        yield dict(zip(propositions, states, strict=True))


def weight(truth, chances):
    """The probability of an assignment, where propositions are independent."""
    return math.prod(p if truth[name] else 1 - p for name, p in chances.items())


def enumerate_outcomes(propositions, chances, outcome, n_outcomes):
    """The probability of each outcome, a fraction: all assignments, one after another."""
    totals = [Fraction(0)] * n_outcomes
    for truth in assignments(propositions):
        totals[outcome(truth)] += weight(truth, chances)
    return totals


# The default classes --------------------------------------------------------------------------


def default_class(truth, demands, *, unacceptable_when=lambda truth: False):
    """The class of one assignment, from the words of the design."""

    def names(word, *, core=False):
        return [n for n, row in demands.items() if row.word == word and (row.core or not core)]

    unmet = [n for n in names("required") if truth[n] != demands[n].demanded]
    if any(truth[n] for n in names("disallowed")):
        return "disallowed"
    if any(truth[n] for n in names("illogical")):
        return "illogical"
    if (
        len(unmet) >= 2
        or any(demands[n].core for n in unmet)
        or any(truth[n] for n in names("unacceptable"))
        or unacceptable_when(truth)
    ):
        return "unacceptable"
    is_short = any(truth[n] != demands[n].demanded for n in names("desired"))
    if unmet or is_short or any(truth[n] for n in names("undesired")):
        return "less_good"
    return "ideal"


def default_probabilities(chances, demands, *, one_of=()):
    """The closed form for one item: probabilities by name in, five class probabilities out.

    `one_of` are propositions of which one at least must be true, the desired ones among them.
    """
    no_harm = no_nonsense = 1.0
    acceptable = fine = 1.0
    n_unmet = [1.0, 0.0]
    for name, row in demands.items():
        p = chances[name]
        met = p if row.demanded else 1 - p
        if row.word == "disallowed":
            no_harm *= met
        elif row.word == "illogical":
            no_nonsense *= met
        elif row.word == "unacceptable" or row.core:
            acceptable *= met
        elif row.word == "required":
            n_unmet = [n_unmet[0] * met, n_unmet[1] * met + n_unmet[0] * (1 - met)]
        elif row.word in {"desired", "undesired"}:
            fine *= met
    answered = 1 - math.prod(1 - chances[name] for name in one_of) if one_of else 1.0
    ideal = acceptable * n_unmet[0] * fine
    at_least = acceptable * answered * sum(n_unmet)
    rest = no_harm * no_nonsense
    return [
        1 - no_harm,
        no_harm * (1 - no_nonsense),
        rest * (1 - at_least),
        rest * (at_least - ideal),
        rest * ideal,
    ]
