"""Boolean expressions over propositions, and the completion classes that are made of them.

Nothing heavy is imported here: numpy arrives with the first name that is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.rubrics.logic.checking import check_logic, logic_errors
    from voirdire.rubrics.logic.classes import (
        ClassProbabilities,
        class_probabilities,
        hard_classes,
    )
    from voirdire.rubrics.logic.expressions import Expression, render_expression
    from voirdire.rubrics.logic.parsing import parse_expression
    from voirdire.rubrics.logic.truth import expression_holds, expression_probability

__all__ = [
    "ClassProbabilities",
    "Expression",
    "check_logic",
    "class_probabilities",
    "expression_holds",
    "expression_probability",
    "hard_classes",
    "logic_errors",
    "parse_expression",
    "render_expression",
]

_HOMES = {
    "ClassProbabilities": "classes",
    "Expression": "expressions",
    "check_logic": "checking",
    "class_probabilities": "classes",
    "expression_holds": "truth",
    "expression_probability": "truth",
    "hard_classes": "classes",
    "logic_errors": "checking",
    "parse_expression": "parsing",
    "render_expression": "expressions",
}

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
